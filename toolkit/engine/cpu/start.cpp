// SPDX-License-Identifier: Apache-2.0
// The engine's start, and the counters that live as long as it.
#include "toolkit/engine/cpu/start.h"

#include "toolkit/engine/cpu/config.h"
#include "toolkit/engine/cpu/counters.h"
#include "toolkit/engine/cpu/exit.h"
#include "toolkit/engine/cpu/fork.h"
#include "toolkit/engine/cpu/memory.h"
#include "toolkit/engine/cpu/scheduler.h"

#include "toolkit/engine/error.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <string>

namespace musa_standin::engine::cpu {

std::atomic<uint64_t> g_counters[static_cast<int>(Counter::kNumber)];

namespace {

std::atomic<bool> g_started{false};

// The code alone would not tell a user what to do: the sentence is printed, for
// the first call that meets it.
[[noreturn]] void refuse(musaError_t code, const std::string& sentence) {
  static std::atomic<bool> told{false};
  if (!told.exchange(true)) {
    std::fprintf(stderr, "musa: %s\n", sentence.c_str());
  }
  throw Error(code, sentence);
}

} // namespace

bool engine_started() {
  return g_started.load(std::memory_order_acquire);
}

void check_environment() {
  if (!config().error.empty()) {
    refuse(musaErrorInitializationError, config().error);
  }
}

void start_engine() {
  if (engine_started()) {
    return;
  }
  check_environment();
  if (config().devices == 0) {
    throw Error(musaErrorNoDevice, "this machine has no MUSA device");
  }
  try {
    reserve_range();
  } catch (const Error& error) {
    refuse(error.code(), error.what());
  }
  // Two streams that compute and two that copy may go on at once even on a
  // machine of few cores.
  g_scheduler.set_limit(std::clamp(config().threads, 4, 16));
  watch_fork();
  arm_exit();
  g_started.store(true, std::memory_order_release);
}

} // namespace musa_standin::engine::cpu
