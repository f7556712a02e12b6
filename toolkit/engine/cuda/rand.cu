// SPDX-License-Identifier: Apache-2.0
// Random numbers on the CUDA engine: bit by bit those of the other engines.
#include "toolkit/engine/rand.h"

#include "toolkit/engine/cuda/launch.h"
#include "toolkit/engine/cuda/rand.h"

namespace musa_standin::engine {
namespace cuda {
namespace {

constexpr int kBlock = 256;

struct Words {
  using Type = uint32_t;
  __device__ void operator()(const uint32_t words[4], uint32_t out[4]) const {
    for (int i = 0; i < 4; ++i) {
      out[i] = words[i];
    }
  }
};
struct Uniform {
  using Type = float;
  __device__ void operator()(const uint32_t words[4], float out[4]) const {
    for (int i = 0; i < 4; ++i) {
      out[i] = kernels::uniform_float(words[i]);
    }
  }
};
struct UniformDouble {
  using Type = double;
  __device__ void operator()(const uint32_t words[4], double out[2]) const {
    for (int i = 0; i < 2; ++i) {
      out[i] = kernels::uniform_double(words[2 * i], words[2 * i + 1]);
    }
  }
};
struct Normal {
  using Type = float;
  float mean;
  float stddev;
  __device__ void operator()(const uint32_t words[4], float out[4]) const {
    kernels::normal_pair(words[0], words[1], mean, stddev, out);
    kernels::normal_pair(words[2], words[3], mean, stddev, out + 2);
  }
};
struct NormalDouble {
  using Type = double;
  double mean;
  double stddev;
  __device__ void operator()(const uint32_t words[4], double out[2]) const {
    kernels::normal_pair(words, mean, stddev, out);
  }
};

// Four words a thread: 16 bytes of elements, in one store where they are
// aligned.
template <class Transform>
__global__ void __launch_bounds__(kBlock) generate_kernel(
    Transform transform,
    uint64_t seed,
    uint64_t position,
    typename Transform::Type* out,
    int64_t n) {
  using T = typename Transform::Type;
  constexpr int kEach = 16 / sizeof(T);
  const int64_t thread =
      static_cast<int64_t>(blockIdx.x) * kBlock + threadIdx.x;
  const int64_t begin = thread * kEach;
  if (begin >= n) {
    return;
  }
  const kernels::PhiloxWords words =
      words_at(seed, position + static_cast<uint64_t>(thread) * 4);
  alignas(16) T values[kEach];
  transform(words.v, values);
  if (begin + kEach <= n && reinterpret_cast<uintptr_t>(out) % 16 == 0) {
    *reinterpret_cast<uint4*>(out + begin) =
        *reinterpret_cast<const uint4*>(values);
    return;
  }
  for (int i = 0; i < kEach && begin + i < n; ++i) {
    out[begin + i] = values[i];
  }
}

template <class Transform>
void enqueue(
    engine::Stream& stream,
    const RandArgs& args,
    int64_t n,
    Transform transform) {
  using T = typename Transform::Type;
  const int64_t each = kBlock * static_cast<int64_t>(16 / sizeof(T));
  launch(
      stream,
      generate_kernel<Transform>,
      static_cast<unsigned>((n + each - 1) / each),
      kBlock,
      0,
      transform,
      args.seed,
      args.position,
      static_cast<T*>(args.out),
      n);
}

class CudaRand final : public Rand {
 public:
  void generate(engine::Stream& stream, const RandArgs& args) override {
    // Normal numbers come in pairs.
    const int64_t pairs = args.n / 2 * 2;
    switch (args.distribution) {
    case Distribution::kWords:
      return enqueue(stream, args, args.n, Words{});
    case Distribution::kUniform:
      return enqueue(stream, args, args.n, Uniform{});
    case Distribution::kUniformDouble:
      return enqueue(stream, args, args.n, UniformDouble{});
    case Distribution::kNormal:
      return enqueue(
          stream,
          args,
          pairs,
          Normal{
              static_cast<float>(args.mean),
              static_cast<float>(args.stddev)});
    case Distribution::kNormalDouble:
      return enqueue(stream, args, pairs, NormalDouble{args.mean, args.stddev});
    }
  }
};

} // namespace
} // namespace cuda

Rand& rand() {
  static cuda::CudaRand instance;
  return instance;
}

} // namespace musa_standin::engine
