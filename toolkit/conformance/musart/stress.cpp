// SPDX-License-Identifier: Apache-2.0
// Many threads on many streams: fills, copies, events, waits, frees.
#include "support/conforms.h"

#include <array>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace conformance {

namespace {

constexpr int kThreads = 8;
constexpr int kStreams = 16;
constexpr int kRounds = CONFORMANCE_TSAN ? 150 : 400;
constexpr std::size_t kBytes = 8192;

struct Shared {
  std::vector<std::unique_ptr<Stream>> streams;
  std::vector<std::unique_ptr<Event>> events;
};

// A chain over three streams: fill, hand over, copy, hand over, read.
bool chain(const Shared& shared, std::mt19937& random, int value) {
  const auto stream = [&] {
    return static_cast<musaStream_t>(*shared.streams[random() % kStreams]);
  };
  const std::array<musaStream_t, 3> way = {stream(), stream(), stream()};
  void* first = nullptr;
  void* second = nullptr;
  const bool pooled = random() % 2 == 0;
  const auto allocate = [&](void** pointer) {
    return pooled ? musaMallocAsync(pointer, kBytes, way[0])
                  : musaMalloc(pointer, kBytes);
  };
  const auto release = [&](void* pointer) {
    return pooled ? musaFreeAsync(pointer, way[2]) : musaFree(pointer);
  };
  if (allocate(&first) != musaSuccess || allocate(&second) != musaSuccess) {
    return false;
  }
  Event handed(musaEventDisableTiming);
  unsigned char last[2] = {};
  bool good = musaMemsetAsync(first, value, kBytes, way[0]) == musaSuccess &&
      musaEventRecord(handed, way[0]) == musaSuccess &&
      musaStreamWaitEvent(way[1], handed, 0) == musaSuccess &&
      musaMemcpyAsync(
          second,
          first,
          kBytes,
          musaMemcpyDeviceToDevice,
          way[1]) == musaSuccess &&
      musaEventRecord(handed, way[1]) == musaSuccess &&
      musaStreamWaitEvent(way[2], handed, 0) == musaSuccess &&
      musaMemcpyAsync(
          last,
          static_cast<char*>(second) + kBytes - 2,
          2,
          musaMemcpyDeviceToHost,
          way[2]) == musaSuccess;
  good = release(first) == musaSuccess && good;
  good = release(second) == musaSuccess && good;
  good = musaStreamSynchronize(way[2]) == musaSuccess && good;
  return good && last[0] == value && last[1] == value;
}

// Everybody records and waits on everybody's events.
bool tangle(const Shared& shared, std::mt19937& random) {
  const Event& event = *shared.events[random() % shared.events.size()];
  const Stream& from = *shared.streams[random() % kStreams];
  const Stream& to = *shared.streams[random() % kStreams];
  bool good = musaEventRecord(event, from) == musaSuccess &&
      musaStreamWaitEvent(to, event, 0) == musaSuccess;
  const musaError_t query = musaEventQuery(event);
  good = good && (query == musaSuccess || query == musaErrorNotReady);
  (void)musaGetLastError();
  if (random() % 8 == 0) {
    Stream brief(
        random() % 2 == 0 ? unsigned{musaStreamNonBlocking}
                          : unsigned{musaStreamDefault});
    good = good && musaStreamWaitEvent(brief, event, 0) == musaSuccess &&
        musaLaunchHostFunc(brief, [](void*) {}, nullptr) == musaSuccess;
  }
  if (random() % 16 == 0) {
    good = good &&
        musaLaunchHostFunc(nullptr, [](void*) {}, nullptr) == musaSuccess;
  }
  if (random() % 32 == 0) {
    good = good && musaEventSynchronize(event) == musaSuccess;
  }
  return good;
}

} // namespace

BEHAVES(stress, eight_threads_on_shared_streams) {
  Shared shared;
  for (int i = 0; i < kStreams; ++i) {
    shared.streams.push_back(std::make_unique<Stream>(
        i % 4 == 0 ? unsigned{musaStreamDefault}
                   : unsigned{musaStreamNonBlocking}));
    shared.events.push_back(
        std::make_unique<Event>(unsigned{musaEventDisableTiming}));
  }
  std::atomic<int> bad{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      for (int round = 0; round < kRounds; ++round) {
        const bool good = round % 3 == 0
            ? chain(shared, random, (t * kRounds + round) % 256)
            : tangle(shared, random);
        bad += good ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(0, bad);
  EXPECT_OK(musaDeviceSynchronize());
}

BEHAVES(stress, producers_of_one_stream_keep_their_order) {
  Stream stream(musaStreamNonBlocking);
  constexpr int kProducers = 4;
  constexpr int kTasks = CONFORMANCE_TSAN ? 1500 : 10'000;
  struct Producer {
    int last = 0;
    int wrong = 0;
  };
  struct Item {
    Producer* producer;
    int number;
  };
  std::array<Producer, kProducers> producers;
  std::vector<std::vector<Item>> items(kProducers);
  std::vector<std::thread> threads;
  for (int p = 0; p < kProducers; ++p) {
    auto& mine = items[static_cast<std::size_t>(p)];
    for (int i = 1; i <= kTasks; ++i) {
      mine.push_back({&producers[static_cast<std::size_t>(p)], i});
    }
    threads.emplace_back([&, p] {
      std::mt19937 random(static_cast<unsigned>(p));
      for (Item& item : items[static_cast<std::size_t>(p)]) {
        EXPECT_OK(musaLaunchHostFunc(
            stream,
            [](void* argument) {
              auto* i = static_cast<Item*>(argument);
              i->producer->wrong += i->producer->last + 1 != i->number ? 1 : 0;
              i->producer->last = i->number;
            },
            &item));
        if (random() % 500 == 0) {
          std::this_thread::sleep_for(
              std::chrono::microseconds(random() % 120));
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_OK(musaStreamSynchronize(stream));
  for (const Producer& producer : producers) {
    EXPECT_EQ(kTasks, producer.last);
    EXPECT_EQ(0, producer.wrong);
  }
}

BEHAVES(stress, a_sleeping_worker_is_always_woken) {
  Stream stream(musaStreamNonBlocking);
  for (int i = 0; i < 1000; ++i) {
    std::this_thread::sleep_for(std::chrono::microseconds(40 + i % 300));
    Flag flag;
    ASSERT_MUSA(flag.set_by(stream));
    ASSERT_MUSA(musaStreamSynchronize(stream));
    ASSERT_TRUE(flag.done());
  }
}

} // namespace conformance
