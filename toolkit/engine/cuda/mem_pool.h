// SPDX-License-Identifier: Apache-2.0
// Memory pools: handles of ours in front of CUDA's.
#pragma once

#include "toolkit/engine/cuda/stream.h"
#include "toolkit/engine/handle_table.h"
#include "toolkit/engine/runtime.h"

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstddef>

namespace musa_standin::engine::cuda {

class MemPool final : public engine::MemPool {
 public:
  void open(int device, cudaMemPool_t native) {
    device_ = device;
    native_ = native;
    alive_.store(true, std::memory_order_release);
  }
  [[nodiscard]] int device() const noexcept { return device_; }
  [[nodiscard]] cudaMemPool_t native() const noexcept { return native_; }
  [[nodiscard]] bool alive() const noexcept {
    return alive_.load(std::memory_order_acquire);
  }
  // True for one caller.
  bool kill() noexcept { return alive_.exchange(false); }

  void set_attribute(musaMemPoolAttr attribute, const void* value);
  void attribute(musaMemPoolAttr attribute, void* value);
  void trim(size_t keep_bytes);

 private:
  int device_ = 0;
  cudaMemPool_t native_ = nullptr;
  std::atomic<bool> alive_{false};
};

// max_bytes 0: as much as the device has.
MemPool& make_pool(int device, size_t max_bytes);
// A live pool's handle; throws InvalidValue.
MemPool& find_pool(musaMemPool_t handle);
// Live blocks stay valid, and go back to the device when they are released.
void destroy_pool(MemPool& pool);

// The device's own first pool, which is not CUDA's: others in the process have
// that one.
MemPool& default_pool(int device);
MemPool& current_pool(int device);
// Throws InvalidValue for another device's pool.
void set_current_pool(int device, MemPool& pool);

void* allocate_async(MemPool& pool, size_t bytes, Stream& stream);
void release_async(void* pointer, Stream& stream);

// When the device is short of memory: all that nobody uses goes back.
void empty_pools(int device);
// A device is reset: its pools are gone, and it begins with a new first one.
void drop_pools(int device, bool context_is_gone);
// The peer may, or may no longer, reach the memory of the device's pools.
void open_pools_to(int device, int peer, bool open);

} // namespace musa_standin::engine::cuda
