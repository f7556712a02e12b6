// SPDX-License-Identifier: Apache-2.0
// Runs a table's kernel over operands of any type and any strides.
#pragma once

#include "toolkit/engine/cuda/compute_types.h"
#include "toolkit/engine/cuda/offsets.h"
#include "toolkit/engine/dnn_types.h"

#include <cstddef>
#include <cstdint>

namespace musa_standin::engine {
class Stream;
}

namespace musa_standin::engine::cuda {

constexpr int kElementThreads = 128;
// Elements of a thread of the strided kernels.
constexpr int kGroup = 4;

// Of the dense kernels: elements of a vector, and vectors that a thread loads
// from each operand before it uses any.
constexpr int vector_elements(int largest_element_bytes) {
  return 16 / largest_element_bytes;
}
constexpr int vectors_in_flight(size_t inputs) {
  return inputs < 3 ? 2 : 1;
}

// Row-major operands, aligned to vectors.
template <size_t Inputs>
struct DenseArgs {
  void* out;
  const void* in[Inputs];
  int64_t numel;
  Parameters parameters;
};

// Operands of any strides, the output first; offsets in bytes.
template <size_t Inputs>
struct StridedArgs {
  char* address[Inputs + 1];
  Parameters parameters;
  uint32_t numel;
  // A thread's elements are neighbours, not a block's width apart.
  bool grouped;
  // Bit i: groups of operand i lie in one piece, aligned.
  uint8_t vectors;
  uint8_t types[Inputs + 1];
  Offsets<Inputs + 1> offsets;
};

template <size_t Inputs>
using DenseKernel = void (*)(DenseArgs<Inputs>);
template <size_t Inputs>
using StridedKernel = void (*)(StridedArgs<Inputs>);

// views: the output and its inputs, of equal sizes. dense may be null: not for
// these types. Enqueues; throws NotSupported where strided is null.
template <size_t Inputs>
void run_elementwise(
    engine::Stream& stream,
    DenseKernel<Inputs> dense,
    StridedKernel<Inputs> strided,
    const Parameters& parameters,
    const View* const (&views)[Inputs + 1]);

} // namespace musa_standin::engine::cuda
