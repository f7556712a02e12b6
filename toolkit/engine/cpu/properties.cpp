// SPDX-License-Identifier: Apache-2.0
// Properties and attributes: the S5000's identity, the host's sizes.
#include "toolkit/engine/cpu/properties.h"

#include "toolkit/engine/cpu/config.h"
#include "toolkit/engine/cpu/pool.h"
#include "toolkit/engine/error.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

namespace musa_standin::engine::cpu {
namespace {

std::string read_processor() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    if (line.rfind("model name", 0) == 0) {
      const size_t colon = line.find(": ");
      return colon == std::string::npos ? "" : line.substr(colon + 2);
    }
  }
  return "";
}

const std::string& processor() {
  static const auto* const name = new std::string(read_processor());
  return *name;
}

int last_level_cache() {
  const long bytes =
      std::max(sysconf(_SC_LEVEL3_CACHE_SIZE), sysconf(_SC_LEVEL2_CACHE_SIZE));
  return static_cast<int>(std::clamp(bytes, 1L << 20, 1L << 30));
}

// Client code branches on these.
void describe_identity(int device, musaDeviceProp& out) {
  const std::string& cpu = processor();
  std::snprintf(
      out.name,
      sizeof out.name,
      "MUSA portable CPU engine%s%s%s",
      cpu.empty() ? "" : " (",
      cpu.c_str(),
      cpu.empty() ? "" : ")");
  std::memcpy(out.uuid.bytes, "musa-portable-0", sizeof out.uuid.bytes);
  out.uuid.bytes[15] = static_cast<char>(device);
  out.major = 3;
  out.minor = 1;
  out.warpSize = 32;
  out.pciBusID = device + 1;
  out.pciDeviceID = 0;
  out.pciDomainID = 0;
  out.computeMode = musaComputeModeDefault;
}

void describe_sizes(musaDeviceProp& out) {
  out.totalGlobalMem = config().memory_bytes;
  out.multiProcessorCount = pool_threads();
  out.maxThreadsPerMultiProcessor = 1536;
  out.maxBlocksPerMultiProcessor = 16;
  out.maxThreadsPerBlock = 1024;
  out.maxThreadsDim[0] = 1024;
  out.maxThreadsDim[1] = 1024;
  out.maxThreadsDim[2] = 64;
  out.maxGridSize[0] = 0x7fffffff;
  out.maxGridSize[1] = 65535;
  out.maxGridSize[2] = 65535;
  out.sharedMemPerBlock = size_t{48} << 10;
  out.sharedMemPerBlockOptin = size_t{192} << 10;
  out.sharedMemPerMultiprocessor = size_t{192} << 10;
  out.reservedSharedMemPerBlock = 0;
  out.regsPerBlock = 65536;
  out.regsPerMultiprocessor = 65536;
  out.totalConstMem = size_t{64} << 10;
  out.memPitch = 0x7fffffff;
  out.textureAlignment = 512;
  out.texturePitchAlignment = 32;
  out.surfaceAlignment = 512;
  out.clockRate = 1'750'000;
  out.memoryClockRate = 1'600'000;
  out.memoryBusWidth = 128;
  out.l2CacheSize = last_level_cache();
  out.singleToDoublePrecisionPerfRatio = 2;
}

void describe_abilities(musaDeviceProp& out) {
  out.canMapHostMemory = 1;
  out.concurrentKernels = 1;
  out.asyncEngineCount = 2;
  out.deviceOverlap = 1;
  out.unifiedAddressing = 1;
  out.streamPrioritiesSupported = 1;
  out.globalL1CacheSupported = 1;
  out.localL1CacheSupported = 1;
  out.managedMemory = 1;
  out.concurrentManagedAccess = 1;
  out.hostNativeAtomicSupported = 1;
  out.canUseHostPointerForRegisteredMem = 1;
}

} // namespace

void describe(int device, musaDeviceProp& out) {
  std::memset(&out, 0, sizeof out);
  describe_identity(device, out);
  describe_sizes(out);
  describe_abilities(out);
}

