// SPDX-License-Identifier: Apache-2.0
// What the environment says about the engine, read once.
#pragma once

#include <cstddef>
#include <string>

namespace musa_standin::engine::cpu {

constexpr int kMaxDevices = 16;

struct Config {
  int devices = 1;         // MUSA_CPU_DEVICES, after MUSA_VISIBLE_DEVICES
  int threads = 1;         // MUSA_CPU_THREADS
  size_t memory_bytes = 0; // MUSA_CPU_MEMORY: of each device
  long event_race = 0; // MUSA_CPU_EVENT_RACE: every n-th wait is lost; 0: none
  // A malformed variable: one sentence that names it, its value and what is
  // allowed.  Empty if all is well.
  std::string error;
};

const Config& config();

// The parsers, apart for tests.  False: `text` is not of that form.
bool parse_count(const char* text, long low, long high, long& out);
bool parse_bytes(const char* text, size_t& out);

} // namespace musa_standin::engine::cpu
