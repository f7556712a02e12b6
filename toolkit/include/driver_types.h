// SPDX-License-Identifier: Apache-2.0
// Types, enums and flags of the MUSA runtime, usable from C and C++.
#pragma once

#include <stddef.h>

/* Error codes; the numbers are part of the ABI. */
typedef enum musaError {
  musaSuccess = 0,
  musaErrorInvalidValue = 1,
  musaErrorMemoryAllocation = 2,
  musaErrorInitializationError = 3,
  musaErrorMusartUnloading = 4,
  musaErrorProfilerDisabled = 5,
  musaErrorProfilerNotInitialized = 6,
  musaErrorProfilerAlreadyStarted = 7,
  musaErrorProfilerAlreadyStopped = 8,
  musaErrorInvalidConfiguration = 9,
  musaErrorInvalidPitchValue = 12,
  musaErrorInvalidSymbol = 13,
  musaErrorInvalidHostPointer = 16,
  musaErrorInvalidDevicePointer = 17,
  musaErrorInvalidTexture = 18,
  musaErrorInvalidTextureBinding = 19,
  musaErrorInvalidChannelDescriptor = 20,
  musaErrorInvalidMemcpyDirection = 21,
  musaErrorAddressOfConstant = 22,
  musaErrorTextureFetchFailed = 23,
  musaErrorTextureNotBound = 24,
  musaErrorSynchronizationError = 25,
  musaErrorInvalidFilterSetting = 26,
  musaErrorInvalidNormSetting = 27,
  musaErrorMixedDeviceExecution = 28,
  musaErrorNotYetImplemented = 31,
  musaErrorMemoryValueTooLarge = 32,
  musaErrorStubLibrary = 34,
  musaErrorInsufficientDriver = 35,
  musaErrorCallRequiresNewerDriver = 36,
  musaErrorInvalidSurface = 37,
  musaErrorDuplicateVariableName = 43,
  musaErrorDuplicateTextureName = 44,
  musaErrorDuplicateSurfaceName = 45,
  musaErrorDevicesUnavailable = 46,
  musaErrorIncompatibleDriverContext = 49,
  musaErrorMissingConfiguration = 52,
  musaErrorPriorLaunchFailure = 53,
  musaErrorLaunchMaxDepthExceeded = 65,
  musaErrorLaunchFileScopedTex = 66,
  musaErrorLaunchFileScopedSurf = 67,
  musaErrorSyncDepthExceeded = 68,
  musaErrorLaunchPendingCountExceeded = 69,
  musaErrorInvalidDeviceFunction = 98,
  musaErrorNoDevice = 100,
  musaErrorInvalidDevice = 101,
  musaErrorDeviceNotLicensed = 102,
  musaErrorSoftwareValidityNotEstablished = 103,
  musaErrorStartupFailure = 127,
  musaErrorInvalidKernelImage = 200,
  musaErrorDeviceUninitialized = 201,
  musaErrorMapBufferObjectFailed = 205,
  musaErrorUnmapBufferObjectFailed = 206,
  musaErrorArrayIsMapped = 207,
  musaErrorAlreadyMapped = 208,
  musaErrorNoKernelImageForDevice = 209,
  musaErrorAlreadyAcquired = 210,
  musaErrorNotMapped = 211,
  musaErrorNotMappedAsArray = 212,
  musaErrorNotMappedAsPointer = 213,
  musaErrorECCUncorrectable = 214,
  musaErrorUnsupportedLimit = 215,
  musaErrorDeviceAlreadyInUse = 216,
  musaErrorPeerAccessUnsupported = 217,
  musaErrorInvalidPtx = 218,
  musaErrorInvalidGraphicsContext = 219,
  musaErrorMtlinkUncorrectable = 220,
  musaErrorJitCompilerNotFound = 221,
  musaErrorUnsupportedPtxVersion = 222,
  musaErrorJitCompilationDisabled = 223,
  musaErrorUnsupportedExecAffinity = 224,
  musaErrorInvalidSource = 300,
  musaErrorFileNotFound = 301,
  musaErrorSharedObjectSymbolNotFound = 302,
  musaErrorSharedObjectInitFailed = 303,
  musaErrorOperatingSystem = 304,
  musaErrorInvalidResourceHandle = 400,
  musaErrorIllegalState = 401,
  musaErrorSymbolNotFound = 500,
  musaErrorNotReady = 600,
  musaErrorIllegalAddress = 700,
  musaErrorLaunchOutOfResources = 701,
  musaErrorLaunchTimeout = 702,
  musaErrorLaunchIncompatibleTexturing = 703,
  musaErrorPeerAccessAlreadyEnabled = 704,
  musaErrorPeerAccessNotEnabled = 705,
  musaErrorSetOnActiveProcess = 708,
  musaErrorContextIsDestroyed = 709,
  musaErrorAssert = 710,
  musaErrorTooManyPeers = 711,
  musaErrorHostMemoryAlreadyRegistered = 712,
  musaErrorHostMemoryNotRegistered = 713,
  musaErrorHardwareStackError = 714,
  musaErrorIllegalInstruction = 715,
  musaErrorMisalignedAddress = 716,
  musaErrorInvalidAddressSpace = 717,
  musaErrorInvalidPc = 718,
  musaErrorLaunchFailure = 719,
  musaErrorCooperativeLaunchTooLarge = 720,
  musaErrorNotPermitted = 800,
  musaErrorNotSupported = 801,
  musaErrorSystemNotReady = 802,
  musaErrorSystemDriverMismatch = 803,
  musaErrorCompatNotSupportedOnDevice = 804,
  musaErrorMpsConnectionFailed = 805,
  musaErrorMpsRpcFailure = 806,
  musaErrorMpsServerNotReady = 807,
  musaErrorMpsMaxClientsReached = 808,
  musaErrorMpsMaxConnectionsReached = 809,
  musaErrorStreamCaptureUnsupported = 900,
  musaErrorStreamCaptureInvalidated = 901,
  musaErrorStreamCaptureMerge = 902,
  musaErrorStreamCaptureUnmatched = 903,
  musaErrorStreamCaptureUnjoined = 904,
  musaErrorStreamCaptureIsolation = 905,
  musaErrorStreamCaptureImplicit = 906,
  musaErrorCapturedEvent = 907,
  musaErrorStreamCaptureWrongThread = 908,
  musaErrorTimeout = 909,
  musaErrorGraphExecUpdateFailure = 910,
  musaErrorExternalDevice = 911,
  musaErrorInvalidClusterSize = 912,
  musaErrorUnknown = 999,
  musaErrorApiFailureBase = 10000,
} musaError_t;

