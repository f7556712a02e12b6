// SPDX-License-Identifier: Apache-2.0
// Kernels of clients: one task, whose loop is split over the engine's pool.
#include "toolkit/engine/kernel.h"

#include "toolkit/engine/cpu/memory.h"
#include "toolkit/engine/cpu/pool.h"
#include "toolkit/engine/cpu/stream.h"

#include <cstring>

namespace musa_standin::engine::cpu {
namespace {

using Body = void (*)(const void* closure, int64_t begin, int64_t end);

template <size_t Bytes>
struct KernelTask {
  Body body;
  int64_t n;
  int64_t grain;
  alignas(16) unsigned char closure[Bytes];

  void operator()() const {
    parallel_for(n, grain, [this](int64_t begin, int64_t end) {
      body(closure, begin, end);
    });
  }
};

// Two sizes: a small closure does not pay for the largest one's copy.
constexpr size_t kSmall = 160;
constexpr size_t kLarge = kTaskBytes - 32;

template <size_t Bytes>
void enqueue(engine::Stream& stream, const ElementTask& task) {
  KernelTask<Bytes> copy;
  copy.body = task.body;
  copy.n = task.n;
  copy.grain = task.grain;
  std::memcpy(copy.closure, task.closure, task.bytes);
  submit(stream, task.name, copy);
}

class CpuKernelEngine final : public KernelEngine {
 public:
  void for_each(engine::Stream& stream, const ElementTask& task) override {
    if (task.bytes > kLarge) {
      throw Error(
          musaErrorInvalidValue,
          "a kernel's arguments take more than 864 bytes");
    }
    if (task.n <= 0) {
      return;
    }
    if (task.bytes <= kSmall) {
      enqueue<kSmall>(stream, task);
    } else {
      enqueue<kLarge>(stream, task);
    }
  }

  void* address(void* pointer) override { return host<void>(pointer); }
};

} // namespace
} // namespace musa_standin::engine::cpu

namespace musa_standin::engine {

KernelEngine& kernel_engine() {
  static cpu::CpuKernelEngine instance;
  return instance;
}

} // namespace musa_standin::engine
