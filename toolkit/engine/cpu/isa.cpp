// SPDX-License-Identifier: Apache-2.0
// Which instruction set the hot loops use.
#include "toolkit/engine/cpu/isa.h"

#include "toolkit/engine/error.h"

#include <cstdlib>
#include <string>

namespace musa_standin::engine::cpu {
namespace {

Isa of_machine() {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    return Isa::kAvx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("f16c"))
    return Isa::kAvx2;
  return Isa::kBaseline;
}

Isa allowed() {
  const Isa best = of_machine();
  const char* text = std::getenv( // NOLINT(concurrency-mt-unsafe): read once
      "MUSA_CPU_ISA");
  if (text == nullptr || *text == '\0')
    return best;
  const std::string name = text;
  const Isa asked = name == "baseline" ? Isa::kBaseline
      : name == "avx2"                 ? Isa::kAvx2
                                       : Isa::kAvx512;
  if (asked == Isa::kAvx512 && name != "avx512")
    throw Error(
        musaErrorInvalidConfiguration,
        "MUSA_CPU_ISA is \"" + name +
            "\", but must be baseline, avx2 or avx512");
  return asked < best ? asked : best;
}

} // namespace

Isa isa() {
  static const Isa chosen = allowed();
  return chosen;
}

} // namespace musa_standin::engine::cpu