/* Handles */
typedef struct MUstream_st* musaStream_t;
typedef struct MUevent_st* musaEvent_t;
typedef struct MUmemPoolHandle_st* musaMemPool_t;
typedef struct MUgraph_st* musaGraph_t;
typedef struct MUgraphExec_st* musaGraphExec_t;
typedef struct MUgraphNode_st* musaGraphNode_t;
typedef struct MUfunc_st* musaFunction_t;

#define musaStreamLegacy ((musaStream_t)0x1)
#define musaStreamPerThread ((musaStream_t)0x2)

/* Stream flags */
#define musaStreamDefault 0x00
#define musaStreamNonBlocking 0x01

/* Event flags */
#define musaEventDefault 0x00
#define musaEventBlockingSync 0x01
#define musaEventDisableTiming 0x02
#define musaEventInterprocess 0x04
#define musaEventRecordDefault 0x00
#define musaEventRecordExternal 0x01
#define musaEventWaitDefault 0x00
#define musaEventWaitExternal 0x01

/* Host memory flags */
#define musaHostAllocDefault 0x00
#define musaHostAllocPortable 0x01
#define musaHostAllocMapped 0x02
#define musaHostAllocWriteCombined 0x04
#define musaHostRegisterDefault 0x00
#define musaHostRegisterPortable 0x01
#define musaHostRegisterMapped 0x02
#define musaHostRegisterIoMemory 0x04
#define musaHostRegisterReadOnly 0x08

/* Managed memory flags */
#define musaMemAttachGlobal 0x01
#define musaMemAttachHost 0x02
#define musaMemAttachSingle 0x04

/* Device flags */
#define musaDeviceScheduleAuto 0x00
#define musaDeviceScheduleSpin 0x01
#define musaDeviceScheduleYield 0x02
#define musaDeviceScheduleBlockingSync 0x04
#define musaDeviceScheduleMask 0x07
#define musaDeviceMapHost 0x08
#define musaDeviceLmemResizeToMax 0x10
#define musaDeviceMask 0x1f

