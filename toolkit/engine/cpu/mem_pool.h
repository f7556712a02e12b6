// SPDX-License-Identifier: Apache-2.0
// Memory pools: blocks that are allocated and released in stream order.
#pragma once

#include "toolkit/engine/cpu/stream.h"
#include "toolkit/engine/runtime.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

namespace musa_standin::engine::cpu {

class MemPool final : public engine::MemPool {
 public:
  explicit MemPool(Device& device) : device_(device) {}
  MemPool(const MemPool&) = delete;
  MemPool& operator=(const MemPool&) = delete;

  // Memory for what comes next on the stream.
  void* allocate(size_t bytes, Stream& stream);
  // A block of this pool is free at the mark.
  void release(void* pointer, const Mark& mark);
  // A block of this pool was given back to the device by musaFree.
  void forget(void* pointer);
  // Gives back free blocks until at most this many bytes are reserved.
  void trim(size_t keep_bytes);
  // What a synchronise call does: trims to the release threshold.
  void trim_to_threshold();
  // All blocks are gone.
  void clear();
  // Live blocks stay valid, and go back to the device when they are released.
  // True if there are none.
  bool close();

  void set_attribute(musaMemPoolAttr attribute, const void* value);
  void attribute(musaMemPoolAttr attribute, void* value);

  [[nodiscard]] Device& device() const { return device_; }
  void set_max_bytes(size_t bytes) { max_bytes_ = bytes; }

 private:
  struct FreeBlock {
    uintptr_t begin;
    Mark mark;
  };
  using FreeBlocks = std::multimap<size_t, FreeBlock>;

  void* take_free(size_t size, const Stream& stream);
  void* take_new(size_t size);
  void trim_locked(size_t keep_bytes);

  Device& device_;
  std::mutex mutex_;
  FreeBlocks free_; // by size
  std::map<uintptr_t, size_t> live_;
  size_t reserved_ = 0;
  size_t used_ = 0;
  size_t reserved_high_ = 0;
  size_t used_high_ = 0;
  uint64_t threshold_ = 0;
  int reuse_[3] = {1, 1, 1};
  size_t max_bytes_ = 0; // 0: as much as the device has
  bool closed_ = false;
};

// Pools of a device that is reset: all but the default one are gone.
void reset_pools(Device& device);
// After a wait for the device: what pools need not keep goes back.
void trim_pools(Device& device);
// When the device is short of memory: all that nobody uses goes back.
void empty_pools(Device& device);
MemPool& default_pool(Device& device);
MemPool& current_pool(Device& device);
// Throws InvalidValue for another device's pool.
void set_current_pool(Device& device, MemPool& pool);
// A live pool's handle; throws InvalidValue.
MemPool& find_pool(musaMemPool_t handle);
MemPool& make_pool(Device& device, size_t max_bytes);
void destroy_pool(MemPool& pool);

} // namespace musa_standin::engine::cpu
