// SPDX-License-Identifier: Apache-2.0
// Words of pinned memory that a stream waits for and a host thread writes.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace musa_standin::engine::cuda {

// A word, and the value that it will have. Values of a word only grow: who
// waits for an earlier one goes on too.
struct HostWord {
  uint32_t index = 0;
  uint32_t value = 0;
};

class HostWords {
 public:
  // Pins memory; the device is the thread's. Words of the former life are void.
  void open();
  // CUDA has taken the memory away; nobody waits or writes.
  void close();
  // Throws LaunchOutOfResources when more functions wait than any queue holds.
  HostWord take();
  // Lets the stream go on; the word is free again. Nothing for a void one.
  void write(HostWord word);
  // Before a wait for it was enqueued.
  void give_back(HostWord word);
  [[nodiscard]] bool is_open() const { return words_ != nullptr; }
  // Was it taken in this life?
  [[nodiscard]] bool holds(HostWord word);
  [[nodiscard]] uint64_t address(HostWord word) const {
    return reinterpret_cast<uintptr_t>(words_ + word.index);
  }

 private:
  // Under the lock.
  [[nodiscard]] bool is_held(HostWord word) const {
    return words_ != nullptr && last_[word.index] == word.value;
  }

  std::mutex mutex_;
  uint32_t* words_ = nullptr;
  std::unique_ptr<uint32_t[]> last_; // the highest value of each, in all lives
  std::vector<uint32_t> free_;
};

} // namespace musa_standin::engine::cuda
