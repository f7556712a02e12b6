// SPDX-License-Identifier: Apache-2.0
// The address range of device memory, and the addresses that tasks use.
#pragma once

#include <cstddef>
#include <cstdint>

namespace musa_standin::engine::cpu {

// [base, base + span) are the addresses that callers see: no access rights,
// nothing behind them.  The memory itself lies `span` bytes above.  Written
// once, before the first pointer is handed out.
struct DeviceRange {
  uintptr_t base;
  uintptr_t span;
  uintptr_t per_device;
};
extern DeviceRange g_range;

inline bool in_device_range(const void* pointer) {
  return reinterpret_cast<uintptr_t>(pointer) - g_range.base < g_range.span;
}

// The device of an address inside the range.
inline int device_of(const void* pointer) {
  return static_cast<int>(
      (reinterpret_cast<uintptr_t>(pointer) - g_range.base) /
      g_range.per_device);
}

// Where a task finds the memory behind a pointer that a caller gave: a
// constant away for device memory, the pointer itself for all other (pinned or
// managed) memory.
template <class T>
inline T* host(const void* device_pointer) {
  auto at = reinterpret_cast<uintptr_t>(device_pointer);
  at += at - g_range.base < g_range.span ? g_range.span : 0;
  return reinterpret_cast<T*>(at);
}

} // namespace musa_standin::engine::cpu
