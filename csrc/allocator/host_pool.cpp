// SPDX-License-Identifier: Apache-2.0
// Allocates, keeps and gives back pinned host memory.
#include "csrc/allocator/host_pool.h"

#include "csrc/allocator/out_of_memory.h"
#include "csrc/runtime/fork.h"
#include "csrc/runtime/graph.h"

#include <c10/util/llvmMathExtras.h>

#include <chrono>
#include <string>

namespace torch_fl::allocator {
namespace {

// Blocks are at least a page, so that copies do not share one.
constexpr size_t kSmallestClass = 12;
constexpr size_t kLargestClass = 62;

size_t class_of(size_t bytes) {
  const size_t result = c10::llvm::Log2_64_Ceil(bytes);
  return result < kSmallestClass ? kSmallestClass : result;
}

template <class Call>
int64_t microseconds(const Call& call) {
  const auto start = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::steady_clock::now() - start)
      .count();
}

} // namespace

HostBlock* HostPool::allocate(size_t bytes) {
  runtime::require_device();
  const size_t size_class = class_of(bytes);
  TORCH_CHECK_WITH(
      OutOfMemoryError,
      size_class <= kLargestClass,
      "flagos cannot allocate ",
      bytes,
      " bytes of pinned host memory.");
  Lock lock(mutex_);
  process_events();
  std::vector<HostBlock*>& free = free_[size_class];
  HostBlock* block = nullptr;
  if (free.empty()) {
    block = new_block(lock, size_class);
  } else {
    block = free.back();
    free.pop_back();
  }
  block->allocated = true;
  stats_.active_requests.increase(1);
  stats_.active_bytes.increase(block->bytes);
  return block;
}

HostBlock* HostPool::new_block(Lock& lock, size_t size_class) {
  const size_t bytes = size_t{1} << size_class;
  lock.unlock();
  void* address = nullptr;
  musaError_t code = musaSuccess;
  const auto allocate = [&] {
    const runtime::UnguardedScope unguarded;
    code = musaHostAlloc(&address, bytes, musaHostAllocPortable);
  };
  int64_t time = microseconds(allocate);
  if (code == musaErrorMemoryAllocation) {
    static_cast<void>(musaGetLastError());
    empty_cache();
    time += microseconds(allocate);
  }
  runtime::mark_used(runtime::current_device());
  lock.lock();
  if (code == musaErrorMemoryAllocation) {
    static_cast<void>(musaGetLastError());
    TORCH_CHECK_WITH(
        OutOfMemoryError,
        false,
        "flagos out of pinned host memory. Tried to allocate ",
        format_bytes(bytes),
        ". ",
        format_bytes(static_cast<size_t>(stats_.active_bytes.current)),
        " is in use and ",
        format_bytes(static_cast<size_t>(
            stats_.allocated_bytes.current - stats_.active_bytes.current)),
        " is cached; fewer or smaller pinned tensors are needed.");
  }
  if (code != musaSuccess) {
    runtime::raise(code, "musaHostAlloc", __FILE__, __LINE__);
  }
  auto* block = new HostBlock();
  block->address = address;
  block->bytes = bytes;
  blocks_.emplace(reinterpret_cast<uintptr_t>(address), block);
  stats_.allocations.increase(1);
  stats_.allocated_bytes.increase(bytes);
  stats_.host_alloc_time.increase(time);
  ++stats_.num_host_alloc;
  ++stats_.bucket_allocation[size_class];
  return block;
}

void HostPool::free(HostBlock* block) noexcept {
  {
    const Lock lock(mutex_);
    block->allocated = false;
    stats_.active_requests.decrease(1);
    stats_.active_bytes.decrease(block->bytes);
    if (block->users.empty()) {
      put_back(block);
      return;
    }
    if (runtime::captures_underway()) {
      deferred_.push_back(block);
      return;
    }
  }
  free_after_users(block);
}

void HostPool::settle() {
  const Lock lock(mutex_);
}

void HostPool::free_deferred() noexcept {
  std::vector<HostBlock*> blocks;
  {
    const Lock lock(mutex_);
    blocks.swap(deferred_);
  }
  for (HostBlock* block : blocks) {
    free_after_users(block);
  }
}

