// SPDX-License-Identifier: Apache-2.0
// Variants of the hot loops by instruction set.
//
// A file <stem>_kernels.cpp is compiled three times, each with its flags and
// with MUSA_ISA defined (baseline, avx2, avx512). All of it stands in an
// unnamed namespace except one table, which MUSA_ISA_TABLE names; <stem>.cpp
// picks the table with MUSA_ISA_PICK. Inline functions of shared headers that
// such a file calls must have internal linkage too: of two copies the linker
// keeps one, perhaps the wrong one.
#pragma once

namespace musa_standin::engine::cpu {

enum class Isa { kBaseline, kAvx2, kAvx512 };

// The best one that this machine and MUSA_CPU_ISA (baseline, avx2, avx512)
// allow.
Isa isa();

} // namespace musa_standin::engine::cpu

#define MUSA_ISA_JOIN(name, isa) name##_##isa
#define MUSA_ISA_EXPAND(name, isa) MUSA_ISA_JOIN(name, isa)
#define MUSA_ISA_TABLE(name) MUSA_ISA_EXPAND(name, MUSA_ISA)

#define MUSA_ISA_DECLARE(type, name) \
  extern const type name##_baseline; \
  extern const type name##_avx2;     \
  extern const type name##_avx512

#define MUSA_ISA_PICK(name)                  \
  (isa() == Isa::kAvx512     ? name##_avx512 \
       : isa() == Isa::kAvx2 ? name##_avx2   \
                             : name##_baseline)
