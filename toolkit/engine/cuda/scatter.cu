// SPDX-License-Identifier: Apache-2.0
// The CUDA engine's scatters. All elements run at once: of updates with equal
// indices any may be the one that stays, and floating sums and products are
// made in any order; sums and products of integers do not vary.
#include "toolkit/engine/cuda/device_error.h"
#include "toolkit/engine/cuda/dnn.h"
#include "toolkit/engine/cuda/index_at.h"
#include "toolkit/engine/cuda/launch.h"
#include "toolkit/engine/cuda/offsets.h"
#include "toolkit/engine/cuda/pack.h"

#include <type_traits>

namespace musa_standin::engine::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kEach = 2;
constexpr const char* kTask = "Scatter";

// Replaces *to by f(*to), whatever others do meanwhile.
template <class E, class F>
__device__ void exchange(E* to, F&& f) {
  if constexpr (sizeof(E) == 8) {
    auto* word = reinterpret_cast<unsigned long long*>(to);
    unsigned long long seen = *word;
    unsigned long long before;
    do {
      before = seen;
      const E next = f(kernels::bits_as<E>(before));
      seen =
          atomicCAS(word, before, kernels::bits_as<unsigned long long>(next));
    } while (seen != before);
  } else if constexpr (sizeof(E) == 4) {
    auto* word = reinterpret_cast<unsigned*>(to);
    unsigned seen = *word;
    unsigned before;
    do {
      before = seen;
      const E next = f(kernels::bits_as<E>(before));
      seen = atomicCAS(word, before, kernels::bits_as<unsigned>(next));
    } while (seen != before);
  } else if constexpr (sizeof(E) == 2) {
    auto* word = reinterpret_cast<unsigned short*>(to);
    unsigned short seen = *word;
    unsigned short before;
    do {
      before = seen;
      const E next = f(kernels::bits_as<E>(static_cast<uint16_t>(before)));
      seen = atomicCAS(
          word,
          before,
          static_cast<unsigned short>(kernels::bits_as<uint16_t>(next)));
    } while (seen != before);
  } else {
    // Bytes have no exchange of their own: through the half word that holds it.
    const auto address = reinterpret_cast<uintptr_t>(to);
    auto* word = reinterpret_cast<unsigned short*>(address & ~uintptr_t{1});
    const auto shift = static_cast<unsigned>(address & 1) * 8;
    const unsigned mask = 0xFFU << shift;
    unsigned short seen = *word;
    unsigned short before;
    do {
      before = seen;
      const E next =
          f(kernels::bits_as<E>(static_cast<uint8_t>(before >> shift)));
      const unsigned bits = kernels::bits_as<uint8_t>(next);
      seen = atomicCAS(
          word,
          before,
          static_cast<unsigned short>((before & ~mask) | (bits << shift)));
    } while (seen != before);
  }
}

template <class E>
constexpr bool kInteger = std::is_integral_v<E>;

// Integers are unsigned here: the low bits do not depend on the sign.
template <class E>
__device__ E negated(E e) {
  if constexpr (kInteger<E>)
    return static_cast<E>(E(0) - e);
  else
    return narrow_of<E>(-wide_of(e));
}

template <class E>
__device__ void add(E* to, E e) {
  if constexpr (std::is_same_v<E, kernels::Half>) {
    asm volatile("red.add.noftz.f16 [%0], %1;" ::"l"(to), "h"(e.bits)
                 : "memory");
#if __CUDA_ARCH__ >= 900
  } else if constexpr (std::is_same_v<E, kernels::Bfloat16>) {
    asm volatile("red.add.noftz.bf16 [%0], %1;" ::"l"(to), "h"(e.bits)
                 : "memory");
#endif
  } else if constexpr (std::is_same_v<E, uint64_t>) {
    atomicAdd(
        reinterpret_cast<unsigned long long*>(to),
        static_cast<unsigned long long>(e));
  } else if constexpr (sizeof(E) >= 4) {
    atomicAdd(to, e);
  } else if constexpr (kInteger<E>) {
    exchange(to, [e](E old) { return static_cast<E>(old + e); });
  } else {
    exchange(to, [e](E old) {
      return narrow_of<E>(wide_of(old) + wide_of(e));
    });
  }
}

template <class E>
__device__ void multiply(E* to, E e) {
  exchange(to, [e](E old) {
    if constexpr (kInteger<E>)
      return static_cast<E>(uint64_t{old} * e);
    else
      return narrow_of<E>(wide_of(old) * wide_of(e));
  });
}