int attribute(int device, musaDeviceAttr attribute) {
  musaDeviceProp prop;
  describe(device, prop);
  const auto small = [](size_t value) {
    return static_cast<int>(std::min<size_t>(value, 0x7fffffff));
  };
  switch (attribute) {
  case musaDevAttrMaxThreadsPerBlock:
    return prop.maxThreadsPerBlock;
  case musaDevAttrMaxBlockDimX:
  case musaDevAttrMaxBlockDimY:
  case musaDevAttrMaxBlockDimZ:
    return prop.maxThreadsDim[attribute - musaDevAttrMaxBlockDimX];
  case musaDevAttrMaxGridDimX:
  case musaDevAttrMaxGridDimY:
  case musaDevAttrMaxGridDimZ:
    return prop.maxGridSize[attribute - musaDevAttrMaxGridDimX];
  case musaDevAttrMaxSharedMemoryPerBlock:
    return small(prop.sharedMemPerBlock);
  case musaDevAttrMaxSharedMemoryPerBlockOptin:
    return small(prop.sharedMemPerBlockOptin);
  case musaDevAttrMaxSharedMemoryPerMultiprocessor:
    return small(prop.sharedMemPerMultiprocessor);
  case musaDevAttrTotalConstantMemory:
    return small(prop.totalConstMem);
  case musaDevAttrWarpSize:
    return prop.warpSize;
  case musaDevAttrMaxPitch:
    return small(prop.memPitch);
  case musaDevAttrMaxRegistersPerBlock:
    return prop.regsPerBlock;
  case musaDevAttrMaxRegistersPerMultiprocessor:
    return prop.regsPerMultiprocessor;
  case musaDevAttrClockRate:
    return prop.clockRate;
  case musaDevAttrMemoryClockRate:
    return prop.memoryClockRate;
  case musaDevAttrGlobalMemoryBusWidth:
    return prop.memoryBusWidth;
  case musaDevAttrL2CacheSize:
    return prop.l2CacheSize;
  case musaDevAttrTextureAlignment:
    return small(prop.textureAlignment);
  case musaDevAttrTexturePitchAlignment:
    return small(prop.texturePitchAlignment);
  case musaDevAttrSurfaceAlignment:
    return small(prop.surfaceAlignment);
  case musaDevAttrMultiProcessorCount:
    return prop.multiProcessorCount;
  case musaDevAttrMaxThreadsPerMultiProcessor:
    return prop.maxThreadsPerMultiProcessor;
  case musaDevAttrMaxBlocksPerMultiprocessor:
    return prop.maxBlocksPerMultiProcessor;
  case musaDevAttrAsyncEngineCount:
    return prop.asyncEngineCount;
  case musaDevAttrPciBusId:
    return prop.pciBusID;
  case musaDevAttrComputeCapabilityMajor:
    return prop.major;
  case musaDevAttrComputeCapabilityMinor:
    return prop.minor;
  case musaDevAttrSingleToDoublePrecisionPerfRatio:
    return prop.singleToDoublePrecisionPerfRatio;
  case musaDevAttrGpuOverlap:
  case musaDevAttrIntegrated:
  case musaDevAttrCanMapHostMemory:
  case musaDevAttrConcurrentKernels:
  case musaDevAttrUnifiedAddressing:
  case musaDevAttrStreamPrioritiesSupported:
  case musaDevAttrGlobalL1CacheSupported:
  case musaDevAttrLocalL1CacheSupported:
  case musaDevAttrManagedMemory:
  case musaDevAttrHostNativeAtomicSupported:
  case musaDevAttrConcurrentManagedAccess:
  case musaDevAttrCanUseHostPointerForRegisteredMem:
  case musaDevAttrHostRegisterSupported:
  case musaDevAttrHostRegisterReadOnlySupported:
  case musaDevAttrMemoryPoolsSupported:
    return 1;
  case musaDevAttrPciDeviceId:
  case musaDevAttrPciDomainId:
  case musaDevAttrComputeMode:
  case musaDevAttrKernelExecTimeout:
  case musaDevAttrEccEnabled:
  case musaDevAttrTccDriver:
  case musaDevAttrIsMultiGpuBoard:
  case musaDevAttrMultiGpuBoardGroupID:
  case musaDevAttrPageableMemoryAccess:
  case musaDevAttrComputePreemptionSupported:
  case musaDevAttrCooperativeLaunch:
  case musaDevAttrCooperativeMultiDeviceLaunch:
  case musaDevAttrCanFlushRemoteWrites:
  case musaDevAttrPageableMemoryAccessUsesHostPageTables:
  case musaDevAttrDirectManagedMemAccessFromHost:
  case musaDevAttrMaxPersistingL2CacheSize:
  case musaDevAttrMaxAccessPolicyWindowSize:
  case musaDevAttrReservedSharedMemoryPerBlock:
  case musaDevAttrSparseMusaArraySupported:
  case musaDevAttrTimelineSemaphoreInteropSupported:
  case musaDevAttrGPUDirectRDMASupported:
  case musaDevAttrGPUDirectRDMAFlushWritesOptions:
  case musaDevAttrGPUDirectRDMAWritesOrdering:
  case musaDevAttrMemoryPoolSupportedHandleTypes:
    return 0;
  }
  throw Error(musaErrorInvalidValue, "the device has no such attribute");
}

} // namespace musa_standin::engine::cpu
