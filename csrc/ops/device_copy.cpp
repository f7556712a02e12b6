// SPDX-License-Identifier: Apache-2.0
// Copies within one device, with the vendor's operators built in.
#include "csrc/ops/device_copy.h"

#include "csrc/mudnn/copy.h"
#include "csrc/ops/host_copy.h"
#include "csrc/routing/register.h"

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
