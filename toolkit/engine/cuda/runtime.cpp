// SPDX-License-Identifier: Apache-2.0
// The engine interface on top of CUDA's runtime.
#include "toolkit/engine/runtime.h"

#include "toolkit/engine/cuda/copy.h"
#include "toolkit/engine/cuda/counters.h"
#include "toolkit/engine/cuda/device.h"
#include "toolkit/engine/cuda/event.h"
#include "toolkit/engine/cuda/graph_runtime.h"
#include "toolkit/engine/cuda/host_function.h"
#include "toolkit/engine/cuda/mem_pool.h"
#include "toolkit/engine/cuda/memory.h"
#include "toolkit/engine/cuda/properties.h"
#include "toolkit/engine/cuda/start.h"

#include <cstring>

namespace musa_standin::engine {
namespace cuda {

std::atomic<uint64_t> g_counters[static_cast<int>(Counter::kNumber)];

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

// A query's result; what a device found wrong comes out with the answer.
bool done(cudaError_t result, int index) {
  if (result == cudaErrorNotReady) {
    (void)cudaGetLastError(); // for CUDA it is an error too
    return false;
  }
  check(result, index);
  device(index).throw_error();
  return true;
}

class CudaRuntime final : public GraphRuntime {
 public:
  const char* engine_name() const noexcept override { return "cuda"; }

  // Queues and threads are the driver's: nothing else is counted here.
  uint64_t counter(const char* name) const noexcept override {
    return std::strcmp(name, "waits") == 0
        ? g_counters[static_cast<int>(Counter::kWaits)].load()
        : 0;
  }
  void stop() noexcept override { stop_engine(); }

  // --- devices ---
  int device_count() override { return cuda::device_count(); }
  void initialize(int index) override { device(index); }
  void synchronize_device(int index) override {
    count(Counter::kWaits);
    Device& at = device(index);
    at.wait();
    at.throw_error();
  }
  void reset_device(int index) override {
    Device* at = device_if_started(index);
    if (at != nullptr) {
      at->reset();
    }
  }
  void properties(int index, musaDeviceProp& out) override {
    out = cuda::properties(index);
  }
  int attribute(int index, musaDeviceAttr which) override {
    return cuda::attribute(index, which);
  }
  void set_device_flags(int index, unsigned flags) override {
    device(index).set_flags(flags);
  }
  unsigned device_flags(int index) override { return device(index).flags(); }
  void set_limit(int index, musaLimit which, size_t value) override {
    device(index).set_limit(which, value);
  }
  size_t limit(int index, musaLimit which) override {
    return device(index).limit(which);
  }
  void priority_range(int& least, int& greatest) override {
    static const auto range = [] {
      use_device(t_state.device);
      std::pair<int, int> out;
      check(cudaDeviceGetStreamPriorityRange(&out.first, &out.second));
      return out;
    }();
    least = range.first;
    greatest = range.second;
  }
  bool can_access_peer(int index, int peer) override {
    int can = 0;
    if (index != peer) {
      check(cudaDeviceCanAccessPeer(&can, g_ordinals[index], g_ordinals[peer]));
    }
    return can != 0;
  }
  void enable_peer_access(int index, int peer) override {
    device(peer); // its context, which is reached
    device(index).enable_peer(peer);
  }
  void disable_peer_access(int index, int peer) override {
    device(index).disable_peer(peer);
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
    device(index);
    use_device(index);
    check(cudaMemGetInfo(&free, &total));
  }
  void* allocate(int index, size_t bytes) override {
    return allocate_device(device(index), bytes);
  }
  void release(void* pointer) override { release_device(pointer); }
  void* allocate_host(size_t bytes, unsigned flags) override {
    device(t_state.device);
    return allocate_pinned(t_state.device, bytes, flags);
  }
  void release_host(void* pointer) override { release_pinned(pointer); }
  void register_host(void* pointer, size_t bytes, unsigned flags) override {
    device(t_state.device);
    cuda::register_host(t_state.device, pointer, bytes, flags);
  }
  void unregister_host(void* pointer) override {
    cuda::unregister_host(pointer);
  }
  // One address space: the device uses the host's address.
  void* host_device_pointer(void* pointer) override {
    Block block;
    if (!find_host(pointer, block)) {
      throw Error(
          musaErrorInvalidValue,
          "the host memory is not known to the device");
    }
    return pointer;
  }
  unsigned host_flags(void* pointer) override {
    Block block;
    if (!find_host(pointer, block) || block.side == Side::kManaged) {
      throw Error(
          musaErrorInvalidValue,
          "the host memory is not known to the device");
    }
    return block.flags;
  }
  void* allocate_managed(int index, size_t bytes, unsigned flags) override {
    device(index);
    return cuda::allocate_managed(index, bytes, flags);
  }
  void pointer_attributes(musaPointerAttributes& out, const void* pointer)
      override {
    device(t_state.device);
    cuda::pointer_attributes(out, pointer);
  }
  void copy(engine::Stream& stream, const Copy& what, bool blocking) override {
    cuda::copy(own(stream), what, blocking);
  }
  void fill(engine::Stream& stream, const Fill& what) override {
    cuda::fill(own(stream), what);
  }

