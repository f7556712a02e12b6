// SPDX-License-Identifier: Apache-2.0
// Random numbers on the CPU engine.
#include "toolkit/engine/rand.h"

#include "toolkit/engine/cpu/memory.h"
#include "toolkit/engine/cpu/pool.h"
#include "toolkit/engine/cpu/rand_kernels.h"
#include "toolkit/engine/cpu/stream.h"

namespace musa_standin::engine {
namespace cpu {
namespace {

constexpr int64_t kGrain = 8192; // elements

class CpuRand final : public Rand {
 public:
  void generate(engine::Stream& stream, const RandArgs& args) override {
    const RandKernels* kernels = &MUSA_ISA_PICK(kRandKernels);
    submit(stream, "murandGenerate", [args, kernels] {
      RandArgs local = args;
      local.out = host<void>(args.out);
      parallel_for(args.n, kGrain, [&](int64_t begin, int64_t end) {
        kernels->generate(local, begin, end);
      });
    });
  }
};

} // namespace
} // namespace cpu

Rand& rand() {
  static cpu::CpuRand instance;
  return instance;
}

} // namespace musa_standin::engine
