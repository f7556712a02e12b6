// SPDX-License-Identifier: Apache-2.0
// Torch's interface to the pools of all devices.
#include "csrc/allocator/device_allocator.h"

#include "csrc/allocator/device_pool.h"
#include "csrc/allocator/host_allocator.h"
#include "csrc/runtime/device_table.h"
#include "csrc/runtime/environment.h"
#include "csrc/runtime/fork.h"
#include "csrc/runtime/memcpy.h"

#include <array>
#include <atomic>
#include <mutex>

namespace torch_fl::allocator {
namespace {

constexpr c10::DeviceType kFlagos = c10::DeviceType::PrivateUse1;

std::atomic<bool> reports{false};

// Made at the first allocation on a device and never destroyed: tensors are
// freed as late as the exit.
std::array<std::atomic<DevicePool*>, runtime::kMaxDevices> pools{};
std::array<std::atomic<double>, runtime::kMaxDevices> fractions{};

DevicePool& make_pool(c10::DeviceIndex index) {
  static std::mutex mutex;
  const c10::DeviceIndex device = runtime::checked_index(index);
  const std::lock_guard<std::mutex> lock(mutex);
  std::atomic<DevicePool*>& slot = pools[runtime::table_place(device)];
  DevicePool* pool = slot.load(std::memory_order_relaxed);
  if (pool == nullptr) {
    pool = new DevicePool(device);
    slot.store(pool, std::memory_order_release);
  }
  return *pool;
}

DevicePool& pool_of(c10::DeviceIndex index) {
  DevicePool* pool =
      pools[runtime::table_place(index)].load(std::memory_order_acquire);
  return C10_LIKELY(pool != nullptr) ? *pool : make_pool(index);
}

void report(const Block& block, bool allocated) {
  const auto totals = pool_of(block.device).totals();
  const auto bytes = static_cast<int64_t>(block.bytes);
  c10::reportMemoryUsageToProfiler(
      block.address,
      allocated ? bytes : -bytes,
      totals.first,
      totals.second,
      c10::Device(kFlagos, block.device));
}

void give_back(void* context) {
  // Another thread may have held the mutex when the process was forked.
  if (C10_UNLIKELY(runtime::is_in_bad_fork())) {
    return;
  }
  auto* block = static_cast<Block*>(context);
  if (C10_UNLIKELY(reports.load(std::memory_order_relaxed))) {
    report(*block, false);
  }
  pool_of(block->device).free(block);
}

class Allocator final : public c10::DeviceAllocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    return allocator::allocate(bytes, runtime::current_stream());
  }

  // Null: a DataPtr's context is a block, not the address.
  c10::DeleterFnPtr raw_deleter() const override { return nullptr; }

  void copy_data(void* dst, const void* src, size_t bytes) const override {
    const c10::Device device(kFlagos, runtime::current_device());
    runtime::copy_async(
        dst,
        device,
        src,
        device,
        bytes,
        runtime::current_stream());
  }

  bool initialized() override {
    return runtime::is_initialized() && !runtime::is_in_bad_fork();
  }

  void emptyCache(c10::MempoolId_t) override { empty_cache(); }

  void recordStream(const c10::DataPtr& data, c10::Stream stream) override {
    record_stream(data, runtime::Stream(stream));
  }

  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(
      c10::DeviceIndex device) override {
    return pool_of(runtime::checked_index(device)).stats();
  }

  void resetAccumulatedStats(c10::DeviceIndex device) override {
    pool_of(runtime::checked_index(device)).reset_accumulated_stats();
  }

  void resetPeakStats(c10::DeviceIndex device) override {
    pool_of(runtime::checked_index(device)).reset_peak_stats();
  }

  std::pair<size_t, size_t> getMemoryInfo(c10::DeviceIndex device) override {
    return runtime::memory_info(device);
  }
};

Allocator& instance() {
  static auto* const allocator = new Allocator();
  return *allocator;
}

const c10::AllocatorRegisterer<kFlagos> kRegistered(&instance());

} // namespace

c10::DeviceAllocator* device_allocator() {
  return &instance();
}

