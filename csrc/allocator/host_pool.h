// SPDX-License-Identifier: Apache-2.0
// Pinned host memory: blocks of powers of two, kept for reuse.
#pragma once

#include "csrc/runtime/event.h"

#include <ATen/core/CachingHostAllocator.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace torch_fl::allocator {

struct HostBlock {
  void* address = nullptr;
  size_t bytes = 0;
  bool allocated = false;
  uint32_t pending_events = 0;
  // Streams whose present work may read or write it.
  std::vector<runtime::Stream> users;
};

// One mutex; nothing that may wait is called under it.
class HostPool {
 public:
  // Throws c10::OutOfMemoryError.
  HostBlock* allocate(size_t bytes);
  void free(HostBlock* block) noexcept;
  // False if the address is not in a block of ours.
  bool record(const void* address, const runtime::Stream& stream);
  bool owns(const void* address);
  void empty_cache();
  // As in DevicePool.
  void settle();
  void free_deferred() noexcept;

  at::HostStats stats();
  void reset_accumulated_stats();
  void reset_peak_stats();

 private:
  using Lock = std::unique_lock<std::mutex>;
  struct PendingFree {
    runtime::Event event;
    HostBlock* block;
  };

  HostBlock* find(const void* address);
  HostBlock* new_block(Lock& lock, size_t size_class);
  void put_back(HostBlock* block);
  void free_after_users(HostBlock* block) noexcept;
  void process_events();
  void release_free(Lock& lock);

  std::mutex mutex_;
  std::map<uintptr_t, HostBlock*> blocks_;
  std::array<std::vector<HostBlock*>, 64> free_;
  std::unordered_map<musaStream_t, std::deque<PendingFree>> pending_;
  // Given back during a capture, with users.
  std::vector<HostBlock*> deferred_;
  at::HostStats stats_;
};

} // namespace torch_fl::allocator
