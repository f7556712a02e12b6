// SPDX-License-Identifier: Apache-2.0
// The device and pinned allocators: reuse, splitting, recovery, statistics.
#include "csrc/allocator/device_allocator.h"
#include "csrc/allocator/host_allocator.h"

#include "csrc/runtime/event.h"
#include "csrc/runtime/memcpy.h"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <future>
#include <mutex>
#include <string>
#include <vector>

namespace torch_fl {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

// Holds a stream until it is opened.
class Latch {
 public:
  explicit Latch(const runtime::Stream& stream) : opened_(open_.get_future()) {
    FL_MUSA_CHECK(musaLaunchHostFunc(
        stream.handle(),
        [](void* latch) { static_cast<Latch*>(latch)->opened_.wait(); },
        this));
  }
  void open() { open_.set_value(); }

 private:
  std::promise<void> open_;
  std::future<void> opened_;
};

class AllocatorTest : public testing::Test {
 protected:
  void SetUp() override {
    runtime::synchronize_device(0);
    allocator::empty_cache(0);
    allocator::device_allocator()->resetAccumulatedStats(0);
    allocator::device_allocator()->resetPeakStats(0);
  }
  static c10::CachingDeviceAllocator::DeviceStats stats() {
    return allocator::device_allocator()->getDeviceStats(0);
  }
  const runtime::Stream default_ = runtime::default_stream(0);
  const runtime::Stream first_ = runtime::pool_stream(0);
  const runtime::Stream second_ = runtime::pool_stream(0);
};

TEST_F(AllocatorTest, zero_bytes_have_the_current_device_and_no_memory) {
  const c10::DataPtr data = allocator::device_allocator()->allocate(0);
  EXPECT_EQ(data.get(), nullptr);
  EXPECT_EQ(data.device(), c10::Device(c10::DeviceType::PrivateUse1, 0));
  EXPECT_EQ(stats().allocation[0].current, 0);
}

TEST_F(AllocatorTest, freed_block_serves_its_stream_again) {
  c10::DataPtr a = allocator::allocate(1000, first_);
  const void* address = a.get();
  a.clear();
  EXPECT_EQ(allocator::allocate(1000, first_).get(), address);
  const c10::DataPtr other = allocator::allocate(1000, second_);
  EXPECT_NE(other.get(), address);
}

TEST_F(AllocatorTest, small_blocks_share_a_segment_and_merge_when_needed) {
  std::vector<c10::DataPtr> blocks;
  blocks.reserve(4096);
  for (int i = 0; i < 4096; ++i) {
    blocks.push_back(allocator::allocate(512, first_));
  }
  EXPECT_EQ(stats().segment[0].current, 1);
  blocks.clear();
  const c10::DataPtr large = allocator::allocate(kMiB, first_);
  EXPECT_EQ(stats().segment[0].current, 1);
}

TEST_F(AllocatorTest, large_blocks_split_and_merge) {
  c10::DataPtr a = allocator::allocate(4 * kMiB, first_);
  c10::DataPtr b = allocator::allocate(4 * kMiB, first_);
  EXPECT_EQ(stats().reserved_bytes[0].current, int64_t{20 * kMiB});
  EXPECT_GE(stats().inactive_split_bytes[0].current, int64_t{12 * kMiB});
  a.clear();
  b.clear();
  c10::DataPtr c = allocator::allocate(19 * kMiB, first_);
  EXPECT_EQ(stats().reserved_bytes[0].current, int64_t{20 * kMiB});
  EXPECT_EQ(stats().inactive_split_bytes[0].current, int64_t{0});
  c.clear();
  allocator::empty_cache(0);
  EXPECT_EQ(stats().reserved_bytes[0].current, 0);
}

TEST_F(AllocatorTest, statistics_follow_requests) {
  const c10::DataPtr a = allocator::allocate(100, first_);
  {
    const c10::DataPtr b = allocator::allocate(3 * kMiB, first_);
    EXPECT_EQ(stats().allocated_bytes[0].current, int64_t{512 + 3 * kMiB});
    EXPECT_EQ(stats().requested_bytes[0].current, int64_t{100 + 3 * kMiB});
  }
  const auto now = stats();
  EXPECT_EQ(now.allocation[0].current, 1);
  EXPECT_EQ(now.allocation[0].peak, 2);
  EXPECT_EQ(now.allocation[0].allocated, 2);
  EXPECT_EQ(now.allocation[0].freed, 1);
  EXPECT_EQ(now.allocated_bytes[1].current, 512);
  EXPECT_EQ(now.allocated_bytes[2].peak, int64_t{3 * kMiB});
  allocator::device_allocator()->resetPeakStats(0);
  EXPECT_EQ(stats().allocation[0].peak, 1);
  allocator::device_allocator()->resetAccumulatedStats(0);
  EXPECT_EQ(stats().allocation[0].allocated, 0);
  EXPECT_EQ(stats().allocation[0].current, 1);
}

TEST_F(AllocatorTest, recorded_stream_keeps_a_block_until_it_is_done) {
  Latch latch(second_);
  c10::DataPtr a = allocator::allocate(1000, first_);
  const void* address = a.get();
  allocator::record_stream(a, second_);
  a.clear();
  EXPECT_EQ(stats().allocation[0].current, 0);
  EXPECT_EQ(stats().active[0].current, 1);
  EXPECT_NE(allocator::allocate(1000, first_).get(), address);
  latch.open();
  second_.synchronize();
  EXPECT_EQ(stats().active[0].current, 1);
  static_cast<void>(allocator::allocate(1000, second_));
  EXPECT_EQ(stats().active[0].current, 0);
}

TEST_F(AllocatorTest, block_recorded_on_a_destroyed_stream_is_not_lost) {
  musaStream_t raw = nullptr;
  FL_MUSA_CHECK(musaStreamCreateWithFlags(&raw, musaStreamNonBlocking));
  c10::DataPtr a = allocator::allocate(1000, first_);
  allocator::record_stream(a, runtime::external_stream(raw, 0));
  FL_MUSA_CHECK(musaStreamDestroy(raw));
  a.clear();
  EXPECT_EQ(stats().active[0].current, 0);
}

TEST_F(AllocatorTest, tensor_outlives_the_external_stream_it_was_made_on) {
  musaStream_t raw = nullptr;
  FL_MUSA_CHECK(musaStreamCreateWithFlags(&raw, musaStreamNonBlocking));
  c10::DataPtr a = allocator::allocate(1000, runtime::external_stream(raw, 0));
  FL_MUSA_CHECK(musaStreamDestroy(raw));
  runtime::fill_async(a.get(), 7, 1000, default_);
  a.clear();
  EXPECT_EQ(stats().active[0].current, 0);
  allocator::empty_cache(0);
  EXPECT_EQ(stats().segment[0].current, 0);
}

TEST_F(AllocatorTest, cached_memory_of_other_streams_is_freed_and_retried) {
  const size_t total = runtime::memory_info(0).second;
  allocator::set_memory_fraction(
      double(64 * kMiB) / static_cast<double>(total),
      0);
  static_cast<void>(allocator::allocate(40 * kMiB, first_));
  const c10::DataPtr a = allocator::allocate(50 * kMiB, second_);
  EXPECT_EQ(stats().num_alloc_retries, 1);
  EXPECT_EQ(stats().num_ooms, 0);
  allocator::set_memory_fraction(1.0, 0);
}

TEST_F(AllocatorTest, blocks_that_wait_for_a_stream_are_waited_for) {
  const size_t total = runtime::memory_info(0).second;
  allocator::set_memory_fraction(
      double(64 * kMiB) / static_cast<double>(total),
      0);
  Latch latch(second_);
  c10::DataPtr a = allocator::allocate(40 * kMiB, first_);
  allocator::record_stream(a, second_);
  a.clear();
  auto opener = std::async(std::launch::async, [&latch] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    latch.open();
  });
  const c10::DataPtr b = allocator::allocate(50 * kMiB, default_);
  EXPECT_EQ(stats().num_ooms, 0);
  EXPECT_GE(stats().num_sync_all_streams, 1);
  opener.wait();
  allocator::set_memory_fraction(1.0, 0);
}

