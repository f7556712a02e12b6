// SPDX-License-Identifier: Apache-2.0
// The engine interface on top of devices, streams, events and memory.
#include "toolkit/engine/runtime.h"

#include "toolkit/engine/cpu/capture.h"
#include "toolkit/engine/cpu/config.h"
#include "toolkit/engine/cpu/copy.h"
#include "toolkit/engine/cpu/counters.h"
#include "toolkit/engine/cpu/device.h"
#include "toolkit/engine/cpu/event.h"
#include "toolkit/engine/cpu/exit.h"
#include "toolkit/engine/cpu/graph_runtime.h"
#include "toolkit/engine/cpu/host_function.h"
#include "toolkit/engine/cpu/mem_pool.h"
#include "toolkit/engine/cpu/memory.h"
#include "toolkit/engine/cpu/pool.h"
#include "toolkit/engine/cpu/properties.h"
#include "toolkit/engine/cpu/scheduler.h"
#include "toolkit/engine/cpu/start.h"
#include "toolkit/engine/fault.h"

#include <cstring>

namespace musa_standin::engine {
namespace cpu {
namespace {

Stream& own(engine::Stream& stream) {
  return static_cast<Stream&>(stream);
}
Event& own(engine::Event& event) {
  return static_cast<Event&>(event);
}
MemPool& own(engine::MemPool* pool) {
  return *static_cast<MemPool*>(pool);
}

// What every synchronise call ends with.
void surface(Device& device) {
  if ((g_gate.load(std::memory_order_relaxed) & kGateStopped) != 0) {
    throw Error(musaErrorMusartUnloading, "the engine has stopped");
  }
  device.throw_error();
}

constexpr const char* kNoCapturedMemory =
    "memory can be neither allocated nor freed by a captured stream";

// MUSA_CPU_EVENT_RACE=n: every n-th wait between two non-blocking streams is
// lost, as one user of the vendor's runtime reports it.
bool lost_in_race(const Stream& waiter, const Mark& mark) {
  const auto period = static_cast<unsigned long>(config().event_race);
  static std::atomic<unsigned long> waits{0};
  return period != 0 && waiter.order() == Stream::Order::kNone &&
      mark.stream != nullptr && mark.stream->order() == Stream::Order::kNone &&
      waits.fetch_add(1) % period == period - 1;
}

class CpuRuntime final : public GraphRuntime {
 public:
  const char* engine_name() const noexcept override { return "cpu"; }

  uint64_t counter(const char* name) const noexcept override {
    const auto is = [name](const char* other) {
      return std::strcmp(name, other) == 0;
    };
    const auto value = [](Counter counter) {
      return g_counters[static_cast<int>(counter)].load();
    };
    if (is("waits")) {
      return value(Counter::kWaits);
    }
    if (is("full_queue")) {
      return value(Counter::kFullQueue);
    }
    if (is("wakes")) {
      return g_scheduler.wakes();
    }
    uint64_t tasks = 0;
    if (is("tasks") && engine_started()) {
      stream_table().for_each(
          [&tasks](const Stream& stream) { tasks += stream.calls(); });
    }
    return tasks;
  }
  void stop() noexcept override { stop_engine(); }

