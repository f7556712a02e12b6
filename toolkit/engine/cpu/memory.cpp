// SPDX-License-Identifier: Apache-2.0
// The range of device memory, and the host memory that the engine knows.
#include "toolkit/engine/cpu/memory.h"

#include "toolkit/engine/cpu/device.h"
#include "toolkit/engine/cpu/mem_pool.h"
#include "toolkit/engine/fault.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

namespace musa_standin::engine::cpu {

DeviceRange g_range{1, 0, 1};

namespace {

using Lock = std::lock_guard<std::mutex>;

constexpr uintptr_t kPage = 4096;

// By address, so that one inside a block is found too.
struct HostMap {
  std::mutex mutex;
  std::map<uintptr_t, HostBlock> blocks;
};

HostMap& host_map() {
  static auto* const map = new HostMap;
  return *map;
}

std::string in_words(size_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  int unit = 0;
  for (; value >= 1024 && unit < 4; ++unit) {
    value /= 1024;
  }
  char text[32];
  std::snprintf(
      text,
      sizeof text,
      unit == 0 ? "%.0f %s" : "%.2f %s",
      value,
      kUnits[unit]);
  return text;
}

// Gives back the pages that lie in the hole and were part of the block.
void drop_pages(uintptr_t block, size_t bytes, const Heap::Span& hole) {
  const uintptr_t begin =
      std::max((hole.begin + kPage - 1) / kPage * kPage, block / kPage * kPage);
  const uintptr_t end = std::min(
      hole.end / kPage * kPage,
      (block + bytes + kPage - 1) / kPage * kPage);
  if (begin < end) {
    madvise(
        reinterpret_cast<void*>(begin + g_range.span),
        end - begin,
        MADV_DONTNEED);
  }
}

// The block that begins before the address and may hold it; under the lock.
const HostBlock* locate(const HostMap& map, uintptr_t address) {
  auto after = map.blocks.upper_bound(address);
  if (after == map.blocks.begin()) {
    return nullptr;
  }
  const HostBlock& block = std::prev(after)->second;
  return address - block.begin < block.bytes ? &block : nullptr;
}

} // namespace

void reserve_range() {
  const Config& settings = config();
  const size_t span =
      settings.memory_bytes * static_cast<size_t>(settings.devices);
  void* base = mmap(
      nullptr,
      2 * span,
      planted("readable_memory") ? PROT_READ : PROT_NONE,
      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
      -1,
      0);
  char* memory = static_cast<char*>(base) + span;
  if (base == MAP_FAILED ||
      mprotect(memory, span, PROT_READ | PROT_WRITE) != 0) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): glibc's is safe for known codes
    const std::string reason = std::strerror(errno);
    if (base != MAP_FAILED) {
      munmap(base, 2 * span);
    }
    throw Error(
        musaErrorMemoryAllocation,
        "the portable engine could not reserve addresses for " +
            in_words(span) + " of device memory (" + reason +
            "): set MUSA_CPU_MEMORY to less.");
  }
  // Core dumps leave it out, and a forked child has none of it.
  madvise(memory, span, MADV_DONTDUMP);
  madvise(memory, span, MADV_DONTFORK);
  g_range = {reinterpret_cast<uintptr_t>(base), span, settings.memory_bytes};
}

void* allocate_device(Device& device, size_t bytes, void* tag) {
  const Lock lock(device.memory_mutex);
  const uintptr_t begin = device.heap.allocate(bytes, tag);
  if (begin == 0) {
    throw Error(
        musaErrorMemoryAllocation,
        "device " + std::to_string(device.index()) +
            " is out of memory: " + in_words(bytes) + " were asked for, " +
            in_words(device.heap.capacity() - device.heap.used()) + " of " +
            in_words(device.heap.capacity()) + " are free");
  }
  return reinterpret_cast<void*>(begin);
}

void* check_block(Device& device, const void* pointer) {
  const Lock lock(device.memory_mutex);
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  const Heap::Block* block = device.heap.find(address);
  if (planted("double_free") && block == nullptr) {
    return nullptr;
  }
  if (block == nullptr || block->begin != address) {
    throw Error(
        musaErrorInvalidValue,
        "the pointer is not the start of live device memory");
  }
  return block->tag;
}

void free_device(Device& device, void* pointer) {
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  const Lock lock(device.memory_mutex);
  const Heap::Block* block = device.heap.find(address);
  if (planted("double_free") && block == nullptr) {
    return;
  }
  if (block == nullptr || block->begin != address) {
    throw Error(
        musaErrorInvalidValue,
        "the pointer is not the start of live device memory");
  }
  const size_t bytes = Heap::rounded(block->bytes);
  drop_pages(address, bytes, device.heap.release(address));
}

