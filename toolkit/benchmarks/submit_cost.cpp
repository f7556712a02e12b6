// SPDX-License-Identifier: Apache-2.0
// What handing one task to a stream costs the caller: in bursts, at a Python
// loop's pace, and after a pause that puts the worker to sleep.
#include <musa_portable.h>
#include <musa_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

double nanoseconds(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double, std::nano>(to - from).count();
}

void check(musaError_t code, const char* what) {
  if (code != musaSuccess) {
    std::fprintf(stderr, "%s: %s\n", what, musaGetErrorString(code));
    std::exit(1); // NOLINT(concurrency-mt-unsafe): one thread
  }
}

// A small task of the engine: a fill of 64 bytes.
struct Target {
  musaStream_t stream = nullptr;
  void* memory = nullptr;

  void submit() const {
    check(musaMemsetAsync(memory, 1, 64, stream), "musaMemsetAsync");
  }
  void wait() const {
    check(musaStreamSynchronize(stream), "musaStreamSynchronize");
  }
};

void spin_until(Clock::time_point end) {
  while (Clock::now() < end) {
  }
}

double timer_cost() {
  std::vector<double> costs(1000);
  for (double& cost : costs) {
    const auto from = Clock::now();
    cost = nanoseconds(from, Clock::now());
  }
  std::nth_element(costs.begin(), costs.begin() + 500, costs.end());
  return costs[500];
}

void print(const char* name, std::vector<double>& costs, double overhead) {
  std::sort(costs.begin(), costs.end());
  const auto at = [&](double part) {
    return costs[static_cast<size_t>(
               part * static_cast<double>(costs.size() - 1))] -
        overhead;
  };
  std::printf(
      "%-34s min %7.0f  median %7.0f  p90 %7.0f  max %9.0f ns\n",
      name,
      at(0),
      at(0.5),
      at(0.9),
      at(1));
}

void measure(const char* name, const Target& target) {
  const double overhead = timer_cost();
  std::printf("%s\n", name);
  std::vector<double> costs;
  for (int round = 0; round < 200; ++round) {
    target.submit(); // the worker is awake
    const auto from = Clock::now();
    for (int i = 0; i < 200; ++i) {
      target.submit();
    }
    costs.push_back(nanoseconds(from, Clock::now()) / 200);
    target.wait();
  }
  print("  bursts of 200, each", costs, 0);

  costs.clear();
  auto next = Clock::now();
  for (int i = 0; i < 20000; ++i) {
    next += std::chrono::microseconds(4);
    spin_until(next);
    const auto from = Clock::now();
    target.submit();
    costs.push_back(nanoseconds(from, Clock::now()));
  }
  target.wait();
  print("  one every 4 us", costs, overhead);

  for (const int pause : {300, 2000}) {
    costs.clear();
    for (int i = 0; i < 500; ++i) {
      std::this_thread::sleep_for(std::chrono::microseconds(pause));
      const auto from = Clock::now();
      target.submit();
      costs.push_back(nanoseconds(from, Clock::now()));
    }
    target.wait();
    char row[64];
    std::snprintf(row, sizeof row, "  after %d us idle", pause);
    print(row, costs, overhead);
  }

  costs.clear();
  for (int i = 0; i < 2000; ++i) {
    const auto from = Clock::now();
    target.submit();
    target.wait();
    costs.push_back(nanoseconds(from, Clock::now()));
  }
  print("  submit and wait", costs, overhead);
}

} // namespace

int main() {
  Target target;
  check(musaMalloc(&target.memory, 4096), "musaMalloc");
  measure("legacy default stream", target);
  check(
      musaStreamCreateWithFlags(&target.stream, musaStreamNonBlocking),
      "musaStreamCreateWithFlags");
  measure("non-blocking stream", target);
  std::printf(
      "tasks %llu, wakes %llu, full queues %llu\n",
      musaPortableCounter("tasks"),
      musaPortableCounter("wakes"),
      musaPortableCounter("full_queue"));
  return 0;
}
