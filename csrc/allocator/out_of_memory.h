// SPDX-License-Identifier: Apache-2.0
// The words of an out-of-memory error.
#pragma once

#include <c10/core/Device.h>

#include <cstddef>
#include <limits>
#include <string>

namespace torch_fl::allocator {

// What the message tells, in bytes.
struct MemoryNumbers {
  c10::DeviceIndex device = 0;
  size_t asked = 0;
  size_t total = 0;
  size_t free = 0;
  size_t allowed = std::numeric_limits<size_t>::max();
  size_t allocated = 0;
  size_t reserved = 0;
};

std::string out_of_memory_text(const MemoryNumbers& numbers);

// "1.50 GiB"
std::string format_bytes(size_t bytes);

} // namespace torch_fl::allocator
