// SPDX-License-Identifier: Apache-2.0
// C functions of the MUSA runtime, libmusart.
#pragma once

#include "driver_types.h"

#define MUSART_VERSION 50100
#define MUSARTAPI
#define MUSART_PUBLIC __attribute__((visibility("default")))

/* C++ callers may leave out trailing arguments. */
#ifdef __cplusplus
#define MUSART_DEFAULT(value) = value
extern "C" {
#else
#define MUSART_DEFAULT(value)
#endif

/* Errors.  The last error is kept per thread. */
MUSART_PUBLIC musaError_t musaGetLastError(void);
MUSART_PUBLIC musaError_t musaPeekAtLastError(void);
MUSART_PUBLIC const char* musaGetErrorName(musaError_t error);
MUSART_PUBLIC const char* musaGetErrorString(musaError_t error);

/* Versions: major * 10000 + minor * 100 + patch. */
MUSART_PUBLIC musaError_t musaDriverGetVersion(int* version);
MUSART_PUBLIC musaError_t musaRuntimeGetVersion(int* version);

/* Devices */
MUSART_PUBLIC musaError_t musaGetDeviceCount(int* count);
MUSART_PUBLIC musaError_t musaGetDevice(int* device);
MUSART_PUBLIC musaError_t musaSetDevice(int device);
MUSART_PUBLIC musaError_t
musaInitDevice(int device, unsigned int deviceFlags, unsigned int flags);
MUSART_PUBLIC musaError_t musaSetDeviceFlags(unsigned int flags);
MUSART_PUBLIC musaError_t musaGetDeviceFlags(unsigned int* flags);
MUSART_PUBLIC musaError_t musaDeviceSynchronize(void);
MUSART_PUBLIC musaError_t musaDeviceReset(void);
MUSART_PUBLIC musaError_t
musaGetDeviceProperties(musaDeviceProp* prop, int device);
MUSART_PUBLIC musaError_t
musaDeviceGetAttribute(int* value, musaDeviceAttr attr, int device);
MUSART_PUBLIC musaError_t
musaDeviceGetPCIBusId(char* pciBusId, int len, int device);
MUSART_PUBLIC musaError_t
musaDeviceGetByPCIBusId(int* device, const char* pciBusId);
MUSART_PUBLIC musaError_t
musaDeviceGetStreamPriorityRange(int* leastPriority, int* greatestPriority);
MUSART_PUBLIC musaError_t musaDeviceSetLimit(musaLimit limit, size_t value);
MUSART_PUBLIC musaError_t musaDeviceGetLimit(size_t* value, musaLimit limit);
MUSART_PUBLIC musaError_t
musaDeviceSetSharedMemConfig(musaSharedMemConfig config);
MUSART_PUBLIC musaError_t
musaDeviceGetSharedMemConfig(musaSharedMemConfig* config);
MUSART_PUBLIC musaError_t musaCtxResetPersistingL2Cache(void);
MUSART_PUBLIC musaError_t musaProfilerStart(void);
MUSART_PUBLIC musaError_t musaProfilerStop(void);

/* Peer access */
MUSART_PUBLIC musaError_t
musaDeviceCanAccessPeer(int* canAccessPeer, int device, int peerDevice);
MUSART_PUBLIC musaError_t musaDeviceEnablePeerAccess(
    int peerDevice,
    unsigned int flags MUSART_DEFAULT(0));
MUSART_PUBLIC musaError_t musaDeviceDisablePeerAccess(int peerDevice);

/* Memory */
MUSART_PUBLIC musaError_t musaMemGetInfo(size_t* free, size_t* total);
MUSART_PUBLIC musaError_t musaMalloc(void** devPtr, size_t size);
MUSART_PUBLIC musaError_t musaFree(void* devPtr);
MUSART_PUBLIC musaError_t
musaMallocPitch(void** devPtr, size_t* pitch, size_t width, size_t height);
MUSART_PUBLIC musaError_t musaMallocHost(void** ptr, size_t size);
MUSART_PUBLIC musaError_t musaFreeHost(void* ptr);
MUSART_PUBLIC musaError_t
musaHostAlloc(void** ptr, size_t size, unsigned int flags);
MUSART_PUBLIC musaError_t
musaHostRegister(void* ptr, size_t size, unsigned int flags);
MUSART_PUBLIC musaError_t musaHostUnregister(void* ptr);
MUSART_PUBLIC musaError_t
musaHostGetDevicePointer(void** pDevice, void* pHost, unsigned int flags);
MUSART_PUBLIC musaError_t musaHostGetFlags(unsigned int* flags, void* pHost);
MUSART_PUBLIC musaError_t musaMallocManaged(
    void** devPtr,
    size_t size,
    unsigned int flags MUSART_DEFAULT(musaMemAttachGlobal));
MUSART_PUBLIC musaError_t
musaPointerGetAttributes(musaPointerAttributes* attributes, const void* ptr);

/* Copies and fills */
MUSART_PUBLIC musaError_t
musaMemcpy(void* dst, const void* src, size_t count, musaMemcpyKind kind);
MUSART_PUBLIC musaError_t musaMemcpyAsync(
    void* dst,
    const void* src,
    size_t count,
    musaMemcpyKind kind,
    musaStream_t stream MUSART_DEFAULT(0));
MUSART_PUBLIC musaError_t musaMemcpyPeer(
    void* dst,
    int dstDevice,
    const void* src,
    int srcDevice,
    size_t count);
MUSART_PUBLIC musaError_t musaMemcpyPeerAsync(
    void* dst,
    int dstDevice,
    const void* src,
    int srcDevice,
    size_t count,
    musaStream_t stream MUSART_DEFAULT(0));
MUSART_PUBLIC musaError_t musaMemcpy2D(
    void* dst,
    size_t dpitch,
    const void* src,
    size_t spitch,
    size_t width,
    size_t height,
    musaMemcpyKind kind);
MUSART_PUBLIC musaError_t musaMemcpy2DAsync(
    void* dst,
    size_t dpitch,
    const void* src,
    size_t spitch,
    size_t width,
    size_t height,
    musaMemcpyKind kind,
    musaStream_t stream MUSART_DEFAULT(0));
MUSART_PUBLIC musaError_t musaMemset(void* devPtr, int value, size_t count);
MUSART_PUBLIC musaError_t musaMemsetAsync(
    void* devPtr,
    int value,
    size_t count,
    musaStream_t stream MUSART_DEFAULT(0));
MUSART_PUBLIC musaError_t musaMemset2D(
    void* devPtr,
    size_t pitch,
    int value,
    size_t width,
    size_t height);
MUSART_PUBLIC musaError_t musaMemset2DAsync(
    void* devPtr,
    size_t pitch,
    int value,
    size_t width,
    size_t height,
    musaStream_t stream MUSART_DEFAULT(0));

/* Streams */
MUSART_PUBLIC musaError_t musaStreamCreate(musaStream_t* pStream);
MUSART_PUBLIC musaError_t
musaStreamCreateWithFlags(musaStream_t* pStream, unsigned int flags);
MUSART_PUBLIC musaError_t musaStreamCreateWithPriority(
    musaStream_t* pStream,
    unsigned int flags,
    int priority);
MUSART_PUBLIC musaError_t
musaStreamGetPriority(musaStream_t stream, int* priority);
MUSART_PUBLIC musaError_t
musaStreamGetFlags(musaStream_t stream, unsigned int* flags);
MUSART_PUBLIC musaError_t musaStreamDestroy(musaStream_t stream);
MUSART_PUBLIC musaError_t musaStreamSynchronize(musaStream_t stream);
MUSART_PUBLIC musaError_t musaStreamQuery(musaStream_t stream);
MUSART_PUBLIC musaError_t musaStreamWaitEvent(
    musaStream_t stream,
    musaEvent_t event,
    unsigned int flags MUSART_DEFAULT(0));
MUSART_PUBLIC musaError_t musaStreamAddCallback(
    musaStream_t stream,
    musaStreamCallback_t callback,
    void* userData,
    unsigned int flags);
MUSART_PUBLIC musaError_t
musaLaunchHostFunc(musaStream_t stream, musaHostFn_t fn, void* userData);

/* Events */
MUSART_PUBLIC musaError_t musaEventCreate(musaEvent_t* event);
MUSART_PUBLIC musaError_t
musaEventCreateWithFlags(musaEvent_t* event, unsigned int flags);
MUSART_PUBLIC musaError_t
musaEventRecord(musaEvent_t event, musaStream_t stream MUSART_DEFAULT(0));
MUSART_PUBLIC musaError_t musaEventRecordWithFlags(
    musaEvent_t event,
    musaStream_t stream MUSART_DEFAULT(0),
    unsigned int flags MUSART_DEFAULT(0));
MUSART_PUBLIC musaError_t musaEventSynchronize(musaEvent_t event);
MUSART_PUBLIC musaError_t musaEventQuery(musaEvent_t event);
MUSART_PUBLIC musaError_t musaEventDestroy(musaEvent_t event);
MUSART_PUBLIC musaError_t
musaEventElapsedTime(float* ms, musaEvent_t start, musaEvent_t end);

/* Stream-ordered allocation */
MUSART_PUBLIC musaError_t
musaMallocAsync(void** devPtr, size_t size, musaStream_t stream);
MUSART_PUBLIC musaError_t musaFreeAsync(void* devPtr, musaStream_t stream);
MUSART_PUBLIC musaError_t musaMallocFromPoolAsync(
    void** ptr,
    size_t size,
    musaMemPool_t memPool,
    musaStream_t stream);
MUSART_PUBLIC musaError_t
musaMemPoolCreate(musaMemPool_t* memPool, const musaMemPoolProps* poolProps);
MUSART_PUBLIC musaError_t musaMemPoolDestroy(musaMemPool_t memPool);
MUSART_PUBLIC musaError_t musaMemPoolSetAttribute(
    musaMemPool_t memPool,
    musaMemPoolAttr attr,
    void* value);
MUSART_PUBLIC musaError_t musaMemPoolGetAttribute(
    musaMemPool_t memPool,
    musaMemPoolAttr attr,
    void* value);
MUSART_PUBLIC musaError_t
musaMemPoolTrimTo(musaMemPool_t memPool, size_t minBytesToKeep);
MUSART_PUBLIC musaError_t
musaDeviceGetDefaultMemPool(musaMemPool_t* memPool, int device);
MUSART_PUBLIC musaError_t
musaDeviceGetMemPool(musaMemPool_t* memPool, int device);
MUSART_PUBLIC musaError_t
musaDeviceSetMemPool(int device, musaMemPool_t memPool);

/* Between processes */
MUSART_PUBLIC musaError_t
musaIpcGetMemHandle(musaIpcMemHandle_t* handle, void* devPtr);
MUSART_PUBLIC musaError_t musaIpcOpenMemHandle(
    void** devPtr,
    musaIpcMemHandle_t handle,
    unsigned int flags);
MUSART_PUBLIC musaError_t musaIpcCloseMemHandle(void* devPtr);
MUSART_PUBLIC musaError_t
musaIpcGetEventHandle(musaIpcEventHandle_t* handle, musaEvent_t event);
MUSART_PUBLIC musaError_t
musaIpcOpenEventHandle(musaEvent_t* event, musaIpcEventHandle_t handle);

/* Stream capture and graphs */
MUSART_PUBLIC musaError_t
musaStreamBeginCapture(musaStream_t stream, musaStreamCaptureMode mode);
MUSART_PUBLIC musaError_t
musaStreamEndCapture(musaStream_t stream, musaGraph_t* pGraph);
MUSART_PUBLIC musaError_t musaStreamIsCapturing(
    musaStream_t stream,
    musaStreamCaptureStatus* pCaptureStatus);
MUSART_PUBLIC musaError_t musaStreamGetCaptureInfo(
    musaStream_t stream,
    musaStreamCaptureStatus* captureStatus,
    unsigned long long* id);
MUSART_PUBLIC musaError_t musaStreamGetCaptureInfo_v2(
    musaStream_t stream,
    musaStreamCaptureStatus* captureStatus,
    unsigned long long* id,
    musaGraph_t* graph,
    const musaGraphNode_t** dependencies,
    size_t* numDependencies);
MUSART_PUBLIC musaError_t
musaThreadExchangeStreamCaptureMode(musaStreamCaptureMode* mode);
MUSART_PUBLIC musaError_t
musaGraphCreate(musaGraph_t* pGraph, unsigned int flags);
MUSART_PUBLIC musaError_t musaGraphInstantiate(
    musaGraphExec_t* pGraphExec,
    musaGraph_t graph,
    unsigned long long flags);
MUSART_PUBLIC musaError_t musaGraphInstantiateWithFlags(
    musaGraphExec_t* pGraphExec,
    musaGraph_t graph,
    unsigned long long flags);
MUSART_PUBLIC musaError_t
musaGraphLaunch(musaGraphExec_t graphExec, musaStream_t stream);
MUSART_PUBLIC musaError_t musaGraphExecDestroy(musaGraphExec_t graphExec);
MUSART_PUBLIC musaError_t musaGraphDestroy(musaGraph_t graph);
MUSART_PUBLIC musaError_t
musaGraphGetNodes(musaGraph_t graph, musaGraphNode_t* nodes, size_t* numNodes);
MUSART_PUBLIC musaError_t
musaGraphNodeGetType(musaGraphNode_t node, musaGraphNodeType* pType);
MUSART_PUBLIC musaError_t
musaGraphDebugDotPrint(musaGraph_t graph, const char* path, unsigned int flags);

/* Functions of device code */
MUSART_PUBLIC musaError_t
musaFuncSetAttribute(const void* func, musaFuncAttribute attr, int value);
MUSART_PUBLIC musaError_t
musaFuncGetAttributes(musaFuncAttributes* attr, const void* func);
MUSART_PUBLIC musaError_t
musaGetFuncBySymbol(musaFunction_t* functionPtr, const void* symbolPtr);
MUSART_PUBLIC musaError_t musaOccupancyMaxActiveBlocksPerMultiprocessor(
    int* numBlocks,
    const void* func,
    int blockSize,
    size_t dynamicSMemSize);
MUSART_PUBLIC musaError_t
musaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* numBlocks,
    const void* func,
    int blockSize,
    size_t dynamicSMemSize,
    unsigned int flags);

#ifdef __cplusplus
}
#endif
