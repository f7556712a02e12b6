// SPDX-License-Identifier: Apache-2.0
// Copies within one device, with the vendor's operators built in.
#include "csrc/ops/device_copy.h"

#include "csrc/mudnn/copy.h"
#include "csrc/ops/host_copy.h"
#include "csrc/routing/register.h"

#include <ATen/ops/view_as_real.h>

#include <sstream>

namespace torch_fl::ops {

bool device_converts(at::ScalarType to, at::ScalarType from) {
  return mudnn::can_copy(to, from);
}

void copy_within_device(const at::Tensor& dst, const at::Tensor& src) {
  if (mudnn::can_copy(dst.scalar_type(), src.scalar_type())) {
    mudnn::copy(dst, src);
    return;
  }
  if (dst.is_complex() && src.is_complex()) {
    copy_within_device(at::view_as_real(dst), at::view_as_real(src));
    return;
  }
  if (dst.is_complex()) {
    const at::Tensor parts = at::view_as_real(dst);
    copy_within_device(parts.select(-1, 0), src);
    parts.select(-1, 1).zero_();
    return;
  }
  if (src.is_complex()) { // torch has warned about the other part
    copy_within_device(dst, at::view_as_real(src).select(-1, 0));
    return;
  }
  std::ostringstream operands;
  operands << dst.scalar_type() << dst.sizes() << ", " << src.scalar_type()
           << src.sizes();
  routing::count_cpu_route("aten::_copy_from", operands.str());
  copy_through_host(dst, src);
}

void negate_in_place(const at::Tensor& tensor) {
  mudnn::negate(tensor);
}

} // namespace torch_fl::ops
