// SPDX-License-Identifier: Apache-2.0
// Norms of many tensors on kernels of ours, without a launch for each.
#include "csrc/kernels/foreach.h"

#include "csrc/ops/foreach_lists.h"
#include "csrc/ops/kernel_operands.h"
#include "csrc/ops/output.h"
#include "csrc/ops/tensor_lists.h"
#include "csrc/routing/register.h"
#include "csrc/runtime/device.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/_foreach_norm_native.h>

#include <limits>
#include <vector>

namespace torch_fl::ops {

namespace {

using at::Scalar;
using at::Tensor;
using at::TensorList;
using Made = std::vector<Tensor>;
namespace native = at::native;

bool is_real(const Scalar& value) {
  return value.isFloatingPoint() || value.isIntegral(/*includeBool=*/false);
}

std::optional<FlNorm> norm_of(const Scalar& ord) {
  if (!is_real(ord)) {
    return std::nullopt;
  }
  const double order = ord.toDouble();
  if (order == 0) {
    return kFlNormCount;
  }
  if (order == 1) {
    return kFlNormSum;
  }
  if (order == 2) {
    return kFlNormRoot;
  }
  if (order == std::numeric_limits<double>::infinity()) {
    return kFlNormMax;
  }
  return std::nullopt;
}

// The greatest of nothing is an error, which torch's loop reports.
bool all_filled(TensorList self) {
  for (const Tensor& t : self) {
    if (t.numel() == 0) {
      return false;
    }
  }
  return true;
}

// Each tensor's views of one workspace: offset(i) of size(i) elements.
template <class Size>
Made split(const Tensor& memory, size_t count, const Size& size) {
  Made views;
  views.reserve(count);
  int64_t at = 0;
  for (size_t i = 0; i < count; ++i) {
    views.push_back(memory.narrow(0, at, size(i)));
    at += size(i);
  }
  return views;
}

Made norm(
    TensorList self,
    const Scalar& ord,
    std::optional<at::ScalarType> dtype) {
  const std::optional<FlNorm> kind = norm_of(ord);
  if (!kind.has_value() || !one_launch_takes(self) ||
      dtype.value_or(self[0].scalar_type()) != self[0].scalar_type() ||
      (*kind == kFlNormMax && !all_filled(self))) {
    return native::foreach_tensor_norm_slow(self, ord, dtype);
  }
  const runtime::DeviceScope scope(self[0].device());
  const at::ScalarType stored = self[0].scalar_type();
  const FlKernelType type = kernel_type(stored);
  const at::ScalarType computed =
      stored == at::kDouble ? at::kDouble : at::kFloat;
  const size_t count = self.size();
  const auto parts_of = [&](size_t i) {
    return fl_norm_parts(self[i].numel());
  };
  int64_t total = 0;
  for (size_t i = 0; i < count; ++i) {
    total += parts_of(i);
  }
  const Tensor tail =
      make_dense({static_cast<int64_t>(count) * kFlNormTail}, computed);
  const Made parts = split(make_dense({total}, computed), count, parts_of);
  const Made tails =
      split(tail, count, [](size_t /*i*/) { return kFlNormTail; });
  by_portions({self, parts}, [&](const FlTensors& lists, size_t /*first*/) {
    FL_MUSA_CHECK(fl_norm_begin(*kind, type, &lists, kernel_stream()));
  });
  by_portions({parts, tails}, [&](FlTensors& lists, size_t first) {
    for (int t = 0; t < lists.count; ++t) {
      lists.numel[t] = self[first + static_cast<size_t>(t)].numel();
    }
    FL_MUSA_CHECK(fl_norm_shorten(*kind, type, &lists, kernel_stream()));
  });
  const Tensor norms = make_dense({static_cast<int64_t>(count)}, stored);
  FL_MUSA_CHECK(fl_norm_end(
      *kind,
      type,
      norms.unsafeGetTensorImpl()->mutable_data(),
      address_of(tail),
      static_cast<int64_t>(count),
      kernel_stream()));
  return norms.unbind(0);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  routing::Registrar r(library);
  r.native<&norm>("_foreach_norm.Scalar");
}

} // namespace

} // namespace torch_fl::ops
