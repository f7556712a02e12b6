// SPDX-License-Identifier: Apache-2.0
// How the engine ends: before the libraries that its tasks stand in.
#pragma once

#include <atomic>
#include <cstdint>

namespace musa_standin::engine::cpu {

// The running tasks end, the rest is dropped, waiting threads are released.
void stop_engine() noexcept;

// Has the process's exit call stop_engine() before it ends anything that was
// made up to now.
void arm_exit();

// Kinds of oneDNN primitives, each of which makes objects on its first use
// that the process's exit destroys.
enum class PrimitiveKind : uint8_t {
  kGemm,
  kMatmul,
  kConvolution,
  kConvolutionBackwardData,
  kConvolutionBackwardWeights,
  kPooling,
  kReorder,
  kOther,
};

extern std::atomic<uint32_t> g_used_primitives;

// A task calls this after a primitive of the kind has run: from the first time
// on the exit stops the engine before those objects go.
inline void onednn_used(PrimitiveKind kind) {
  const uint32_t bit = 1U << static_cast<uint32_t>(kind);
  if ((g_used_primitives.load(std::memory_order_relaxed) & bit) == 0 &&
      (g_used_primitives.fetch_or(bit) & bit) == 0) {
    arm_exit();
  }
}

} // namespace musa_standin::engine::cpu
