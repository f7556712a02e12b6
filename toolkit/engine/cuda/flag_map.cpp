// SPDX-License-Identifier: Apache-2.0
// Tables of limits and of the attributes of memory pools.
#include "toolkit/engine/cuda/flag_map.h"

namespace musa_standin::engine::cuda {
namespace {

struct LimitRow {
  musaLimit musa;
  cudaLimit cuda;
};
constexpr LimitRow kLimits[] = {
    {musaLimitStackSize, cudaLimitStackSize},
    {musaLimitPrintfFifoSize, cudaLimitPrintfFifoSize},
    {musaLimitMallocHeapSize, cudaLimitMallocHeapSize},
    {musaLimitDevRuntimeSyncDepth, cudaLimitDevRuntimeSyncDepth},
    {musaLimitDevRuntimePendingLaunchCount,
     cudaLimitDevRuntimePendingLaunchCount},
    {musaLimitMaxL2FetchGranularity, cudaLimitMaxL2FetchGranularity},
    {musaLimitPersistingL2CacheSize, cudaLimitPersistingL2CacheSize},
};

struct PoolRow {
  musaMemPoolAttr musa;
  cudaMemPoolAttr cuda;
};
constexpr PoolRow kPoolAttributes[] = {
    {musaMemPoolReuseFollowEventDependencies,
     cudaMemPoolReuseFollowEventDependencies},
    {musaMemPoolReuseAllowOpportunistic, cudaMemPoolReuseAllowOpportunistic},
    {musaMemPoolReuseAllowInternalDependencies,
     cudaMemPoolReuseAllowInternalDependencies},
    {musaMemPoolAttrReleaseThreshold, cudaMemPoolAttrReleaseThreshold},
    {musaMemPoolAttrReservedMemCurrent, cudaMemPoolAttrReservedMemCurrent},
    {musaMemPoolAttrReservedMemHigh, cudaMemPoolAttrReservedMemHigh},
    {musaMemPoolAttrUsedMemCurrent, cudaMemPoolAttrUsedMemCurrent},
    {musaMemPoolAttrUsedMemHigh, cudaMemPoolAttrUsedMemHigh},
};

template <class Row, size_t N>
constexpr bool one_row_each(const Row (&rows)[N]) {
  for (const Row& row : rows) {
    int same = 0;
    for (const Row& other : rows) {
      same += (row.musa == other.musa ? 1 : 0) + (row.cuda == other.cuda);
    }
    if (same != 2) {
      return false;
    }
  }
  return true;
}
static_assert(one_row_each(kLimits) && one_row_each(kPoolAttributes));

} // namespace

cudaLimit to_cuda(musaLimit limit) {
  for (const LimitRow& row : kLimits) {
    if (row.musa == limit) {
      return row.cuda;
    }
  }
  throw Error(musaErrorUnsupportedLimit, "the device has no such limit");
}

cudaMemPoolAttr to_cuda(musaMemPoolAttr attribute) {
  for (const PoolRow& row : kPoolAttributes) {
    if (row.musa == attribute) {
      return row.cuda;
    }
  }
  throw Error(musaErrorInvalidValue, "the pool has no such attribute");
}

} // namespace musa_standin::engine::cuda
