// SPDX-License-Identifier: Apache-2.0
// muDNN's Reduce, with the vendor's faults around strides.
#include "toolkit/api/mudnn/checks.h"
#include "toolkit/engine/fault.h"

#include <csignal>

namespace musa::dnn {
inline namespace portable_1 {

namespace api = musa_standin::api;
namespace engine = musa_standin::engine;

namespace {

using engine::Dtype;
using engine::ReduceArgs;
using engine::ReduceMode;
using engine::View;

// In the order of Reduce::Mode.
constexpr const char* kNames[] = {
    "MAX",
    "ADD",
    "MUL",
    "MEAN",
    "MIN",
    "PROD",
    "AND",
    "NORM",
    "OR",
    "MUL_NO_ZEROS",
    "L2LOSS",
    "MAX_UNSTABLE",
    "MIN_UNSTABLE",
    "VARIANCE",
    "STD",
};

const char* name_of(ReduceMode mode) {
  return kNames[static_cast<int>(mode)];
}

bool is_extreme(ReduceMode mode) {
  return mode == ReduceMode::kMax || mode == ReduceMode::kMin ||
      mode == ReduceMode::kMaxUnstable || mode == ReduceMode::kMinUnstable;
}

// Sums and products of integers: into the same type, or the widest of the
// kind.
bool widens(Dtype out, Dtype in) {
  const bool is_unsigned = in >= Dtype::kUint8 && in <= Dtype::kUint64;
  return engine::is_integral(in) &&
      (out == in || out == (is_unsigned ? Dtype::kUint64 : Dtype::kInt64));
}

bool accepts(ReduceMode mode, Dtype out, Dtype in) {
  const bool real = engine::is_floating(in) && out == in;
  switch (mode) {
  case ReduceMode::kAdd:
  case ReduceMode::kProd:
  case ReduceMode::kMul:
  case ReduceMode::kMulNoZeros:
    return real || widens(out, in) ||
        (in == Dtype::kBool && out == Dtype::kInt64);
  case ReduceMode::kMax:
  case ReduceMode::kMin:
  case ReduceMode::kMaxUnstable:
  case ReduceMode::kMinUnstable:
    return real ||
        (engine::is_integral(in) && in != Dtype::kUint64 && out == in);
  case ReduceMode::kAnd:
  case ReduceMode::kOr:
    return out == in && (in == Dtype::kBool || in == Dtype::kUint8);
  default:
    return real;
  }
}

// Every extent above one repeats a single element.
bool is_repeated(const View& in) {
  for (int d = 0; d < in.rank; ++d) {
    if (in.dims[d] > 1 && in.strides[d] != 0)
      return false;
  }
  return in.numel > 1;
}

enum class Shape { kSqueezed, kKept, kWrong };

Shape shape_of(const View& out, const View& in, uint32_t axes) {
  bool kept = out.rank == in.rank;
  for (int d = 0; kept && d < in.rank; ++d)
    kept = out.dims[d] == ((axes >> d & 1U) != 0 ? 1 : in.dims[d]);
  int rank = 0;
  bool squeezed = true;
  for (int d = 0; d < in.rank; ++d) {
    if ((axes >> d & 1U) != 0)
      continue;
    squeezed = squeezed && rank < out.rank && out.dims[rank] == in.dims[d];
    ++rank;
  }
  squeezed = squeezed &&
      (rank == out.rank || (rank == 0 && out.rank == 1 && out.dims[0] == 1));
  if (squeezed)
    return Shape::kSqueezed;
  return kept ? Shape::kKept : Shape::kWrong;
}

// The view with other sizes and strides; the arrays live here.
struct Restrided {
  View view;
  int64_t dims[engine::kMaxRank];
  int64_t strides[engine::kMaxRank];

  explicit Restrided(const View& from) : view(from) {
    for (int d = 0; d < from.rank; ++d) {
      dims[d] = from.dims[d];
      strides[d] = from.strides[d];
    }
    view.dims = dims;
    view.strides = strides;
  }
  Restrided(const Restrided&) = delete;
  Restrided& operator=(const Restrided&) = delete;
  ~Restrided() = default;

  void read_as_dense() {
    int64_t step = 1;
    for (int d = view.rank - 1; d >= 0; --d) {
      strides[d] = step;
      step *= dims[d];
    }
  }
  void first_output_only(uint32_t axes) {
    for (int d = 0; d < view.rank; ++d) {
      if ((axes >> d & 1U) == 0)
        dims[d] = 1;
    }
  }
};

const char* operands_fault(const ReduceArgs& args, Shape& shape) {
  if (const char* fault = api::operand_fault(args.in))
    return fault;
  if (args.in.numel == 0)
    return "is empty";
  for (const View* result : {&args.out, &args.indices}) {
    if (result->rank == 0)
      continue;
    if (const char* fault = api::operand_fault(*result))
      return fault;
    if (!result->dense)
      return "for a result is not dense";
    shape = shape_of(*result, args.in, args.axes);
    if (shape == Shape::kWrong)
      return "for a result has the wrong sizes";
  }
  return nullptr;
}

Status check(const ReduceArgs& args, Shape& shape) {
  if (const char* fault = operands_fault(args, shape))
    return api::refuse(
        Status::INVALID_PARAMETER,
        "Reduce: an operand %s",
        fault);
  const bool with_indices = args.indices.rank != 0;
  if (with_indices &&
      (!is_extreme(args.mode) || args.indices.dtype != Dtype::kInt64))
    return api::refuse(
        Status::NOT_SUPPORTED,
        "Reduce: indices are INT64, of MAX and MIN, not %s of %s",
        api::type_name(args.indices.dtype),
        name_of(args.mode));
  const Dtype out = args.out.rank != 0 ? args.out.dtype : args.in.dtype;
  if (!accepts(args.mode, out, args.in.dtype))
    return api::refuse(
        Status::NOT_SUPPORTED,
        "Unsupported reduce mode: %s, with in data type: %s, "
        "out data type: %s",
        name_of(args.mode),
        api::type_name(args.in.dtype),
        api::type_name(out));
  if (args.mode == ReduceMode::kNorm &&
      (args.order == 0.0F || args.order - args.order != 0.0F))
    return api::refuse(
        Status::NOT_SUPPORTED,
        "Unsupported norm order: %g",
        static_cast<double>(args.order));
  return Status::SUCCESS;
}

// With the engine's workspace.
Status start(
    engine::Stream& stream,
    ReduceArgs& args,
    const MemoryMaintainer& maintainer) {
  const api::OptionalWorkspace workspace(
      stream,
      engine::dnn().workspace_bytes(engine::Family::kReduce, args.in),
      maintainer);
  if (!workspace.ok())
    return api::refuse(Status::ALLOC_FAILED, "Reduce: no workspace");
  args.workspace = workspace.get();
  engine::dnn().reduce(stream, args);
  return Status::SUCCESS;
}

Status enqueue(
    engine::Stream& stream,
    ReduceArgs args,
    const MemoryMaintainer& maintainer) {
  Shape shape = Shape::kSqueezed;
  const Status status = check(args, shape);
  if (status != Status::SUCCESS)
    return status;
  if (api::has_negative_stride(args.in))
    return api::hang(stream, "Reduce");
  // Quirk 30: MUL succeeds and writes zeros.
  if (args.mode == ReduceMode::kMul) {
    engine::dnn().fill(stream, args.out, {0}, nullptr);
    return Status::SUCCESS;
  }
  if (args.in.dense)
    return start(stream, args, maintainer);
  const bool several_axes = (args.axes & (args.axes - 1)) != 0;
  const bool repeated = is_repeated(args.in);
  Restrided in(args.in);
  if (several_axes) {
    // Quirk 26: the vendor divides by zero here.
    if (repeated)
      std::raise(SIGFPE);
    // Quirk 28: strides are not looked at.
    if (!engine::planted("honest_reduce"))
      in.read_as_dense();
  }
  // Quirks 27 and 29.
  if (shape == Shape::kKept || (repeated && !several_axes))
    in.first_output_only(args.axes);
  args.in = in.view;
  return start(stream, args, maintainer);
}

} // namespace

Status Reduce::SetDim(int n, const int* dims) {
  if (n < 0 || n > engine::kMaxRank || (n > 0 && dims == nullptr))
    return api::refuse(Status::INVALID_PARAMETER, "Reduce: %d dimensions", n);
  for (int i = 0; i < n; ++i)
    dims_[i] = dims[i];
  count_ = n;
  return Status::SUCCESS;
}

namespace {

// The axes as bits; 0 if one does not exist or comes twice.
uint32_t axes_of(int count, const int* dims, int rank) {
  if (count == 0)
    return (1U << rank) - 1;
  uint32_t axes = 0;
  for (int i = 0; i < count; ++i) {
    const int axis = api::normal_axis(dims[i], rank);
    if (axis < 0 || (axes >> axis & 1U) != 0)
      return 0;
    axes |= 1U << axis;
  }
  return axes;
}

} // namespace

Status Reduce::Start(
    Handle& handle,
    const Tensor* out,
    const Tensor* indices,
    const Tensor& in,
    const MemoryMaintainer& maintainer) {
  return api::run("Reduce", handle, [&](engine::Stream& stream) {
    ReduceArgs args;
    args.mode = static_cast<ReduceMode>(mode_);
    args.correction = correction_;
    args.order = order_;
    args.in = Access::view(in);
    // A result that is asked for must be there.
    for (const Tensor* result : {out, indices}) {
      if (result != nullptr && Access::view(*result).rank == 0)
        return api::refuse(
            Status::INVALID_PARAMETER,
            "Reduce: an operand has rank 0");
    }
    if (out != nullptr)
      args.out = Access::view(*out);
    if (indices != nullptr)
      args.indices = Access::view(*indices);
    args.axes = axes_of(count_, dims_, args.in.rank);
    if (args.axes == 0)
      return api::refuse(
          Status::INVALID_PARAMETER,
          "Reduce: no such dimension, or rank 0");
    return enqueue(stream, args, maintainer);
  });
}

Status Reduce::Run(
    Handle& handle,
    Tensor& out,
    const Tensor& in,
    const MemoryMaintainer& maintainer) {
  return Start(handle, &out, nullptr, in, maintainer);
}

Status Reduce::RunWithIndices(
    Handle& handle,
    Tensor& out,
    Tensor& indices,
    const Tensor& in,
    const MemoryMaintainer& maintainer) {
  return Start(handle, &out, &indices, in, maintainer);
}

Status Reduce::RunIndices(
    Handle& handle,
    Tensor& indices,
    const Tensor& in,
    const MemoryMaintainer& maintainer) {
  return Start(handle, nullptr, &indices, in, maintainer);
}

} // namespace portable_1
} // namespace musa::dnn