/* Peer, IPC and occupancy flags */
#define musaPeerAccessDefault 0x00
#define musaIpcMemLazyEnablePeerAccess 0x01
#define musaOccupancyDefault 0x00
#define MUSA_IPC_HANDLE_SIZE 64

/* Graph flags */
#define musaGraphInstantiateFlagAutoFreeOnLaunch 1
#define musaGraphDebugDotFlagsVerbose 1

/* Devices that are none */
#define musaCpuDeviceId ((int)-1)
#define musaInvalidDeviceId ((int)-2)

typedef enum musaMemcpyKind {
  musaMemcpyHostToHost = 0,
  musaMemcpyHostToDevice = 1,
  musaMemcpyDeviceToHost = 2,
  musaMemcpyDeviceToDevice = 3,
  musaMemcpyDefault = 4
} musaMemcpyKind;

typedef enum musaMemoryType {
  musaMemoryTypeUnregistered = 0,
  musaMemoryTypeHost = 1,
  musaMemoryTypeDevice = 2,
  musaMemoryTypeManaged = 3
} musaMemoryType;

typedef enum musaComputeMode {
  musaComputeModeDefault = 0,
  musaComputeModeExclusive = 1,
  musaComputeModeProhibited = 2,
  musaComputeModeExclusiveProcess = 3
} musaComputeMode;

typedef enum musaLimit {
  musaLimitStackSize = 0,
  musaLimitPrintfFifoSize = 1,
  musaLimitMallocHeapSize = 2,
  musaLimitDevRuntimeSyncDepth = 3,
  musaLimitDevRuntimePendingLaunchCount = 4,
  musaLimitMaxL2FetchGranularity = 5,
  musaLimitPersistingL2CacheSize = 6
} musaLimit;

typedef enum musaSharedMemConfig {
  musaSharedMemBankSizeDefault = 0,
  musaSharedMemBankSizeFourByte = 1,
  musaSharedMemBankSizeEightByte = 2
} musaSharedMemConfig;

typedef enum musaStreamCaptureMode {
  musaStreamCaptureModeGlobal = 0,
  musaStreamCaptureModeThreadLocal = 1,
  musaStreamCaptureModeRelaxed = 2
} musaStreamCaptureMode;

typedef enum musaStreamCaptureStatus {
  musaStreamCaptureStatusNone = 0,
  musaStreamCaptureStatusActive = 1,
  musaStreamCaptureStatusInvalidated = 2
} musaStreamCaptureStatus;

typedef enum musaGraphNodeType {
  musaGraphNodeTypeKernel = 0,
  musaGraphNodeTypeMemcpy = 1,
  musaGraphNodeTypeMemset = 2,
  musaGraphNodeTypeHost = 3,
  musaGraphNodeTypeGraph = 4,
  musaGraphNodeTypeEmpty = 5,
  musaGraphNodeTypeWaitEvent = 6,
  musaGraphNodeTypeEventRecord = 7
} musaGraphNodeType;

typedef enum musaFuncAttribute {
  musaFuncAttributeMaxDynamicSharedMemorySize = 8,
  musaFuncAttributePreferredSharedMemoryCarveout = 9
} musaFuncAttribute;

typedef enum musaMemPoolAttr {
  musaMemPoolReuseFollowEventDependencies = 1,
  musaMemPoolReuseAllowOpportunistic = 2,
  musaMemPoolReuseAllowInternalDependencies = 3,
  musaMemPoolAttrReleaseThreshold = 4,
  musaMemPoolAttrReservedMemCurrent = 5,
  musaMemPoolAttrReservedMemHigh = 6,
  musaMemPoolAttrUsedMemCurrent = 7,
  musaMemPoolAttrUsedMemHigh = 8
} musaMemPoolAttr;

typedef enum musaMemAllocationType {
  musaMemAllocationTypeInvalid = 0,
  musaMemAllocationTypePinned = 1
} musaMemAllocationType;

typedef enum musaMemLocationType {
  musaMemLocationTypeInvalid = 0,
  musaMemLocationTypeDevice = 1
} musaMemLocationType;

