// SPDX-License-Identifier: Apache-2.0
// A device's pool: what graphs allocate while they are captured.
#include "csrc/allocator/device_pool.h"

#include "csrc/runtime/graph.h"

#include <algorithm>

namespace torch_fl::allocator {

// Who asks events or gives memory back holds one of the two, and looks for
// captures first.
void DevicePool::settle() {
  const std::lock_guard<std::mutex> recovery(recovery_mutex_);
  const Lock lock(mutex_);
}

void DevicePool::begin_capture(c10::MempoolId_t id, uint64_t capture) {
  const Lock lock(mutex_);
  auto found =
      std::find_if(private_.begin(), private_.end(), [id](const auto& pool) {
        return pool->id == id;
      });
  if (found == private_.end()) {
    found = private_.insert(found, std::make_unique<PrivatePool>());
    (*found)->id = id;
  }
  captures_.push_back({capture, found->get()});
  ++(*found)->graphs;
  // Streams have two pools each until the capture's end.
  last_pool_ = nullptr;
}

void DevicePool::end_capture(uint64_t capture) {
  const Lock lock(mutex_);
  captures_.erase(
      std::remove_if(
          captures_.begin(),
          captures_.end(),
          [capture](const Capture& entry) { return entry.id == capture; }),
      captures_.end());
}

void DevicePool::release_private(c10::MempoolId_t id) {
  const Lock lock(mutex_);
  for (const std::unique_ptr<PrivatePool>& pool : private_) {
    if (pool->id == id && pool->graphs != 0) {
      --pool->graphs;
    }
  }
}

void DevicePool::free_deferred() noexcept {
  std::vector<Block*> blocks;
  {
    const Lock lock(mutex_);
    blocks.swap(deferred_);
  }
  for (Block* block : blocks) {
    Events events = record_users(block);
    const Lock lock(mutex_);
    if (events.empty()) {
      waiting_.subtract(block->kind, 1);
      waiting_bytes_.subtract(block->kind, static_cast<int64_t>(block->bytes));
      put_back(block);
    } else {
      wait_for_users(block, events);
    }
  }
}

StreamPools* DevicePool::captured_pools(musaStream_t stream) {
  const uint64_t capture = runtime::capture_id(stream);
  for (const Capture& entry : captures_) {
    if (entry.id == capture) {
      return &entry.pool->streams;
    }
  }
  return nullptr;
}

// Pools that no graph holds and whose memory is back.
void DevicePool::drop_private() {
  private_.erase(
      std::remove_if(
          private_.begin(),
          private_.end(),
          [](const std::unique_ptr<PrivatePool>& pool) {
            return pool->graphs == 0 &&
                std::all_of(
                       pool->streams.begin(),
                       pool->streams.end(),
                       [](const auto& entry) {
                         return entry.second->segments == 0;
                       });
          }),
      private_.end());
}

} // namespace torch_fl::allocator
