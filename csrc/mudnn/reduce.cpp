// SPDX-License-Identifier: Apache-2.0
// Reductions on muDNN, around its defects with strides, broadcasts and shapes.
#include "csrc/mudnn/reduce.h"

#include "csrc/allocator/device_allocator.h"
#include "csrc/mudnn/copy.h"
#include "csrc/mudnn/handle.h"
#include "csrc/mudnn/tensor_view.h"
#include "csrc/mudnn/workspace.h"

#include <ATen/EmptyTensor.h>

#include <array>

namespace torch_fl::mudnn {

namespace {

using Descriptor = ::musa::dnn::Tensor;
constexpr int kMaxRank = 8;

at::Tensor make(at::IntArrayRef sizes, at::ScalarType dtype) {
  return at::detail::empty_generic(
      sizes,
      allocator::device_allocator(),
      c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
      dtype,
      std::nullopt);
}

at::Tensor dense_in(const at::Tensor& in, at::ScalarType dtype) {
  at::Tensor made = make(in.sizes(), dtype);
  copy(made, in);
  return made;
}

// A tensor's dimensions with neighbours merged that are reduced or kept
// together and lie in one run of memory; those of extent 1 are dropped.
struct Plan {
  int rank = 0;
  int reduced = 0;
  bool all_broadcast = true;
  std::array<int64_t, 64> sizes{};
  std::array<int64_t, 64> strides{};
  std::array<bool, 64> gone{};

  Plan(const at::Tensor& in, const DimMask& dims) {
    for (int64_t d = 0; d < in.dim(); ++d) {
      const int64_t size = in.size(d);
      if (size != 1) {
        add(size, in.stride(d), dims[static_cast<size_t>(d)]);
      }
    }
    for (int i = 0; i < rank; ++i) {
      const auto at = static_cast<size_t>(i);
      reduced += static_cast<int>(gone[at]);
      all_broadcast = all_broadcast && strides[at] == 0;
    }
  }

 private:
  void add(int64_t size, int64_t stride, bool goes) {
    if (rank > 0) {
      const auto last = static_cast<size_t>(rank - 1);
      if (gone[last] == goes && strides[last] == size * stride) {
        sizes[last] *= size;
        strides[last] = stride;
        return;
      }
    }
    const auto at = static_cast<size_t>(rank++);
    sizes[at] = size;
    strides[at] = stride;
    gone[at] = goes;
  }
};

// Whether muDNN computes the right thing from these strides: several axes are
// read as dense (quirk 28), and a tensor that is broadcast whole breaks
// (quirks 26 and 27).
bool reads_right(const Plan& plan, const at::Tensor& in) {
  if (plan.rank > 0 && plan.all_broadcast) {
    return false;
  }
  return plan.reduced <= 1 || in.is_contiguous();
}

struct Shapes {
  Descriptor in;
  std::array<int64_t, kMaxRank> kept{};
  int kept_rank = 0;
  std::array<int, kMaxRank> axes{};
  int axis_count = 0;

  Shapes(const Plan& plan, const at::Tensor& tensor) {
    TORCH_CHECK_NOT_IMPLEMENTED(
        plan.rank <= kMaxRank,
        "flagos reduces at most ",
        kMaxRank,
        " dimensions that cannot be merged, got ",
        plan.rank);
    for (int i = 0; i < plan.rank; ++i) {
      const auto at = static_cast<size_t>(i);
      if (plan.gone[at]) {
        axes[static_cast<size_t>(axis_count++)] = i;
      } else {
        kept[static_cast<size_t>(kept_rank++)] = plan.sizes[at];
      }
    }
    // The squeezed shape: with reduced axes kept as 1 only out[0] is written
    // from a strided input (quirk 29).
    if (kept_rank == 0) {
      kept[0] = 1;
      kept_rank = 1;
    }
    FL_MUDNN_CHECK(in.SetType(required_dnn_type(tensor.scalar_type())));
    FL_MUDNN_CHECK(in.SetAddr(tensor.unsafeGetTensorImpl()->data()));
    FL_MUDNN_CHECK(
        in.SetNdInfo(plan.rank, plan.sizes.data(), plan.strides.data()));
  }

