// SPDX-License-Identifier: Apache-2.0
// The MUSA runtime for host code: the C functions and their C++ overloads.
#pragma once

#include "musa_runtime_api.h"

#ifdef __cplusplus

/* Typed forms: the pointer's type is the caller's. */
template <class T>
inline musaError_t musaMalloc(T** devPtr, size_t size) {
  return ::musaMalloc(reinterpret_cast<void**>(devPtr), size);
}

template <class T>
inline musaError_t
musaMallocHost(T** ptr, size_t size, unsigned int flags = 0) {
  return ::musaHostAlloc(reinterpret_cast<void**>(ptr), size, flags);
}

inline musaError_t musaMallocHost(void** ptr, size_t size, unsigned int flags) {
  return ::musaHostAlloc(ptr, size, flags);
}

template <class T>
inline musaError_t musaHostAlloc(T** ptr, size_t size, unsigned int flags) {
  return ::musaHostAlloc(reinterpret_cast<void**>(ptr), size, flags);
}

template <class T>
inline musaError_t musaMallocManaged(
    T** devPtr,
    size_t size,
    unsigned int flags = musaMemAttachGlobal) {
  return ::musaMallocManaged(reinterpret_cast<void**>(devPtr), size, flags);
}

template <class T>
inline musaError_t
musaMallocAsync(T** devPtr, size_t size, musaStream_t stream) {
  return ::musaMallocAsync(reinterpret_cast<void**>(devPtr), size, stream);
}

/* The older form of five arguments. */
inline musaError_t musaGraphInstantiate(
    musaGraphExec_t* pGraphExec,
    musaGraph_t graph,
    musaGraphNode_t* /*errorNode*/,
    char* /*logBuffer*/,
    size_t /*bufferSize*/) {
  return ::musaGraphInstantiate(pGraphExec, graph, 0ULL);
}

#endif
