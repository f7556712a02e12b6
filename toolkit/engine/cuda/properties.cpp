// SPDX-License-Identifier: Apache-2.0
// Properties and attributes: the S5000's identity, the CUDA device's sizes.
#include "toolkit/engine/cuda/properties.h"

#include "toolkit/engine/cuda/check.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <mutex>

namespace musa_standin::engine::cuda {
namespace {

struct AttributeRow {
  musaDeviceAttr musa;
  cudaDeviceAttr cuda;
};
#define MUSA_SAME(name) {musaDevAttr##name, cudaDevAttr##name}
constexpr AttributeRow kAttributes[] = {
    MUSA_SAME(MaxThreadsPerBlock),
    MUSA_SAME(MaxBlockDimX),
    MUSA_SAME(MaxBlockDimY),
    MUSA_SAME(MaxBlockDimZ),
    MUSA_SAME(MaxGridDimX),
    MUSA_SAME(MaxGridDimY),
    MUSA_SAME(MaxGridDimZ),
    MUSA_SAME(MaxSharedMemoryPerBlock),
    MUSA_SAME(TotalConstantMemory),
    MUSA_SAME(WarpSize),
    MUSA_SAME(MaxPitch),
    MUSA_SAME(MaxRegistersPerBlock),
    MUSA_SAME(ClockRate),
    MUSA_SAME(TextureAlignment),
    MUSA_SAME(GpuOverlap),
    MUSA_SAME(MultiProcessorCount),
    MUSA_SAME(KernelExecTimeout),
    MUSA_SAME(Integrated),
    MUSA_SAME(CanMapHostMemory),
    MUSA_SAME(ComputeMode),
    MUSA_SAME(SurfaceAlignment),
    MUSA_SAME(ConcurrentKernels),
    MUSA_SAME(EccEnabled),
    MUSA_SAME(PciBusId),
    MUSA_SAME(PciDeviceId),
    MUSA_SAME(TccDriver),
    MUSA_SAME(MemoryClockRate),
    MUSA_SAME(GlobalMemoryBusWidth),
    MUSA_SAME(L2CacheSize),
    MUSA_SAME(MaxThreadsPerMultiProcessor),
    MUSA_SAME(AsyncEngineCount),
    MUSA_SAME(UnifiedAddressing),
    MUSA_SAME(PciDomainId),
    MUSA_SAME(TexturePitchAlignment),
    MUSA_SAME(ComputeCapabilityMajor),
    MUSA_SAME(ComputeCapabilityMinor),
    MUSA_SAME(StreamPrioritiesSupported),
    MUSA_SAME(GlobalL1CacheSupported),
    MUSA_SAME(LocalL1CacheSupported),
    MUSA_SAME(MaxSharedMemoryPerMultiprocessor),
    MUSA_SAME(MaxRegistersPerMultiprocessor),
    MUSA_SAME(ManagedMemory),
    MUSA_SAME(IsMultiGpuBoard),
    MUSA_SAME(MultiGpuBoardGroupID),
    MUSA_SAME(HostNativeAtomicSupported),
    MUSA_SAME(SingleToDoublePrecisionPerfRatio),
    MUSA_SAME(PageableMemoryAccess),
    MUSA_SAME(ConcurrentManagedAccess),
    MUSA_SAME(ComputePreemptionSupported),
    MUSA_SAME(CanUseHostPointerForRegisteredMem),
    MUSA_SAME(CooperativeLaunch),
    MUSA_SAME(MaxSharedMemoryPerBlockOptin),
    MUSA_SAME(CanFlushRemoteWrites),
    MUSA_SAME(HostRegisterSupported),
    MUSA_SAME(PageableMemoryAccessUsesHostPageTables),
    MUSA_SAME(DirectManagedMemAccessFromHost),
    MUSA_SAME(MaxBlocksPerMultiprocessor),
    MUSA_SAME(MaxPersistingL2CacheSize),
    MUSA_SAME(MaxAccessPolicyWindowSize),
    MUSA_SAME(ReservedSharedMemoryPerBlock),
    MUSA_SAME(HostRegisterReadOnlySupported),
    MUSA_SAME(TimelineSemaphoreInteropSupported),
    MUSA_SAME(MemoryPoolsSupported),
    MUSA_SAME(GPUDirectRDMASupported),
    MUSA_SAME(GPUDirectRDMAFlushWritesOptions),
    MUSA_SAME(GPUDirectRDMAWritesOrdering),
    MUSA_SAME(MemoryPoolSupportedHandleTypes),
    {musaDevAttrSparseMusaArraySupported, cudaDevAttrSparseCudaArraySupported},
};
#undef MUSA_SAME

// Properties that are attributes under another name.
struct IntRow {
  int musaDeviceProp::* member;
  cudaDeviceAttr attribute;
};
constexpr IntRow kInts[] = {
    {&musaDeviceProp::regsPerBlock, cudaDevAttrMaxRegistersPerBlock},
    {&musaDeviceProp::warpSize, cudaDevAttrWarpSize},
    {&musaDeviceProp::maxThreadsPerBlock, cudaDevAttrMaxThreadsPerBlock},
    {&musaDeviceProp::clockRate, cudaDevAttrClockRate},
    {&musaDeviceProp::deviceOverlap, cudaDevAttrGpuOverlap},
    {&musaDeviceProp::multiProcessorCount, cudaDevAttrMultiProcessorCount},
    {&musaDeviceProp::kernelExecTimeoutEnabled, cudaDevAttrKernelExecTimeout},
    {&musaDeviceProp::integrated, cudaDevAttrIntegrated},
    {&musaDeviceProp::canMapHostMemory, cudaDevAttrCanMapHostMemory},
    {&musaDeviceProp::computeMode, cudaDevAttrComputeMode},
    {&musaDeviceProp::concurrentKernels, cudaDevAttrConcurrentKernels},
    {&musaDeviceProp::ECCEnabled, cudaDevAttrEccEnabled},
    {&musaDeviceProp::pciBusID, cudaDevAttrPciBusId},
    {&musaDeviceProp::pciDeviceID, cudaDevAttrPciDeviceId},
    {&musaDeviceProp::pciDomainID, cudaDevAttrPciDomainId},
    {&musaDeviceProp::tccDriver, cudaDevAttrTccDriver},
    {&musaDeviceProp::asyncEngineCount, cudaDevAttrAsyncEngineCount},
    {&musaDeviceProp::unifiedAddressing, cudaDevAttrUnifiedAddressing},
    {&musaDeviceProp::memoryClockRate, cudaDevAttrMemoryClockRate},
    {&musaDeviceProp::memoryBusWidth, cudaDevAttrGlobalMemoryBusWidth},
    {&musaDeviceProp::l2CacheSize, cudaDevAttrL2CacheSize},
    {&musaDeviceProp::persistingL2CacheMaxSize,
     cudaDevAttrMaxPersistingL2CacheSize},
    {&musaDeviceProp::maxThreadsPerMultiProcessor,
     cudaDevAttrMaxThreadsPerMultiProcessor},
    {&musaDeviceProp::streamPrioritiesSupported,
     cudaDevAttrStreamPrioritiesSupported},
    {&musaDeviceProp::globalL1CacheSupported,
     cudaDevAttrGlobalL1CacheSupported},
    {&musaDeviceProp::localL1CacheSupported, cudaDevAttrLocalL1CacheSupported},
    {&musaDeviceProp::regsPerMultiprocessor,
     cudaDevAttrMaxRegistersPerMultiprocessor},
    {&musaDeviceProp::managedMemory, cudaDevAttrManagedMemory},
    {&musaDeviceProp::isMultiGpuBoard, cudaDevAttrIsMultiGpuBoard},
    {&musaDeviceProp::multiGpuBoardGroupID, cudaDevAttrMultiGpuBoardGroupID},
    {&musaDeviceProp::hostNativeAtomicSupported,
     cudaDevAttrHostNativeAtomicSupported},
    {&musaDeviceProp::singleToDoublePrecisionPerfRatio,
     cudaDevAttrSingleToDoublePrecisionPerfRatio},
    {&musaDeviceProp::pageableMemoryAccess, cudaDevAttrPageableMemoryAccess},
    {&musaDeviceProp::concurrentManagedAccess,
     cudaDevAttrConcurrentManagedAccess},
    {&musaDeviceProp::computePreemptionSupported,
     cudaDevAttrComputePreemptionSupported},
    {&musaDeviceProp::canUseHostPointerForRegisteredMem,
     cudaDevAttrCanUseHostPointerForRegisteredMem},
    {&musaDeviceProp::cooperativeLaunch, cudaDevAttrCooperativeLaunch},
    {&musaDeviceProp::pageableMemoryAccessUsesHostPageTables,
     cudaDevAttrPageableMemoryAccessUsesHostPageTables},
    {&musaDeviceProp::directManagedMemAccessFromHost,
     cudaDevAttrDirectManagedMemAccessFromHost},
    {&musaDeviceProp::maxBlocksPerMultiProcessor,
     cudaDevAttrMaxBlocksPerMultiprocessor},
    {&musaDeviceProp::accessPolicyMaxWindowSize,
     cudaDevAttrMaxAccessPolicyWindowSize},
};
struct SizeRow {
  size_t musaDeviceProp::* member;
  cudaDeviceAttr attribute;
};
constexpr SizeRow kSizes[] = {
    {&musaDeviceProp::sharedMemPerBlock, cudaDevAttrMaxSharedMemoryPerBlock},
    {&musaDeviceProp::memPitch, cudaDevAttrMaxPitch},
    {&musaDeviceProp::totalConstMem, cudaDevAttrTotalConstantMemory},
    {&musaDeviceProp::textureAlignment, cudaDevAttrTextureAlignment},
    {&musaDeviceProp::texturePitchAlignment, cudaDevAttrTexturePitchAlignment},
    {&musaDeviceProp::surfaceAlignment, cudaDevAttrSurfaceAlignment},
    {&musaDeviceProp::sharedMemPerMultiprocessor,
     cudaDevAttrMaxSharedMemoryPerMultiprocessor},
    {&musaDeviceProp::sharedMemPerBlockOptin,
     cudaDevAttrMaxSharedMemoryPerBlockOptin},
    {&musaDeviceProp::reservedSharedMemPerBlock,
     cudaDevAttrReservedSharedMemoryPerBlock},
};

// Client code branches on these; the name says what runs it.
constexpr int kMajor = 3;
constexpr int kMinor = 1;

struct Description {
  std::once_flag once;
  musaDeviceProp prop;
  int values[std::size(kAttributes)];
};
Description g_descriptions[kMaxDevices];

// 0 for what an older driver has not heard of.
int ask(int ordinal, cudaDeviceAttr attribute) {
  int value = 0;
  const cudaError_t result = cudaDeviceGetAttribute(&value, attribute, ordinal);
  if (result == cudaErrorInvalidValue || result == cudaErrorNotSupported) {
    (void)cudaGetLastError();
    return 0;
  }
  check(result);
  return value;
}

void describe_textures(const cudaDeviceProp& from, musaDeviceProp& out) {
  const auto copy = [](auto& to, const auto& what) {
    std::copy(std::begin(what), std::end(what), std::begin(to));
  };
  out.maxTexture1D = from.maxTexture1D;
  out.maxTexture1DMipmap = from.maxTexture1DMipmap;
  copy(out.maxTexture2D, from.maxTexture2D);
  copy(out.maxTexture2DMipmap, from.maxTexture2DMipmap);
  copy(out.maxTexture2DLinear, from.maxTexture2DLinear);
  copy(out.maxTexture2DGather, from.maxTexture2DGather);
  copy(out.maxTexture3D, from.maxTexture3D);
  copy(out.maxTexture3DAlt, from.maxTexture3DAlt);
  out.maxTextureCubemap = from.maxTextureCubemap;
  copy(out.maxTexture1DLayered, from.maxTexture1DLayered);
  copy(out.maxTexture2DLayered, from.maxTexture2DLayered);
  copy(out.maxTextureCubemapLayered, from.maxTextureCubemapLayered);
  out.maxSurface1D = from.maxSurface1D;
  copy(out.maxSurface2D, from.maxSurface2D);
  copy(out.maxSurface3D, from.maxSurface3D);
  copy(out.maxSurface1DLayered, from.maxSurface1DLayered);
  copy(out.maxSurface2DLayered, from.maxSurface2DLayered);
  out.maxSurfaceCubemap = from.maxSurfaceCubemap;
  copy(out.maxSurfaceCubemapLayered, from.maxSurfaceCubemapLayered);
}

void describe(int ordinal, Description& out) {
  cudaDeviceProp from;
  check(cudaGetDeviceProperties(&from, ordinal));
  musaDeviceProp& prop = out.prop;
  std::memset(&prop, 0, sizeof prop);
  std::snprintf(
      prop.name,
      sizeof prop.name,
      "MUSA portable CUDA engine (%.200s)",
      from.name);
  static_assert(sizeof prop.uuid.bytes == sizeof from.uuid.bytes);
  std::memcpy(prop.uuid.bytes, from.uuid.bytes, sizeof prop.uuid.bytes);
  std::memcpy(prop.luid, from.luid, sizeof prop.luid);
  prop.luidDeviceNodeMask = from.luidDeviceNodeMask;
  prop.totalGlobalMem = from.totalGlobalMem;
  describe_textures(from, prop);
  for (const IntRow& row : kInts) {
    prop.*row.member = ask(ordinal, row.attribute);
  }
  for (const SizeRow& row : kSizes) {
    prop.*row.member = static_cast<size_t>(ask(ordinal, row.attribute));
  }
  for (int axis = 0; axis < 3; ++axis) {
    prop.maxThreadsDim[axis] = from.maxThreadsDim[axis];
    prop.maxGridSize[axis] = from.maxGridSize[axis];
  }
  prop.major = kMajor;
  prop.minor = kMinor;
  for (size_t i = 0; i < std::size(kAttributes); ++i) {
    out.values[i] = ask(ordinal, kAttributes[i].cuda);
  }
}

const Description& description(int device) {
  Description& out = g_descriptions[device];
  std::call_once(out.once, [&] { describe(g_ordinals[device], out); });
  return out;
}

} // namespace

const musaDeviceProp& properties(int device) {
  return description(device).prop;
}

int attribute(int device, musaDeviceAttr attribute) {
  switch (attribute) {
  case musaDevAttrComputeCapabilityMajor:
    return kMajor;
  case musaDevAttrComputeCapabilityMinor:
    return kMinor;
  case musaDevAttrCooperativeMultiDeviceLaunch: // CUDA has given it up
    return 0;
  default:
    break;
  }
  const Description& known = description(device);
  for (size_t i = 0; i < std::size(kAttributes); ++i) {
    if (kAttributes[i].musa == attribute) {
      return known.values[i];
    }
  }
  throw Error(musaErrorInvalidValue, "the device has no such attribute");
}

} // namespace musa_standin::engine::cuda
