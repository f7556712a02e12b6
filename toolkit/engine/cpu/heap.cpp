// SPDX-License-Identifier: Apache-2.0
// Best-fit allocation of device addresses.
#include "toolkit/engine/cpu/heap.h"

#include <iterator>

namespace musa_standin::engine::cpu {

Heap::Heap(uintptr_t begin, size_t bytes) : begin_(begin), end_(begin + bytes) {
  add_hole(begin_, end_);
}

void Heap::add_hole(uintptr_t begin, uintptr_t end) {
  holes_.emplace(begin, end);
  by_size_.emplace(end - begin, begin);
}

void Heap::remove_hole(uintptr_t begin, uintptr_t end) {
  holes_.erase(begin);
  by_size_.erase({end - begin, begin});
}

uintptr_t Heap::allocate(size_t bytes, void* tag) {
  if (bytes > capacity()) {
    return 0;
  }
  const size_t size = rounded(bytes);
  const auto fit = by_size_.lower_bound({size, 0});
  if (fit == by_size_.end()) {
    return 0;
  }
  const uintptr_t begin = fit->second;
  const uintptr_t end = begin + fit->first;
  remove_hole(begin, end);
  if (begin + size < end) {
    add_hole(begin + size, end);
  }
  live_.emplace(begin, Block{begin, bytes, tag});
  used_ += size;
  return begin;
}

Heap::Span Heap::release(uintptr_t begin) {
  const auto block = live_.find(begin);
  if (block == live_.end()) {
    return {};
  }
  const size_t size = rounded(block->second.bytes);
  used_ -= size;
  live_.erase(block);
  Span hole{begin, begin + size};
  const auto next = holes_.find(hole.end);
  if (next != holes_.end()) {
    hole.end = next->second;
    remove_hole(next->first, hole.end);
  }
  const auto after = holes_.lower_bound(begin);
  if (after != holes_.begin()) {
    const auto before = std::prev(after);
    if (before->second == begin) {
      hole.begin = before->first;
      remove_hole(hole.begin, begin);
    }
  }
  add_hole(hole.begin, hole.end);
  return hole;
}

const Heap::Block* Heap::find(uintptr_t address) const {
  auto after = live_.upper_bound(address);
  if (after == live_.begin()) {
    return nullptr;
  }
  const Block& block = std::prev(after)->second;
  return address - block.begin < block.bytes ? &block : nullptr;
}

void Heap::clear() {
  live_.clear();
  holes_.clear();
  by_size_.clear();
  used_ = 0;
  add_hole(begin_, end_);
}

} // namespace musa_standin::engine::cpu
