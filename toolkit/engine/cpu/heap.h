// SPDX-License-Identifier: Apache-2.0
// Addresses of one device: who owns which bytes.  Touches no memory itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

namespace musa_standin::engine::cpu {

// Best fit, neighbours merged on release; every step is O(log n).  Not
// thread-safe.
class Heap {
 public:
  static constexpr size_t kAlignment = 512;

  struct Block {
    uintptr_t begin = 0;
    size_t bytes = 0;    // as asked for
    void* tag = nullptr; // the pool it belongs to; null: none
  };
  struct Span {
    uintptr_t begin = 0;
    uintptr_t end = 0;
  };

  Heap(uintptr_t begin, size_t bytes);

  // 0 if no hole is large enough.
  uintptr_t allocate(size_t bytes, void* tag);
  // The hole that the block became part of; empty if `begin` is not the
  // start of a live block.
  Span release(uintptr_t begin);
  // The live block with this address inside; null if there is none.
  [[nodiscard]] const Block* find(uintptr_t address) const;
  // All live blocks are gone.
  void clear();

  [[nodiscard]] size_t capacity() const { return end_ - begin_; }
  [[nodiscard]] size_t used() const { return used_; }
  [[nodiscard]] size_t blocks() const { return live_.size(); }

  static size_t rounded(size_t bytes) {
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }

 private:
  void add_hole(uintptr_t begin, uintptr_t end);
  void remove_hole(uintptr_t begin, uintptr_t end);

  uintptr_t begin_;
  uintptr_t end_;
  size_t used_ = 0;
  std::map<uintptr_t, Block> live_;
  std::map<uintptr_t, uintptr_t> holes_; // begin -> end
  std::set<std::pair<size_t, uintptr_t>> by_size_;
};

} // namespace musa_standin::engine::cpu
