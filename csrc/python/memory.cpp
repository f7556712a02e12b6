// SPDX-License-Identifier: Apache-2.0
// Memory as Python sees it: statistics by name, limits, caches.
#include "csrc/python/bindings.h"

#include "csrc/allocator/device_allocator.h"
#include "csrc/allocator/host_allocator.h"

#include <torch/csrc/utils/pybind.h>

#include <array>
#include <string>

namespace torch_fl::python {
namespace {

namespace py = pybind11;
using NoGil = py::call_guard<py::gil_scoped_release>;

py::dict stat_dict(const c10::CachingAllocator::Stat& stat) {
  py::dict result;
  result["current"] = stat.current;
  result["peak"] = stat.peak;
  result["allocated"] = stat.allocated;
  result["freed"] = stat.freed;
  return result;
}

py::dict pools_dict(const c10::CachingAllocator::StatArray& stats) {
  constexpr std::array<const char*, 3> kPools = {
      "all",
      "small_pool",
      "large_pool"};
  py::dict result;
  for (size_t pool = 0; pool < kPools.size(); ++pool) {
    result[kPools[pool]] = stat_dict(stats[pool]);
  }
  return result;
}

py::dict duration_dict(const c10::CachingAllocator::DurationStat& stat) {
  py::dict result;
  result["total"] = stat.total;
  result["max"] = stat.max;
  result["min"] = stat.min;
  result["count"] = stat.count;
  return result;
}

// torch.cuda.memory_stats' names.
py::dict memory_stats(int64_t device) {
  const auto stats = [index = index_of(device)] {
    const py::gil_scoped_release release;
    return allocator::device_allocator()->getDeviceStats(index);
  }();
  py::dict result;
  result["num_alloc_retries"] = stats.num_alloc_retries;
  result["num_ooms"] = stats.num_ooms;
  result["num_sync_all_streams"] = stats.num_sync_all_streams;
  result["num_device_alloc"] = stats.num_device_alloc;
  result["num_device_free"] = stats.num_device_free;
  result["max_split_size"] = stats.max_split_size;
  result["allocation"] = pools_dict(stats.allocation);
  result["segment"] = pools_dict(stats.segment);
  result["active"] = pools_dict(stats.active);
  result["inactive_split"] = pools_dict(stats.inactive_split);
  result["allocated_bytes"] = pools_dict(stats.allocated_bytes);
  result["reserved_bytes"] = pools_dict(stats.reserved_bytes);
  result["active_bytes"] = pools_dict(stats.active_bytes);
  result["inactive_split_bytes"] = pools_dict(stats.inactive_split_bytes);
  result["requested_bytes"] = pools_dict(stats.requested_bytes);
  result["oversize_allocations"] = stat_dict(stats.oversize_allocations);
  result["oversize_segments"] = stat_dict(stats.oversize_segments);
  return result;
}

py::dict host_memory_stats() {
  const auto stats = [] {
    const py::gil_scoped_release release;
    return allocator::host_allocator()->get_stats();
  }();
  py::dict result;
  result["active_requests"] = stat_dict(stats.active_requests);
  result["active_bytes"] = stat_dict(stats.active_bytes);
  result["allocations"] = stat_dict(stats.allocations);
  result["allocated_bytes"] = stat_dict(stats.allocated_bytes);
  result["host_alloc_time"] = duration_dict(stats.host_alloc_time);
  result["host_free_time"] = duration_dict(stats.host_free_time);
  result["num_host_alloc"] = stats.num_host_alloc;
  result["num_host_free"] = stats.num_host_free;
  return result;
}

} // namespace

void bind_memory(py::module_& module) {
  module.def("memory_stats", &memory_stats);
  module.def("host_memory_stats", &host_memory_stats);
  module.def(
      "reset_accumulated_memory_stats",
      [](int64_t device) {
        allocator::device_allocator()->resetAccumulatedStats(index_of(device));
      },
      NoGil());
  module.def(
      "reset_peak_memory_stats",
      [](int64_t device) {
        allocator::device_allocator()->resetPeakStats(index_of(device));
      },
      NoGil());
  module.def(
      "reset_accumulated_host_memory_stats",
      [] { allocator::host_allocator()->reset_accumulated_stats(); },
      NoGil());
  module.def(
      "reset_peak_host_memory_stats",
      [] { allocator::host_allocator()->reset_peak_stats(); },
      NoGil());
  module.def(
      "memory_info",
      [](int64_t device) { return runtime::memory_info(index_of(device)); },
      NoGil());
  module.def("empty_cache", [] { allocator::empty_cache(); }, NoGil());
  module.def(
      "empty_host_cache",
      [] { allocator::host_allocator()->empty_cache(); },
      NoGil());
  module.def(
      "set_memory_fraction",
      [](double fraction, int64_t device) {
        allocator::set_memory_fraction(fraction, index_of(device));
      },
      NoGil());
  module.def("memory_fraction", [](int64_t device) {
    return allocator::memory_fraction(index_of(device));
  });
  module.def("report_memory_to_profiler", &allocator::report_to_profiler);
  module.def(
      "is_pinned",
      [](uintptr_t address) {
        // NOLINTNEXTLINE(performance-no-int-to-ptr): Python's addresses
        return allocator::is_pinned(reinterpret_cast<const void*>(address));
      },
      NoGil());
}

} // namespace torch_fl::python