typedef enum musaMemAllocationHandleType {
  musaMemHandleTypeNone = 0,
  musaMemHandleTypePosixFileDescriptor = 1
} musaMemAllocationHandleType;

typedef struct musaMemLocation {
  musaMemLocationType type;
  int id;
} musaMemLocation;

typedef struct musaMemPoolProps {
  musaMemAllocationType allocType;
  musaMemAllocationHandleType handleTypes;
  musaMemLocation location;
  void* win32SecurityAttributes;
  size_t maxSize;
  unsigned char reserved[56];
} musaMemPoolProps;

typedef struct musaIpcMemHandle_st {
  char reserved[MUSA_IPC_HANDLE_SIZE];
} musaIpcMemHandle_t;

typedef struct musaIpcEventHandle_st {
  char reserved[MUSA_IPC_HANDLE_SIZE];
} musaIpcEventHandle_t;

typedef struct musaUUID {
  char bytes[16];
} musaUUID_t;

typedef struct musaPointerAttributes {
  musaMemoryType type;
  int device;
  void* devicePointer;
  void* hostPointer;
} musaPointerAttributes;

typedef void (*musaHostFn_t)(void* userData);
typedef void (*musaStreamCallback_t)(
    musaStream_t stream,
    musaError_t status,
    void* userData);

typedef enum musaDeviceAttr {
  musaDevAttrMaxThreadsPerBlock = 1,
  musaDevAttrMaxBlockDimX = 2,
  musaDevAttrMaxBlockDimY = 3,
  musaDevAttrMaxBlockDimZ = 4,
  musaDevAttrMaxGridDimX = 5,
  musaDevAttrMaxGridDimY = 6,
  musaDevAttrMaxGridDimZ = 7,
  musaDevAttrMaxSharedMemoryPerBlock = 8,
  musaDevAttrTotalConstantMemory = 9,
  musaDevAttrWarpSize = 10,
  musaDevAttrMaxPitch = 11,
  musaDevAttrMaxRegistersPerBlock = 12,
  musaDevAttrClockRate = 13,
  musaDevAttrTextureAlignment = 14,
  musaDevAttrGpuOverlap = 15,
  musaDevAttrMultiProcessorCount = 16,
  musaDevAttrKernelExecTimeout = 17,
  musaDevAttrIntegrated = 18,
  musaDevAttrCanMapHostMemory = 19,
  musaDevAttrComputeMode = 20,
  musaDevAttrSurfaceAlignment = 30,
  musaDevAttrConcurrentKernels = 31,
  musaDevAttrEccEnabled = 32,
  musaDevAttrPciBusId = 33,
  musaDevAttrPciDeviceId = 34,
  musaDevAttrTccDriver = 35,
  musaDevAttrMemoryClockRate = 36,
  musaDevAttrGlobalMemoryBusWidth = 37,
  musaDevAttrL2CacheSize = 38,
  musaDevAttrMaxThreadsPerMultiProcessor = 39,
  musaDevAttrAsyncEngineCount = 40,
  musaDevAttrUnifiedAddressing = 41,
  musaDevAttrPciDomainId = 50,
  musaDevAttrTexturePitchAlignment = 51,
  musaDevAttrComputeCapabilityMajor = 75,
  musaDevAttrComputeCapabilityMinor = 76,
  musaDevAttrStreamPrioritiesSupported = 78,
  musaDevAttrGlobalL1CacheSupported = 79,
  musaDevAttrLocalL1CacheSupported = 80,
  musaDevAttrMaxSharedMemoryPerMultiprocessor = 81,
  musaDevAttrMaxRegistersPerMultiprocessor = 82,
  musaDevAttrManagedMemory = 83,
  musaDevAttrIsMultiGpuBoard = 84,
  musaDevAttrMultiGpuBoardGroupID = 85,
  musaDevAttrHostNativeAtomicSupported = 86,
  musaDevAttrSingleToDoublePrecisionPerfRatio = 87,
  musaDevAttrPageableMemoryAccess = 88,
  musaDevAttrConcurrentManagedAccess = 89,
  musaDevAttrComputePreemptionSupported = 90,
  musaDevAttrCanUseHostPointerForRegisteredMem = 91,
  musaDevAttrCooperativeLaunch = 95,
  musaDevAttrCooperativeMultiDeviceLaunch = 96,
  musaDevAttrMaxSharedMemoryPerBlockOptin = 97,
  musaDevAttrCanFlushRemoteWrites = 98,
  musaDevAttrHostRegisterSupported = 99,
  musaDevAttrPageableMemoryAccessUsesHostPageTables = 100,
  musaDevAttrDirectManagedMemAccessFromHost = 101,
  musaDevAttrMaxBlocksPerMultiprocessor = 106,
  musaDevAttrMaxPersistingL2CacheSize = 108,
  musaDevAttrMaxAccessPolicyWindowSize = 109,
  musaDevAttrReservedSharedMemoryPerBlock = 111,
  musaDevAttrSparseMusaArraySupported = 112,
  musaDevAttrHostRegisterReadOnlySupported = 113,
  musaDevAttrTimelineSemaphoreInteropSupported = 114,
  musaDevAttrMemoryPoolsSupported = 115,
  musaDevAttrGPUDirectRDMASupported = 116,
  musaDevAttrGPUDirectRDMAFlushWritesOptions = 117,
  musaDevAttrGPUDirectRDMAWritesOrdering = 118,
  musaDevAttrMemoryPoolSupportedHandleTypes = 119,
} musaDeviceAttr;