  // --- stream-ordered memory ---
  void* allocate_async(
      engine::MemPool* pool,
      size_t bytes,
      engine::Stream& stream) override {
    MemPool& from =
        pool != nullptr ? own(pool) : cuda::current_pool(stream.device());
    return cuda::allocate_async(from, bytes, own(stream));
  }
  void release_async(void* pointer, engine::Stream& stream) override {
    cuda::release_async(pointer, own(stream));
  }
  engine::MemPool* create_pool(const musaMemPoolProps& props) override {
    device(props.location.id);
    return &make_pool(props.location.id, props.maxSize);
  }
  void destroy_pool(musaMemPool_t pool) override {
    cuda::destroy_pool(find_pool(pool));
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
    device(index);
    return &cuda::default_pool(index);
  }
  engine::MemPool* current_pool(int index) override {
    device(index);
    return &cuda::current_pool(index);
  }
  void set_current_pool(int index, engine::MemPool* pool) override {
    cuda::set_current_pool(index, own(pool));
  }

  // --- streams ---
  engine::Stream& create_stream(int index, unsigned flags, int priority)
      override {
    device(index);
    return cuda::create_stream(index, flags, priority);
  }
  void destroy_stream(musaStream_t handle) override {
    cuda::destroy_stream(handle);
  }
  void synchronize_stream(engine::Stream& stream) override {
    count(Counter::kWaits);
    check(cudaStreamSynchronize(native(stream)));
    device(stream.device()).throw_error();
  }
  bool query_stream(engine::Stream& stream) override {
    return done(cudaStreamQuery(native(stream)), stream.device());
  }
  void wait_event(engine::Stream& stream, engine::Event& event) override {
    check(cudaStreamWaitEvent(
        native(stream),
        own(event).native(),
        cudaEventWaitDefault));
  }
  void launch_host_function(
      engine::Stream& stream,
      musaHostFn_t function,
      void* data) override {
    cuda::launch_host_function(own(stream), function, data);
  }
  void add_callback(
      engine::Stream& stream,
      musaStream_t handle,
      musaStreamCallback_t callback,
      void* data) override {
    cuda::add_callback(own(stream), handle, callback, data);
  }

  // --- events ---
  engine::Event& create_event(int index, unsigned flags) override {
    device(index);
    return cuda::create_event(index, flags);
  }
  engine::Event& resolve_event(musaEvent_t handle) override {
    return cuda::resolve_event(handle);
  }
  void destroy_event(musaEvent_t handle) override {
    cuda::destroy_event(handle);
  }
  void record_event(engine::Event& event, engine::Stream& stream) override {
    if (event.device() != stream.device()) {
      throw Error(
          musaErrorInvalidResourceHandle,
          "the event and the stream are of different devices");
    }
    check(cudaEventRecord(own(event).native(), native(stream)));
  }
  void synchronize_event(engine::Event& event) override {
    count(Counter::kWaits);
    check(cudaEventSynchronize(own(event).native()), event.device());
    device(event.device()).throw_error();
  }
  bool query_event(engine::Event& event) override {
    return done(cudaEventQuery(own(event).native()), event.device());
  }
  float elapsed_ms(engine::Event& start, engine::Event& end) override {
    if (start.device() != end.device()) {
      throw Error(
          musaErrorInvalidResourceHandle,
          "the events are of different devices");
    }
    float ms = 0;
    check(
        cudaEventElapsedTime(&ms, own(start).native(), own(end).native()),
        start.device());
    device(start.device()).throw_error();
    return ms;
  }

 private:
  static bool find_host(const void* pointer, Block& out) {
    return find_block(pointer, out) && out.side != Side::kDevice &&
        out.side != Side::kPool;
  }
};

} // namespace
} // namespace cuda

Runtime& runtime() {
  static auto* const instance = new cuda::CudaRuntime;
  return *instance;
}

} // namespace musa_standin::engine