  // --- devices ---
  int device_count() override {
    check_environment();
    return config().devices;
  }
  void initialize(int index) override { device(index); }
  void synchronize_device(int index) override {
    count(Counter::kWaits);
    Device& at = device(index);
    forbid_if_captured(at);
    at.wait();
    surface(at);
    trim_pools(at);
  }
  void reset_device(int index) override {
    Device* at = device_if_started(index);
    if (at != nullptr) {
      at->reset();
    }
  }
  void properties(int index, musaDeviceProp& out) override {
    describe(index, out);
  }
  int attribute(int index, musaDeviceAttr which) override {
    return cpu::attribute(index, which);
  }
  void set_device_flags(int index, unsigned flags) override {
    Device& at = device(index);
    const std::lock_guard<std::mutex> lock(at.settings_mutex);
    at.flags = flags;
  }
  unsigned device_flags(int index) override {
    Device& at = device(index);
    const std::lock_guard<std::mutex> lock(at.settings_mutex);
    return at.flags | static_cast<unsigned>(musaDeviceMapHost);
  }
  void set_limit(int index, musaLimit which, size_t value) override {
    Device& at = device(index);
    const std::lock_guard<std::mutex> lock(at.settings_mutex);
    at.limits[checked(which)] = value;
  }
  size_t limit(int index, musaLimit which) override {
    Device& at = device(index);
    const std::lock_guard<std::mutex> lock(at.settings_mutex);
    return at.limits[checked(which)];
  }
  void priority_range(int& least, int& greatest) override {
    least = 0;
    greatest = 1 - Scheduler::kPriorities;
  }
  bool can_access_peer(int index, int peer) override { return index != peer; }
  void enable_peer_access(int index, int peer) override {
    Device& at = device(index);
    const std::lock_guard<std::mutex> lock(at.settings_mutex);
    if (((at.peers >> peer) & 1U) != 0) {
      throw Error(
          musaErrorPeerAccessAlreadyEnabled,
          "peer access is enabled already");
    }
    at.peers |= 1U << peer;
  }
  void disable_peer_access(int index, int peer) override {
    Device& at = device(index);
    const std::lock_guard<std::mutex> lock(at.settings_mutex);
    if (((at.peers >> peer) & 1U) == 0) {
      throw Error(musaErrorPeerAccessNotEnabled, "peer access is not enabled");
    }
    at.peers &= ~(1U << peer);
  }
  musaError_t sticky_error(int index) noexcept override {
    const Device* at = device_if_started(index);
    return at != nullptr ? at->sticky() : musaSuccess;
  }
  const char* failed_task(int index) noexcept override {
    Device* at = device_if_started(index);
    return at != nullptr ? at->failed_task() : "";
  }

  // --- memory ---
  void memory_info(int index, size_t& free, size_t& total) override {
    Device& at = device(index);
    const std::lock_guard<std::mutex> lock(at.memory_mutex);
    total = at.heap.capacity();
    free = total - at.heap.used();
  }
  void* allocate(int index, size_t bytes) override {
    Device& at = device(index);
    forbid_in_capture();
    try {
      return allocate_device(at, bytes, nullptr);
    } catch (const Error&) {
      // Pools may keep what nobody uses.
      empty_pools(at);
      return allocate_device(at, bytes, nullptr);
    }
  }
  void release(void* pointer) override {
    device(t_state.device); // the range, if the engine has not started
    forbid_in_capture();
    if (!in_device_range(pointer)) {
      release_managed(pointer);
      return;
    }
    Device& at = device(device_of(pointer));
    void* pool = check_block(at, pointer);
    count(Counter::kWaits);
    if (!planted("free_without_wait")) {
      at.wait();
    }
    if (pool != nullptr) {
      static_cast<MemPool*>(pool)->forget(pointer);
    }
    free_device(at, pointer);
  }
  void* allocate_host(size_t bytes, unsigned flags) override {
    device(t_state.device);
    forbid_in_capture();
    return cpu::allocate_host(
        bytes,
        HostKind::kAllocated,
        flags,
        t_state.device);
  }
  void release_host(void* pointer) override {
    HostBlock block;
    if (!find_host(pointer, block) || block.kind != HostKind::kAllocated ||
        block.begin != reinterpret_cast<uintptr_t>(pointer)) {
      throw Error(
          musaErrorInvalidValue,
          "the pointer is not the start of live pinned memory");
    }
    forbid_in_capture();
    count(Counter::kWaits);
    wait_for_all();
    free_host(pointer, HostKind::kAllocated);
  }
  void register_host(void* pointer, size_t bytes, unsigned flags) override {
    device(t_state.device);
    if (in_device_range(pointer)) {
      throw Error(musaErrorInvalidValue, "device memory is not host memory");
    }
    forbid_in_capture();
    cpu::register_host(pointer, bytes, flags, t_state.device);
  }
  void unregister_host(void* pointer) override {
    forbid_in_capture();
    wait_for_all();
    cpu::unregister_host(pointer);
  }
  void* host_device_pointer(void* pointer) override {
    HostBlock block;
    if (!find_host(pointer, block)) {
      throw Error(
          musaErrorInvalidValue,
          "the host memory is not known to the device");
    }
    return pointer;
  }
  unsigned host_flags(void* pointer) override {
    HostBlock block;
    if (!find_host(pointer, block) || block.kind == HostKind::kManaged) {
      throw Error(
          musaErrorInvalidValue,
          "the host memory is not known to the device");
    }
    return block.flags;
  }
  void* allocate_managed(int index, size_t bytes, unsigned flags) override {
    device(index);
    forbid_in_capture();
    return cpu::allocate_host(bytes, HostKind::kManaged, flags, index);
  }
  void pointer_attributes(musaPointerAttributes& out, const void* pointer)
      override {
    device(t_state.device);
    cpu::pointer_attributes(out, pointer);
  }
  void copy(engine::Stream& stream, const Copy& what, bool blocking) override {
    cpu::copy(own(stream), what, blocking);
  }
  void fill(engine::Stream& stream, const Fill& what) override {
    cpu::fill(own(stream), what);
  }

