// SPDX-License-Identifier: Apache-2.0
// Exits amid work, work behind a gate, a spoiled device, many threads.
#include "mudnn/array.h"
#include "support/child.h"
#include "support/poison.h"

#include <chrono>
#include <map>
#include <sstream>
#include <thread>

namespace conformance {

// --- exit ------------------------------------------------------------------

namespace {

dnn::MemoryMaintainer plain_maintainer() {
  return [](std::size_t bytes) {
    void* memory = nullptr;
    (void)musaMallocAsync(&memory, bytes, nullptr);
    return dnn::MemoryHandler(memory, [](void* pointer) {
      (void)musaFreeAsync(pointer, nullptr);
    });
  };
}

dnn::Tensor tensor_at(void* address, std::initializer_list<int64_t> dims) {
  dnn::Tensor tensor;
  tensor.SetType(Type::FLOAT);
  tensor.SetAddr(address);
  tensor.SetNdInfo(dims);
  return tensor;
}

} // namespace

// The first product and the first convolution of the process, then its end.
SCENARIO(exit_first_work) {
  constexpr std::size_t kBytes = std::size_t{4} << 20;
  void* memory[3] = {};
  for (void*& one : memory) {
    REQUIRE(musaMalloc(&one, kBytes) == musaSuccess);
    REQUIRE(musaMemset(one, 0, kBytes) == musaSuccess);
  }
  dnn::Handle handle;
  dnn::Tensor out = tensor_at(memory[0], {512, 512});
  const dnn::Tensor left = tensor_at(memory[1], {512, 512});
  const dnn::Tensor right = tensor_at(memory[2], {512, 512});
  dnn::MatMul matmul;
  dnn::Tensor image_out = tensor_at(memory[0], {4, 16, 32, 32});
  const dnn::Tensor image = tensor_at(memory[1], {4, 16, 32, 32});
  const dnn::Tensor filter = tensor_at(memory[2], {16, 16, 3, 3});
  dnn::Convolution conv;
  conv.SetNdInfo({1, 1}, {1, 1}, {1, 1});
  for (int i = 0; i < 20; ++i) {
    REQUIRE(
        matmul.Run(handle, out, left, right, plain_maintainer()) ==
        Status::SUCCESS);
    REQUIRE(
        conv.Run(
            handle,
            image_out,
            image,
            filter,
            dnn::Convolution::Algorithm::IMPLICIT_GEMM,
            plain_maintainer()) == Status::SUCCESS);
  }
  std::this_thread::sleep_for(
      std::chrono::microseconds(std::strtol(argument.c_str(), nullptr, 10)));
  return 0;
}

BEHAVES(exit, two_hundred_exits_amid_first_products_are_clean) {
#if CONFORMANCE_TSAN || CONFORMANCE_ASAN
  constexpr int kExits = 10;
#else
  constexpr int kExits = 200;
#endif
  std::atomic<int> next{0};
  std::atomic<int> bad{0};
  std::mutex mutex;
  std::string first;
  const auto work = [&] {
    for (int i = next++; i < kExits; i = next++) {
      const int delay = static_cast<int>(50'000L * i / kExits);
      const ChildResult child =
          run_child("exit_first_work", std::to_string(delay));
      if (child.exited && child.status == 0) {
        continue;
      }
      ++bad;
      const std::lock_guard<std::mutex> lock(mutex);
      first += std::to_string(delay) +
          " us: " + (child.exited ? "status " : "signal ") +
          std::to_string(child.status) + "\n" + child.errors;
    }
  };
  std::thread threads[2] = {std::thread(work), std::thread(work)};
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(0, bad) << first;
}

// --- nothing waits ---------------------------------------------------------

BEHAVES(asynchronous, no_run_waits_for_the_stream) {
  Stream stream(musaStreamNonBlocking);
  dnn::Handle with(0);
  EXPECT_SUCCESS(with.SetAllowTF32(false));
  EXPECT_SUCCESS(with.SetStream(stream));
  const dnn::MemoryMaintainer pool = [&](std::size_t bytes) {
    void* memory = nullptr;
    EXPECT_OK(musaMallocAsync(&memory, bytes, stream));
    return dnn::MemoryHandler(memory, [&](void* pointer) {
      EXPECT_OK(musaFreeAsync(pointer, stream));
    });
  };
  Array image(Type::FLOAT, {1, 2, 4, 4}, numbers(32, -1, 1));
  Array filter(Type::FLOAT, {2, 2, 3, 3}, numbers(36, -1, 1));
  Array result(Type::FLOAT, {1, 2, 2, 2});
  Array places(Type::INT64, {1, 2, 2, 2});
  Array square(Type::FLOAT, {4, 4}, numbers(16, -1, 1));
  Array other(Type::FLOAT, {4, 4});
  Array four(Type::FLOAT, {4}, {1, 1, 1, 1});
  Array means(Type::FLOAT, {4, 1});
  Array rstd(Type::FLOAT, {4, 1});
  const auto run = [&] {
    dnn::Unary unary;
    EXPECT_SUCCESS(unary.SetMode(dnn::Unary::Mode::EXP));
    EXPECT_SUCCESS(unary.Run(with, other, square));
    dnn::Binary binary;
    EXPECT_SUCCESS(binary.Run(with, other, square, square));
    dnn::Reduce reduce;
    EXPECT_SUCCESS(reduce.SetDim({1}));
    EXPECT_SUCCESS(reduce.Run(with, means, square, pool));
    dnn::MatMul matmul;
    EXPECT_SUCCESS(matmul.Run(with, other, square, square, pool));
    dnn::Softmax softmax;
    EXPECT_SUCCESS(softmax.SetDim(1));
    EXPECT_SUCCESS(softmax.Run(with, other, square, pool));
    dnn::Convolution conv;
    EXPECT_SUCCESS(conv.SetNdInfo({0, 0}, {1, 1}, {1, 1}));
    EXPECT_SUCCESS(conv.Run(
        with,
        result,
        image,
        filter,
        dnn::Convolution::Algorithm::IMPLICIT_GEMM,
        pool));
    EXPECT_SUCCESS(conv.RunBwdFilter(
        with,
        filter,
        image,
        result,
        dnn::Convolution::AlgorithmBwdFilter::IMPLICIT_GEMM,
        pool));
    dnn::Pooling pooling;
    EXPECT_SUCCESS(pooling.SetNdInfo({3, 3}, {0, 0}, {1, 1}, {1, 1}));
    EXPECT_SUCCESS(pooling.Run(with, result, image, places));
    const int axes[] = {1};
    dnn::LayerNorm norm;
    EXPECT_SUCCESS(norm.SetAxis(1, axes));
    EXPECT_SUCCESS(
        norm.Run(with, other, means, rstd, square, four, four, pool));
  };
  EXPECT_OK(musaDeviceSynchronize());
  run(); // the first use of a kernel may wait: its code is loaded
  EXPECT_OK(musaDeviceSynchronize());
  Gate gate;
  ASSERT_MUSA(gate.hold(stream));
  run();
  EXPECT_MUSA(musaErrorNotReady, musaStreamQuery(stream));
  EXPECT_FALSE(gate.expired()) << "a Run waited for the stream";
  gate.open();
  EXPECT_OK(musaStreamSynchronize(stream));
}

BEHAVES(asynchronous, runs_follow_the_handle_s_stream) {
  Stream stream(musaStreamNonBlocking);
  dnn::Handle with(0);
  EXPECT_SUCCESS(with.SetStream(stream));
  EXPECT_EQ(
      static_cast<musaStream_t>(stream),
      static_cast<musaStream_t>(with.GetStream()));
  const Array in(Type::FLOAT, {1024}, Values(1024, 2));
  Array out(Type::FLOAT, {1024}, Values(1024, 1));
  EXPECT_OK(musaDeviceSynchronize());
  dnn::Unary unary;
  EXPECT_SUCCESS(unary.SetMode(dnn::Unary::Mode::SQUARE));
  EXPECT_SUCCESS(unary.Run(with, out, in));
  EXPECT_OK(musaStreamSynchronize(stream));
  expect_near(Values(1024, 4), out, 0);
}

BEHAVES(asynchronous, descriptors_may_die_before_the_work_runs) {
  Stream stream(musaStreamNonBlocking);
  const Array in(Type::FLOAT, {2, 3}, {1, 2}, {1, 2, 3, 4, 5, 6});
  Array out(Type::FLOAT, {2, 3});
  EXPECT_OK(musaDeviceSynchronize());
  Gate gate;
  ASSERT_MUSA(gate.hold(stream));
  {
    const auto dims = std::make_unique<int64_t[]>(4);
    dims[0] = 2;
    dims[1] = 3;
    dims[2] = 1;
    dims[3] = 2;
    dnn::Tensor from;
    EXPECT_SUCCESS(from.SetType(Type::FLOAT));
    EXPECT_SUCCESS(from.SetAddr(in.address()));
    EXPECT_SUCCESS(from.SetNdInfo(2, dims.get(), dims.get() + 2));
    dnn::Tensor to = out.tensor();
    dnn::Handle with(0);
    EXPECT_SUCCESS(with.SetStream(stream));
    dnn::Unary unary;
    EXPECT_SUCCESS(unary.SetMode(dnn::Unary::Mode::SQUARE));
    EXPECT_SUCCESS(unary.Run(with, to, from));
    dims[0] = -1;
    EXPECT_SUCCESS(unary.SetMode(dnn::Unary::Mode::ABS));
  }
  gate.open();
  EXPECT_OK(musaStreamSynchronize(stream));
  expect_near({1, 4, 9, 16, 25, 36}, out, 0);
}

// --- handles ---------------------------------------------------------------

CONFORMS(Handle_Handle, success, of_the_current_and_of_a_named_device) {
  const Array in(Type::FLOAT, {2}, {1, -2});
  Array out(Type::FLOAT, {2});
  dnn::Unary unary;
  EXPECT_SUCCESS(unary.SetMode(dnn::Unary::Mode::ABS));
  dnn::Handle current;
  EXPECT_SUCCESS(unary.Run(current, out, in));
  dnn::Handle named(0);
  EXPECT_SUCCESS(unary.Run(named, out, in));
  expect_near({1, 2}, out, 0);
}

CONFORMS(Handle_Handle, NOT_INITIALIZED, a_device_that_is_none) {
  const Array in(Type::FLOAT, {2}, {1, -2});
  Array out(Type::FLOAT, {2});
  dnn::Handle none(1000);
  dnn::Unary unary;
  EXPECT_SUCCESS(unary.SetMode(dnn::Unary::Mode::ABS));
  EXPECT_REFUSED(unary.Run(none, out, in));
}

BEHAVES(handle, works_on_its_device_whatever_is_current) {
  if (device_count() < 2) {
    GTEST_SKIP() << "needs two devices";
  }
  EXPECT_OK(musaSetDevice(1));
  const Array in(Type::FLOAT, {2}, {1, -2});
  Array out(Type::FLOAT, {2});
  dnn::Handle second(1);
  EXPECT_OK(musaSetDevice(0));
  dnn::Unary unary;
  EXPECT_SUCCESS(unary.SetMode(dnn::Unary::Mode::ABS));
  EXPECT_SUCCESS(unary.Run(second, out, in));
  EXPECT_OK(musaSetDevice(1));
  EXPECT_OK(musaDeviceSynchronize());
  expect_near({1, 2}, out, 0);
  EXPECT_OK(musaSetDevice(0));
}

CONFORMS(GetVersion, success, is_the_headers) {
  EXPECT_EQ(static_cast<std::size_t>(MUDNN_VERSION), dnn::GetVersion());
}

// --- a failing maintainer --------------------------------------------------

BEHAVES(workspace, refusal_of_memory_is_a_status_and_no_crash) {
  const dnn::MemoryMaintainer refuses = [](std::size_t) {
    return dnn::MemoryHandler();
  };
  const Array in(Type::FLOAT, {64, 64}, numbers(4096, -1, 1));
  Array out(Type::FLOAT, {64, 64});
  dnn::MatMul matmul;
  const Status status = matmul.Run(handle(), out, in, in, refuses);
  EXPECT_TRUE(status == Status::SUCCESS || status == Status::ALLOC_FAILED);
  Array sum(Type::FLOAT, {64, 1});
  dnn::Reduce reduce;
  EXPECT_SUCCESS(reduce.SetDim({1}));
  const Status reduced = reduce.Run(handle(), sum, in, refuses);
  EXPECT_TRUE(reduced == Status::SUCCESS || reduced == Status::ALLOC_FAILED);
}

// --- many threads ----------------------------------------------------------

BEHAVES(stress, threads_compute_on_their_own_streams) {
  constexpr int kThreads = 8;
  constexpr int kRounds = CONFORMANCE_TSAN ? 8 : 40;
  std::atomic<int> bad{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&bad, t] {
      Stream stream(musaStreamNonBlocking);
      dnn::Handle with(0);
      EXPECT_SUCCESS(with.SetAllowTF32(false));
      EXPECT_SUCCESS(with.SetStream(stream));
      const int64_t n = 24;
      const Array identity(Type::FLOAT, {n, n}, [&] {
        Values values(static_cast<std::size_t>(n * n));
        for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
          values[i * static_cast<std::size_t>(n) + i] = 1;
        }
        return values;
      }());
      Array a(Type::FLOAT, {n, n}, Values(static_cast<std::size_t>(n * n), t));
      Array b(Type::FLOAT, {n, n});
      EXPECT_OK(musaDeviceSynchronize());
      dnn::Unary add;
      EXPECT_SUCCESS(add.SetMode(dnn::Unary::Mode::ADD));
      EXPECT_SUCCESS(add.SetAlpha(1.0));
      dnn::MatMul matmul;
      for (int round = 0; round < kRounds; ++round) {
        EXPECT_SUCCESS(add.Run(with, b, a));
        EXPECT_SUCCESS(matmul.Run(with, a, b, identity));
      }
      EXPECT_OK(musaStreamSynchronize(stream));
      for (const double value : a.read()) {
        bad += value == t + kRounds ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(0, bad);
}

} // namespace conformance