  Descriptor out(const at::Tensor& tensor) const {
    Descriptor view;
    FL_MUDNN_CHECK(view.SetType(required_dnn_type(tensor.scalar_type())));
    FL_MUDNN_CHECK(view.SetAddr(tensor.unsafeGetTensorImpl()->mutable_data()));
    FL_MUDNN_CHECK(view.SetNdInfo(kept_rank, kept.data()));
    return view;
  }
};

// `in` in the computing dtype, laid out so that muDNN reads it right.
at::Tensor
prepared(const at::Tensor& in, const DimMask& dims, at::ScalarType compute) {
  if (in.scalar_type() != compute) {
    return dense_in(in, compute);
  }
  return reads_right(Plan(in, dims), in) ? in : dense_in(in, compute);
}

// Where muDNN writes: `out` itself if it is dense and of that dtype.
at::Tensor target(const at::Tensor& out, at::ScalarType dtype) {
  return out.scalar_type() == dtype && out.is_contiguous()
      ? out
      : make(out.sizes(), dtype);
}

void deliver(const at::Tensor& out, const at::Tensor& from) {
  if (!from.is_same(out)) {
    copy(out, from);
  }
}

// What is left of a reduction of nothing but extents of 1.
bool is_copy(ReduceMode mode) {
  return mode != ReduceMode::NORM && mode != ReduceMode::VARIANCE &&
      mode != ReduceMode::STD;
}

} // namespace

void reduce(
    const at::Tensor& out,
    const at::Tensor& in,
    const DimMask& dims,
    ReduceMode mode,
    at::ScalarType compute,
    const ReduceOptions& options) {
  const at::Tensor source = prepared(in, dims, compute);
  Plan plan(source, dims);
  if (plan.reduced == 0) {
    if (is_copy(mode)) {
      copy(out, source.reshape(out.sizes()));
      return;
    }
    // One element each: an axis of 1 to reduce.
    const auto at = static_cast<size_t>(plan.rank++);
    plan.sizes[at] = 1;
    plan.strides[at] = 1;
    plan.gone[at] = true;
    plan.reduced = 1;
  }
  const Shapes shapes(plan, source);
  const at::Tensor result = target(out, compute);
  Descriptor to = shapes.out(result);
  ::musa::dnn::Reduce op;
  FL_MUDNN_CHECK(op.SetMode(mode));
  FL_MUDNN_CHECK(op.SetDim(shapes.axis_count, shapes.axes.data()));
  if (mode == ReduceMode::NORM) {
    FL_MUDNN_CHECK(op.SetNormOrd(options.order));
  } else if (mode == ReduceMode::VARIANCE || mode == ReduceMode::STD) {
    // The default is 1, unbiased (quirk 31).
    FL_MUDNN_CHECK(op.SetCorrection(options.correction));
  }
  FL_MUDNN_CHECK(op.Run(plain_handle(), to, shapes.in, workspace()));
  deliver(out, result);
}

void reduce_dense(
    const at::Tensor& out,
    const at::Tensor& in,
    ReduceMode mode) {
  const int64_t one = 1;
  const int64_t numel = in.numel();
  const int axis = 0;
  const auto type = required_dnn_type(in.scalar_type());
  Descriptor from;
  Descriptor to;
  FL_MUDNN_CHECK(from.SetType(type));
  FL_MUDNN_CHECK(from.SetAddr(in.unsafeGetTensorImpl()->data()));
  FL_MUDNN_CHECK(from.SetNdInfo(1, &numel));
  FL_MUDNN_CHECK(to.SetType(type));
  FL_MUDNN_CHECK(to.SetAddr(out.unsafeGetTensorImpl()->mutable_data()));
  FL_MUDNN_CHECK(to.SetNdInfo(1, &one));
  ::musa::dnn::Reduce op;
  FL_MUDNN_CHECK(op.SetMode(mode));
  FL_MUDNN_CHECK(op.SetDim(1, &axis));
  FL_MUDNN_CHECK(op.Run(plain_handle(), to, from, workspace()));
}

void reduce_with_indices(
    const at::Tensor& out,
    const at::Tensor& indices,
    const at::Tensor& in,
    int64_t dim,
    ReduceMode mode,
    at::ScalarType compute) {
  DimMask dims;
  dims.set(static_cast<size_t>(dim));
  const at::Tensor source = prepared(in, dims, compute);
  Plan plan(source, dims);
  if (plan.reduced == 0) {
    const auto at = static_cast<size_t>(plan.rank++);
    plan.sizes[at] = 1;
    plan.strides[at] = 1;
    plan.gone[at] = true;
  }
  const Shapes shapes(plan, source);
  const at::Tensor places = target(indices, at::kLong);
  Descriptor place = shapes.out(places);
  ::musa::dnn::Reduce op;
  FL_MUDNN_CHECK(op.SetMode(mode));
  FL_MUDNN_CHECK(op.SetDim(shapes.axis_count, shapes.axes.data()));
  if (out.defined()) {
    const at::Tensor values = target(out, compute);
    Descriptor value = shapes.out(values);
    FL_MUDNN_CHECK(op.RunWithIndices(
        plain_handle(),
        value,
        place,
        shapes.in,
        workspace()));
    deliver(out, values);
  } else {
    FL_MUDNN_CHECK(
        op.RunIndices(plain_handle(), place, shapes.in, workspace()));
  }
  deliver(indices, places);
}

} // namespace torch_fl::mudnn
