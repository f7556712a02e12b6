// SPDX-License-Identifier: Apache-2.0
// What one thread has made for an operator's sizes, found by their bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace musa_standin::engine::cuda {

// Keys are compared byte by byte: whole words, no padding, every byte set.
// Values keep their address until the cache has grown full and starts anew.
template <class Key, class Value>
class ContentCache {
  static_assert(std::has_unique_object_representations_v<Key>);
  static_assert(sizeof(Key) % sizeof(uint64_t) == 0);

 public:
  // Null if there is none.
  Value* find(const Key& key) {
    if (last_ != nullptr && equal(last_->key, key))
      return &last_->value;
    if (count_ == 0)
      return nullptr;
    const uint64_t hash = hash_of(key);
    for (size_t at = hash & mask(); slots_[at].entry != nullptr;
         at = (at + 1) & mask()) {
      Slot& slot = slots_[at];
      if (slot.hash == hash && equal(slot.entry->key, key)) {
        last_ = slot.entry.get();
        return &last_->value;
      }
    }
    return nullptr;
  }

  // A key that find() did not find.
  Value& insert(const Key& key, Value value) {
    if (count_ == kMost)
      clear();
    if (count_ * 2 >= slots_.size())
      grow();
    Slot slot{
        hash_of(key),
        std::make_unique<Entry>(Entry{key, std::move(value)})};
    last_ = slot.entry.get();
    place(std::move(slot));
    ++count_;
    return last_->value;
  }

 private:
  // Sizes that change with every batch must not fill the memory.
  static constexpr size_t kMost = 8192;
  static constexpr size_t kFirstSlots = 64;

  struct Entry {
    Key key;
    Value value;
  };
  struct Slot {
    uint64_t hash = 0;
    std::unique_ptr<Entry> entry;
  };

  static bool equal(const Key& a, const Key& b) {
    return std::memcmp(&a, &b, sizeof a) == 0;
  }
  static uint64_t hash_of(const Key& key) {
    uint64_t words[sizeof key / sizeof(uint64_t)];
    std::memcpy(words, &key, sizeof key);
    uint64_t hash = 0;
    for (const uint64_t word : words) {
      hash = (hash ^ word) * 0x9E3779B97F4A7C15ULL;
      hash ^= hash >> 32;
    }
    return hash;
  }
  [[nodiscard]] size_t mask() const { return slots_.size() - 1; }

  void place(Slot slot) {
    size_t at = slot.hash & mask();
    while (slots_[at].entry != nullptr)
      at = (at + 1) & mask();
    slots_[at] = std::move(slot);
  }
  void grow() {
    std::vector<Slot> old(slots_.empty() ? kFirstSlots : slots_.size() * 2);
    old.swap(slots_);
    for (Slot& slot : old) {
      if (slot.entry != nullptr)
        place(std::move(slot));
    }
  }
  void clear() {
    last_ = nullptr;
    count_ = 0;
    slots_.clear();
  }

  std::vector<Slot> slots_;
  size_t count_ = 0;
  Entry* last_ = nullptr;
};

} // namespace musa_standin::engine::cuda
