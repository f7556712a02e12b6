// SPDX-License-Identifier: Apache-2.0
// Device, pinned and managed memory, and what a pointer points at.
#include "toolkit/api/call.h"

#include "toolkit/include/musa_runtime_api.h"

using namespace musa_standin::api;
namespace engine = musa_standin::engine;
using engine::runtime;

namespace {

constexpr unsigned kHostAllocFlags =
    musaHostAllocPortable | musaHostAllocMapped | musaHostAllocWriteCombined;
constexpr unsigned kHostRegisterFlags = musaHostRegisterPortable |
    musaHostRegisterMapped | musaHostRegisterIoMemory |
    musaHostRegisterReadOnly;

void allocate_pinned(void** ptr, size_t size, unsigned flags) {
  require(ptr != nullptr, "ptr is null");
  require((flags & ~kHostAllocFlags) == 0, "a flag does not exist");
  *ptr = nullptr;
  current_device();
  if (size != 0) {
    *ptr = runtime().allocate_host(size, flags);
  }
}

} // namespace

musaError_t musaMemGetInfo(size_t* free, size_t* total) {
  return api_call("musaMemGetInfo", [&] {
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    runtime().memory_info(current_device(), free_bytes, total_bytes);
    if (free != nullptr) {
      *free = free_bytes;
    }
    if (total != nullptr) {
      *total = total_bytes;
    }
  });
}

musaError_t musaMalloc(void** devPtr, size_t size) {
  return api_call("musaMalloc", [&] {
    require(devPtr != nullptr, "devPtr is null");
    *devPtr = nullptr;
    const int device = current_device();
    if (size != 0) {
      *devPtr = runtime().allocate(device, size);
    }
  });
}

musaError_t musaFree(void* devPtr) {
  return api_call("musaFree", [&] {
    if (devPtr != nullptr) {
      runtime().release(devPtr);
    } else {
      runtime().initialize(current_device());
    }
  });
}

musaError_t
musaMallocPitch(void** devPtr, size_t* pitch, size_t width, size_t height) {
  return api_call("musaMallocPitch", [&] {
    require(devPtr != nullptr && pitch != nullptr, "an argument is null");
    const int device = current_device();
    constexpr size_t kRow = 512;
    *devPtr = nullptr;
    *pitch = 0;
    size_t bytes = 0;
    const size_t row =
        width > SIZE_MAX - kRow ? SIZE_MAX : (width + kRow - 1) / kRow * kRow;
    if (__builtin_mul_overflow(row, height, &bytes)) {
      throw engine::Error(
          musaErrorMemoryAllocation,
          "the rows are beyond all memory");
    }
    if (bytes != 0) {
      *devPtr = runtime().allocate(device, bytes);
    }
    *pitch = row;
  });
}

musaError_t musaMallocHost(void** ptr, size_t size) {
  return api_call("musaMallocHost", [&] { allocate_pinned(ptr, size, 0); });
}

musaError_t musaHostAlloc(void** ptr, size_t size, unsigned int flags) {
  return api_call("musaHostAlloc", [&] { allocate_pinned(ptr, size, flags); });
}

musaError_t musaFreeHost(void* ptr) {
  return api_call("musaFreeHost", [&] {
    if (ptr != nullptr) {
      runtime().release_host(ptr);
    }
  });
}

musaError_t musaHostRegister(void* ptr, size_t size, unsigned int flags) {
  return api_call("musaHostRegister", [&] {
    require(ptr != nullptr && size != 0, "there is no memory to register");
    require((flags & ~kHostRegisterFlags) == 0, "a flag does not exist");
    runtime().register_host(ptr, size, flags);
  });
}

musaError_t musaHostUnregister(void* ptr) {
  return api_call("musaHostUnregister", [&] {
    require(ptr != nullptr, "ptr is null");
    runtime().unregister_host(ptr);
  });
}

musaError_t
musaHostGetDevicePointer(void** pDevice, void* pHost, unsigned int flags) {
  return api_call("musaHostGetDevicePointer", [&] {
    require(pDevice != nullptr && pHost != nullptr, "an argument is null");
    require(flags == 0, "flags must be 0");
    *pDevice = nullptr;
    *pDevice = runtime().host_device_pointer(pHost);
  });
}

musaError_t musaHostGetFlags(unsigned int* flags, void* pHost) {
  return api_call("musaHostGetFlags", [&] {
    require(flags != nullptr && pHost != nullptr, "an argument is null");
    *flags = runtime().host_flags(pHost);
  });
}

musaError_t musaMallocManaged(void** devPtr, size_t size, unsigned int flags) {
  return api_call("musaMallocManaged", [&] {
    require(devPtr != nullptr, "devPtr is null");
    require(
        flags == musaMemAttachGlobal || flags == musaMemAttachHost,
        "flags is neither musaMemAttachGlobal nor musaMemAttachHost");
    require(size != 0, "size is 0");
    *devPtr = nullptr;
    *devPtr = runtime().allocate_managed(current_device(), size, flags);
  });
}

musaError_t musaPointerGetAttributes(
    musaPointerAttributes* attributes,
    const void* ptr) {
  return api_call<Needs::kLifetime>("musaPointerGetAttributes", [&] {
    require(attributes != nullptr, "attributes is null");
    require(ptr != nullptr, "ptr is null");
    runtime().pointer_attributes(*attributes, ptr);
  });
}
