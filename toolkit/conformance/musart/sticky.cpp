// SPDX-License-Identifier: Apache-2.0
// After a sticky error: which calls report it, which do not, and what ends it.
#include "support/child.h"
#include "support/conforms.h"
#include "support/poison.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <sstream>
#include <thread>

namespace conformance {

#if CONFORMANCE_PORTABLE

namespace {

// What the calls work on, made while the device is well.
struct World {
  void* memory = nullptr;
  void* free_me = nullptr;
  void* async = nullptr;
  void* pinned = nullptr;
  void* free_host = nullptr;
  void* pages = nullptr;
  void* registered = nullptr;
  musaStream_t stream = nullptr;
  musaStream_t free_stream = nullptr;
  musaEvent_t event = nullptr;
  musaEvent_t free_event = nullptr;
  musaMemPool_t pool = nullptr;
  musaMemPool_t free_pool = nullptr;
  musaGraph_t graph = nullptr;
  musaGraphNode_t node = nullptr;
  musaGraphExec_t exec = nullptr;
  char bus[32] = {};
  unsigned char host[64] = {};
};

musaMemPoolProps pool_properties() {
  musaMemPoolProps properties;
  std::memset(&properties, 0, sizeof properties);
  properties.allocType = musaMemAllocationTypePinned;
  properties.location.type = musaMemLocationTypeDevice;
  return properties;
}

// A graph of one node.
bool prepare_graph(World& w) {
  std::size_t nodes = 1;
  return musaStreamBeginCapture(w.stream, musaStreamCaptureModeGlobal) ==
      musaSuccess &&
      musaMemsetAsync(w.memory, 0, 64, w.stream) == musaSuccess &&
      musaStreamEndCapture(w.stream, &w.graph) == musaSuccess &&
      musaGraphGetNodes(w.graph, &w.node, &nodes) == musaSuccess &&
      musaGraphInstantiateWithFlags(&w.exec, w.graph, 0) == musaSuccess;
}

bool prepare(World& w) {
  const musaMemPoolProps properties = pool_properties();
  w.pages = std::aligned_alloc(4096, 8192);
  w.registered = static_cast<char*>(w.pages) + 4096;
  return musaMalloc(&w.memory, 4096) == musaSuccess &&
      musaMalloc(&w.free_me, 4096) == musaSuccess &&
      musaMallocAsync(&w.async, 4096, nullptr) == musaSuccess &&
      musaMallocHost(&w.pinned, 4096) == musaSuccess &&
      musaMallocHost(&w.free_host, 4096) == musaSuccess &&
      musaHostRegister(w.registered, 4096, 0) == musaSuccess &&
      musaStreamCreate(&w.stream) == musaSuccess &&
      musaStreamCreate(&w.free_stream) == musaSuccess &&
      musaEventCreate(&w.event) == musaSuccess &&
      musaEventCreate(&w.free_event) == musaSuccess &&
      musaEventRecord(w.event, w.stream) == musaSuccess &&
      musaMemPoolCreate(&w.pool, &properties) == musaSuccess &&
      musaMemPoolCreate(&w.free_pool, &properties) == musaSuccess &&
      musaDeviceGetPCIBusId(w.bus, sizeof w.bus, 0) == musaSuccess &&
      prepare_graph(w) && musaDeviceSynchronize() == musaSuccess;
}

// Work, and what needs a working device, reports the error. Queries about the
// machine do not.
enum class After { Reports, Succeeds };

struct Call {
  const char* function;
  After after;
  musaError_t (*call)(World&);
};

#define CALL(function, after, ...)         \
  {#function, After::after, [](World& w) { \
     (void)w;                              \
     return function(__VA_ARGS__);         \
   }}

void* g_pointer;
int g_int;
unsigned g_unsigned;
std::size_t g_size;
std::size_t g_pitch;
float g_float;
std::uint64_t g_number;
musaStream_t g_stream;
musaEvent_t g_event;
musaMemPool_t g_pool;
musaDeviceProp g_properties;
musaPointerAttributes g_attributes;
musaSharedMemConfig g_config;
const musaMemPoolProps g_pool_properties = pool_properties();
musaStreamCaptureStatus g_capture;
musaStreamCaptureMode g_mode = musaStreamCaptureModeGlobal;
musaGraph_t g_graph;
musaGraphExec_t g_exec;
musaGraphNodeType g_node_type;

const Call kCalls[] = {
    CALL(musaPeekAtLastError, Reports),
    CALL(musaGetLastError, Reports),
    CALL(musaDriverGetVersion, Succeeds, &g_int),
    CALL(musaRuntimeGetVersion, Succeeds, &g_int),
    CALL(musaGetDeviceCount, Succeeds, &g_int),
    CALL(musaGetDevice, Succeeds, &g_int),
    CALL(musaSetDevice, Succeeds, 0),
    CALL(musaInitDevice, Succeeds, 0, 0U, 0U),
    CALL(musaSetDeviceFlags, Succeeds, musaDeviceScheduleAuto),
    CALL(musaGetDeviceFlags, Succeeds, &g_unsigned),
    CALL(musaGetDeviceProperties, Succeeds, &g_properties, 0),
    CALL(musaDeviceGetAttribute, Succeeds, &g_int, musaDevAttrWarpSize, 0),
    CALL(musaDeviceGetPCIBusId, Succeeds, w.bus, 32, 0),
    CALL(musaDeviceGetByPCIBusId, Succeeds, &g_int, w.bus),
    CALL(musaDeviceGetStreamPriorityRange, Succeeds, &g_int, &g_int),
    CALL(musaDeviceSetLimit, Reports, musaLimitMallocHeapSize, 4096),
    CALL(musaDeviceGetLimit, Reports, &g_size, musaLimitMallocHeapSize),
    CALL(musaDeviceSetSharedMemConfig, Reports, musaSharedMemBankSizeDefault),
    CALL(musaDeviceGetSharedMemConfig, Reports, &g_config),
    CALL(musaCtxResetPersistingL2Cache, Reports),
    CALL(musaProfilerStart, Succeeds),
    CALL(musaProfilerStop, Succeeds),
    CALL(musaDeviceCanAccessPeer, Succeeds, &g_int, 0, 0),
    CALL(musaDeviceEnablePeerAccess, Reports, 1, 0),
    CALL(musaDeviceDisablePeerAccess, Reports, 1),
    CALL(musaMemGetInfo, Reports, &g_size, &g_size),
    CALL(musaMalloc, Reports, &g_pointer, 64),
    CALL(musaFree, Reports, w.free_me),
    CALL(musaMallocPitch, Reports, &g_pointer, &g_pitch, 16, 4),
    CALL(musaMallocHost, Reports, &g_pointer, 64),
    CALL(musaHostAlloc, Reports, &g_pointer, 64, 0),
    CALL(musaFreeHost, Reports, w.free_host),
    CALL(musaHostRegister, Reports, w.pages, 4096, 0),
    CALL(musaHostUnregister, Reports, w.registered),
    CALL(musaHostGetDevicePointer, Reports, &g_pointer, w.pinned, 0),
    CALL(musaHostGetFlags, Reports, &g_unsigned, w.pinned),
    CALL(musaMallocManaged, Reports, &g_pointer, 64, musaMemAttachGlobal),
    CALL(musaPointerGetAttributes, Succeeds, &g_attributes, w.memory),
    CALL(musaMemcpy, Reports, w.memory, w.host, 64, musaMemcpyHostToDevice),
    CALL(
        musaMemcpyAsync,
        Reports,
        w.memory,
        w.host,
        64,
        musaMemcpyHostToDevice,
        w.stream),
    CALL(musaMemcpyPeer, Reports, w.memory, 0, w.memory, 0, 64),
    CALL(musaMemcpyPeerAsync, Reports, w.memory, 0, w.memory, 0, 64, w.stream),
    CALL(
        musaMemcpy2D,
        Reports,
        w.memory,
        8,
        w.host,
        8,
        8,
        8,
        musaMemcpyHostToDevice),
    CALL(
        musaMemcpy2DAsync,
        Reports,
        w.memory,
        8,
        w.host,
        8,
        8,
        8,
        musaMemcpyHostToDevice,
        w.stream),
    CALL(musaMemset, Reports, w.memory, 0, 64),
    CALL(musaMemsetAsync, Reports, w.memory, 0, 64, w.stream),
    CALL(musaMemset2D, Reports, w.memory, 8, 0, 8, 8),
    CALL(musaMemset2DAsync, Reports, w.memory, 8, 0, 8, 8, w.stream),
    CALL(musaStreamCreate, Reports, &g_stream),
    CALL(musaStreamCreateWithFlags, Reports, &g_stream, musaStreamNonBlocking),
    CALL(musaStreamCreateWithPriority, Reports, &g_stream, 0, 0),
    CALL(musaStreamGetPriority, Reports, w.stream, &g_int),
    CALL(musaStreamGetFlags, Reports, w.stream, &g_unsigned),
    CALL(musaStreamSynchronize, Reports, w.stream),
    CALL(musaStreamQuery, Reports, w.stream),
    CALL(musaStreamWaitEvent, Reports, w.stream, w.event, 0),
    CALL(
        musaStreamAddCallback,
        Reports,
        w.stream,
        [](musaStream_t, musaError_t, void*) {},
        nullptr,
        0),
    CALL(
        musaLaunchHostFunc,
        Reports,
        w.stream,
        [](void*) {},
        nullptr),
    CALL(musaStreamIsCapturing, Reports, w.stream, &g_capture),
    CALL(
        musaStreamBeginCapture,
        Reports,
        w.stream,
        musaStreamCaptureModeGlobal),
    CALL(musaStreamEndCapture, Reports, w.stream, &g_graph),
    CALL(musaStreamGetCaptureInfo, Reports, w.stream, &g_capture, nullptr),
    CALL(
        musaStreamGetCaptureInfo_v2,
        Reports,
        w.stream,
        &g_capture,
        nullptr,
        nullptr,
        nullptr,
        nullptr),
    CALL(musaThreadExchangeStreamCaptureMode, Succeeds, &g_mode),
    CALL(musaGraphCreate, Reports, &g_graph, 0U),
    {"musaGraphInstantiate",
     After::Reports,
     [](World& w) {
       return musaGraphInstantiate(&g_exec, w.graph, nullptr, nullptr, 0);
     }},
    CALL(musaGraphInstantiateWithFlags, Reports, &g_exec, w.graph, 0),
    CALL(musaGraphLaunch, Reports, w.exec, w.stream),
    CALL(musaGraphGetNodes, Reports, w.graph, nullptr, &g_size),
    CALL(musaGraphNodeGetType, Reports, w.node, &g_node_type),
    CALL(musaGraphDebugDotPrint, Reports, w.graph, "unused.dot", 0U),
    CALL(musaGraphExecDestroy, Reports, w.exec),
    CALL(musaGraphDestroy, Reports, w.graph),
    CALL(musaEventCreate, Reports, &g_event),
    CALL(musaEventCreateWithFlags, Reports, &g_event, musaEventDisableTiming),
    CALL(musaEventRecord, Reports, w.event, w.stream),
    CALL(musaEventRecordWithFlags, Reports, w.event, w.stream, 0),
    CALL(musaEventSynchronize, Reports, w.event),
    CALL(musaEventQuery, Reports, w.event),
    CALL(musaEventElapsedTime, Reports, &g_float, w.event, w.event),
    CALL(musaMallocAsync, Reports, &g_pointer, 64, w.stream),
    CALL(musaFreeAsync, Reports, w.async, w.stream),
    CALL(musaMallocFromPoolAsync, Reports, &g_pointer, 64, w.pool, w.stream),
    CALL(musaMemPoolCreate, Reports, &g_pool, &g_pool_properties),
    CALL(
        musaMemPoolSetAttribute,
        Reports,
        w.pool,
        musaMemPoolAttrReleaseThreshold,
        &g_number),
    CALL(
        musaMemPoolGetAttribute,
        Reports,
        w.pool,
        musaMemPoolAttrReleaseThreshold,
        &g_number),
    CALL(musaMemPoolTrimTo, Reports, w.pool, 0),
    CALL(musaDeviceGetDefaultMemPool, Succeeds, &g_pool, 0),
    CALL(musaDeviceGetMemPool, Succeeds, &g_pool, 0),
    CALL(musaDeviceSetMemPool, Reports, 0, w.pool),
    CALL(musaMemPoolDestroy, Reports, w.free_pool),
    CALL(musaStreamDestroy, Reports, w.free_stream),
    CALL(musaEventDestroy, Reports, w.free_event),
    CALL(musaDeviceSynchronize, Reports),
    CALL(musaDeviceReset, Succeeds),
};

#undef CALL

// "function number" lines of one child that made every call.
const std::map<std::string, int>& answers() {
  static const std::map<std::string, int> result = [] {
    std::map<std::string, int> numbers;
    const ChildResult child =
        run_child("sticky_calls", "", {{"MUSA_CPU_DEVICES", "2"}});
    EXPECT_TRUE(child.exited && child.status == 0) << child.errors;
    std::istringstream lines(child.output);
    std::string function;
    for (int number = 0; lines >> function >> number;) {
      numbers[function] = number;
    }
    return numbers;
  }();
  return result;
}

class StickyTest : public Fixture {
 public:
  explicit StickyTest(const Call& call) : call_(call) {}
  void TestBody() override {
    const auto found = answers().find(call_.function);
    ASSERT_NE(answers().end(), found) << "the child never made the call";
    EXPECT_MUSA(
        call_.after == After::Reports ? musaErrorLaunchFailure : musaSuccess,
        static_cast<musaError_t>(found->second));
  }

