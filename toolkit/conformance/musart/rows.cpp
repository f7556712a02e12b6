// SPDX-License-Identifier: Apache-2.0
// The rows of the runtime's matrix: documented errors, and why a cell is empty.
#include "support/conforms.h"

#include <algorithm>
#include <iterator>
#include <regex>

namespace conformance {
namespace {

constexpr const char* kNoPointer = "takes no pointer that could be null";
constexpr const char* kNoSize = "takes no size";
constexpr const char* kRefused =
    "refused on the portable engines: kernels and handles between processes "
    "have no counterpart there yet";
constexpr const char* kAnyCode = "takes an error code and nothing else";
constexpr const char* kNotPortable =
    "a sticky error can be provoked on the portable engines only";

#if CONFORMANCE_PORTABLE
constexpr const char* kSticky = nullptr;
#else
constexpr const char* kSticky = kNotPortable;
#endif

// A function whose cells are all tested, up to the reasons given.
Row row(
    const char* function,
    const char* errors,
    const char* no_null,
    const char* no_zero) {
  return {function, errors, nullptr, no_null, no_zero, kSticky};
}

Row refused(const char* function) {
  return {function, "NotSupported", kRefused, kRefused, kRefused, kRefused};
}

std::vector<Row> device_rows() {
  return {
      row("musaGetLastError", "", kNoPointer, kNoSize),
      row("musaPeekAtLastError", "", kNoPointer, kNoSize),
      {"musaGetErrorName",
       "InvalidValue",
       nullptr,
       kAnyCode,
       kAnyCode,
       kSticky},
      {"musaGetErrorString",
       "InvalidValue",
       nullptr,
       kAnyCode,
       kAnyCode,
       kSticky},
      row("musaDriverGetVersion", "InvalidValue", nullptr, kNoSize),
      row("musaRuntimeGetVersion", "InvalidValue", nullptr, kNoSize),
      row("musaGetDeviceCount", "InvalidValue", nullptr, kNoSize),
      row("musaGetDevice", "InvalidValue", nullptr, kNoSize),
      row("musaSetDevice", "InvalidDevice", kNoPointer, kNoSize),
      row("musaInitDevice", "InvalidDevice", kNoPointer, kNoSize),
      row("musaSetDeviceFlags", "InvalidValue", kNoPointer, kNoSize),
      row("musaGetDeviceFlags", "InvalidValue", nullptr, kNoSize),
      row("musaDeviceSynchronize",
          "StreamCaptureUnsupported",
          kNoPointer,
          kNoSize),
      row("musaDeviceReset", "", kNoPointer, kNoSize),
      row("musaGetDeviceProperties",
          "InvalidValue InvalidDevice",
          nullptr,
          kNoSize),
      row("musaDeviceGetAttribute",
          "InvalidValue InvalidDevice",
          nullptr,
          kNoSize),
      row("musaDeviceGetPCIBusId",
          "InvalidValue InvalidDevice",
          nullptr,
          nullptr),
      row("musaDeviceGetByPCIBusId",
          "InvalidValue InvalidDevice",
          nullptr,
          kNoSize),
      row("musaDeviceGetStreamPriorityRange", "", nullptr, kNoSize),
      row("musaDeviceSetLimit", "UnsupportedLimit", kNoPointer, kNoSize),
      row("musaDeviceGetLimit",
          "InvalidValue UnsupportedLimit",
          nullptr,
          kNoSize),
      row("musaDeviceSetSharedMemConfig", "InvalidValue", kNoPointer, kNoSize),
      row("musaDeviceGetSharedMemConfig", "InvalidValue", nullptr, kNoSize),
      row("musaCtxResetPersistingL2Cache", "", kNoPointer, kNoSize),
      row("musaProfilerStart", "", kNoPointer, kNoSize),
      row("musaProfilerStop", "", kNoPointer, kNoSize),
      row("musaDeviceCanAccessPeer",
          "InvalidValue InvalidDevice",
          nullptr,
          kNoSize),
      row("musaDeviceEnablePeerAccess",
          "InvalidDevice InvalidValue PeerAccessAlreadyEnabled",
          kNoPointer,
          kNoSize),
      row("musaDeviceDisablePeerAccess",
          "InvalidDevice PeerAccessNotEnabled",
          kNoPointer,
          kNoSize),
  };
}

std::vector<Row> memory_rows() {
  return {
      row("musaMemGetInfo", "", nullptr, kNoSize),
      row("musaMalloc",
          "InvalidValue MemoryAllocation StreamCaptureUnsupported",
          nullptr,
          nullptr),
      row("musaFree", "InvalidValue", nullptr, kNoSize),
      row("musaMallocPitch", "InvalidValue MemoryAllocation", nullptr, nullptr),
      row("musaMallocHost", "InvalidValue MemoryAllocation", nullptr, nullptr),
      row("musaFreeHost", "InvalidValue", nullptr, kNoSize),
      row("musaHostAlloc", "InvalidValue MemoryAllocation", nullptr, nullptr),
      row("musaHostRegister",
          "InvalidValue HostMemoryAlreadyRegistered",
          nullptr,
          nullptr),
      row("musaHostUnregister",
          "InvalidValue HostMemoryNotRegistered",
          nullptr,
          kNoSize),
      row("musaHostGetDevicePointer", "InvalidValue", nullptr, kNoSize),
      row("musaHostGetFlags", "InvalidValue", nullptr, kNoSize),
      row("musaMallocManaged",
          "InvalidValue",
          nullptr,
          "managed memory may be refused as a whole"),
      row("musaPointerGetAttributes", "InvalidValue", nullptr, kNoSize),
      row("musaMemcpy",
          "InvalidValue InvalidMemcpyDirection",
          nullptr,
          nullptr),
      row("musaMemcpyAsync",
          "InvalidValue InvalidMemcpyDirection InvalidResourceHandle",
          nullptr,
          nullptr),
      row("musaMemcpyPeer", "InvalidValue InvalidDevice", nullptr, nullptr),
      row("musaMemcpyPeerAsync",
          "InvalidValue InvalidDevice InvalidResourceHandle",
          nullptr,
          nullptr),
      row("musaMemcpy2D",
          "InvalidValue InvalidPitchValue InvalidMemcpyDirection",
          nullptr,
          nullptr),
      row("musaMemcpy2DAsync",
          "InvalidValue InvalidPitchValue InvalidMemcpyDirection "
          "InvalidResourceHandle",
          nullptr,
          nullptr),
      row("musaMemset", "InvalidValue", nullptr, nullptr),
      row("musaMemsetAsync",
          "InvalidValue InvalidResourceHandle StreamCaptureImplicit",
          nullptr,
          nullptr),
      row("musaMemset2D", "InvalidValue", nullptr, nullptr),
      row("musaMemset2DAsync",
          "InvalidValue InvalidResourceHandle",
          nullptr,
          nullptr),
  };
}

std::vector<Row> stream_rows() {
  return {
      row("musaStreamCreate", "InvalidValue", nullptr, kNoSize),
      row("musaStreamCreateWithFlags", "InvalidValue", nullptr, kNoSize),
      row("musaStreamCreateWithPriority", "InvalidValue", nullptr, kNoSize),
      row("musaStreamGetPriority",
          "InvalidValue InvalidResourceHandle",
          nullptr,
          kNoSize),
      row("musaStreamGetFlags",
          "InvalidValue InvalidResourceHandle",
          nullptr,
          kNoSize),
      row("musaStreamDestroy", "InvalidResourceHandle", nullptr, kNoSize),
      row("musaStreamSynchronize",
          "InvalidResourceHandle StreamCaptureUnsupported",
          nullptr,
          kNoSize),
      row("musaStreamQuery",
          "InvalidResourceHandle NotReady StreamCaptureUnsupported",
          nullptr,
          kNoSize),
      row("musaStreamWaitEvent",
          "InvalidValue InvalidResourceHandle StreamCaptureMerge "
          "StreamCaptureIsolation",
          nullptr,
          kNoSize),
      row("musaStreamAddCallback",
          "InvalidValue InvalidResourceHandle StreamCaptureUnsupported",
          nullptr,
          kNoSize),
      row("musaLaunchHostFunc",
          "InvalidValue InvalidResourceHandle NotPermitted",
          nullptr,
          kNoSize),
      row("musaEventCreate", "InvalidValue", nullptr, kNoSize),
      row("musaEventCreateWithFlags", "InvalidValue", nullptr, kNoSize),
      row("musaEventRecord", "InvalidResourceHandle", nullptr, kNoSize),
      row("musaEventRecordWithFlags",
          "InvalidValue InvalidResourceHandle",
          nullptr,
          kNoSize),
      row("musaEventSynchronize",
          "InvalidResourceHandle CapturedEvent",
          nullptr,
          kNoSize),
      row("musaEventQuery",
          "InvalidResourceHandle NotReady CapturedEvent",
          nullptr,
          kNoSize),
      row("musaEventDestroy", "InvalidResourceHandle", nullptr, kNoSize),
      row("musaEventElapsedTime",
          "InvalidValue InvalidResourceHandle NotReady",
          nullptr,
          kNoSize),
  };
}

std::vector<Row> pool_rows() {
  return {
      row("musaMallocAsync",
          "InvalidValue MemoryAllocation InvalidResourceHandle",
          nullptr,
          nullptr),
      row("musaFreeAsync",
          "InvalidValue InvalidResourceHandle",
          nullptr,
          kNoSize),
      row("musaMallocFromPoolAsync",
          "InvalidValue MemoryAllocation InvalidResourceHandle",
          nullptr,
          nullptr),
      row("musaMemPoolCreate", "InvalidValue", nullptr, kNoSize),
      row("musaMemPoolDestroy", "InvalidValue", nullptr, kNoSize),
      row("musaMemPoolSetAttribute", "InvalidValue", nullptr, kNoSize),
      row("musaMemPoolGetAttribute", "InvalidValue", nullptr, kNoSize),
      row("musaMemPoolTrimTo", "InvalidValue", nullptr, nullptr),
      row("musaDeviceGetDefaultMemPool",
          "InvalidValue InvalidDevice",
          nullptr,
          kNoSize),
      row("musaDeviceGetMemPool",
          "InvalidValue InvalidDevice",
          nullptr,
          kNoSize),
      row("musaDeviceSetMemPool",
          "InvalidValue InvalidDevice",
          nullptr,
          kNoSize),
  };
}

std::vector<Row> graph_rows() {
  return {
      row("musaStreamBeginCapture",
          "InvalidValue InvalidResourceHandle IllegalState "
          "StreamCaptureUnsupported",
          nullptr,
          kNoSize),
      row("musaStreamEndCapture",
          "InvalidValue IllegalState StreamCaptureInvalidated "
          "StreamCaptureUnmatched StreamCaptureUnjoined "
          "StreamCaptureWrongThread",
          nullptr,
          kNoSize),
      row("musaStreamIsCapturing",
          "InvalidValue StreamCaptureImplicit",
          nullptr,
          kNoSize),
      row("musaStreamGetCaptureInfo",
          "InvalidValue StreamCaptureImplicit",
          nullptr,
          kNoSize),
      row("musaStreamGetCaptureInfo_v2",
          "InvalidValue StreamCaptureImplicit",
          nullptr,
          kNoSize),
      row("musaThreadExchangeStreamCaptureMode",
          "InvalidValue",
          nullptr,
          kNoSize),
      row("musaGraphCreate", "InvalidValue", nullptr, kNoSize),
      row("musaGraphInstantiate", "InvalidValue", nullptr, kNoSize),
      row("musaGraphInstantiateWithFlags", "InvalidValue", nullptr, kNoSize),
      row("musaGraphLaunch",
          "InvalidValue InvalidResourceHandle StreamCaptureUnsupported",
          nullptr,
          kNoSize),
      row("musaGraphExecDestroy", "InvalidValue", nullptr, kNoSize),
      row("musaGraphDestroy", "InvalidValue", nullptr, kNoSize),
      row("musaGraphGetNodes", "InvalidValue", nullptr, nullptr),
      row("musaGraphNodeGetType", "InvalidValue", nullptr, kNoSize),
      row("musaGraphDebugDotPrint", "InvalidValue", nullptr, kNoSize),
  };
}

std::vector<Row> refused_rows() {
  std::vector<Row> result;
  for (const char* function :
       {"musaIpcGetMemHandle",
        "musaIpcOpenMemHandle",
        "musaIpcCloseMemHandle",
        "musaIpcGetEventHandle",
        "musaIpcOpenEventHandle",
        "musaFuncSetAttribute",
        "musaFuncGetAttributes",
        "musaGetFuncBySymbol",
        "musaOccupancyMaxActiveBlocksPerMultiprocessor",
        "musaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags"}) {
    result.push_back(refused(function));
  }
  return result;
}

} // namespace

const std::vector<Row>& rows() {
  static const std::vector<Row> all = [] {
    std::vector<Row> result;
    const std::vector<Row> parts[] = {
        device_rows(),
        memory_rows(),
        stream_rows(),
        pool_rows(),
        graph_rows(),
#if CONFORMANCE_PORTABLE
        refused_rows(),
#endif
    };
    for (const std::vector<Row>& part : parts) {
      result.insert(result.end(), part.begin(), part.end());
    }
    return result;
  }();
  return all;
}

std::vector<std::string> header_functions() {
  const std::string text = strip_comments(read_header("musa_runtime_api.h"));
  const std::regex declaration(
      R"((?:musaError_t|char\s*\*)\s+(?:MUSARTAPI\s+)?(musa[A-Z]\w*)\s*\()");
  std::vector<std::string> result;
  for (std::sregex_iterator match(text.begin(), text.end(), declaration), end;
       match != end;
       ++match) {
    result.push_back((*match)[1]);
  }
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

} // namespace conformance
