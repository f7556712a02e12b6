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
#include <iterator>
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

// Attributes that are properties under another name.
struct IntRow {
  musaDeviceAttr attribute;
  int musaDeviceProp::* member;
};
constexpr IntRow kInts[] = {
    {musaDevAttrMaxThreadsPerBlock, &musaDeviceProp::maxThreadsPerBlock},
    {musaDevAttrWarpSize, &musaDeviceProp::warpSize},
    {musaDevAttrMaxRegistersPerBlock, &musaDeviceProp::regsPerBlock},
    {musaDevAttrMaxRegistersPerMultiprocessor,
     &musaDeviceProp::regsPerMultiprocessor},
    {musaDevAttrClockRate, &musaDeviceProp::clockRate},
    {musaDevAttrMemoryClockRate, &musaDeviceProp::memoryClockRate},
    {musaDevAttrGlobalMemoryBusWidth, &musaDeviceProp::memoryBusWidth},
    {musaDevAttrL2CacheSize, &musaDeviceProp::l2CacheSize},
    {musaDevAttrMultiProcessorCount, &musaDeviceProp::multiProcessorCount},
    {musaDevAttrMaxThreadsPerMultiProcessor,
     &musaDeviceProp::maxThreadsPerMultiProcessor},
    {musaDevAttrMaxBlocksPerMultiprocessor,
     &musaDeviceProp::maxBlocksPerMultiProcessor},
    {musaDevAttrAsyncEngineCount, &musaDeviceProp::asyncEngineCount},
    {musaDevAttrPciBusId, &musaDeviceProp::pciBusID},
    {musaDevAttrComputeCapabilityMajor, &musaDeviceProp::major},
    {musaDevAttrComputeCapabilityMinor, &musaDeviceProp::minor},
    {musaDevAttrSingleToDoublePrecisionPerfRatio,
     &musaDeviceProp::singleToDoublePrecisionPerfRatio},
};
struct SizeRow {
  musaDeviceAttr attribute;
  size_t musaDeviceProp::* member;
};
constexpr SizeRow kSizes[] = {
    {musaDevAttrMaxSharedMemoryPerBlock, &musaDeviceProp::sharedMemPerBlock},
    {musaDevAttrMaxSharedMemoryPerBlockOptin,
     &musaDeviceProp::sharedMemPerBlockOptin},
    {musaDevAttrMaxSharedMemoryPerMultiprocessor,
     &musaDeviceProp::sharedMemPerMultiprocessor},
    {musaDevAttrTotalConstantMemory, &musaDeviceProp::totalConstMem},
    {musaDevAttrMaxPitch, &musaDeviceProp::memPitch},
    {musaDevAttrTextureAlignment, &musaDeviceProp::textureAlignment},
    {musaDevAttrTexturePitchAlignment, &musaDeviceProp::texturePitchAlignment},
    {musaDevAttrSurfaceAlignment, &musaDeviceProp::surfaceAlignment},
};

// What every device of this engine can do, and what none can.
constexpr musaDeviceAttr kAbilities[] = {
    musaDevAttrGpuOverlap,
    musaDevAttrIntegrated,
    musaDevAttrCanMapHostMemory,
    musaDevAttrConcurrentKernels,
    musaDevAttrUnifiedAddressing,
    musaDevAttrStreamPrioritiesSupported,
    musaDevAttrGlobalL1CacheSupported,
    musaDevAttrLocalL1CacheSupported,
    musaDevAttrManagedMemory,
    musaDevAttrHostNativeAtomicSupported,
    musaDevAttrConcurrentManagedAccess,
    musaDevAttrCanUseHostPointerForRegisteredMem,
    musaDevAttrHostRegisterSupported,
    musaDevAttrHostRegisterReadOnlySupported,
    musaDevAttrMemoryPoolsSupported,
};
constexpr musaDeviceAttr kAbsent[] = {
    musaDevAttrPciDeviceId,
    musaDevAttrPciDomainId,
    musaDevAttrComputeMode,
    musaDevAttrKernelExecTimeout,
    musaDevAttrEccEnabled,
    musaDevAttrTccDriver,
    musaDevAttrIsMultiGpuBoard,
    musaDevAttrMultiGpuBoardGroupID,
    musaDevAttrPageableMemoryAccess,
    musaDevAttrComputePreemptionSupported,
    musaDevAttrCooperativeLaunch,
    musaDevAttrCooperativeMultiDeviceLaunch,
    musaDevAttrCanFlushRemoteWrites,
    musaDevAttrPageableMemoryAccessUsesHostPageTables,
    musaDevAttrDirectManagedMemAccessFromHost,
    musaDevAttrMaxPersistingL2CacheSize,
    musaDevAttrMaxAccessPolicyWindowSize,
    musaDevAttrReservedSharedMemoryPerBlock,
    musaDevAttrSparseMusaArraySupported,
    musaDevAttrTimelineSemaphoreInteropSupported,
    musaDevAttrGPUDirectRDMASupported,
    musaDevAttrGPUDirectRDMAFlushWritesOptions,
    musaDevAttrGPUDirectRDMAWritesOrdering,
    musaDevAttrMemoryPoolSupportedHandleTypes,
};

template <size_t N>
bool has(const musaDeviceAttr (&list)[N], musaDeviceAttr attribute) {
  return std::find(std::begin(list), std::end(list), attribute) !=
      std::end(list);
}

} // namespace

void describe(int device, musaDeviceProp& out) {
  std::memset(&out, 0, sizeof out);
  describe_identity(device, out);
  describe_sizes(out);
  describe_abilities(out);
}

int attribute(int device, musaDeviceAttr attribute) {
  if (has(kAbilities, attribute) || has(kAbsent, attribute)) {
    return has(kAbilities, attribute) ? 1 : 0;
  }
  musaDeviceProp prop;
  describe(device, prop);
  if (attribute >= musaDevAttrMaxBlockDimX &&
      attribute <= musaDevAttrMaxBlockDimZ) {
    return prop.maxThreadsDim[attribute - musaDevAttrMaxBlockDimX];
  }
  if (attribute >= musaDevAttrMaxGridDimX &&
      attribute <= musaDevAttrMaxGridDimZ) {
    return prop.maxGridSize[attribute - musaDevAttrMaxGridDimX];
  }
  for (const IntRow& row : kInts) {
    if (row.attribute == attribute) {
      return prop.*row.member;
    }
  }
  for (const SizeRow& row : kSizes) {
    if (row.attribute == attribute) {
      return static_cast<int>(std::min<size_t>(prop.*row.member, 0x7fffffff));
    }
  }
  throw Error(musaErrorInvalidValue, "the device has no such attribute");
}

} // namespace musa_standin::engine::cpu