 private:
  const Call& call_;
};

[[maybe_unused]] const bool added_sticky = [] {
  for (const Call& call : kCalls) {
    add_conforming(
        call.function,
        "sticky",
        call.after == After::Reports ? "is_reported" : "does_not_matter",
        __FILE__,
        __LINE__,
        [&call]() -> Fixture* { return new StickyTest(call); });
  }
  return true;
}();

// Poisons device 0 and returns what the next synchronise says.
musaError_t poison_and_wait() {
  musaStream_t stream = nullptr;
  if (musaStreamCreateWithFlags(&stream, musaStreamNonBlocking) !=
      musaSuccess) {
    return musaErrorUnknown;
  }
  poison(stream);
  return musaStreamSynchronize(stream);
}

} // namespace

SCENARIO(sticky_calls) {
  World world;
  REQUIRE(prepare(world));
  REQUIRE(poison_and_wait() == musaErrorLaunchFailure);
  for (const Call& call : kCalls) {
    std::printf("%s %d\n", call.function, static_cast<int>(call.call(world)));
  }
  return 0;
}

// The codes of an error's name do not change with the device's state.
CONFORMS(musaGetErrorName, sticky, does_not_matter) {
  EXPECT_STREQ(
      "musaErrorLaunchFailure",
      musaGetErrorName(musaErrorLaunchFailure));
}
CONFORMS(musaGetErrorString, sticky, does_not_matter) {
  EXPECT_NE(nullptr, musaGetErrorString(musaErrorLaunchFailure));
}

