// SPDX-License-Identifier: Apache-2.0
// Flags, limits and attributes of CUDA and of MUSA: tables, both ways.
#pragma once

#include "toolkit/engine/error.h"

#include "toolkit/include/driver_types.h"

#include <cuda_runtime_api.h>

#include <cstddef>

namespace musa_standin::engine::cuda {

struct FlagRow {
  unsigned musa;
  unsigned cuda;
};

constexpr FlagRow kStreamFlags[] = {
    {musaStreamNonBlocking, cudaStreamNonBlocking},
};
constexpr FlagRow kEventFlags[] = {
    {musaEventBlockingSync, cudaEventBlockingSync},
    {musaEventDisableTiming, cudaEventDisableTiming},
    {musaEventInterprocess, cudaEventInterprocess},
};
constexpr FlagRow kHostAllocFlags[] = {
    {musaHostAllocPortable, cudaHostAllocPortable},
    {musaHostAllocMapped, cudaHostAllocMapped},
    {musaHostAllocWriteCombined, cudaHostAllocWriteCombined},
};
constexpr FlagRow kHostRegisterFlags[] = {
    {musaHostRegisterPortable, cudaHostRegisterPortable},
    {musaHostRegisterMapped, cudaHostRegisterMapped},
    {musaHostRegisterIoMemory, cudaHostRegisterIoMemory},
    {musaHostRegisterReadOnly, cudaHostRegisterReadOnly},
};
constexpr FlagRow kManagedFlags[] = {
    {musaMemAttachGlobal, cudaMemAttachGlobal},
    {musaMemAttachHost, cudaMemAttachHost},
};
constexpr FlagRow kDeviceFlags[] = {
    {musaDeviceScheduleSpin, cudaDeviceScheduleSpin},
    {musaDeviceScheduleYield, cudaDeviceScheduleYield},
    {musaDeviceScheduleBlockingSync, cudaDeviceScheduleBlockingSync},
    {musaDeviceMapHost, cudaDeviceMapHost},
    {musaDeviceLmemResizeToMax, cudaDeviceLmemResizeToMax},
};

// Bits without a row have no counterpart and are left out; the callers of the
// engine have refused those that do not exist.
template <size_t N>
constexpr unsigned to_cuda(const FlagRow (&rows)[N], unsigned musa) {
  unsigned out = 0;
  for (const FlagRow& row : rows) {
    out |= (musa & row.musa) != 0 ? row.cuda : 0U;
  }
  return out;
}
template <size_t N>
constexpr unsigned to_musa(const FlagRow (&rows)[N], unsigned cuda) {
  unsigned out = 0;
  for (const FlagRow& row : rows) {
    out |= (cuda & row.cuda) != 0 ? row.musa : 0U;
  }
  return out;
}

template <size_t N>
constexpr bool there_and_back(const FlagRow (&rows)[N]) {
  for (const FlagRow& row : rows) {
    if (to_musa(rows, to_cuda(rows, row.musa)) != row.musa ||
        to_cuda(rows, to_musa(rows, row.cuda)) != row.cuda) {
      return false;
    }
  }
  return true;
}
static_assert(there_and_back(kStreamFlags) && there_and_back(kEventFlags));
static_assert(there_and_back(kHostAllocFlags));
static_assert(there_and_back(kHostRegisterFlags));
static_assert(there_and_back(kManagedFlags) && there_and_back(kDeviceFlags));

// Enumerators: throw the code for one that has no row.
cudaLimit to_cuda(musaLimit limit);
cudaMemPoolAttr to_cuda(musaMemPoolAttr attribute);

} // namespace musa_standin::engine::cuda
