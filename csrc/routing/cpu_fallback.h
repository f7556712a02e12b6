// SPDX-License-Identifier: Apache-2.0
// What reached the CPU, and whether it may.
#pragma once

#include "csrc/runtime/export.h"

#include <cstdint>
#include <string>
#include <vector>

namespace torch_fl::routing {

struct FallbackCount {
  std::string op;  // what the user called: "aten::tril"
  std::string raw; // what reached the backend: "aten::tril.out"
  uint64_t calls = 0;
};

// Every operator that ran on the CPU since start or reset, by name.
FL_API std::vector<FallbackCount> fallbacks();
FL_API void reset_fallbacks();

// FLAGOS_STRICT, until set here: whether a fallback raises instead.
FL_API bool is_strict();
FL_API void set_strict(bool on);

// Throws one sentence for a malformed FLAGOS_STRICT, FLAGOS_LOG_FALLBACK or
// FLAGOS_LOG_DISPATCH. They are read while the library loads, where nothing may
// throw: the loader calls this first.
FL_API void check_environment();

// An explicit CPU route of a native kernel: counts `raw`, names it if asked,
// throws under strict mode. `operands` describes dtypes and shapes.
void count_cpu_route(const std::string& raw, const std::string& operands);

} // namespace torch_fl::routing
