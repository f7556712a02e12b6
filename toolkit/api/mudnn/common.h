// SPDX-License-Identifier: Apache-2.0
// What muDNN's entry points share: operand views, checks, refusals, errors.
#pragma once

#include "toolkit/engine/dnn.h"
#include "toolkit/engine/error.h"
#include "toolkit/engine/runtime.h"
#include "toolkit/engine/thread_state.h"

#include "toolkit/include/mudnncxx/mudnn.h"

#include <algorithm>
#include <utility>

namespace musa::dnn {
inline namespace portable_1 {

// The library's way into the classes' private parts.
struct Access {
  static musa_standin::engine::View view(const Tensor& t) {
    musa_standin::engine::View v;
    v.address = t.address_;
    v.dims = t.dims_;
    v.strides = t.strides_;
    v.numel = t.numel_;
    v.rank = t.rank_;
    v.dtype = static_cast<musa_standin::engine::Dtype>(t.type_);
    v.layout = static_cast<musa_standin::engine::Layout>(t.format_);
    v.dense = t.dense_;
    v.scale = t.scale_;
    return v;
  }
  static int device(const Handle& h) { return h.device_; }
  static musaStream_t stream(const Handle& h) { return h.stream_; }
  static bool tf32(const Handle& h) { return h.allow_tf32_; }
  // Backward, the gradients stand in the places of what they belong to.
  template <class Algorithm = Convolution::Algorithm>
  static musa_standin::engine::ConvolutionArgs convolution(
      const Convolution& c,
      const Handle& h,
      const Tensor& out,
      const Tensor& in,
      const Tensor& filter,
      Algorithm algorithm = {}) {
    musa_standin::engine::ConvolutionArgs args;
    args.out = view(out);
    args.in = view(in);
    args.filter = view(filter);
    args.spatial = c.spatial_;
    args.groups = c.groups_;
    args.algorithm = static_cast<int>(algorithm);
    args.tf32 = c.compute_mode_ == Convolution::ComputeMode::TENSOR && tf32(h);
    std::copy_n(c.pad_, Convolution::kMaxSpatial, args.pad);
    std::copy_n(c.stride_, Convolution::kMaxSpatial, args.stride);
    std::copy_n(c.dilation_, Convolution::kMaxSpatial, args.dilation);
    return args;
  }
  static int mode(const Convolution::FusedActivationDesc& d) {
    return static_cast<int>(d.mode_);
  }
  static const double* coef(const Convolution::FusedActivationDesc& d) {
    return d.coef_;
  }
};

} // namespace portable_1
} // namespace musa::dnn

namespace musa_standin::api {

using engine::Dtype;
using engine::View;
using musa::dnn::Access;
using musa::dnn::Handle;
using musa::dnn::MemoryHandler;
using musa::dnn::MemoryMaintainer;
using musa::dnn::Status;
using musa::dnn::Tensor;

// "FLOAT", "BOOL"…
const char* type_name(Dtype type);

// One line on stderr, as the vendor's library prints for every refusal, also
// for those that its caller recovers from; returns the status.
[[gnu::cold, gnu::format(printf, 2, 3)]] Status
refuse(Status status, const char* format, ...);

// The status for an engine's error, with its line.
[[gnu::cold]] Status
failed(const char* name, musaError_t code, const char* what);

// Why the operand cannot be used, or null: rank 0, no address, a negative size.
inline const char* operand_fault(const View& v) {
  if (__builtin_expect(v.rank < 1, 0))
    return "has rank 0";
  if (__builtin_expect(v.address == nullptr && v.numel != 0, 0))
    return "has no address";
  for (int i = 0; i < v.rank; ++i) {
    if (__builtin_expect(v.dims[i] < 0, 0))
      return "has a negative size";
  }
  return nullptr;
}

inline bool same_dims(const View& a, const View& b) {
  if (a.rank != b.rank)
    return false;
  for (int i = 0; i < a.rank; ++i) {
    if (a.dims[i] != b.dims[i])
      return false;
  }
  return true;
}

// The vendor's device hangs on a negative stride.
inline bool has_negative_stride(const View& v) {
  if (__builtin_expect(v.dense, 1))
    return false;
  for (int i = 0; i < v.rank; ++i) {
    if (v.strides[i] < 0 && v.dims[i] > 1)
      return true;
  }
  return false;
}

// In place of that hang: the stream fails with a sticky LaunchFailure when it
// comes to the operator, and the call itself succeeds.
[[gnu::cold]] Status hang(engine::Stream& stream, const char* name);

// The axis from the front, or -1 if the rank does not have it.
inline int normal_axis(int axis, int rank) {
  const int at = axis < 0 ? axis + rank : axis;
  return at >= 0 && at < rank ? at : -1;
}

// Asks the maintainer for what the engine wants; releases on destruction, when
// the work is enqueued. The caller checks ok().
class WorkspaceScope {
 public:
  WorkspaceScope(
      engine::Family family,
      const View& in,
      const MemoryMaintainer& maintainer)
      : WorkspaceScope(engine::dnn().workspace_bytes(family, in), maintainer) {}
  WorkspaceScope(size_t bytes, const MemoryMaintainer& maintainer) {
    if (bytes == 0)
      return;
    if (maintainer)
      handler_ = maintainer(bytes);
    workspace_ = {handler_.get(), bytes};
    ok_ = handler_ != nullptr;
  }
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] engine::Workspace get() const { return workspace_; }

 private:
  MemoryHandler handler_;
  engine::Workspace workspace_;
  bool ok_ = true;
};

// Runs f(stream) behind the gate of every call and turns the engine's errors
// into a status.
template <class F>
inline Status run(const char* name, const Handle& handle, F&& f) {
  const musaError_t gate = engine::admit();
  if (__builtin_expect(gate != musaSuccess, 0))
    return failed(name, gate, "");
  const int device = Access::device(handle);
  if (__builtin_expect(device < 0, 0))
    return failed(name, musaErrorInvalidDevice, "the handle has no device");
  try {
    return std::forward<F>(f)(
        engine::resolve_stream(Access::stream(handle), device));
  } catch (const engine::Error& error) {
    return failed(name, error.code(), error.what());
  }
}

} // namespace musa_standin::api
