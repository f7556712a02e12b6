// SPDX-License-Identifier: Apache-2.0
// Planted faults for the conformance suite: `if (planted("early_query"))` is
// false at compile time unless MUSA_PLANTED_FAULTS is defined; then the
// environment variable MUSA_PLANT names the one that is on. The names stand in
// toolkit/conformance/faults.txt.
#pragma once

#ifdef MUSA_PLANTED_FAULTS

#include <atomic>
#include <cstdlib>
#include <cstring>

namespace musa_standin::engine {

inline bool planted(const char* name) noexcept {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): test builds, whose tests set nothing
  static const char* const on = std::getenv("MUSA_PLANT");
  return on != nullptr && std::strcmp(on, name) == 0;
}

// What one hook of a fault leaves for another.
inline std::atomic<void*> g_kept_for_fault{nullptr};
inline void keep_for_fault(void* what) noexcept {
  g_kept_for_fault.store(what);
}
inline void* kept_for_fault() noexcept {
  return g_kept_for_fault.load();
}

} // namespace musa_standin::engine

#else

namespace musa_standin::engine {

constexpr bool planted(const char* /*name*/) noexcept {
  return false;
}
constexpr void keep_for_fault(void* /*what*/) noexcept {}
constexpr void* kept_for_fault() noexcept {
  return nullptr;
}

} // namespace musa_standin::engine

#endif
