// SPDX-License-Identifier: Apache-2.0
// The CPU engine's fills, everywhere or under a mask.
#include "toolkit/engine/cpu/dnn.h"
#include "toolkit/engine/cpu/elementwise.h"
#include "toolkit/engine/cpu/memory.h"
#include "toolkit/engine/cpu/pool.h"
#include "toolkit/engine/cpu/rows.h"
#include "toolkit/engine/cpu/stream.h"

#include "toolkit/kernels/scalar_types.h"

#include <algorithm>
#include <cstring>

namespace musa_standin::engine::cpu {

namespace {

// The element's bytes, lowest first.
uint64_t pattern(Dtype type, Scalar value) {
  switch (type) {
  case Dtype::kFloat:
    return kernels::bits_as<uint32_t>(static_cast<float>(value.as_double()));
  case Dtype::kHalf:
    return kernels::to_half(static_cast<float>(value.as_double())).bits;
  case Dtype::kBfloat16:
    return kernels::to_bfloat16(static_cast<float>(value.as_double())).bits;
  case Dtype::kBool:
    return value.bits != 0 ? 1 : 0;
  default:
    return value.bits;
  }
}

template <class E>
void fill_row(char* to, int64_t step, int64_t n, E value) {
  if (step == sizeof(E)) {
    std::fill_n(reinterpret_cast<E*>(to), n, value);
    return;
  }
  for (int64_t i = 0; i < n; ++i)
    *reinterpret_cast<E*>(to + i * step) = value;
}

template <class E>
void fill_masked_row(
    char* to,
    int64_t step,
    const char* mask,
    int64_t mask_step,
    int64_t n,
    E value) {
  for (int64_t i = 0; i < n; ++i) {
    if (mask[i * mask_step] != 0)
      *reinterpret_cast<E*>(to + i * step) = value;
  }
}

template <class F>
void with_element(int64_t bytes, uint64_t bits, F&& f) {
  switch (bytes) {
  case 2:
    return f(static_cast<uint16_t>(bits));
  case 4:
    return f(static_cast<uint32_t>(bits));
  case 8:
    return f(bits);
  default:
    return f(static_cast<uint8_t>(bits));
  }
}

struct DenseFill {
  void* out;
  int64_t numel;
  int64_t bytes;
  uint64_t bits;
  void operator()() const {
    char* to = host<char>(out);
    with_element(bytes, bits, [&](auto value) {
      parallel_for(numel, 4 * kElementGrain, [&](int64_t begin, int64_t end) {
        fill_row(to + begin * bytes, bytes, end - begin, value);
      });
    });
  }
};

// Operands: the output and, if there is one, the mask.
struct StridedFill {
  ElementNest nest;
  void* out;
  const void* mask;
  int64_t numel;
  int64_t bytes;
  uint64_t bits;

  void operator()() const {
    ElementNest merged = nest;
    collapse(merged, 2);
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): set by rank
    RowNest<2> r;
    r.rank = merged.rank;
    for (int d = 0; d < merged.rank; ++d) {
      r.dims[d] = merged.dims[d];
      r.strides[0][d] = merged.strides[0][d] * bytes;
      r.strides[1][d] = merged.strides[1][d];
    }
    const int last = r.rank - 1;
    char* to = host<char>(out);
    char* base[] = {to, mask != nullptr ? host<char>(mask) : to};
    with_element(bytes, bits, [&](auto value) {
      parallel_for(numel, kElementGrain, [&](int64_t begin, int64_t end) {
        for_rows<2>(r, base, begin, end, [&](char* const* at, int64_t n) {
          if (mask == nullptr)
            return fill_row(at[0], r.strides[0][last], n, value);
          fill_masked_row(
              at[0],
              r.strides[0][last],
              at[1],
              r.strides[1][last],
              n,
              value);
        });
      });
    });
  }
};

} // namespace

void CpuDnn::fill(
    engine::Stream& stream,
    const View& out,
    Scalar value,
    const View* mask) {
  const int64_t bytes = element_bytes(out.dtype);
  const uint64_t bits = pattern(out.dtype, value);
  if (out.dense && mask == nullptr) {
    submit(stream, "Fill", DenseFill{out.address, out.numel, bytes, bits});
    return;
  }
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): set by rank
  StridedFill task;
  task.out = out.address;
  task.mask = mask != nullptr ? mask->address : nullptr;
  task.numel = out.numel;
  task.bytes = bytes;
  task.bits = bits;
  task.nest.rank = out.rank;
  for (int d = 0; d < out.rank; ++d) {
    task.nest.dims[d] = out.dims[d];
    task.nest.strides[0][d] = out.strides[d];
    task.nest.strides[1][d] =
        mask != nullptr ? mask->strides[d] : out.strides[d];
  }
  submit(stream, "Fill", task);
}

} // namespace musa_standin::engine::cpu
