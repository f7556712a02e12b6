// SPDX-License-Identifier: Apache-2.0
// All memory that the engine has handed out, device and host, by address.
#pragma once

#include "toolkit/include/driver_types.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace musa_standin::engine::cuda {

class Device;

enum class Side : uint8_t {
  kDevice,     // musaMalloc
  kPool,       // musaMallocAsync
  kPinned,     // musaMallocHost
  kRegistered, // musaHostRegister
  kManaged,    // musaMallocManaged
  kPageable,   // none of these
};

struct Block {
  uintptr_t begin = 0;
  size_t bytes = 0;
  Side side = Side::kPageable;
  unsigned flags = 0;
  int device = 0;
};

// --- the map ---
void keep_block(const Block& block);
// The block with this address inside; false if there is none.
bool find_block(const void* pointer, Block& out);
// Takes out the block that begins at the pointer; of two callers one has it.
// False if there is none, or `accepts` refuses its side.
bool take_block(const void* pointer, bool (*accepts)(Side), Block& out);
// A device is reset: its memory is given back to CUDA, or forgotten together
// with its host memory if CUDA has taken all of it away.
void drop_blocks(int device, bool context_is_gone);

// Whose memory the bytes are. Throws InvalidValue for a range that leaves its
// block, and for the address of device memory that was given back.
Side classify(const void* pointer, size_t bytes);
// The side of memory that others in the process have from CUDA, which is not in
// the map; kPageable for what CUDA does not know either. Slower than a look at
// the map: for what would be refused.
Side ask_side(const void* pointer);

// --- allocation ---
void* allocate_device(Device& device, size_t bytes);
// Waits for the device.
void release_device(void* pointer);
void* allocate_pinned(int device, size_t bytes, unsigned flags);
void release_pinned(void* pointer);
void* allocate_managed(int device, size_t bytes, unsigned flags);
void register_host(int device, void* pointer, size_t bytes, unsigned flags);
void unregister_host(void* pointer);

void pointer_attributes(musaPointerAttributes& out, const void* pointer);

// "1.50 GiB"
std::string in_words(size_t bytes);

} // namespace musa_standin::engine::cuda
