// SPDX-License-Identifier: Apache-2.0
// The table of error codes.
#include "toolkit/engine/cuda/error_map.h"

namespace musa_standin::engine::cuda {
namespace {

struct Row {
  int cuda;
  musaError_t musa;
};

#define MUSA_SAME(name) {cudaError##name, musaError##name}
constexpr Row kRows[] = {
    {cudaSuccess, musaSuccess},
    MUSA_SAME(InvalidValue),
    MUSA_SAME(MemoryAllocation),
    MUSA_SAME(InitializationError),
    MUSA_SAME(ProfilerDisabled),
    MUSA_SAME(ProfilerNotInitialized),
    MUSA_SAME(ProfilerAlreadyStarted),
    MUSA_SAME(ProfilerAlreadyStopped),
    MUSA_SAME(InvalidConfiguration),
    MUSA_SAME(InvalidPitchValue),
    MUSA_SAME(InvalidSymbol),
    MUSA_SAME(InvalidHostPointer),
    MUSA_SAME(InvalidDevicePointer),
    MUSA_SAME(InvalidTexture),
    MUSA_SAME(InvalidTextureBinding),
    MUSA_SAME(InvalidChannelDescriptor),
    MUSA_SAME(InvalidMemcpyDirection),
    MUSA_SAME(AddressOfConstant),
    MUSA_SAME(TextureFetchFailed),
    MUSA_SAME(TextureNotBound),
    MUSA_SAME(SynchronizationError),
    MUSA_SAME(InvalidFilterSetting),
    MUSA_SAME(InvalidNormSetting),
    MUSA_SAME(MixedDeviceExecution),
    MUSA_SAME(NotYetImplemented),
    MUSA_SAME(MemoryValueTooLarge),
    MUSA_SAME(StubLibrary),
    MUSA_SAME(InsufficientDriver),
    MUSA_SAME(CallRequiresNewerDriver),
    MUSA_SAME(InvalidSurface),
    MUSA_SAME(DuplicateVariableName),
    MUSA_SAME(DuplicateTextureName),
    MUSA_SAME(DuplicateSurfaceName),
    MUSA_SAME(DevicesUnavailable),
    MUSA_SAME(IncompatibleDriverContext),
    MUSA_SAME(MissingConfiguration),
    MUSA_SAME(PriorLaunchFailure),
    MUSA_SAME(LaunchMaxDepthExceeded),
    MUSA_SAME(LaunchFileScopedTex),
    MUSA_SAME(LaunchFileScopedSurf),
    MUSA_SAME(SyncDepthExceeded),
    MUSA_SAME(LaunchPendingCountExceeded),
    MUSA_SAME(InvalidDeviceFunction),
    MUSA_SAME(NoDevice),
    MUSA_SAME(InvalidDevice),
    MUSA_SAME(DeviceNotLicensed),
    MUSA_SAME(SoftwareValidityNotEstablished),
    MUSA_SAME(StartupFailure),
    MUSA_SAME(InvalidKernelImage),
    MUSA_SAME(DeviceUninitialized),
    MUSA_SAME(MapBufferObjectFailed),
    MUSA_SAME(UnmapBufferObjectFailed),
    MUSA_SAME(ArrayIsMapped),
    MUSA_SAME(AlreadyMapped),
    MUSA_SAME(NoKernelImageForDevice),
    MUSA_SAME(AlreadyAcquired),
    MUSA_SAME(NotMapped),
    MUSA_SAME(NotMappedAsArray),
    MUSA_SAME(NotMappedAsPointer),
    MUSA_SAME(ECCUncorrectable),
    MUSA_SAME(UnsupportedLimit),
    MUSA_SAME(DeviceAlreadyInUse),
    MUSA_SAME(PeerAccessUnsupported),
    MUSA_SAME(InvalidPtx),
    MUSA_SAME(InvalidGraphicsContext),
    MUSA_SAME(JitCompilerNotFound),
    MUSA_SAME(UnsupportedPtxVersion),
    MUSA_SAME(JitCompilationDisabled),
    MUSA_SAME(UnsupportedExecAffinity),
    MUSA_SAME(InvalidSource),
    MUSA_SAME(FileNotFound),
    MUSA_SAME(SharedObjectSymbolNotFound),
    MUSA_SAME(SharedObjectInitFailed),
    MUSA_SAME(OperatingSystem),
    MUSA_SAME(InvalidResourceHandle),
    MUSA_SAME(IllegalState),
    MUSA_SAME(SymbolNotFound),
    MUSA_SAME(NotReady),
    MUSA_SAME(IllegalAddress),
    MUSA_SAME(LaunchOutOfResources),
    MUSA_SAME(LaunchTimeout),
    MUSA_SAME(LaunchIncompatibleTexturing),
    MUSA_SAME(PeerAccessAlreadyEnabled),
    MUSA_SAME(PeerAccessNotEnabled),
    MUSA_SAME(SetOnActiveProcess),
    MUSA_SAME(ContextIsDestroyed),
    MUSA_SAME(Assert),
    MUSA_SAME(TooManyPeers),
    MUSA_SAME(HostMemoryAlreadyRegistered),
    MUSA_SAME(HostMemoryNotRegistered),
    MUSA_SAME(HardwareStackError),
    MUSA_SAME(IllegalInstruction),
    MUSA_SAME(MisalignedAddress),
    MUSA_SAME(InvalidAddressSpace),
    MUSA_SAME(InvalidPc),
    MUSA_SAME(LaunchFailure),
    MUSA_SAME(CooperativeLaunchTooLarge),
    MUSA_SAME(NotPermitted),
    MUSA_SAME(NotSupported),
    MUSA_SAME(SystemNotReady),
    MUSA_SAME(SystemDriverMismatch),
    MUSA_SAME(CompatNotSupportedOnDevice),
    MUSA_SAME(MpsConnectionFailed),
    MUSA_SAME(MpsRpcFailure),
    MUSA_SAME(MpsServerNotReady),
    MUSA_SAME(MpsMaxClientsReached),
    MUSA_SAME(MpsMaxConnectionsReached),
    MUSA_SAME(StreamCaptureUnsupported),
    MUSA_SAME(StreamCaptureInvalidated),
    MUSA_SAME(StreamCaptureMerge),
    MUSA_SAME(StreamCaptureUnmatched),
    MUSA_SAME(StreamCaptureUnjoined),
    MUSA_SAME(StreamCaptureIsolation),
    MUSA_SAME(StreamCaptureImplicit),
    MUSA_SAME(CapturedEvent),
    MUSA_SAME(StreamCaptureWrongThread),
    MUSA_SAME(Timeout),
    MUSA_SAME(GraphExecUpdateFailure),
    MUSA_SAME(ExternalDevice),
    MUSA_SAME(InvalidClusterSize),
    MUSA_SAME(Unknown),
    {cudaErrorCudartUnloading, musaErrorMusartUnloading},
    {cudaErrorNvlinkUncorrectable, musaErrorMtlinkUncorrectable},
};
#undef MUSA_SAME

// Codes of CUDA without a namesake, by number: older toolkits lack some. What
// breaks the context there must be sticky here.
constexpr Row kOnlyCuda[] = {
    {225, musaErrorNotSupported},          // UnsupportedDevSideSync
    {226, musaErrorLaunchFailure},         // Contained
    {402, musaErrorIllegalState},          // LossyQuery
    {721, musaErrorLaunchFailure},         // TensorMemoryLeak
    {810, musaErrorMpsRpcFailure},         // MpsClientTerminated
    {811, musaErrorNotSupported},          // CdpNotSupported
    {812, musaErrorNotSupported},          // CdpVersionMismatch
    {913, musaErrorInvalidDeviceFunction}, // FunctionNotLoaded
    {914, musaErrorInvalidValue},          // InvalidResourceType
    {915, musaErrorInvalidValue},          // InvalidResourceConfiguration
};

constexpr musaError_t to_musa(int code) {
  for (const Row& row : kRows) {
    if (row.cuda == code) {
      return row.musa;
    }
  }
  for (const Row& row : kOnlyCuda) {
    if (row.cuda == code) {
      return row.musa;
    }
  }
  return musaErrorUnknown;
}

constexpr int to_cuda(musaError_t code) {
  for (const Row& row : kRows) {
    if (row.musa == code) {
      return row.cuda;
    }
  }
  return cudaErrorUnknown;
}

constexpr bool there_and_back() {
  for (const Row& row : kRows) {
    if (to_cuda(to_musa(row.cuda)) != row.cuda ||
        to_musa(to_cuda(row.musa)) != row.musa) {
      return false;
    }
  }
  for (const Row& row : kOnlyCuda) {
    if (to_musa(row.cuda) != row.musa) {
      return false; // a row above hides it
    }
  }
  return true;
}
static_assert(there_and_back(), "a code stands in two rows");

} // namespace

musaError_t musa_error(cudaError_t code) noexcept {
  return to_musa(static_cast<int>(code));
}

cudaError_t cuda_error(musaError_t code) noexcept {
  return static_cast<cudaError_t>(to_cuda(code));
}

} // namespace musa_standin::engine::cuda