SCENARIO(sticky_stays) {
  REQUIRE(poison_and_wait() == musaErrorLaunchFailure);
  for (int i = 0; i < 3; ++i) {
    REQUIRE(musaGetLastError() == musaErrorLaunchFailure);
    REQUIRE(musaDeviceSynchronize() == musaErrorLaunchFailure);
  }
  return 0;
}

BEHAVES(sticky, stays_until_the_device_is_reset) {
  expect_good(run_child("sticky_stays"));
}

SCENARIO(sticky_elsewhere) {
  REQUIRE(musaSetDevice(1) == musaSuccess);
  void* memory = nullptr;
  REQUIRE(musaMalloc(&memory, 64) == musaSuccess);
  REQUIRE(musaSetDevice(0) == musaSuccess);
  REQUIRE(poison_and_wait() == musaErrorLaunchFailure);
  REQUIRE(musaSetDevice(1) == musaSuccess);
  unsigned char host[64] = {1};
  REQUIRE(musaMemcpy(memory, host, 64, musaMemcpyHostToDevice) == musaSuccess);
  REQUIRE(musaDeviceSynchronize() == musaSuccess);
  REQUIRE(musaSetDevice(0) == musaSuccess);
  REQUIRE(musaDeviceSynchronize() == musaErrorLaunchFailure);
  return 0;
}