struct Update {
  template <class E>
  static __device__ void apply(E* to, E e, bool /*subtract*/) {
    *to = e;
  }
};
struct Add {
  template <class E>
  static __device__ void apply(E* to, E e, bool subtract) {
    add(to, subtract ? negated(e) : e);
  }
};
struct Multiply {
  template <class E>
  static __device__ void apply(E* to, E e, bool /*subtract*/) {
    multiply(to, e);
  }
};

// index, update and, without the axis, self.
template <class Mode, class E>
__global__ void __launch_bounds__(kThreads) scatter_kernel(
    Offsets<3> offsets,
    uint32_t total,
    DeviceError* slot,
    uint64_t task,
    bool wide,
    bool subtract,
    int64_t extent,
    int64_t stride, // of self along the axis, in bytes
    const char* __restrict__ index,
    const char* __restrict__ update,
    char* __restrict__ self) {
  const uint32_t base = blockIdx.x * (kThreads * kEach) + threadIdx.x;
  uint32_t position[kEach];
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    const uint32_t n = base + i * kThreads;
    position[i] = n < total ? n : total - 1;
  }
  uint32_t at[3][kEach];
  offsets.of(position, at);
  int64_t k[kEach];
  E values[kEach];
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    k[i] = index_at(index + at[0][i], wide, 0);
    values[i] = *reinterpret_cast<const E*>(update + at[1][i]);
  }
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    if (base + i * kThreads >= total)
      return;
    if (k[i] < 0 || k[i] >= extent) {
      report(slot, musaErrorAssert, task);
      continue;
    }
    Mode::apply(
        reinterpret_cast<E*>(self + at[2][i] + k[i] * stride),
        values[i],
        subtract);
  }
}

// f(E()): floating types, and unsigned ones in place of all integers.
template <class F>
void with_number(Dtype type, F&& f) {
  switch (type) {
  case Dtype::kFloat:
    return f(float());
  case Dtype::kDouble:
    return f(double());
  case Dtype::kHalf:
    return f(kernels::Half());
  case Dtype::kBfloat16:
    return f(kernels::Bfloat16());
  default:
    return with_bits(element_bytes(type), f);
  }
}

} // namespace

void CudaDnn::scatter(
    Stream& stream,
    ScatterMode mode,
    const View& self,
    const View& index,
    const View& update,
    int dim) {
  if (index.numel == 0)
    return;
  Nest<3> nest; // NOLINT(cppcoreguidelines-pro-type-member-init): set by rank
  nest.rank = index.rank;
  const int64_t bytes = element_bytes(self.dtype);
  for (int d = 0; d < index.rank; ++d) {
    nest.dims[d] = index.dims[d];
    nest.strides[0][d] = index.strides[d] * element_bytes(index.dtype);
    nest.strides[1][d] = update.strides[d] * bytes;
    nest.strides[2][d] = d == dim ? 0 : self.strides[d] * bytes;
  }
  collapse(nest);
  char* const address[] = {
      static_cast<char*>(index.address),
      static_cast<char*>(update.address),
      static_cast<char*>(self.address)};
  DeviceError* const slot = error_slot(stream.device());
  const auto run = [&](auto kernel) {
    for_pieces(nest, address, [&](const Nest<3>& piece, char* const(&at)[3]) {
      const int64_t total = piece.numel();
      constexpr int64_t kBlock = kThreads * kEach;
      launch(
          stream,
          kernel,
          dim3(static_cast<unsigned>((total + kBlock - 1) / kBlock)),
          dim3(kThreads),
          0,
          make_offsets(piece),
          static_cast<uint32_t>(total),
          slot,
          task_address(kTask),
          index.dtype == Dtype::kInt64,
          mode == ScatterMode::kSub,
          self.dims[dim],
          self.strides[dim] * bytes,
          at[0],
          at[1],
          at[2]);
    });
  };
  if (mode == ScatterMode::kUpdate)
    return with_bits(bytes, [&](auto tag) {
      run(&scatter_kernel<Update, decltype(tag)>);
    });
  with_number(self.dtype, [&](auto tag) {
    using E = decltype(tag);
    if (mode == ScatterMode::kMul)
      run(&scatter_kernel<Multiply, E>);
    else
      run(&scatter_kernel<Add, E>);
  });
}

} // namespace musa_standin::engine::cuda
