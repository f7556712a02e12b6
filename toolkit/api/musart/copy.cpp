// SPDX-License-Identifier: Apache-2.0
// Copies and fills.  The blocking forms work on the legacy default stream.
#include "toolkit/api/call.h"

#include "toolkit/include/musa_runtime_api.h"

using namespace musa_standin::api;
namespace engine = musa_standin::engine;
using engine::runtime;

musaError_t
musaMemcpy(void* dst, const void* src, size_t count, musaMemcpyKind kind) {
  return api_call("musaMemcpy", [&] {
    runtime().copy(
        stream_of(nullptr),
        {dst, src, count, 1, count, count, kind},
        true);
  });
}

musaError_t musaMemcpyAsync(
    void* dst,
    const void* src,
    size_t count,
    musaMemcpyKind kind,
    musaStream_t stream) {
  return api_call("musaMemcpyAsync", [&] {
    runtime().copy(
        stream_of(stream),
        {dst, src, count, 1, count, count, kind},
        false);
  });
}

musaError_t musaMemcpyPeer(
    void* dst,
    int dstDevice,
    const void* src,
    int srcDevice,
    size_t count) {
  return api_call("musaMemcpyPeer", [&] {
    checked_device(dstDevice);
    checked_device(srcDevice);
    runtime().copy(
        stream_of(nullptr),
        {dst, src, count, 1, count, count, musaMemcpyDeviceToDevice},
        true);
  });
}

musaError_t musaMemcpyPeerAsync(
    void* dst,
    int dstDevice,
    const void* src,
    int srcDevice,
    size_t count,
    musaStream_t stream) {
  return api_call("musaMemcpyPeerAsync", [&] {
    checked_device(dstDevice);
    checked_device(srcDevice);
    runtime().copy(
        stream_of(stream),
        {dst, src, count, 1, count, count, musaMemcpyDeviceToDevice},
        false);
  });
}

musaError_t musaMemcpy2D(
    void* dst,
    size_t dpitch,
    const void* src,
    size_t spitch,
    size_t width,
    size_t height,
    musaMemcpyKind kind) {
  return api_call("musaMemcpy2D", [&] {
    runtime().copy(
        stream_of(nullptr),
        {dst, src, width, height, dpitch, spitch, kind},
        true);
  });
}

musaError_t musaMemcpy2DAsync(
    void* dst,
    size_t dpitch,
    const void* src,
    size_t spitch,
    size_t width,
    size_t height,
    musaMemcpyKind kind,
    musaStream_t stream) {
  return api_call("musaMemcpy2DAsync", [&] {
    runtime().copy(
        stream_of(stream),
        {dst, src, width, height, dpitch, spitch, kind},
        false);
  });
}

musaError_t musaMemset(void* devPtr, int value, size_t count) {
  return api_call("musaMemset", [&] {
    runtime().fill(stream_of(nullptr), {devPtr, value, count, 1, count});
  });
}

musaError_t
musaMemsetAsync(void* devPtr, int value, size_t count, musaStream_t stream) {
  return api_call("musaMemsetAsync", [&] {
    runtime().fill(stream_of(stream), {devPtr, value, count, 1, count});
  });
}

musaError_t musaMemset2D(
    void* devPtr,
    size_t pitch,
    int value,
    size_t width,
    size_t height) {
  return api_call("musaMemset2D", [&] {
    runtime().fill(stream_of(nullptr), {devPtr, value, width, height, pitch});
  });
}

musaError_t musaMemset2DAsync(
    void* devPtr,
    size_t pitch,
    int value,
    size_t width,
    size_t height,
    musaStream_t stream) {
  return api_call("musaMemset2DAsync", [&] {
    runtime().fill(stream_of(stream), {devPtr, value, width, height, pitch});
  });
}