c10::DataPtr allocate(size_t bytes, const runtime::Stream& stream) {
  const c10::Device device(kFlagos, stream.device());
  if (C10_UNLIKELY(runtime::is_in_bad_fork())) {
    runtime::raise_bad_fork();
  }
  if (bytes == 0) {
    return {nullptr, device};
  }
  Block* block = pool_of(stream.device()).allocate(bytes, stream.handle());
  if (C10_UNLIKELY(reports.load(std::memory_order_relaxed))) {
    report(*block, true);
  }
  return {block->address, block, &give_back, device};
}

void record_stream(const c10::DataPtr& data, const runtime::Stream& stream) {
  // Memory that came from elsewhere is its owner's business.
  if (data.get() != nullptr && data.get_deleter() == &give_back) {
    auto* block = static_cast<Block*>(data.get_context());
    pool_of(block->device).record_stream(block, stream);
  }
}

void empty_cache(c10::DeviceIndex device) {
  if (device >= 0) {
    pool_of(runtime::checked_index(device)).empty_cache();
    return;
  }
  if (runtime::is_in_bad_fork()) {
    return;
  }
  for (const std::atomic<DevicePool*>& slot : pools) {
    DevicePool* pool = slot.load(std::memory_order_acquire);
    if (pool != nullptr) {
      pool->empty_cache();
    }
  }
}

c10::MempoolId_t new_pool_id(bool shared) {
  static std::atomic<c10::CaptureId_t> last{0};
  const c10::CaptureId_t number = ++last;
  return shared ? c10::MempoolId_t{0, number} : c10::MempoolId_t{number, 0};
}

void settle() {
  for (c10::DeviceIndex i = 0; i < runtime::device_count(); ++i) {
    pool_of(i).settle();
  }
  settle_host();
}

void begin_capture(c10::MempoolId_t pool, uint64_t capture) {
  for (c10::DeviceIndex i = 0; i < runtime::device_count(); ++i) {
    pool_of(i).begin_capture(pool, capture);
  }
}

void end_capture(uint64_t capture) noexcept {
  for (c10::DeviceIndex i = 0; i < runtime::device_count(); ++i) {
    pool_of(i).end_capture(capture);
  }
}

c10::DataPtr
allocate_beside(size_t bytes, c10::DeviceIndex device, uint64_t capture) {
  const c10::Device where(kFlagos, device);
  if (bytes == 0) {
    return {nullptr, where};
  }
  Block* block = pool_of(device).allocate_beside(bytes, capture);
  if (C10_UNLIKELY(reports.load(std::memory_order_relaxed))) {
    report(*block, true);
  }
  return {block->address, block, &give_back, where};
}

void release_pool(c10::MempoolId_t pool) noexcept {
  if (runtime::is_in_bad_fork()) {
    return;
  }
  for (c10::DeviceIndex i = 0; i < runtime::device_count(); ++i) {
    pool_of(i).release_private(pool);
  }
}

void free_deferred() noexcept {
  for (c10::DeviceIndex i = 0; i < runtime::device_count(); ++i) {
    pool_of(i).free_deferred();
  }
  free_deferred_host();
}

void set_memory_fraction(double fraction, c10::DeviceIndex device) {
  TORCH_CHECK_VALUE(
      fraction > 0 && fraction <= 1,
      "a memory fraction lies between 0 and 1, got ",
      fraction,
      ".");
  const c10::DeviceIndex index = runtime::checked_index(device);
  const auto total = static_cast<double>(runtime::memory_info(index).second);
  pool_of(index).set_limit(
      fraction == 1 ? std::numeric_limits<size_t>::max()
                    : static_cast<size_t>(fraction * total));
  fractions[runtime::table_place(index)].store(fraction);
}

double memory_fraction(c10::DeviceIndex device) {
  const c10::DeviceIndex index = runtime::checked_index(device);
  const double fraction = fractions[runtime::table_place(index)].load();
  return fraction == 0 ? 1.0 : fraction;
}

void report_to_profiler(bool on) noexcept {
  reports.store(on, std::memory_order_relaxed);
}

} // namespace torch_fl::allocator