  // --- stream-ordered memory ---
  void* allocate_async(
      engine::MemPool* pool,
      size_t bytes,
      engine::Stream& stream) override {
    refuse_capture(own(stream), kNoCapturedMemory);
    MemPool& from = pool != nullptr
        ? own(pool)
        : cpu::current_pool(device(stream.device()));
    return from.allocate(bytes, own(stream));
  }
  void release_async(void* pointer, engine::Stream& stream) override {
    if (!in_device_range(pointer)) {
      throw Error(
          musaErrorInvalidValue,
          "the pointer is not memory of a memory pool");
    }
    auto* pool =
        static_cast<MemPool*>(check_block(device(device_of(pointer)), pointer));
    if (pool == nullptr) {
      throw Error(
          musaErrorInvalidValue,
          "the pointer is not memory of a memory pool");
    }
    refuse_capture(own(stream), kNoCapturedMemory);
    pool->release(pointer, own(stream).mark());
  }
  engine::MemPool* create_pool(const musaMemPoolProps& props) override {
    return &make_pool(device(props.location.id), props.maxSize);
  }
  void destroy_pool(musaMemPool_t pool) override {
    cpu::destroy_pool(find_pool(pool));
  }
  engine::MemPool* resolve_pool(musaMemPool_t pool) override {
    return &find_pool(pool);
  }
  void set_pool_attribute(
      engine::MemPool* pool,
      musaMemPoolAttr which,
      const void* value) override {
    own(pool).set_attribute(which, value);
  }
  void pool_attribute(engine::MemPool* pool, musaMemPoolAttr which, void* value)
      override {
    own(pool).attribute(which, value);
  }
  void trim_pool(engine::MemPool* pool, size_t keep_bytes) override {
    own(pool).trim(keep_bytes);
  }
  engine::MemPool* default_pool(int index) override {
    return &cpu::default_pool(device(index));
  }
  engine::MemPool* current_pool(int index) override {
    return &cpu::current_pool(device(index));
  }
  void set_current_pool(int index, engine::MemPool* pool) override {
    cpu::set_current_pool(device(index), own(pool));
  }

  // --- streams ---
  engine::Stream& create_stream(int index, unsigned flags, int priority)
      override {
    if (planted("all_streams_block")) {
      flags = musaStreamDefault;
    }
    return device(index).create_stream(flags, priority);
  }
  void destroy_stream(musaStream_t handle) override {
    Stream* stream = stream_table().find(handle);
    if (stream == nullptr || !stream->alive() ||
        stream->order() == Stream::Order::kLegacy) {
      throw Error(
          musaErrorInvalidResourceHandle,
          "the stream handle is none, or its stream was destroyed");
    }
    if (planted("destroy_waits")) {
      stream->wait_until(stream->submitted());
    }
    stream->owner().destroy_stream(*stream);
  }
  void synchronize_stream(engine::Stream& stream) override {
    forbid_if_captured(own(stream));
    count(Counter::kWaits);
    Device& owner = own(stream).owner();
    const Mark mark = own(stream).mark();
    mark.stream->wait_until(mark.task);
    surface(owner);
    trim_pools(owner);
  }
  bool query_stream(engine::Stream& stream) override {
    forbid_if_captured(own(stream));
    const Mark mark = own(stream).mark();
    const bool done = reached(mark) ||
        (planted("early_query") && own(stream).finished() + 1 >= mark.task);
    if (done) {
      surface(own(stream).owner());
    }
    return done;
  }
  void wait_event(engine::Stream& stream, engine::Event& event) override {
    if (__builtin_expect(
            own(stream).captured() || own(event).in_capture(),
            0) &&
        capture_wait(own(stream), own(event))) {
      return;
    }
    const Mark mark = own(event).mark();
    if (planted("rerecord_moves_wait")) {
      keep_for_fault(&own(stream));
    }
    if (!lost_in_race(own(stream), mark)) {
      own(stream).follow_default_stream();
      own(stream).wait_for(mark);
    }
  }
  void launch_host_function(
      engine::Stream& stream,
      musaHostFn_t function,
      void* data) override {
    cpu::launch_host_function(own(stream), function, data);
  }
  void add_callback(
      engine::Stream& stream,
      musaStream_t handle,
      musaStreamCallback_t callback,
      void* data) override {
    cpu::add_callback(own(stream), handle, callback, data);
  }

