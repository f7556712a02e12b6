// SPDX-License-Identifier: Apache-2.0
// The map of memory, and what fills it.
#include "toolkit/engine/cuda/memory.h"

#include "toolkit/engine/cuda/counters.h"
#include "toolkit/engine/cuda/device.h"
#include "toolkit/engine/cuda/flag_map.h"
#include "toolkit/engine/cuda/graph_runtime.h"
#include "toolkit/engine/cuda/mem_pool.h"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <vector>

namespace musa_standin::engine::cuda {
namespace {

// By address, so that one inside a block is found too.
struct BlockMap {
  std::shared_mutex mutex;
  std::map<uintptr_t, Block> blocks;
  // Where device memory has ever been, begin to end. Host memory lies between
  // such places, so that the lowest and the highest address tell little.
  std::map<uintptr_t, uintptr_t> places;
};
// Places are whole chunks of addresses: there are few of them.
constexpr uintptr_t kChunk = uintptr_t{2} << 20;
using Reader = std::shared_lock<std::shared_mutex>;
using Writer = std::lock_guard<std::shared_mutex>;

BlockMap& block_map() {
  static auto* const map = new BlockMap;
  return *map;
}

bool on_device(Side side) {
  return side == Side::kDevice || side == Side::kPool;
}

// The block that begins before the address and holds it; under the lock.
const Block* locate(const BlockMap& map, uintptr_t address) {
  const auto after = map.blocks.upper_bound(address);
  if (after == map.blocks.begin()) {
    return nullptr;
  }
  const Block& block = std::prev(after)->second;
  return address - block.begin < block.bytes ? &block : nullptr;
}

bool was_device(const BlockMap& map, uintptr_t address) {
  const auto after = map.places.upper_bound(address);
  return after != map.places.begin() && address < std::prev(after)->second;
}

// Under the lock. Adjacent places become one.
void add_place(BlockMap& map, uintptr_t begin, uintptr_t end) {
  begin = begin / kChunk * kChunk;
  end = (end + kChunk - 1) / kChunk * kChunk;
  auto next = map.places.upper_bound(begin);
  if (next != map.places.begin() && std::prev(next)->second >= begin) {
    --next;
    if (next->second >= end) {
      return; // the usual case
    }
    begin = next->first;
  }
  while (next != map.places.end() && next->first <= end) {
    end = std::max(end, next->second);
    next = map.places.erase(next);
  }
  map.places.emplace(begin, end);
}

// Asks the system, which answers without a signal. Where it may not be asked
// the address counts as readable.
bool readable(const void* pointer) {
  char byte = 0;
  const iovec to = {&byte, 1};
  const iovec from = {const_cast<void*>(pointer), 1};
  return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == 1 ||
      errno != EFAULT;
}

[[noreturn]] void out_of_memory(int device, size_t bytes) {
  size_t free = 0;
  size_t total = 0;
  ignore(cudaMemGetInfo(&free, &total));
  throw Error(
      musaErrorMemoryAllocation,
      "device " + std::to_string(device) +
          " is out of memory: " + in_words(bytes) + " were asked for, " +
          in_words(free) + " of " + in_words(total) + " are free");
}

[[noreturn]] void no_block(const char* what) {
  throw Error(
      musaErrorInvalidValue,
      std::string("the pointer is not the start of live ") + what);
}

// What could not be given back is still there, and known.
template <class F>
void end_block(const Block& block, F&& end) {
  try {
    end();
  } catch (const Error&) {
    keep_block(block);
    throw;
  }
}

// Every device may use it, and may be broken without harm to the others'.
void end_host_block(const Block& block, cudaError_t (*end)(void*)) {
  end_block(block, [&] {
    if (!captures_are_open()) { // CUDA's own rules hold then
      synchronize_all();
    }
    use_device(block.device);
    check(end(reinterpret_cast<void*>(block.begin)));
  });
}

} // namespace

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

void keep_block(const Block& block) {
  BlockMap& map = block_map();
  const Writer lock(map.mutex);
  map.blocks[block.begin] = block;
  if (on_device(block.side)) {
    add_place(map, block.begin, block.begin + block.bytes);
  }
}

bool find_block(const void* pointer, Block& out) {
  BlockMap& map = block_map();
  const Reader lock(map.mutex);
  const Block* block = locate(map, reinterpret_cast<uintptr_t>(pointer));
  if (block != nullptr) {
    out = *block;
  }
  return block != nullptr;
}

bool take_block(const void* pointer, bool (*accepts)(Side), Block& out) {
  BlockMap& map = block_map();
  const Writer lock(map.mutex);
  const auto at = map.blocks.find(reinterpret_cast<uintptr_t>(pointer));
  if (at == map.blocks.end() || !accepts(at->second.side)) {
    return false;
  }
  out = at->second;
  map.blocks.erase(at);
  return true;
}

void drop_blocks(int device, bool context_is_gone) {
  std::vector<void*> release;
  {
    BlockMap& map = block_map();
    const Writer lock(map.mutex);
    for (auto at = map.blocks.begin(); at != map.blocks.end();) {
      const Block& block = at->second;
      const bool gone =
          block.device == device && (context_is_gone || on_device(block.side));
      if (gone && !context_is_gone) {
        release.push_back(reinterpret_cast<void*>(block.begin));
      }
      at = gone ? map.blocks.erase(at) : std::next(at);
    }
  }
  for (void* pointer : release) {
    ignore(cudaFree(pointer));
  }
}

Side classify(const void* pointer, size_t bytes) {
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  BlockMap& map = block_map();
  bool stale = false;
  {
    const Reader lock(map.mutex);
    const Block* block = locate(map, address);
    if (block != nullptr) {
      if (block->begin + block->bytes - address < bytes) {
        throw Error(musaErrorInvalidValue, "the range goes beyond its memory");
      }
      return block->side;
    }
    stale = was_device(map, address);
  }
  if (!stale || readable(pointer)) {
    return Side::kPageable;
  }
  const Side side = ask_side(pointer);
  if (side == Side::kPageable) { // CUDA would read it as the host's
    throw Error(
        musaErrorInvalidValue,
        "the pointer is in no live device memory");
  }
  return side;
}

namespace {

// What CUDA knows of a pointer: also memory of other libraries in the process.
Block ask_block(const void* pointer) {
  cudaPointerAttributes found = {};
  ignore(cudaPointerGetAttributes(&found, pointer));
  Block block;
  block.device = found.device;
  switch (found.type) {
  case cudaMemoryTypeDevice:
    block.side = Side::kDevice;
    break;
  case cudaMemoryTypeManaged:
    block.side = Side::kManaged;
    break;
  case cudaMemoryTypeHost:
    block.side = Side::kPinned;
    break;
  default:
    break;
  }
  return block;
}

} // namespace

Side ask_side(const void* pointer) {
  return ask_block(pointer).side;
}

void* allocate_device(Device& device, size_t bytes) {
  use_device(device.index());
  // Bytes are exchanged by half words (scatter): the last one is whole.
  const size_t whole = bytes + bytes % 2;
  void* pointer = nullptr;
  cudaError_t result = cudaErrorMemoryAllocation;
  if (bytes <= device.memory_bytes()) {
    result = cudaMalloc(&pointer, whole);
    if (result == cudaErrorMemoryAllocation) {
      // Pools may keep what nobody uses.
      (void)cudaGetLastError();
      empty_pools(device.index());
      result = cudaMalloc(&pointer, whole);
    }
  }
  if (result == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();
    out_of_memory(device.index(), bytes);
  }
  check(result);
  keep_block(
      {reinterpret_cast<uintptr_t>(pointer),
       bytes,
       Side::kDevice,
       0,
       device.index()});
  return pointer;
}

void release_device(void* pointer) {
  Block block;
  const auto accepts = [](Side side) {
    return on_device(side) || side == Side::kManaged;
  };
  if (!take_block(pointer, accepts, block)) {
    no_block("device memory");
  }
  count(Counter::kWaits);
  end_block(block, [&] {
    use_device(block.device);
    // Not while a stream is captured; CUDA's own rules for cudaFree hold then.
    if (!captures_are_open()) {
      check(cudaDeviceSynchronize());
    }
    check(cudaFree(pointer));
  });
}

void* allocate_pinned(int device, size_t bytes, unsigned flags) {
  use_device(device);
  void* pointer = nullptr;
  // Every device may use it at full speed, as with one address space.
  const cudaError_t result = cudaHostAlloc(
      &pointer,
      bytes,
      to_cuda(kHostAllocFlags, flags) | cudaHostAllocPortable);
  if (result == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();
    throw Error(
        musaErrorMemoryAllocation,
        "the host is out of memory that can be pinned: " + in_words(bytes) +
            " were asked for");
  }
  check(result);
  keep_block(
      {reinterpret_cast<uintptr_t>(pointer),
       bytes,
       Side::kPinned,
       flags,
       device});
  return pointer;
}

void release_pinned(void* pointer) {
  Block block;
  if (!take_block(
          pointer,
          [](Side side) { return side == Side::kPinned; },
          block)) {
    no_block("pinned memory");
  }
  count(Counter::kWaits);
  end_host_block(block, &cudaFreeHost);
}

void* allocate_managed(int device, size_t bytes, unsigned flags) {
  use_device(device);
  void* pointer = nullptr;
  check(cudaMallocManaged(&pointer, bytes, to_cuda(kManagedFlags, flags)));
  keep_block(
      {reinterpret_cast<uintptr_t>(pointer),
       bytes,
       Side::kManaged,
       flags,
       device});
  return pointer;
}

void register_host(int device, void* pointer, size_t bytes, unsigned flags) {
  const auto begin = reinterpret_cast<uintptr_t>(pointer);
  Block block;
  if (find_block(pointer, block)) {
    if (on_device(block.side) || block.side == Side::kManaged) {
      throw Error(musaErrorInvalidValue, "device memory is not host memory");
    }
    throw Error(
        musaErrorHostMemoryAlreadyRegistered,
        "a part of the host memory is registered already");
  }
  use_device(device);
  check(cudaHostRegister(
      pointer,
      bytes,
      to_cuda(kHostRegisterFlags, flags) | cudaHostRegisterPortable));
  keep_block({begin, bytes, Side::kRegistered, flags, device});
}

void unregister_host(void* pointer) {
  Block block;
  if (!take_block(
          pointer,
          [](Side side) { return side == Side::kRegistered; },
          block)) {
    throw Error(
        musaErrorHostMemoryNotRegistered,
        "the host memory is not registered");
  }
  end_host_block(block, &cudaHostUnregister);
}

void pointer_attributes(musaPointerAttributes& out, const void* pointer) {
  auto* address = const_cast<void*>(pointer);
  out = {musaMemoryTypeUnregistered, musaInvalidDeviceId, nullptr, address};
  Block block;
  if (!find_block(pointer, block)) {
    block = ask_block(pointer);
    if (block.side == Side::kPageable) {
      return;
    }
  }
  out.device = block.device;
  out.devicePointer = address;
  switch (block.side) {
  case Side::kDevice:
  case Side::kPool:
    out.type = musaMemoryTypeDevice;
    out.hostPointer = nullptr;
    return;
  case Side::kManaged:
    out.type = musaMemoryTypeManaged;
    return;
  default:
    out.type = musaMemoryTypeHost;
    return;
  }
}

} // namespace musa_standin::engine::cuda
