// SPDX-License-Identifier: Apache-2.0
// Threads, streams, events and blocked host functions at once: no task is
// lost, run twice or out of order, and no wake-up is missed.
#include <musa_portable.h>
#include <musa_runtime.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

namespace {

constexpr int kThreads = 8;
constexpr int kStreams = 12;

void check(musaError_t code, const char* what) {
  if (code != musaSuccess) {
    std::fprintf(stderr, "%s: %s\n", what, musaGetErrorString(code));
    std::abort();
  }
}

// What the tasks of one thread on one stream leave behind; only tasks of that
// stream write it, so a race here is the engine's.
struct Lane {
  long last = 0;
  long out_of_order = 0;
};
struct Step {
  Lane* lane;
  long number;
};

void run_step(void* raw) {
  const Step* step = static_cast<Step*>(raw);
  step->lane->out_of_order += step->lane->last + 1 != step->number ? 1 : 0;
  step->lane->last = step->number;
}

std::vector<musaStream_t> make_streams() {
  std::vector<musaStream_t> streams(kStreams);
  for (int i = 0; i < kStreams; ++i) {
    check(
        musaStreamCreateWithPriority(
            &streams[static_cast<size_t>(i)],
            i % 3 == 0 ? musaStreamDefault : musaStreamNonBlocking,
            -(i % 4)),
        "musaStreamCreateWithPriority");
  }
  streams[0] = nullptr; // the legacy default stream takes part
  streams[1] = musaStreamPerThread;
  return streams;
}

// Each thread numbers its tasks by stream; waits and pauses in between.
long produce(int thread, long tasks, const std::vector<musaStream_t>& streams) {
  std::mt19937 random(static_cast<unsigned>(thread));
  std::vector<Lane> lanes(kStreams);
  std::vector<long> sent(kStreams);
  std::vector<Step> steps(static_cast<size_t>(tasks));
  musaEvent_t event = nullptr;
  check(
      musaEventCreateWithFlags(&event, musaEventDisableTiming),
      "musaEventCreateWithFlags");
  for (long i = 0; i < tasks; ++i) {
    const size_t at = random() % kStreams;
    Step& step = steps[static_cast<size_t>(i)];
    step = {&lanes[at], ++sent[at]};
    check(musaLaunchHostFunc(streams[at], run_step, &step), "host function");
    const unsigned dice = random() % 1000;
    if (dice < 60) {
      check(musaEventRecord(event, streams[at]), "musaEventRecord");
      check(
          musaStreamWaitEvent(streams[random() % kStreams], event, 0),
          "musaStreamWaitEvent");
    } else if (dice < 64) {
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 400));
    } else if (dice < 68) {
      check(musaStreamSynchronize(streams[at]), "musaStreamSynchronize");
    } else if (dice < 70) {
      musaEvent_t other = nullptr;
      check(musaEventCreate(&other), "musaEventCreate");
      check(musaEventRecord(other, streams[at]), "musaEventRecord");
      check(musaEventSynchronize(other), "musaEventSynchronize");
      check(musaEventDestroy(other), "musaEventDestroy");
    } else if (dice == 70) {
      musaStream_t brief = nullptr;
      check(musaStreamCreate(&brief), "musaStreamCreate");
      check(musaStreamWaitEvent(brief, event, 0), "musaStreamWaitEvent");
      check(musaStreamDestroy(brief), "musaStreamDestroy");
    }
  }
  check(musaDeviceSynchronize(), "musaDeviceSynchronize");
  check(musaEventDestroy(event), "musaEventDestroy");
  long bad = 0;
  for (size_t i = 0; i < lanes.size(); ++i) {
    bad += lanes[i].out_of_order + (lanes[i].last != sent[i] ? 1 : 0);
  }
  return bad;
}

// A submit after the worker has certainly gone to sleep must come back.
long lost_wake_ups() {
  long lost = 0;
  std::atomic<long> ran{0};
  for (int i = 0; i < 2000; ++i) {
    std::this_thread::sleep_for(std::chrono::microseconds(150 + i % 100));
    const long before = ran.load();
    check(
        musaLaunchHostFunc(
            nullptr,
            [](void* raw) { ++*static_cast<std::atomic<long>*>(raw); },
            &ran),
        "host function");
    check(musaStreamSynchronize(nullptr), "musaStreamSynchronize");
    lost += ran.load() != before + 1 ? 1 : 0;
  }
  return lost;
}

// Host functions that wait for one another on as many streams as there are:
// each needs a thread, and the others must go on.
bool blocked_streams_do_not_starve() {
  constexpr int kBlocked = 10;
  std::atomic<int> inside{0};
  std::vector<musaStream_t> streams(kBlocked + 1);
  for (musaStream_t& stream : streams) {
    check(
        musaStreamCreateWithFlags(&stream, musaStreamNonBlocking),
        "musaStreamCreateWithFlags");
  }
  for (int i = 0; i < kBlocked; ++i) {
    check(
        musaLaunchHostFunc(
            streams[static_cast<size_t>(i)],
            [](void* raw) {
              auto& count = *static_cast<std::atomic<int>*>(raw);
              ++count;
              while (count.load() < kBlocked + 1) {
                std::this_thread::yield();
              }
            },
            &inside),
        "host function");
  }
  check(
      musaLaunchHostFunc(
          streams.back(),
          [](void* raw) { ++*static_cast<std::atomic<int>*>(raw); },
          &inside),
      "host function");
  check(musaDeviceSynchronize(), "musaDeviceSynchronize");
  for (musaStream_t stream : streams) {
    check(musaStreamDestroy(stream), "musaStreamDestroy");
  }
  return inside.load() == kBlocked + 1;
}

} // namespace

int main(int argc, char** argv) {
  const long tasks = argc > 1 ? std::atol(argv[1]) : 100000;
  const std::vector<musaStream_t> streams = make_streams();
  std::atomic<long> bad{0};
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] { bad += produce(i, tasks, streams); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  const long lost = lost_wake_ups();
  const bool free = blocked_streams_do_not_starve();
  std::printf(
      "%d threads x %ld tasks on %d streams: %ld out of order or lost, "
      "%ld wake-ups missed, blocked streams %s; wakes %llu, full queues %llu\n",
      kThreads,
      tasks,
      kStreams,
      bad.load(),
      lost,
      free ? "hold nobody up" : "STARVE the others",
      musaPortableCounter("wakes"),
      musaPortableCounter("full_queue"));
  return bad.load() == 0 && lost == 0 && free ? 0 : 1;
}