BEHAVES(sticky, spares_the_other_devices) {
  if (engine_name() != "cpu" && device_count() < 2) {
    GTEST_SKIP() << "needs two devices";
  }
  expect_good(run_child("sticky_elsewhere", "", {{"MUSA_CPU_DEVICES", "2"}}));
}

SCENARIO(sticky_reset) {
  void* memory = nullptr;
  REQUIRE(musaMalloc(&memory, 64) == musaSuccess);
  REQUIRE(poison_and_wait() == musaErrorLaunchFailure);
  REQUIRE(musaDeviceReset() == musaSuccess);
  (void)musaGetLastError();
  REQUIRE(musaDeviceSynchronize() == musaSuccess);
  REQUIRE(musaMalloc(&memory, 64) == musaSuccess);
  REQUIRE(musaMemset(memory, 1, 64) == musaSuccess);
  REQUIRE(musaDeviceSynchronize() == musaSuccess);
  return 0;
}

BEHAVES(sticky, ends_with_a_reset_of_the_device) {
  expect_good(run_child("sticky_reset"));
}

SCENARIO(sticky_first) {
  // The first error is kept: an event waits behind it, and a second failure
  // does not replace what the first one said.
  musaStream_t stream = nullptr;
  REQUIRE(musaStreamCreate(&stream) == musaSuccess);
  Gate gate;
  REQUIRE(gate.hold(stream) == musaSuccess);
  poison(stream);
  (void)musaMemsetAsync(nullptr, 1, 1, stream);
  poison(stream);
  gate.open();
  REQUIRE(musaStreamSynchronize(stream) == musaErrorLaunchFailure);
  const std::string task = musaPortableFailedTask();
  std::printf("%s\n", task.c_str());
  REQUIRE(!task.empty());
  REQUIRE(musaDeviceSynchronize() == musaErrorLaunchFailure);
  return 0;
}