  // --- events ---
  engine::Event& create_event(int index, unsigned flags) override {
    device(index);
    Event& event = event_table().take();
    event.open(index, flags);
    return event;
  }
  engine::Event& resolve_event(musaEvent_t handle) override {
    Event* event = event_table().find(handle);
    if (event == nullptr || !event->alive()) {
      throw Error(
          musaErrorInvalidResourceHandle,
          "the event handle is none, or its event was destroyed");
    }
    return *event;
  }
  void destroy_event(musaEvent_t handle) override {
    Event& event = own(resolve_event(handle));
    event.close();
    event_table().give_back(event);
  }
  void record_event(engine::Event& event, engine::Stream& stream) override {
    if (event.device() != stream.device()) {
      throw Error(
          musaErrorInvalidResourceHandle,
          "the event and the stream are of different devices");
    }
    if (__builtin_expect(own(stream).captured(), 0) &&
        capture_record(own(stream), own(event))) {
      return;
    }
    own(event).record(own(stream));
  }
  void synchronize_event(engine::Event& event) override {
    const Mark mark = own(event).mark();
    forbid_in_capture();
    count(Counter::kWaits);
    if (mark.stream != nullptr) {
      mark.stream->wait_until(mark.task);
    }
    Device& owner = device(event.device());
    surface(owner);
    trim_pools(owner);
  }
  bool query_event(engine::Event& event) override {
    const Mark mark = own(event).mark();
    forbid_in_capture();
    const bool done = reached(mark) || planted("early_event_query");
    if (done) {
      surface(device(event.device()));
    }
    return done;
  }
  float elapsed_ms(engine::Event& start, engine::Event& end) override;

 private:
  static size_t checked(musaLimit which) {
    switch (which) {
    case musaLimitStackSize:
    case musaLimitPrintfFifoSize:
    case musaLimitMallocHeapSize:
    case musaLimitPersistingL2CacheSize:
      return static_cast<size_t>(which);
    default:
      throw Error(musaErrorUnsupportedLimit, "the device has no such limit");
    }
  }

  static void wait_for_all() {
    for (int i = 0; i < config().devices; ++i) {
      Device* at = device_if_started(i);
      if (at != nullptr) {
        at->wait();
      }
    }
  }

  static void release_managed(void* pointer) {
    HostBlock block;
    if (!find_host(pointer, block) || block.kind != HostKind::kManaged ||
        block.begin != reinterpret_cast<uintptr_t>(pointer)) {
      throw Error(
          musaErrorInvalidValue,
          "the pointer is not the start of live device memory");
    }
    count(Counter::kWaits);
    wait_for_all();
    free_host(pointer, HostKind::kManaged);
  }
};

float CpuRuntime::elapsed_ms(engine::Event& start, engine::Event& end) {
  if (start.device() != end.device()) {
    throw Error(
        musaErrorInvalidResourceHandle,
        "the events are of different devices");
  }
  struct Share {
    TimeCell* cell = nullptr;
    ~Share() { cpu::release(cell); }
  };
  Share first;
  Share last;
  const Mark from = own(start).mark(first.cell);
  const Mark to = own(end).mark(last.cell);
  if (first.cell == nullptr || last.cell == nullptr) {
    throw Error(
        musaErrorInvalidResourceHandle,
        "an event was not recorded, or was made without timing");
  }
  if (!reached(from) || !reached(to)) {
    throw Error(musaErrorNotReady, "an event has not been reached yet");
  }
  surface(device(start.device()));
  const int64_t nanoseconds =
      last.cell->nanoseconds.load() - first.cell->nanoseconds.load();
  return static_cast<float>(static_cast<double>(nanoseconds) * 1e-6);
}

} // namespace
} // namespace cpu

Runtime& runtime() {
  static auto* const instance = new cpu::CpuRuntime;
  return *instance;
}

} // namespace musa_standin::engine