TEST_F(AllocatorTest, out_of_memory_tells_the_numbers) {
  const c10::DataPtr held = allocator::allocate(3 * kMiB, first_);
  try {
    static_cast<void>(allocator::allocate(size_t{1} << 45, first_));
    FAIL() << "32 TiB were allocated";
  } catch (const c10::OutOfMemoryError& error) {
    const std::string text = error.what_without_backtrace();
    EXPECT_NE(text.find("Tried to allocate 32.00 TiB"), text.npos) << text;
    EXPECT_NE(text.find("3.00 MiB is allocated by PyTorch"), text.npos) << text;
    EXPECT_NE(text.find("empty_cache"), text.npos) << text;
  }
  EXPECT_THROW(
      static_cast<void>(allocator::allocate(~size_t{0} - 7, first_)),
      c10::OutOfMemoryError);
  EXPECT_EQ(stats().num_ooms, 2);
}

struct Footprint {
  size_t free_bytes = 0;
  size_t descriptors = 0;
  long threads = 0;
  long resident_kib = 0;
};

Footprint footprint() {
  runtime::synchronize_device(0);
  allocator::empty_cache(0);
  Footprint result;
  result.free_bytes = runtime::memory_info(0).first;
  for ([[maybe_unused]] const auto& entry :
       std::filesystem::directory_iterator("/proc/self/fd")) {
    ++result.descriptors;
  }
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("Threads:", 0) == 0) {
      result.threads = std::stol(line.substr(8));
    } else if (line.rfind("VmRSS:", 0) == 0) {
      result.resident_kib = std::stol(line.substr(6));
    }
  }
  return result;
}