typedef struct musaDeviceProp {
  char name[256];
  musaUUID_t uuid;
  char luid[8];
  unsigned int luidDeviceNodeMask;
  size_t totalGlobalMem;
  size_t sharedMemPerBlock;
  int regsPerBlock;
  int warpSize;
  size_t memPitch;
  int maxThreadsPerBlock;
  int maxThreadsDim[3];
  int maxGridSize[3];
  int clockRate;
  size_t totalConstMem;
  int major;
  int minor;
  size_t textureAlignment;
  size_t texturePitchAlignment;
  int deviceOverlap;
  int multiProcessorCount;
  int kernelExecTimeoutEnabled;
  int integrated;
  int canMapHostMemory;
  int computeMode;
  int maxTexture1D;
  int maxTexture1DMipmap;
  int maxTexture1DLinear;
  int maxTexture2D[2];
  int maxTexture2DMipmap[2];
  int maxTexture2DLinear[3];
  int maxTexture2DGather[2];
  int maxTexture3D[3];
  int maxTexture3DAlt[3];
  int maxTextureCubemap;
  int maxTexture1DLayered[2];
  int maxTexture2DLayered[3];
  int maxTextureCubemapLayered[2];
  int maxSurface1D;
  int maxSurface2D[2];
  int maxSurface3D[3];
  int maxSurface1DLayered[2];
  int maxSurface2DLayered[3];
  int maxSurfaceCubemap;
  int maxSurfaceCubemapLayered[2];
  size_t surfaceAlignment;
  int concurrentKernels;
  int ECCEnabled;
  int pciBusID;
  int pciDeviceID;
  int pciDomainID;
  int tccDriver;
  int asyncEngineCount;
  int unifiedAddressing;
  int memoryClockRate;
  int memoryBusWidth;
  int l2CacheSize;
  int persistingL2CacheMaxSize;
  int maxThreadsPerMultiProcessor;
  int streamPrioritiesSupported;
  int globalL1CacheSupported;
  int localL1CacheSupported;
  size_t sharedMemPerMultiprocessor;
  int regsPerMultiprocessor;
  int managedMemory;
  int isMultiGpuBoard;
  int multiGpuBoardGroupID;
  int hostNativeAtomicSupported;
  int singleToDoublePrecisionPerfRatio;
  int pageableMemoryAccess;
  int concurrentManagedAccess;
  int computePreemptionSupported;
  int canUseHostPointerForRegisteredMem;
  int cooperativeLaunch;
  int cooperativeMultiDeviceLaunch;
  size_t sharedMemPerBlockOptin;
  int pageableMemoryAccessUsesHostPageTables;
  int directManagedMemAccessFromHost;
  int maxBlocksPerMultiProcessor;
  int accessPolicyMaxWindowSize;
  size_t reservedSharedMemPerBlock;
} musaDeviceProp;

typedef struct musaFuncAttributes {
  size_t sharedSizeBytes;
  size_t constSizeBytes;
  size_t localSizeBytes;
  int maxThreadsPerBlock;
  int numRegs;
  int ptxVersion;
  int binaryVersion;
} musaFuncAttributes;
