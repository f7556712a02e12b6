// SPDX-License-Identifier: Apache-2.0
// Words an out-of-memory error as users of torch.cuda know it.
#include "csrc/allocator/out_of_memory.h"

#include <array>
#include <iomanip>
#include <sstream>

namespace torch_fl::allocator {

std::string format_bytes(size_t bytes) {
  constexpr std::array<const char*, 4> kUnits = {"KiB", "MiB", "GiB", "TiB"};
  std::ostringstream text;
  if (bytes <= 1024) {
    text << bytes << " bytes";
    return text.str();
  }
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  text << std::fixed << std::setprecision(2) << value << ' ' << kUnits[unit];
  return text.str();
}

std::string out_of_memory_text(const MemoryNumbers& numbers) {
  std::ostringstream text;
  text << "flagos out of memory. Tried to allocate "
       << format_bytes(numbers.asked)
       << ". flagos:" << static_cast<int>(numbers.device)
       << " has a total capacity of " << format_bytes(numbers.total)
       << " of which " << format_bytes(numbers.free) << " is free. ";
  if (numbers.allowed != std::numeric_limits<size_t>::max()) {
    text << format_bytes(numbers.allowed) << " allowed by "
         << "set_per_process_memory_fraction. ";
  }
  text << "Of the allocated memory " << format_bytes(numbers.allocated)
       << " is allocated by PyTorch, and "
       << format_bytes(numbers.reserved - numbers.allocated)
       << " is reserved by PyTorch but unallocated. If reserved but "
       << "unallocated memory is large try torch.flagos.empty_cache(), or "
       << "PYTORCH_ALLOC_CONF=max_split_size_mb:<MiB> to avoid "
       << "fragmentation.";
  return text.str();
}

} // namespace torch_fl::allocator
