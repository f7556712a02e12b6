// SPDX-License-Identifier: Apache-2.0
// Engine interface of devices, memory, streams and events.
#pragma once

#include "toolkit/engine/error.h"
#include "toolkit/engine/export.h"
#include "toolkit/engine/thread_state.h"

#include "toolkit/include/driver_types.h"

#include <cstddef>
#include <cstdint>

// What musaStream_t and musaEvent_t point at; an engine derives from them.
struct MUstream_st {};
struct MUevent_st {};
struct MUmemPoolHandle_st {};
struct MUgraph_st {};
struct MUgraphExec_st {};
struct MUgraphNode_st {};

namespace musa_standin::engine {

class Stream : public ::MUstream_st {
 public:
  [[nodiscard]] int device() const noexcept { return device_; }
  [[nodiscard]] unsigned flags() const noexcept { return flags_; }
  [[nodiscard]] int priority() const noexcept { return priority_; }

 protected:
  int device_ = 0;
  unsigned flags_ = 0;
  int priority_ = 0;
};

class Event : public ::MUevent_st {
 public:
  [[nodiscard]] int device() const noexcept { return device_; }
  [[nodiscard]] unsigned flags() const noexcept { return flags_; }

 protected:
  int device_ = 0;
  unsigned flags_ = 0;
};

class MemPool : public ::MUmemPoolHandle_st {};

// The stream behind a handle: null and 1 are the device's legacy default
// stream, 2 is the calling thread's.  Throws InvalidResourceHandle for a
// handle that is none, or was destroyed.
MUSA_ENGINE_API Stream& resolve_stream(musaStream_t handle, int device);

// Rows of `width` bytes; a plain copy is one row.
struct Copy {
  void* dst;
  const void* src;
  size_t width;
  size_t height = 1;
  size_t dst_pitch = 0;
  size_t src_pitch = 0;
  musaMemcpyKind kind = musaMemcpyDefault;
};

struct Fill {
  void* dst;
  int value;
  size_t width;
  size_t height = 1;
  size_t pitch = 0;
};

// A stream's part in a capture; the array lives until the thread asks again.
struct CaptureInfo {
  musaStreamCaptureStatus status = musaStreamCaptureStatusNone;
  unsigned long long id = 0;
  musaGraph_t graph = nullptr;
  const musaGraphNode_t* dependencies = nullptr;
  size_t dependency_count = 0;
};

// Every function throws Error; the default of each is NotSupported.  Device
// numbers have been checked by the caller; handles and pointers have not.
class MUSA_ENGINE_API Runtime {
 public:
  virtual const char* engine_name() const noexcept = 0;
  virtual int driver_version() const;
  virtual uint64_t counter(const char* name) const noexcept;
  // Ends what runs, drops the rest.
  virtual void stop() noexcept;

  // --- devices -------------------------------------------------------------
  // 0 on a machine without one; throws InitializationError for a malformed
  // environment variable.
  virtual int device_count();
  virtual void initialize(int device);
  virtual void synchronize_device(int device);
  // Drops the device's work, memory, streams and events.
  virtual void reset_device(int device);
  virtual void properties(int device, musaDeviceProp& out);
  virtual int attribute(int device, musaDeviceAttr attribute);
  virtual void set_device_flags(int device, unsigned flags);
  virtual unsigned device_flags(int device);
  virtual void set_limit(int device, musaLimit limit, size_t value);
  virtual size_t limit(int device, musaLimit limit);
  virtual void priority_range(int& least, int& greatest);
  virtual bool can_access_peer(int device, int peer);
  virtual void enable_peer_access(int device, int peer);
  virtual void disable_peer_access(int device, int peer);
  // The error that keeps the device from working, or musaSuccess.
  virtual musaError_t sticky_error(int device) noexcept;
  // Name of the task that left the device's error behind; may be empty.
  virtual const char* failed_task(int device) noexcept;

