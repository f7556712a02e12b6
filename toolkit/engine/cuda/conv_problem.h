// SPDX-License-Identifier: Apache-2.0
// A convolution pass in cuDNN's graph API: what it depends on, and the ways
// that cuDNN has for it, the ones that it holds for fast first.
#pragma once

#include <cudnn.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace musa_standin::engine::cuda {

enum class ConvPass : int32_t { kForward, kBackwardData, kBackwardFilter };

constexpr int kMaxSpatial = 3;

// Compared byte by byte, so without padding. Of spatial dimensions that are
// not there all sizes are 0.
struct ConvKey {
  ConvPass pass;
  int32_t dtype; // of engine::Dtype
  int32_t tf32;
  int32_t spatial;
  int32_t groups;
  int32_t images_last; // channels after the spatial dimensions
  int32_t filter_last;
  int32_t align_in; // bytes of the address's alignment, at most 16
  int32_t align_filter;
  int32_t align_out;
  int32_t pad[kMaxSpatial];
  int32_t stride[kMaxSpatial];
  int32_t dilation[kMaxSpatial];
  int32_t unused; // 0
  int64_t n;
  int64_t ic;
  int64_t oc;
  int64_t in[kMaxSpatial];
  int64_t out[kMaxSpatial];
  int64_t kernel[kMaxSpatial];
};

// Owner of a backend descriptor.
class CudnnDescriptor {
 public:
  CudnnDescriptor() = default;
  explicit CudnnDescriptor(cudnnBackendDescriptorType_t type);
  CudnnDescriptor(CudnnDescriptor&& other) noexcept
      : handle_(std::exchange(other.handle_, nullptr)) {}
  CudnnDescriptor& operator=(CudnnDescriptor&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~CudnnDescriptor();

  [[nodiscard]] cudnnBackendDescriptor_t get() const { return handle_; }
  // These throw what cuDNN refuses.
  template <class T>
  void set(
      cudnnBackendAttributeName_t name,
      cudnnBackendAttributeType_t type,
      int64_t count,
      const T* values) {
    set_bytes(name, type, count, static_cast<const void*>(values));
  }
  void set(cudnnBackendAttributeName_t name, const CudnnDescriptor& value);
  void set(cudnnBackendAttributeName_t name, int64_t value);
  // At most `count` values; returns how many there are.
  template <class T>
  int64_t get(
      cudnnBackendAttributeName_t name,
      cudnnBackendAttributeType_t type,
      int64_t count,
      T* values) const {
    return get_bytes(name, type, count, static_cast<void*>(values));
  }
  void finalize();

 private:
  void set_bytes(
      cudnnBackendAttributeName_t name,
      cudnnBackendAttributeType_t type,
      int64_t count,
      const void* values);
  int64_t get_bytes(
      cudnnBackendAttributeName_t name,
      cudnnBackendAttributeType_t type,
      int64_t count,
      void* values) const;
  cudnnBackendDescriptor_t handle_ = nullptr;
};

// What cuDNN proposes for a graph, best first, at most so many; nothing where
// the heuristic does not apply.
std::vector<CudnnDescriptor> cudnn_proposals(
    const CudnnDescriptor& graph,
    cudnnBackendHeurMode_t mode,
    int64_t most);

struct ConvPointers {
  void* in = nullptr;
  void* filter = nullptr;
  void* out = nullptr;
};

struct ConvCandidate {
  CudnnDescriptor config; // of an engine
  bool deterministic = false;
};

struct ConvPlan {
  CudnnDescriptor plan;
  size_t workspace_bytes = 0;
  bool deterministic = false;
  // The last call's addresses: a training step mostly brings the same again.
  CudnnDescriptor pack;
  ConvPointers packed;
  void* packed_workspace = nullptr;
};

// For the thread that has the handle.
class ConvProblem {
 public:
  ConvProblem(cudnnHandle_t handle, const ConvKey& key);

  // Number 0 is the first way that gives the same bits in every run, null if
  // cuDNN has none; from 1 on come the other ways that work, null behind the
  // last. Plans are made when they are asked for.
  ConvPlan* plan(int algorithm);

  // The number of the way that the heuristic holds for fastest: 0 or 1.
  int recommended();

 private:
  // In the heuristic's order; null if fewer work.
  ConvPlan* proposal(size_t rank);
  // Among the proposals; their count if there is none.
  size_t first_deterministic();

  CudnnDescriptor graph_;
  std::vector<ConvCandidate> candidates_;
  size_t tried_ = 0;
  std::vector<ConvPlan> plans_;
  std::vector<ConvPlan> big_; // that want more workspace than is reasonable
  cudnnHandle_t handle_;
};

// Enqueues on the handle's stream.
void run_plan(
    cudnnHandle_t handle,
    ConvPlan& plan,
    const ConvPointers& pointers,
    void* workspace);

} // namespace musa_standin::engine::cuda