void reset_memory(Device& device) {
  reset_pools(device);
  const Lock lock(device.memory_mutex);
  device.heap.clear();
  madvise(
      reinterpret_cast<void*>(
          g_range.base + g_range.span +
          static_cast<uintptr_t>(device.index()) * g_range.per_device),
      g_range.per_device,
      MADV_DONTNEED);
}

void* allocate_host(size_t bytes, HostKind kind, unsigned flags, int device) {
  const size_t size = (bytes + kPage - 1) / kPage * kPage;
  void* memory = size < bytes ? nullptr : std::aligned_alloc(kPage, size);
  if (memory == nullptr) {
    throw Error(
        musaErrorMemoryAllocation,
        "the host is out of memory: " + in_words(bytes) + " were asked for");
  }
  const auto begin = reinterpret_cast<uintptr_t>(memory);
  HostMap& map = host_map();
  const Lock lock(map.mutex);
  map.blocks[begin] = {begin, bytes, kind, flags, device};
  return memory;
}

void register_host(void* pointer, size_t bytes, unsigned flags, int device) {
  const auto begin = reinterpret_cast<uintptr_t>(pointer);
  HostMap& map = host_map();
  const Lock lock(map.mutex);
  const auto next = map.blocks.lower_bound(begin);
  if (locate(map, begin) != nullptr ||
      (next != map.blocks.end() && next->first - begin < bytes)) {
    throw Error(
        musaErrorHostMemoryAlreadyRegistered,
        "a part of the host memory is registered already");
  }
  map.blocks[begin] = {begin, bytes, HostKind::kRegistered, flags, device};
}

void unregister_host(void* pointer) {
  HostMap& map = host_map();
  const Lock lock(map.mutex);
  const auto block = map.blocks.find(reinterpret_cast<uintptr_t>(pointer));
  if (block == map.blocks.end() ||
      block->second.kind != HostKind::kRegistered) {
    throw Error(
        musaErrorHostMemoryNotRegistered,
        "the host memory is not registered");
  }
  map.blocks.erase(block);
}

void free_host(void* pointer, HostKind kind) {
  {
    HostMap& map = host_map();
    const Lock lock(map.mutex);
    const auto block = map.blocks.find(reinterpret_cast<uintptr_t>(pointer));
    if (block == map.blocks.end() || block->second.kind != kind) {
      throw Error(
          musaErrorInvalidValue,
          "the pointer is not the start of live host memory of this kind");
    }
    map.blocks.erase(block);
  }
  std::free(pointer);
}

bool find_host(const void* pointer, HostBlock& out) {
  HostMap& map = host_map();
  const Lock lock(map.mutex);
  const HostBlock* block = locate(map, reinterpret_cast<uintptr_t>(pointer));
  if (block != nullptr) {
    out = *block;
  }
  return block != nullptr;
}

Side classify(const void* pointer, size_t bytes) {
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  if (in_device_range(pointer)) {
    Device* owner = device_if_started(device_of(pointer));
    const Heap::Block* block = nullptr;
    if (owner != nullptr) {
      const Lock lock(owner->memory_mutex);
      block = owner->heap.find(address);
      if (block != nullptr && block->begin + block->bytes - address >= bytes) {
        return Side::kDevice;
      }
    }
    throw Error(
        musaErrorInvalidValue,
        block == nullptr ? "the pointer is in no live device memory"
                         : "the range goes beyond its device memory");
  }
  HostBlock block;
  if (!find_host(pointer, block)) {
    return Side::kPageable;
  }
  if (block.begin + block.bytes - address < bytes) {
    throw Error(musaErrorInvalidValue, "the range goes beyond its host memory");
  }
  return block.kind == HostKind::kManaged ? Side::kManaged : Side::kPinned;
}

void pointer_attributes(musaPointerAttributes& out, const void* pointer) {
  auto* address = const_cast<void*>(pointer);
  out = {musaMemoryTypeUnregistered, musaInvalidDeviceId, nullptr, address};
  HostBlock block;
  if (in_device_range(pointer)) {
    const int index = device_of(pointer);
    Device* owner = device_if_started(index);
    out.hostPointer = nullptr;
    if (owner != nullptr) {
      const Lock lock(owner->memory_mutex);
      const Heap::Block* block =
          owner->heap.find(reinterpret_cast<uintptr_t>(pointer));
      if (block != nullptr &&
          (!planted("no_interior_pointers") ||
           block->begin == reinterpret_cast<uintptr_t>(pointer))) {
        out = {musaMemoryTypeDevice, index, address, nullptr};
      }
    }
  } else if (find_host(pointer, block)) {
    out.type = block.kind == HostKind::kManaged ? musaMemoryTypeManaged
                                                : musaMemoryTypeHost;
    out.device = block.device;
    out.devicePointer = address;
  }
}

} // namespace musa_standin::engine::cpu