  // --- memory --------------------------------------------------------------
  virtual void memory_info(int device, size_t& free, size_t& total);
  virtual void* allocate(int device, size_t bytes);
  // Waits for the device that owns the memory.
  virtual void release(void* pointer);
  virtual void* allocate_host(size_t bytes, unsigned flags);
  virtual void release_host(void* pointer);
  virtual void register_host(void* pointer, size_t bytes, unsigned flags);
  virtual void unregister_host(void* pointer);
  virtual void* host_device_pointer(void* pointer);
  virtual unsigned host_flags(void* pointer);
  virtual void* allocate_managed(int device, size_t bytes, unsigned flags);
  virtual void pointer_attributes(musaPointerAttributes& out, const void* p);
  // `blocking`: return when the host may use its side of the copy.
  virtual void copy(Stream& stream, const Copy& copy, bool blocking);
  virtual void fill(Stream& stream, const Fill& fill);

  // --- stream-ordered memory -----------------------------------------------
  virtual void* allocate_async(MemPool* pool, size_t bytes, Stream& stream);
  virtual void release_async(void* pointer, Stream& stream);
  virtual MemPool* create_pool(const musaMemPoolProps& props);
  virtual void destroy_pool(musaMemPool_t pool);
  virtual MemPool* resolve_pool(musaMemPool_t pool);
  virtual void set_pool_attribute(MemPool*, musaMemPoolAttr, const void*);
  virtual void pool_attribute(MemPool*, musaMemPoolAttr, void*);
  virtual void trim_pool(MemPool* pool, size_t keep_bytes);
  virtual MemPool* default_pool(int device);
  virtual MemPool* current_pool(int device);
  virtual void set_current_pool(int device, MemPool* pool);

  // --- streams -------------------------------------------------------------
  virtual Stream& create_stream(int device, unsigned flags, int priority);
  // Its work goes on; the handle is dead at once.
  virtual void destroy_stream(musaStream_t handle);
  virtual void synchronize_stream(Stream& stream);
  virtual bool query_stream(Stream& stream);
  virtual void wait_event(Stream& stream, Event& event);
  virtual void launch_host_function(Stream& stream, musaHostFn_t, void*);
  virtual void
  add_callback(Stream&, musaStream_t handle, musaStreamCallback_t, void*);

  // --- events --------------------------------------------------------------
  virtual Event& create_event(int device, unsigned flags);
  virtual Event& resolve_event(musaEvent_t handle);
  virtual void destroy_event(musaEvent_t handle);
  virtual void record_event(Event& event, Stream& stream);
  virtual void synchronize_event(Event& event);
  virtual bool query_event(Event& event);
  virtual float elapsed_ms(Event& start, Event& end);

  // --- captures and graphs -------------------------------------------------
  virtual void begin_capture(Stream& stream, musaStreamCaptureMode mode);
  virtual musaGraph_t end_capture(Stream& stream);
  virtual CaptureInfo capture_info(Stream& stream);
  // The calling thread's; the result is the one before.
  virtual musaStreamCaptureMode exchange_capture_mode(musaStreamCaptureMode);
  virtual musaGraph_t create_graph();
  virtual void destroy_graph(musaGraph_t graph);
  // Fills in up to `room` nodes, none for null; the result is their number.
  virtual size_t graph_nodes(musaGraph_t, musaGraphNode_t* nodes, size_t room);
  virtual musaGraphNodeType graph_node_type(musaGraphNode_t node);
  virtual void print_graph(musaGraph_t, const char* path, unsigned flags);
  // Lives without its graph.
  virtual musaGraphExec_t instantiate_graph(
      musaGraph_t graph,
      unsigned long long flags);
  virtual void destroy_graph_exec(musaGraphExec_t exec);
  virtual void launch_graph(musaGraphExec_t exec, Stream& stream);

 protected:
  Runtime() = default;
  ~Runtime() = default;
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;
};

// The engine that this library was built with.
MUSA_ENGINE_API Runtime& runtime();

} // namespace musa_standin::engine
