// SPDX-License-Identifier: Apache-2.0
// Environment variables of the CPU engine and what the machine offers.
#include "toolkit/engine/cpu/config.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <limits>

namespace musa_standin::engine::cpu {
namespace {

constexpr size_t kMiB = size_t{1} << 20;
constexpr size_t kGranule = 2 * kMiB;
constexpr int kMaxThreads = 1024;
constexpr long kMaxRace = 1'000'000;

const char* environment(const char* name) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): read once, before the engine starts
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

// A limit of the control group; 0: none.
size_t cgroup_memory() {
  for (const char* path :
       {"/sys/fs/cgroup/memory.max",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    std::ifstream file(path);
    size_t bytes = 0;
    if (file >> bytes) {
      return bytes;
    }
  }
  return 0;
}

size_t default_memory(int devices) {
  const auto pages = static_cast<size_t>(sysconf(_SC_PHYS_PAGES));
  size_t bytes = pages * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t limit = cgroup_memory();
  if (limit != 0) {
    bytes = std::min(bytes, limit);
  }
  return bytes / 2 / static_cast<size_t>(std::max(devices, 1));
}

// Cores that this process may use, by affinity and by the group's quota.
int default_threads() {
  cpu_set_t set;
  CPU_ZERO(&set);
  int cores = sched_getaffinity(0, sizeof set, &set) == 0
      ? CPU_COUNT(&set)
      : static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  double quota = 0;
  double period = 0;
  if (file >> quota >> period && period > 0) {
    cores = std::min(cores, static_cast<int>((quota + period - 1) / period));
  }
  return std::clamp(cores, 1, kMaxThreads);
}

// How many of `devices` the mask names, up to the first that is none.
int visible_devices(const char* mask, int devices) {
  bool seen[kMaxDevices] = {};
  int count = 0;
  while (*mask != '\0') {
    char* end = nullptr;
    const long index = std::strtol(mask, &end, 10);
    if (end == mask || index < 0 || index >= devices || seen[index]) {
      break;
    }
    seen[index] = true;
    ++count;
    if (*end != ',') {
      break;
    }
    mask = end + 1;
  }
  return count;
}

std::string
malformed(const char* name, const char* value, const char* allowed) {
  return std::string(name) + "=" + value + " is not valid: it takes " +
      allowed + ".";
}

Config read() {
  Config out;
  const char* devices = environment("MUSA_CPU_DEVICES");
  long count = 1;
  if (devices != nullptr && !parse_count(devices, 0, kMaxDevices, count)) {
    out.error =
        malformed("MUSA_CPU_DEVICES", devices, "a whole number from 0 to 16");
    return out;
  }
  out.devices = static_cast<int>(count);
  out.threads = default_threads();
  const char* threads = environment("MUSA_CPU_THREADS");
  if (threads != nullptr) {
    if (!parse_count(threads, 1, kMaxThreads, count)) {
      out.error = malformed(
          "MUSA_CPU_THREADS",
          threads,
          "a whole number from 1 to 1024");
      return out;
    }
    out.threads = static_cast<int>(count);
  }
  const char* race = environment("MUSA_CPU_EVENT_RACE");
  if (race != nullptr && !parse_count(race, 0, kMaxRace, out.event_race)) {
    out.error = malformed(
        "MUSA_CPU_EVENT_RACE",
        race,
        "a whole number from 0 to 1000000");
    return out;
  }
  out.memory_bytes = default_memory(out.devices);
  const char* memory = environment("MUSA_CPU_MEMORY");
  if (memory != nullptr &&
      (!parse_bytes(memory, out.memory_bytes) || out.memory_bytes < kGranule)) {
    out.error = malformed(
        "MUSA_CPU_MEMORY",
        memory,
        "a size of at least 2MiB, such as 512MiB, 8GiB or a number of bytes");
    return out;
  }
  out.memory_bytes = std::max(out.memory_bytes, kGranule) / kGranule * kGranule;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): set but empty hides all devices
  const char* mask = std::getenv("MUSA_VISIBLE_DEVICES");
  if (mask != nullptr) {
    out.devices = visible_devices(mask, out.devices);
  }
  return out;
}

} // namespace

bool parse_count(const char* text, long low, long high, long& out) {
  if (std::isdigit(static_cast<unsigned char>(*text)) == 0) {
    return false;
  }
  char* end = nullptr;
  errno = 0;
  const long value = std::strtol(text, &end, 10);
  if (errno != 0 || *end != '\0' || value < low || value > high) {
    return false;
  }
  out = value;
  return true;
}

bool parse_bytes(const char* text, size_t& out) {
  if (std::isdigit(static_cast<unsigned char>(*text)) == 0) {
    return false;
  }
  char* end = nullptr;
  errno = 0;
  const double value = std::strtod(text, &end);
  if (errno != 0) {
    return false;
  }
  std::string unit;
  for (; *end != '\0'; ++end) {
    unit += static_cast<char>(std::tolower(static_cast<unsigned char>(*end)));
  }
  static constexpr struct {
    const char* name;
    int shift;
  } kUnits[] = {
      {"", 0},
      {"b", 0},
      {"k", 10},
      {"kb", 10},
      {"kib", 10},
      {"m", 20},
      {"mb", 20},
      {"mib", 20},
      {"g", 30},
      {"gb", 30},
      {"gib", 30},
      {"t", 40},
      {"tb", 40},
      {"tib", 40},
  };
  for (const auto& row : kUnits) {
    if (unit == row.name) {
      const double bytes =
          value * static_cast<double>(uint64_t{1} << row.shift);
      // Twice the capacity must fit the address space.
      if (!(bytes < 64.0 * static_cast<double>(uint64_t{1} << 40))) {
        return false;
      }
      out = static_cast<size_t>(bytes);
      return true;
    }
  }
  return false;
}

const Config& config() {
  static const Config* const instance = new Config(read());
  return *instance;
}

} // namespace musa_standin::engine::cpu
