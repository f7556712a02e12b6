// SPDX-License-Identifier: Apache-2.0
// Torch's interface to the pool of pinned host memory.
#include "csrc/allocator/host_allocator.h"

#include "csrc/allocator/host_pool.h"
#include "csrc/runtime/fork.h"

#include <cstring>

namespace torch_fl::allocator {
namespace {

// Never destroyed: tensors are freed as late as the exit.
HostPool& pool() {
  static auto* const instance = new HostPool();
  return *instance;
}

void give_back(void* context) {
  // Another thread may have held the mutex when the process was forked.
  if (!runtime::is_in_bad_fork()) {
    pool().free(static_cast<HostBlock*>(context));
  }
}

class Allocator final : public at::HostAllocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    const c10::Device cpu(c10::DeviceType::CPU);
    if (bytes == 0) {
      return {nullptr, cpu};
    }
    HostBlock* block = pool().allocate(bytes);
    return {block->address, block, &give_back, cpu};
  }

  // Null: a DataPtr's context is a block, not the address.
  c10::DeleterFnPtr raw_deleter() const override { return nullptr; }

  void copy_data(void* dst, const void* src, size_t bytes) const override {
    std::memcpy(dst, src, bytes);
  }

  bool record_event(void* address, void*, c10::Stream stream) override {
    return pool().record(address, runtime::Stream(stream));
  }

  void empty_cache() override {
    if (!runtime::is_in_bad_fork()) {
      pool().empty_cache();
    }
  }

  at::HostStats get_stats() override { return pool().stats(); }

  void reset_accumulated_stats() override { pool().reset_accumulated_stats(); }

  void reset_peak_stats() override { pool().reset_peak_stats(); }
};

Allocator& instance() {
  static auto* const allocator = new Allocator();
  return *allocator;
}

const at::HostAllocatorRegistry<c10::DeviceType::PrivateUse1> kRegistered(
    &instance());

} // namespace

at::HostAllocator* host_allocator() {
  return &instance();
}

bool is_pinned(const void* host_pointer) {
  if (host_pointer == nullptr || !runtime::is_initialized() ||
      runtime::is_in_bad_fork()) {
    return false;
  }
  if (pool().owns(host_pointer)) {
    return true;
  }
  // Somebody else's: an address that musart does not know may be an error,
  // which must not come up in a later call.
  musaPointerAttributes attributes{};
  if (musaPointerGetAttributes(&attributes, host_pointer) != musaSuccess) {
    static_cast<void>(musaGetLastError());
    return false;
  }
  return attributes.type == musaMemoryTypeHost;
}

void record_event(
    const void* host_pointer,
    void*,
    const runtime::Stream& stream) {
  static_cast<void>(pool().record(host_pointer, stream));
}

void settle_host() {
  pool().settle();
}

void free_deferred_host() noexcept {
  pool().free_deferred();
}

} // namespace torch_fl::allocator