TEST_F(AllocatorTest, a_thousand_recoveries_leak_nothing) {
  const size_t total = runtime::memory_info(0).second;
  allocator::set_memory_fraction(
      double(64 * kMiB) / static_cast<double>(total),
      0);
  // A toolkit may touch the pages of a stream's queue as it is first used.
  const c10::DataPtr scratch = allocator::allocate(4096, default_);
  for (int i = 0; i < 5000; ++i) {
    for (const runtime::Stream& stream : {first_, second_, default_}) {
      runtime::fill_async(scratch.get(), 1, 4096, stream);
    }
  }
  Footprint before;
  for (int round = 1; round <= 1000; ++round) {
    std::vector<c10::DataPtr> blocks;
    for (const runtime::Stream& stream : {first_, second_, default_}) {
      blocks.push_back(allocator::allocate(15 * kMiB, stream));
      allocator::record_stream(blocks.back(), first_);
      runtime::fill_async(blocks.back().get(), 1, 4096, stream);
    }
    EXPECT_THROW(
        static_cast<void>(allocator::allocate(30 * kMiB, first_)),
        c10::OutOfMemoryError);
    blocks.clear();
    EXPECT_NO_THROW(static_cast<void>(allocator::allocate(60 * kMiB, second_)));
    if (round == 100) {
      before = footprint();
    }
  }
  const Footprint after = footprint();
  EXPECT_EQ(stats().num_ooms, 1000);
  EXPECT_EQ(after.free_bytes, before.free_bytes);
  EXPECT_EQ(after.descriptors, before.descriptors);
  EXPECT_EQ(after.threads, before.threads);
  EXPECT_LE(after.resident_kib, before.resident_kib + 1024);
  allocator::set_memory_fraction(1.0, 0);
}

TEST_F(AllocatorTest, host_function_may_free_while_the_allocator_waits) {
  const size_t total = runtime::memory_info(0).second;
  allocator::set_memory_fraction(
      double(64 * kMiB) / static_cast<double>(total),
      0);
  auto* held = new c10::DataPtr(allocator::allocate(30 * kMiB, first_));
  c10::DataPtr cached = allocator::allocate(30 * kMiB, first_);
  FL_MUSA_CHECK(musaLaunchHostFunc(
      second_.handle(),
      [](void* data) {
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
        delete static_cast<c10::DataPtr*>(data);
      },
      held));
  cached.clear();
  const c10::DataPtr a = allocator::allocate(50 * kMiB, default_);
  EXPECT_NE(a.get(), nullptr);
  allocator::set_memory_fraction(1.0, 0);
}

// Prints; the bound only catches a mistake, since machines differ.
TEST_F(AllocatorTest, pair_of_allocate_and_free_is_cheap) {
  constexpr int kPairs = 200000;
  for (const size_t bytes : {size_t{256}, size_t{40000}, 4 * kMiB}) {
    const c10::DataPtr neighbour = allocator::allocate(bytes, default_);
    double best = 1e9;
    for (int round = 0; round < 7; ++round) {
      const auto start = std::chrono::steady_clock::now();
      for (int i = 0; i < kPairs; ++i) {
        static_cast<void>(allocator::allocate(bytes, default_));
      }
      const std::chrono::duration<double, std::nano> time =
          std::chrono::steady_clock::now() - start;
      best = std::min(best, time.count() / kPairs);
    }
    std::printf("%9zu bytes: %.1f ns a pair\n", bytes, best);
    EXPECT_LT(best, 500);
  }
}

// ---- pinned memory

TEST_F(AllocatorTest, pinned_memory_is_recognised_inside_a_block_too) {
  const c10::DataPtr a = allocator::host_allocator()->allocate(10000);
  EXPECT_TRUE(allocator::is_pinned(a.get()));
  EXPECT_TRUE(allocator::is_pinned(static_cast<char*>(a.get()) + 9999));
  int on_stack = 0;
  EXPECT_FALSE(allocator::is_pinned(&on_stack));
  EXPECT_FALSE(allocator::is_pinned(nullptr));
  EXPECT_TRUE(a.device().is_cpu());
}

TEST_F(AllocatorTest, pinned_block_waits_for_the_copy_that_reads_it) {
  at::HostAllocator* host = allocator::host_allocator();
  Latch latch(first_);
  c10::DataPtr a = host->allocate(5000);
  void* address = a.get();
  EXPECT_TRUE(host->record_event(address, nullptr, first_.unwrap()));
  a.clear();
  EXPECT_NE(host->allocate(5000).get(), address);
  latch.open();
  first_.synchronize();
  std::vector<c10::DataPtr> later;
  bool reused = false;
  for (int i = 0; i < 4; ++i) {
    later.push_back(host->allocate(5000));
    reused = reused || later.back().get() == address;
  }
  EXPECT_TRUE(reused);
}

TEST_F(AllocatorTest, pinned_cache_can_be_emptied) {
  at::HostAllocator* host = allocator::host_allocator();
  host->allocate(3 * kMiB).clear();
  host->empty_cache();
  EXPECT_EQ(
      host->get_stats().allocated_bytes.current,
      host->get_stats().active_bytes.current);
}

} // namespace
} // namespace torch_fl
