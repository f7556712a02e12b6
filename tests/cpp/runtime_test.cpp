// SPDX-License-Identifier: Apache-2.0
// Devices, streams, events and the device guard.
#include "csrc/runtime/event.h"
#include "csrc/runtime/memcpy.h"
#include "csrc/runtime/unique_handle.h"

#include <c10/core/DeviceGuard.h>
#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <gtest/gtest.h>

#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace torch_fl::runtime {
namespace {

constexpr c10::DeviceType kFlagos = c10::DeviceType::PrivateUse1;

class RuntimeTest : public testing::Test {
 protected:
  void SetUp() override {
    set_device(0);
    set_current_stream(default_stream(0));
  }
  void TearDown() override {
    set_device(0);
    set_current_stream(default_stream(0));
  }
  static void need_two_devices() {
    if (device_count() < 2) {
      GTEST_SKIP() << "needs two devices";
    }
  }
};

TEST_F(RuntimeTest, scope_restores_the_device_after_an_exception) {
  need_two_devices();
  try {
    const DeviceScope scope(c10::DeviceIndex{1});
    EXPECT_EQ(current_device(), 1);
    int seen = -1;
    FL_MUSA_CHECK(musaGetDevice(&seen));
    EXPECT_EQ(seen, 1);
    throw std::runtime_error("out");
  } catch (const std::runtime_error&) {
  }
  EXPECT_EQ(current_device(), 0);
  int seen = -1;
  FL_MUSA_CHECK(musaGetDevice(&seen));
  EXPECT_EQ(seen, 0);
}

TEST_F(RuntimeTest, scope_of_an_unknown_device_throws_and_changes_nothing) {
  EXPECT_THROW(const DeviceScope scope(device_count()), c10::Error);
  EXPECT_EQ(current_device(), 0);
}

TEST_F(RuntimeTest, error_names_function_code_and_device) {
  try {
    FL_MUSA_CHECK(musaSetDevice(12345));
    FAIL() << "device 12345 exists";
  } catch (const c10::Error& error) {
    const std::string text = error.what_without_backtrace();
    EXPECT_NE(text.find("musaSetDevice"), text.npos) << text;
    EXPECT_NE(text.find("musaErrorInvalidDevice (101)"), text.npos) << text;
    EXPECT_NE(text.find("flagos:0"), text.npos) << text;
  }
  EXPECT_EQ(musaPeekAtLastError(), musaSuccess);
}

TEST_F(RuntimeTest, each_device_keeps_its_current_stream) {
  need_two_devices();
  const Stream here = pool_stream(0);
  const Stream there = pool_stream(1);
  set_current_stream(here);
  set_current_stream(there);
  EXPECT_EQ(current_stream(), here);
  EXPECT_EQ(current_stream(1), there);
  {
    const DeviceScope scope(c10::DeviceIndex{1});
    EXPECT_EQ(current_stream(), there);
    EXPECT_EQ(current_stream(0), here);
    set_current_stream(default_stream(1));
    EXPECT_EQ(current_stream().handle(), nullptr);
  }
  EXPECT_EQ(current_stream(), here);
  EXPECT_EQ(current_stream(1).id(), 0);
  std::thread([&] { EXPECT_EQ(current_stream(0).id(), 0); }).join();
}

TEST_F(RuntimeTest, pool_has_32_streams_of_each_priority) {
  std::set<c10::StreamId> low;
  std::set<c10::StreamId> high;
  const int greatest = priority_range().second;
  for (int i = 0; i < 100; ++i) {
    low.insert(pool_stream(0, 0).id());
    high.insert(pool_stream(0, greatest).id());
  }
  EXPECT_EQ(low.size(), size_t{kStreamsPerPool});
  EXPECT_EQ(high.size(), size_t{kStreamsPerPool});
  EXPECT_EQ(pool_stream(0, greatest).priority(), greatest);
  EXPECT_EQ(pool_stream(0, 0).priority(), 0);
  EXPECT_EQ(pool_stream(0, -1000).priority(), greatest);
  EXPECT_THROW(pool_stream(0, 1), c10::Error);
}

TEST_F(RuntimeTest, stream_is_rebuilt_from_its_numbers) {
  const Stream stream = pool_stream(0, -1);
  const c10::StreamData3 data = stream.unwrap().pack3();
  const Stream again(c10::Stream::unpack3(
      data.stream_id,
      data.device_index,
      data.device_type));
  EXPECT_EQ(again.handle(), stream.handle());
  EXPECT_EQ(again, stream);
}

TEST_F(RuntimeTest, meaningless_stream_id_is_refused) {
  const c10::Device device(kFlagos, 0);
  for (const c10::StreamId id : {3, 2, 1 | 1 << 20}) {
    EXPECT_THROW(
        Stream(c10::Stream(c10::Stream::UNSAFE, device, id)),
        c10::Error)
        << id;
  }
  EXPECT_THROW(
      Stream(c10::Stream(c10::Stream::DEFAULT, c10::Device("cpu"))),
      c10::Error);
}

TEST_F(RuntimeTest, external_streams_are_their_handles) {
  musaStream_t raw = nullptr;
  FL_MUSA_CHECK(musaStreamCreateWithFlags(&raw, musaStreamNonBlocking));
  const UniqueHandle<musaStream_t, musaStreamDestroy> owner(raw);
  const Stream stream = external_stream(raw, 0);
  EXPECT_EQ(stream.handle(), raw);
  EXPECT_EQ(Stream(stream.unwrap()).handle(), raw);
  stream.synchronize();
  EXPECT_TRUE(stream.query());
  EXPECT_EQ(external_stream(musaStreamLegacy, 0).handle(), musaStreamLegacy);
  EXPECT_EQ(external_stream(nullptr, 0), default_stream(0));
}

TEST_F(RuntimeTest, destroyed_external_stream_is_an_error) {
  musaStream_t raw = nullptr;
  FL_MUSA_CHECK(musaStreamCreateWithFlags(&raw, musaStreamNonBlocking));
  const Stream stream = external_stream(raw, 0);
  FL_MUSA_CHECK(musaStreamDestroy(raw));
  EXPECT_THROW(stream.synchronize(), c10::Error);
  EXPECT_THROW(const Event event(stream), c10::Error);
}

TEST_F(RuntimeTest, events_are_recycled) {
  const Stream stream = default_stream(0);
  std::set<PooledEvent*> seen;
  for (int i = 0; i < 100; ++i) {
    PooledEvent* event = take_event(0, false);
    record_event(*event, stream);
    seen.insert(event);
    give_event(event);
  }
  EXPECT_EQ(seen.size(), size_t{1});
}

TEST_F(RuntimeTest, event_of_another_device_is_refused) {
  need_two_devices();
  PooledEvent* event = take_event(1, false);
  EXPECT_THROW(record_event(*event, default_stream(0)), c10::Error);
  give_event(event);
}

TEST_F(RuntimeTest, generic_event_takes_time) {
  c10::Event start(kFlagos, c10::EventFlag::BACKEND_DEFAULT);
  c10::Event end(kFlagos, c10::EventFlag::BACKEND_DEFAULT);
  const Stream stream = default_stream(0);
  start.record(stream.unwrap());
  end.record(stream.unwrap());
  end.synchronize();
  EXPECT_TRUE(start.query());
  EXPECT_GE(start.elapsedTime(end), 0);
}

TEST_F(RuntimeTest, virtual_guard_serves_streams_and_capability) {
  const c10::impl::VirtualGuardImpl guard(kFlagos);
  EXPECT_EQ(guard.deviceCount(), device_count());
  const c10::Device device(kFlagos, 0);
  const c10::Stream stream = guard.getNewStream(device, -1);
  const c10::Stream old = guard.exchangeStream(stream);
  EXPECT_EQ(guard.getStream(device), stream);
  guard.exchangeStream(old);
  EXPECT_TRUE(guard.queryStream(stream));
  guard.synchronizeStream(stream);
  guard.synchronizeDevice(0);
  EXPECT_EQ(guard.getDefaultStream(device).id(), 0);
  EXPECT_EQ(
      Stream(guard.getStreamFromGlobalPool(device, true)).priority(),
      priority_range().second);
  bool has_float = false;
  guard.getDeviceCapability(device).forEachSupportedScalarType(
      [&](c10::ScalarType type) { has_float |= type == c10::kFloat; });
  EXPECT_TRUE(has_float);
}

TEST_F(RuntimeTest, bytes_go_to_the_device_and_come_back) {
  const Stream stream = pool_stream(0);
  const c10::Device device(kFlagos, 0);
  const c10::Device cpu("cpu");
  void* memory = nullptr;
  FL_MUSA_CHECK(musaMalloc(&memory, 1000));
  std::vector<char> in(1000, 5);
  std::vector<char> out(1000, 0);
  copy_async(memory, device, in.data(), cpu, 1000, stream);
  fill_async(static_cast<char*>(memory) + 10, 9, 20, stream);
  copy_async(out.data(), cpu, memory, device, 1000, stream);
  stream.synchronize();
  EXPECT_EQ(out[9], 5);
  EXPECT_EQ(out[10], 9);
  EXPECT_EQ(out[29], 9);
  EXPECT_EQ(out[30], 5);
  EXPECT_EQ(device_of_pointer(memory), 0);
  EXPECT_THROW(device_of_pointer(in.data()), c10::Error);
  EXPECT_THROW(
      copy_async(out.data(), cpu, in.data(), cpu, 10, stream),
      c10::Error);
  FL_MUSA_CHECK(musaFree(memory));
}

} // namespace
} // namespace torch_fl::runtime
