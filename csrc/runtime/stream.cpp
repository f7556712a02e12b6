// SPDX-License-Identifier: Apache-2.0
// Stream ids, pools, and each thread's current streams.
#include "csrc/runtime/stream.h"

#include "csrc/runtime/environment.h"
#include "csrc/runtime/stream_table.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

namespace torch_fl::runtime {

struct ThreadStreams {
  struct Entry {
    musaStream_t handle = nullptr;
    c10::StreamId id = 0;
  };
  Entry entries[kMaxDevices];
};

namespace {

// An id's two low bits say what the rest is:
//   0  the handle itself (0: the default stream; an external one otherwise)
//   1  a pool stream: two bits of priority, five of place
//   2  one of the runtime's special handles, such as 1 and 2
enum class IdKind : uint8_t { kHandle = 0, kPool = 1, kSpecial = 2 };
constexpr int kKindBits = 2;
constexpr int kPriorityBits = 2;
constexpr uint64_t kSpecialHandles = 16;

static_assert(kMaxPriorities == 1 << kPriorityBits);

struct Pool {
  std::atomic<musaStream_t> streams[kMaxPriorities][kStreamsPerPool];
  std::atomic<uint32_t> next[kMaxPriorities];
  std::mutex mutex;
};
Pool pools[kMaxDevices];

struct Priorities {
  int least = 0;
  int greatest = 0;
  unsigned flags = musaStreamNonBlocking;
};

Priorities ask_for_priorities() {
  Priorities result;
  FL_MUSA_CHECK(
      musaDeviceGetStreamPriorityRange(&result.least, &result.greatest));
  result.greatest =
      std::max(result.greatest, result.least - (kMaxPriorities - 1));
  // Waits between non-blocking streams were seen to fail on some runtimes.
  if (environment_flag("FLAGOS_BLOCKING_STREAMS")) {
    result.flags = musaStreamDefault;
  }
  return result;
}

const Priorities& priorities() {
  static const Priorities result = ask_for_priorities();
  return result;
}

// `rank` counts from the lowest priority.
musaStream_t pool_handle(c10::DeviceIndex device, int rank, int place) {
  Pool& pool = pools[device];
  std::atomic<musaStream_t>& slot = pool.streams[rank][place];
  musaStream_t handle = slot.load(std::memory_order_acquire);
  if (C10_LIKELY(handle != nullptr)) {
    return handle;
  }
  const Priorities& range = priorities();
  const DeviceScope scope(device);
  const std::lock_guard<std::mutex> lock(pool.mutex);
  handle = slot.load(std::memory_order_relaxed);
  if (handle == nullptr) {
    FL_MUSA_CHECK(
        musaStreamCreateWithPriority(&handle, range.flags, range.least - rank));
    mark_used(device);
    slot.store(handle, std::memory_order_release);
  }
  return handle;
}

[[noreturn]] void reject_id(c10::StreamId id, c10::DeviceIndex device) {
  TORCH_CHECK_VALUE(
      false,
      "stream id ",
      id,
      " names no stream of flagos:",
      static_cast<int>(device),
      ".");
}

musaStream_t decode(c10::StreamId id, c10::DeviceIndex device) {
  if (id == 0) {
    return nullptr;
  }
  const auto bits = static_cast<uint64_t>(id);
  const uint64_t rest = bits >> kKindBits;
  switch (static_cast<IdKind>(bits & ((1U << kKindBits) - 1))) {
  case IdKind::kHandle:
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the id is the handle
    return reinterpret_cast<musaStream_t>(bits);
  case IdKind::kPool: {
    const auto rank = static_cast<int>(rest & (kMaxPriorities - 1));
    const uint64_t place = rest >> kPriorityBits;
    const Priorities& range = priorities();
    if (place >= kStreamsPerPool || rank > range.least - range.greatest) {
      reject_id(id, device);
    }
    return pool_handle(device, rank, static_cast<int>(place));
  }
  case IdKind::kSpecial:
    if (rest == 0 || rest >= kSpecialHandles) {
      reject_id(id, device);
    }
    // NOLINTNEXTLINE(performance-no-int-to-ptr): a number by definition
    return reinterpret_cast<musaStream_t>(rest);
  }
  reject_id(id, device);
}

c10::DeviceIndex flagos_index(const c10::Stream& stream) {
  TORCH_CHECK_VALUE(
      stream.device_type() == c10::DeviceType::PrivateUse1,
      "a stream of flagos was expected, got one of ",
      stream.device(),
      ".");
  return checked_index(stream.device_index());
}

// Frees the table when its thread ends.
struct TableOwner {
  TableOwner() = default;
  TableOwner(const TableOwner&) = delete;
  TableOwner& operator=(const TableOwner&) = delete;
  TableOwner(TableOwner&&) = delete;
  TableOwner& operator=(TableOwner&&) = delete;
  ~TableOwner() { thread_state.others = nullptr; }
  std::unique_ptr<ThreadStreams> table;
};

ThreadStreams& table_of_thread() {
  if (thread_state.others == nullptr) {
    static thread_local TableOwner owner;
    owner.table = std::make_unique<ThreadStreams>();
    thread_state.others = owner.table.get();
  }
  return *thread_state.others;
}

} // namespace

void switch_streams(c10::DeviceIndex next) {
  ThreadState& state = thread_state;
  if (state.others == nullptr && state.stream_id == 0) {
    return; // everything is default
  }
  ThreadStreams& table = table_of_thread();
  table.entries[state.device] = {state.stream, state.stream_id};
  state.stream = table.entries[next].handle;
  state.stream_id = table.entries[next].id;
}

Stream::Stream(c10::Stream stream)
    : handle_(nullptr), id_(stream.id()), device_(flagos_index(stream)) {
  handle_ = decode(id_, device_);
}

int Stream::priority() const {
  const DeviceScope scope(device_);
  int result = 0;
  FL_MUSA_CHECK(musaStreamGetPriority(handle_, &result));
  return result;
}

bool Stream::query() const {
  const DeviceScope scope(device_);
  const musaError_t code = musaStreamQuery(handle_);
  if (code == musaErrorNotReady) {
    static_cast<void>(musaGetLastError());
    return false;
  }
  if (C10_UNLIKELY(code != musaSuccess)) {
    raise(code, "musaStreamQuery", __FILE__, __LINE__);
  }
  return true;
}

void Stream::synchronize() const {
  const DeviceScope scope(device_);
  FL_MUSA_CHECK(musaStreamSynchronize(handle_));
}

Stream current_stream(c10::DeviceIndex device) {
  const c10::DeviceIndex index = checked_index(device);
  const ThreadState& state = thread_state;
  if (index == state.device) {
    return current_stream();
  }
  if (state.others == nullptr) {
    return {nullptr, 0, index};
  }
  const ThreadStreams::Entry& entry = state.others->entries[index];
  return {entry.handle, entry.id, index};
}

Stream default_stream(c10::DeviceIndex device) {
  return Stream(c10::Stream(
      c10::Stream::DEFAULT,
      c10::Device(c10::DeviceType::PrivateUse1, checked_index(device))));
}

void set_current_stream(Stream stream) {
  ThreadState& state = thread_state;
  if (stream.device() == state.device) {
    state.stream = stream.handle();
    state.stream_id = stream.id();
    return;
  }
  if (state.others == nullptr && stream.id() == 0) {
    return;
  }
  table_of_thread().entries[stream.device()] = {stream.handle(), stream.id()};
}

Stream pool_stream(c10::DeviceIndex device, int priority) {
  const c10::DeviceIndex index = checked_index(device);
  TORCH_CHECK_VALUE(
      priority <= 0,
      "stream priority ",
      priority,
      " does not exist: 0 is the lowest, higher ones are negative.");
  const Priorities& range = priorities();
  const int rank = std::min(-priority, range.least - range.greatest);
  const uint32_t place =
      pools[index].next[rank].fetch_add(1, std::memory_order_relaxed) %
      kStreamsPerPool;
  const uint64_t id = static_cast<uint64_t>(IdKind::kPool) |
      static_cast<uint64_t>(rank) << kKindBits |
      static_cast<uint64_t>(place) << (kKindBits + kPriorityBits);
  return Stream(c10::Stream(
      c10::Stream::UNSAFE,
      c10::Device(c10::DeviceType::PrivateUse1, index),
      static_cast<c10::StreamId>(id)));
}

Stream external_stream(musaStream_t handle, c10::DeviceIndex device) {
  auto id = reinterpret_cast<uint64_t>(handle);
  if (id < kSpecialHandles) {
    id =
        id == 0 ? 0 : id << kKindBits | static_cast<uint64_t>(IdKind::kSpecial);
  } else {
    TORCH_CHECK_VALUE(
        (id & ((1U << kKindBits) - 1)) == 0,
        "the address ",
        static_cast<const void*>(handle),
        " is no stream.");
  }
  return Stream(c10::Stream(
      c10::Stream::UNSAFE,
      c10::Device(c10::DeviceType::PrivateUse1, checked_index(device)),
      static_cast<c10::StreamId>(id)));
}

std::pair<int, int> priority_range() {
  require_device();
  const Priorities& range = priorities();
  return {range.least, range.greatest};
}

} // namespace torch_fl::runtime
