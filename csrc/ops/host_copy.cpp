// SPDX-License-Identifier: Apache-2.0
// Copies within a device through the host, span by span.
#include "csrc/ops/host_copy.h"

#include "csrc/runtime/memcpy.h"

#include <ATen/EmptyTensor.h>

namespace torch_fl::ops {

namespace {

// Bytes between a tensor's first and last element.
size_t span_bytes(const at::Tensor& tensor) {
  return at::detail::computeStorageNbytes(
      tensor.sizes(),
      tensor.strides(),
      static_cast<size_t>(tensor.element_size()));
}

} // namespace

at::Tensor span_on_host(const at::Tensor& tensor) {
  const runtime::DeviceScope scope(tensor.device());
  const at::Tensor host = at::detail::empty_strided_cpu(
      tensor.sizes(),
      tensor.strides(),
      tensor.scalar_type());
  const runtime::Stream stream = runtime::current_stream();
  runtime::copy_async(
      host.unsafeGetTensorImpl()->mutable_data(),
      host.device(),
      tensor.unsafeGetTensorImpl()->data(),
      tensor.device(),
      span_bytes(tensor),
      stream);
  stream.synchronize();
  return host;
}

void write_span(const at::Tensor& tensor, const at::Tensor& host) {
  const runtime::DeviceScope scope(tensor.device());
  runtime::copy_async(
      tensor.unsafeGetTensorImpl()->mutable_data(),
      tensor.device(),
      host.unsafeGetTensorImpl()->data(),
      host.device(),
      span_bytes(tensor),
      runtime::current_stream());
}

void copy_through_host(const at::Tensor& dst, const at::Tensor& src) {
  const at::Tensor values = span_on_host(src);
  const at::Tensor target = span_on_host(dst);
  target.copy_(values);
  write_span(dst, target);
}

} // namespace torch_fl::ops
