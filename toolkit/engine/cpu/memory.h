// SPDX-License-Identifier: Apache-2.0
// The address range of device memory, and the addresses that tasks use.
#pragma once

#include "toolkit/include/driver_types.h"

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

class Device;

// Reserves the range for all devices; once, at the engine's start.
void reserve_range();

// --- device memory ---
void* allocate_device(Device& device, size_t bytes, void* tag);
// Gives back a live block; the device has finished with it.
void free_device(Device& device, void* pointer);
// Throws InvalidValue unless the pointer begins a live block; its tag.
void* check_block(Device& device, const void* pointer);
// Drops all blocks, pools included.
void reset_memory(Device& device);

// --- host memory that the engine knows ---
enum class HostKind : uint8_t { kAllocated, kRegistered, kManaged };
struct HostBlock {
  uintptr_t begin = 0;
  size_t bytes = 0;
  HostKind kind = HostKind::kAllocated;
  unsigned flags = 0;
  int device = 0;
};
void* allocate_host(size_t bytes, HostKind kind, unsigned flags, int device);
void register_host(void* pointer, size_t bytes, unsigned flags, int device);
void unregister_host(void* pointer);
// Gives back a block of this kind that begins at the pointer; InvalidValue.
void free_host(void* pointer, HostKind kind);
// The block with this address inside; false if there is none.
bool find_host(const void* pointer, HostBlock& out);

// Whose memory the bytes are.  Throws InvalidValue for an address of a device
// that is in no block, or a range that leaves its block.
enum class Side : uint8_t { kDevice, kPinned, kManaged, kPageable };
Side classify(const void* pointer, size_t bytes);

void pointer_attributes(musaPointerAttributes& out, const void* pointer);

} // namespace musa_standin::engine::cpu