BEHAVES(sticky, first_error_and_its_task_are_kept) {
  expect_good(run_child("sticky_first"));
}

SCENARIO(sticky_thread) {
  REQUIRE(poison_and_wait() == musaErrorLaunchFailure);
  (void)musaGetLastError();
  musaError_t other = musaSuccess;
  std::thread([&] { other = musaStreamSynchronize(nullptr); }).join();
  REQUIRE(other == musaErrorLaunchFailure);
  return 0;
}

BEHAVES(sticky, is_seen_by_every_thread) {
  expect_good(run_child("sticky_thread"));
}

SCENARIO(sticky_tail) {
  // Work behind the failure does not run.
  musaStream_t stream = nullptr;
  REQUIRE(musaStreamCreate(&stream) == musaSuccess);
  Gate gate;
  REQUIRE(gate.hold(stream) == musaSuccess);
  poison(stream);
  Flag flag;
  (void)flag.set_by(stream);
  gate.open();
  REQUIRE(musaStreamSynchronize(stream) == musaErrorLaunchFailure);
  REQUIRE(!flag.done());
  return 0;
}

BEHAVES(sticky, later_work_of_the_stream_does_not_run) {
  expect_good(run_child("sticky_tail"));
}

SCENARIO(device_reset) {
  std::size_t before = 0;
  std::size_t total = 0;
  REQUIRE(musaMemGetInfo(&before, &total) == musaSuccess);
  void* memory = nullptr;
  REQUIRE(musaMalloc(&memory, 1 << 20) == musaSuccess);
  musaStream_t stream = nullptr;
  REQUIRE(musaStreamCreate(&stream) == musaSuccess);
  REQUIRE(musaDeviceReset() == musaSuccess);
  std::size_t after = 0;
  REQUIRE(musaMemGetInfo(&after, &total) == musaSuccess);
  REQUIRE(before == after);
  REQUIRE(musaStreamQuery(stream) == musaErrorInvalidResourceHandle);
  REQUIRE(musaFree(memory) == musaErrorInvalidValue);
  return 0;
}

CONFORMS(musaDeviceReset, success, frees_memory_and_handles) {
  expect_good(run_child("device_reset"));
}

#else

CONFORMS(musaDeviceReset, success, returns) {
  EXPECT_OK(musaDeviceReset());
}

#endif

} // namespace conformance
