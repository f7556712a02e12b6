// SPDX-License-Identifier: Apache-2.0
// A piece of a segment, and the two kinds of free lists.
#pragma once

#include "csrc/allocator/tally.h"
#include "csrc/runtime/stream.h"

#include <c10/core/Allocator.h>
#include <c10/util/llvmMathExtras.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <unordered_map>
#include <vector>

namespace torch_fl::allocator {

// Sizes are multiples of this.
constexpr size_t kUnit = 512;
// Up to here a request is small.
constexpr size_t kSmallLimit = size_t{1} << 20;
constexpr size_t kSmallSegment = size_t{2} << 20;
// Requests below the limit share segments of 20 MiB; others get their own.
constexpr size_t kLargeLimit = size_t{10} << 20;
constexpr size_t kLargeSegment = size_t{20} << 20;
constexpr size_t kLargeUnit = size_t{2} << 20;

constexpr size_t round_up(size_t bytes, size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

struct Block;

struct SmallestFirst {
  // Transparent, so that a size can be looked up.
  using is_transparent = void;
  bool operator()(const Block* a, const Block* b) const;
  bool operator()(const Block* a, size_t bytes) const;
};
using BlockSet = std::set<Block*, SmallestFirst>;

struct StreamPool;

enum class BlockState : uint8_t {
  kInUse,
  kCached, // serves requests of exactly its size; not merged yet
  kFree,   // in the set of large blocks
};

struct Block {
  void* address = nullptr;
  size_t bytes = 0;
  size_t requested = 0;
  // Neighbours in the segment.
  Block* previous = nullptr;
  Block* next = nullptr;
  // The next one in a list of cached blocks, or of spare objects.
  Block* next_free = nullptr;
  StreamPool* pool = nullptr;
  c10::DeviceIndex device = 0;
  PoolKind kind = PoolKind::kSmall;
  BlockState state = BlockState::kInUse;
  // Events that must be done before it is free.
  uint32_t pending_events = 0;
  // Other streams that use it.
  std::vector<runtime::Stream> users;
  // Large blocks: the place in the set while free, the node while not.
  BlockSet::iterator place;
  BlockSet::node_type node;

  [[nodiscard]] bool is_split() const {
    return previous != nullptr || next != nullptr;
  }
};

inline bool SmallestFirst::operator()(const Block* a, const Block* b) const {
  return a->bytes != b->bytes ? a->bytes < b->bytes : a->address < b->address;
}
inline bool SmallestFirst::operator()(const Block* a, size_t bytes) const {
  return a->bytes < bytes;
}

// Free blocks of at most one small segment: a list for every size, and bitmaps
// that find the smallest one that is large enough.
class SmallLists {
 public:
  void put(Block* block) {
    const size_t index = block->bytes / kUnit - 1;
    block->next_free = heads_[index];
    block->state = BlockState::kCached;
    heads_[index] = block;
    words_[index / 64] |= uint64_t{1} << (index % 64);
    summary_ |= uint64_t{1} << (index / 64);
  }

  // The smallest block of at least this size, or null.
  Block* take(size_t bytes) {
    size_t index = bytes / kUnit - 1;
    if (heads_[index] == nullptr && !find(index)) {
      return nullptr;
    }
    Block* block = heads_[index];
    heads_[index] = block->next_free;
    block->state = BlockState::kInUse;
    if (heads_[index] == nullptr) {
      words_[index / 64] &= ~(uint64_t{1} << (index % 64));
      if (words_[index / 64] == 0) {
        summary_ &= ~(uint64_t{1} << (index / 64));
      }
    }
    return block;
  }

  void clear() {
    heads_.fill(nullptr);
    words_.fill(0);
    summary_ = 0;
  }

 private:
  // Moves index to the next size that has a block.
  bool find(size_t& index) const {
    const size_t word = index / 64;
    const uint64_t rest = words_[word] >> (index % 64);
    if (rest != 0) {
      index += static_cast<size_t>(c10::llvm::countTrailingZeros(rest));
      return true;
    }
    const uint64_t later = word == 63 ? 0 : summary_ >> (word + 1);
    if (later == 0) {
      return false;
    }
    const size_t found =
        word + 1 + static_cast<size_t>(c10::llvm::countTrailingZeros(later));
    index = found * 64 +
        static_cast<size_t>(c10::llvm::countTrailingZeros(words_[found]));
    return true;
  }

  static constexpr size_t kSizes = kSmallSegment / kUnit;
  static_assert(kSizes == size_t{64} * 64);
  std::array<Block*, kSizes> heads_{};
  std::array<uint64_t, 64> words_{};
  uint64_t summary_ = 0;
};

// Free blocks of any size, ordered; nodes move between set and block, so that
// neither direction allocates.
class LargeSet {
 public:
  void put(Block* block) {
    if (block->node.empty()) {
      block->place = blocks_.insert(block).first;
    } else {
      block->place = blocks_.insert(std::move(block->node)).position;
    }
    block->state = BlockState::kFree;
  }

  void remove(Block* block) {
    block->node = blocks_.extract(block->place);
    block->state = BlockState::kInUse;
  }

  // The smallest block of at least this size, or null; not removed.
  [[nodiscard]] Block* find(size_t bytes) const {
    const auto found = blocks_.lower_bound(bytes);
    return found == blocks_.end() ? nullptr : *found;
  }

  [[nodiscard]] const BlockSet& blocks() const { return blocks_; }

 private:
  BlockSet blocks_;
};

// Large blocks that were given back and not merged yet: the same sizes tend to
// be asked for again, step after step.
class RecentBlocks {
 public:
  // False if the place is taken by another size.
  bool put(Block* block) {
    Block*& head = heads_[place(block->bytes)];
    if (head != nullptr && head->bytes != block->bytes) {
      return false;
    }
    block->next_free = head;
    block->state = BlockState::kCached;
    head = block;
    ++count_;
    return true;
  }

  // A block of exactly this size, or null.
  Block* take(size_t bytes) {
    Block*& head = heads_[place(bytes)];
    if (head == nullptr || head->bytes != bytes) {
      return nullptr;
    }
    return pop(head);
  }

  // Any block, or null.
  Block* take_any() {
    if (count_ != 0) {
      for (Block*& head : heads_) {
        if (head != nullptr) {
          return pop(head);
        }
      }
    }
    return nullptr;
  }

 private:
  static constexpr size_t kPlaceBits = 6;
  static constexpr uint64_t kGoldenRatio = 0x9e3779b97f4a7c15;

  static size_t place(size_t bytes) {
    return bytes * kGoldenRatio >> (64 - kPlaceBits);
  }

  Block* pop(Block*& head) {
    Block* block = head;
    head = block->next_free;
    block->state = BlockState::kInUse;
    --count_;
    return block;
  }

  std::array<Block*, size_t{1} << kPlaceBits> heads_{};
  size_t count_ = 0;
};

// What is free for one stream of one device.
struct StreamPool {
  explicit StreamPool(musaStream_t handle) : stream(handle) {}

  musaStream_t stream;
  // Segments from the device: blocks that are in use point here.
  size_t segments = 0;
  SmallLists small;
  RecentBlocks recent;
  LargeSet large;
  // First blocks of the small segments: their free neighbours are merged only
  // when nothing else fits.
  std::vector<Block*> small_segments;
};

using StreamPools =
    std::unordered_map<musaStream_t, std::unique_ptr<StreamPool>>;

// What graphs allocated while they were captured: it serves nothing else until
// the last of them is gone.
struct PrivatePool {
  c10::MempoolId_t id;
  // Graphs that hold it.
  size_t graphs = 0;
  StreamPools streams;
};

} // namespace torch_fl::allocator
