// SPDX-License-Identifier: Apache-2.0
// Sequences on kernels of ours: linspace, logspace, range, indices of
// triangles.
#include "csrc/kernels/range.h"

#include "csrc/ops/kernel_operands.h"
#include "csrc/ops/output.h"
#include "csrc/routing/register.h"
#include "csrc/runtime/device.h"

#include <ATen/InitialTensorOptions.h>
#include <ATen/native/TensorFactories.h>

#include <cmath>

namespace torch_fl::ops {

namespace {

using at::Tensor;

// Room for `steps` numbers in out; the kernel writes dense memory.
Tensor space_target(Tensor& out, int64_t steps) {
  TORCH_CHECK(steps >= 0, "number of steps must be non-negative");
  if (out.numel() != steps) {
    out.resize_({steps});
  }
  return out.is_contiguous() ? out : make_dense(out.sizes(), out.scalar_type());
}

void run_space(const FlSpace& space, const Tensor& target, Tensor& out) {
  if (space.n == 0) {
    return;
  }
  FL_MUSA_CHECK(fl_space(
      kernel_type(target.scalar_type()),
      target.unsafeGetTensorImpl()->mutable_data(),
      &space,
      kernel_stream()));
  if (!target.is_same(out)) {
    out.copy_(target);
  }
}

// Whole numbers are truncated before the step is taken, as upstream does.
FlSpace space_of(
    at::ScalarType type,
    const at::Scalar& start,
    const at::Scalar& end,
    int64_t steps) {
  FlSpace space{};
  if (c10::isIntegralType(type, /*includeBool=*/false)) {
    space.start = static_cast<double>(start.toLong());
    space.end = static_cast<double>(end.toLong());
  } else {
    space.start = start.toDouble();
    space.end = end.toDouble();
  }
  space.n = steps;
  space.step = steps > 1
      ? (space.end - space.start) / static_cast<double>(steps - 1)
      : 0;
  if (steps == 1) {
    space.end = space.start;
  }
  return space;
}

bool takes(const Tensor& out, const at::Scalar& start, const at::Scalar& end) {
  return has_kernel_type(out.scalar_type()) && out.scalar_type() != at::kBool &&
      !start.isComplex() && !end.isComplex();
}

Tensor& linspace(
    const at::Scalar& start,
    const at::Scalar& end,
    int64_t steps,
    Tensor& out) {
  if (!takes(out, start, end)) {
    return routing::ToCpuByName<
        Tensor&(const at::Scalar&, const at::Scalar&, int64_t, Tensor&)>::
        call("linspace.out", start, end, steps, out);
  }
  const runtime::DeviceScope scope(out.device());
  const Tensor target = space_target(out, steps);
  run_space(space_of(out.scalar_type(), start, end, steps), target, out);
  return out;
}

Tensor& logspace(
    const at::Scalar& start,
    const at::Scalar& end,
    int64_t steps,
    double base,
    Tensor& out) {
  if (!takes(out, start, end)) {
    return routing::ToCpuByName<Tensor&(
        const at::Scalar&,
        const at::Scalar&,
        int64_t,
        double,
        Tensor&)>::call("logspace.out", start, end, steps, base, out);
  }
  const runtime::DeviceScope scope(out.device());
  const Tensor target = space_target(out, steps);
  FlSpace space = space_of(out.scalar_type(), start, end, steps);
  space.base = base;
  space.powers = 1;
  run_space(space, target, out);
  return out;
}

// torch.range: both ends belong to it.
Tensor& range(
    const at::Scalar& start,
    const at::Scalar& end,
    const at::Scalar& step,
    Tensor& out) {
  if (!takes(out, start, end) || step.isComplex()) {
    return routing::ToCpuByName<Tensor&(
        const at::Scalar&,
        const at::Scalar&,
        const at::Scalar&,
        Tensor&)>::call("range.out", start, end, step, out);
  }
  const bool whole =
      c10::isIntegralType(out.scalar_type(), /*includeBool=*/false);
  const auto value = [&](const at::Scalar& number) {
    return whole ? static_cast<double>(number.toLong()) : number.toDouble();
  };
  FlSpace space{};
  space.start = value(start);
  space.step = value(step);
  const double last = value(end);
  TORCH_CHECK(space.step > 0 || space.step < 0, "step must be nonzero");
  TORCH_CHECK(
      std::isfinite(space.start) && std::isfinite(last),
      "unsupported range: ",
      space.start,
      " -> ",
      last);
  TORCH_CHECK(
      space.step > 0 ? last >= space.start : last <= space.start,
      "upper bound and lower bound inconsistent with step sign");
  space.n = static_cast<int64_t>((last - space.start) / space.step + 1);
  space.end = space.start + space.step * static_cast<double>(space.n - 1);
  const runtime::DeviceScope scope(out.device());
  const Tensor target = space_target(out, space.n);
  run_space(space, target, out);
  return out;
}

Tensor triangle(
    bool lower,
    int64_t rows,
    int64_t columns,
    int64_t offset,
    std::optional<at::ScalarType> dtype,
    std::optional<at::Layout> layout,
    std::optional<at::Device> device) {
  at::native::check_args(rows, columns, layout);
  const at::ScalarType type = dtype.value_or(at::kLong);
  TORCH_CHECK_NOT_IMPLEMENTED(
      type == at::kLong || type == at::kInt,
      lower ? "tril" : "triu",
      "_indices takes dtype int32 or int64, got ",
      type);
  const runtime::DeviceScope scope(
      device.value_or(at::Device(c10::DeviceType::PrivateUse1)));
  FlTriangle shape{};
  shape.rows = rows;
  shape.columns = columns;
  shape.diagonal = offset;
  shape.lower = lower ? 1 : 0;
  shape.count = lower
      ? at::native::get_tril_size(rows, columns, offset)
      : rows * columns - at::native::get_tril_size(rows, columns, offset - 1);
  Tensor out = make_dense({2, shape.count}, type);
  if (shape.count > 0) {
    FL_MUSA_CHECK(fl_triangle(
        kernel_type(type),
        out.unsafeGetTensorImpl()->mutable_data(),
        &shape,
        kernel_stream()));
  }
  return out;
}

template <bool lower>
Tensor triangle_indices(
    int64_t rows,
    int64_t columns,
    int64_t offset,
    std::optional<at::ScalarType> dtype,
    std::optional<at::Layout> layout,
    std::optional<at::Device> device,
    std::optional<bool> /*pin_memory*/) {
  return triangle(lower, rows, columns, offset, dtype, layout, device);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  routing::Registrar r(library);
  r.native<&linspace>("linspace.out");
  r.native<&logspace>("logspace.out");
  r.native<&range>("range.out");
  r.native<&triangle_indices<true>>("tril_indices");
  r.native<&triangle_indices<false>>("triu_indices");
}

} // namespace

} // namespace torch_fl::ops