// The block is in no list: its users are nobody else's.
void HostPool::free_after_users(HostBlock* block) noexcept {
  std::vector<runtime::Event> events;
  std::vector<musaStream_t> streams;
  for (const runtime::Stream& user : block->users) {
    try {
      events.emplace_back(user);
      streams.push_back(user.handle());
    } catch (const c10::Error& error) {
      runtime::warn_text(
          std::string("a stream that used pinned memory cannot be waited for, "
                      "so its device is: ") +
          error.what_without_backtrace());
      const runtime::DeviceScope scope(user.device());
      FL_MUSA_WARN(musaDeviceSynchronize());
    }
  }
  const Lock lock(mutex_);
  block->users.clear();
  if (events.empty()) {
    put_back(block);
    return;
  }
  block->pending_events = static_cast<uint32_t>(events.size());
  for (size_t i = 0; i < events.size(); ++i) {
    pending_[streams[i]].push_back({std::move(events[i]), block});
  }
}

bool HostPool::record(const void* address, const runtime::Stream& stream) {
  const Lock lock(mutex_);
  HostBlock* block = find(address);
  if (block == nullptr) {
    return false;
  }
  for (const runtime::Stream& user : block->users) {
    if (user == stream) {
      return true;
    }
  }
  block->users.push_back(stream);
  return true;
}

bool HostPool::owns(const void* address) {
  const Lock lock(mutex_);
  return find(address) != nullptr;
}

HostBlock* HostPool::find(const void* address) {
  const auto at = reinterpret_cast<uintptr_t>(address);
  auto next = blocks_.upper_bound(at);
  if (next == blocks_.begin()) {
    return nullptr;
  }
  HostBlock* block = std::prev(next)->second;
  const bool inside =
      at - reinterpret_cast<uintptr_t>(block->address) < block->bytes;
  return inside && block->allocated ? block : nullptr;
}

void HostPool::put_back(HostBlock* block) {
  free_[class_of(block->bytes)].push_back(block);
}

void HostPool::process_events() {
  if (runtime::captures_underway()) {
    return;
  }
  for (auto entry = pending_.begin(); entry != pending_.end();) {
    std::deque<PendingFree>& queue = entry->second;
    while (!queue.empty() && queue.front().event.query()) {
      HostBlock* block = queue.front().block;
      queue.pop_front();
      if (--block->pending_events == 0) {
        put_back(block);
      }
    }
    entry = queue.empty() ? pending_.erase(entry) : std::next(entry);
  }
}

void HostPool::empty_cache() {
  Lock lock(mutex_);
  process_events();
  if (!runtime::captures_underway()) {
    release_free(lock);
  }
}

void HostPool::release_free(Lock& lock) {
  std::vector<HostBlock*> blocks;
  for (std::vector<HostBlock*>& free : free_) {
    blocks.insert(blocks.end(), free.begin(), free.end());
    free.clear();
  }
  if (blocks.empty()) {
    return;
  }
  for (const HostBlock* block : blocks) {
    blocks_.erase(reinterpret_cast<uintptr_t>(block->address));
  }
  lock.unlock();
  const int64_t time = microseconds([&blocks] {
    for (const HostBlock* block : blocks) {
      FL_MUSA_WARN(musaFreeHost(block->address));
    }
  });
  lock.lock();
  stats_.host_free_time.increase(time);
  for (const HostBlock* block : blocks) {
    stats_.allocations.decrease(1);
    stats_.allocated_bytes.decrease(block->bytes);
    ++stats_.num_host_free;
    delete block;
  }
}

at::HostStats HostPool::stats() {
  const Lock lock(mutex_);
  return stats_;
}

void HostPool::reset_accumulated_stats() {
  const Lock lock(mutex_);
  stats_.active_requests.reset_accumulated();
  stats_.active_bytes.reset_accumulated();
  stats_.allocations.reset_accumulated();
  stats_.allocated_bytes.reset_accumulated();
  stats_.host_alloc_time.reset_accumulated();
  stats_.host_free_time.reset_accumulated();
  stats_.num_host_alloc = 0;
  stats_.num_host_free = 0;
}

void HostPool::reset_peak_stats() {
  const Lock lock(mutex_);
  stats_.active_requests.reset_peak();
  stats_.active_bytes.reset_peak();
  stats_.allocations.reset_peak();
  stats_.allocated_bytes.reset_peak();
  stats_.host_alloc_time.reset_peak();
  stats_.host_free_time.reset_peak();
}

} // namespace torch_fl::allocator
