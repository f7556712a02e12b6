// SPDX-License-Identifier: Apache-2.0
// Chooses between the dense and the strided kernel, and their grids.
#include "toolkit/engine/cuda/elementwise.h"

#include "toolkit/engine/cuda/launch.h"
#include "toolkit/engine/cuda/patches.h"
#include "toolkit/engine/error.h"

#include <algorithm>

namespace musa_standin::engine::cuda {

namespace {

bool aligned(const void* address, int64_t bytes) {
  return (reinterpret_cast<uintptr_t>(address) &
          static_cast<uintptr_t>(bytes - 1)) == 0;
}

template <size_t Inputs>
using Addresses = char* const (&)[Inputs + 1];

// Elements of a vector, if every operand is aligned to its vectors; else 0.
template <size_t Inputs>
int common_vector(const View* const (&views)[Inputs + 1]) {
  int64_t largest = 1;
  for (const View* view : views)
    largest = std::max(largest, element_bytes(view->dtype));
  const int elements = vector_elements(static_cast<int>(largest));
  bool fits = true;
  for (const View* view : views)
    fits &= aligned(view->address, elements * element_bytes(view->dtype));
  return fits ? elements : 0;
}

template <size_t Inputs>
void launch_dense(
    engine::Stream& stream,
    DenseKernel<Inputs> kernel,
    const Parameters& parameters,
    const View* const (&views)[Inputs + 1],
    int vector) {
  DenseArgs<Inputs> args; // NOLINT(cppcoreguidelines-pro-type-member-init)
  args.out = views[0]->address;
  for (size_t i = 0; i < Inputs; ++i)
    args.in[i] = views[i + 1]->address;
  args.numel = views[0]->numel;
  args.parameters = parameters;
  const int64_t block =
      int64_t{kElementThreads} * vectors_in_flight(Inputs) * vector;
  const auto blocks = static_cast<unsigned>((args.numel + block - 1) / block);
  launch(stream, kernel, blocks, kElementThreads, 0, args);
}

// Sets how threads share the elements out.
template <size_t Inputs>
void plan_groups(
    StridedArgs<Inputs>& args,
    const Nest<Inputs + 1>& nest,
    const View* const (&views)[Inputs + 1]) {
  const int inner = nest.rank - 1;
  bool grouped = nest.dims[inner] % kGroup == 0;
  args.vectors = 0;
  for (size_t i = 0; i <= Inputs; ++i) {
    const int64_t bytes = element_bytes(views[i]->dtype);
    if (nest.strides[i][inner] != bytes) {
      grouped &= i > 0;
      continue;
    }
    const int64_t vector = std::min<int64_t>(bytes * kGroup, 16);
    bool fits = aligned(args.address[i], vector);
    for (int d = 0; d < inner; ++d)
      fits &= nest.strides[i][d] % vector == 0;
    // Neighbouring threads then better read neighbouring elements.
    grouped &= fits;
    args.vectors |= static_cast<uint8_t>(fits ? 1U << i : 0U);
  }
  args.grouped = grouped;
  args.vectors = grouped ? args.vectors : uint8_t{0};
}

template <size_t Inputs>
void launch_strided(
    engine::Stream& stream,
    StridedKernel<Inputs> kernel,
    const Parameters& parameters,
    const View* const (&views)[Inputs + 1],
    const Nest<Inputs + 1>& nest,
    Addresses<Inputs> address) {
  StridedArgs<Inputs> args; // NOLINT(cppcoreguidelines-pro-type-member-init)
  for (size_t i = 0; i <= Inputs; ++i) {
    args.address[i] = address[i];
    args.types[i] = static_cast<uint8_t>(views[i]->dtype);
  }
  args.parameters = parameters;
  args.numel = static_cast<uint32_t>(nest.numel());
  args.offsets = make_offsets(nest);
  plan_groups<Inputs>(args, nest, views);
  constexpr unsigned kBlock = kElementThreads * kGroup;
  launch(
      stream,
      kernel,
      (args.numel + kBlock - 1) / kBlock,
      kElementThreads,
      0,
      args);
}

// Of dense operands.
template <size_t Inputs>
Nest<Inputs + 1> line_of(const View* const (&views)[Inputs + 1]) {
  Nest<Inputs + 1> nest; // NOLINT(cppcoreguidelines-pro-type-member-init)
  nest.rank = 1;
  nest.dims[0] = views[0]->numel;
  for (size_t i = 0; i <= Inputs; ++i)
    nest.strides[i][0] = element_bytes(views[i]->dtype);
  return nest;
}

// Dense, if not in the order of its dimensions?
template <size_t Inputs>
bool is_line(
    const Nest<Inputs + 1>& nest,
    const View* const (&views)[Inputs + 1]) {
  bool line = nest.rank == 1;
  for (size_t i = 0; i <= Inputs; ++i)
    line &= nest.strides[i][0] == element_bytes(views[i]->dtype);
  return line;
}

} // namespace

template <size_t Inputs>
void run_elementwise(
    engine::Stream& stream,
    DenseKernel<Inputs> dense,
    StridedKernel<Inputs> strided,
    const Parameters& parameters,
    const View* const (&views)[Inputs + 1]) {
  if (strided == nullptr)
    throw Error(musaErrorNotSupported, "the engine has no such mode and type");
  const int vector = dense != nullptr ? common_vector<Inputs>(views) : 0;
  bool all_dense = true;
  for (const View* view : views)
    all_dense &= view->dense;
  if (all_dense && vector != 0)
    return launch_dense<Inputs>(stream, dense, parameters, views, vector);
  Nest<Inputs + 1> nest = all_dense ? line_of<Inputs>(views) : make_nest(views);
  if (!all_dense) {
    collapse(nest);
    if (vector != 0 && is_line<Inputs>(nest, views))
      return launch_dense<Inputs>(stream, dense, parameters, views, vector);
  }
  char* address[Inputs + 1];
  int64_t bytes[Inputs + 1];
  for (size_t i = 0; i <= Inputs; ++i) {
    address[i] = static_cast<char*>(views[i]->address);
    bytes[i] = element_bytes(views[i]->dtype);
  }
  const auto run = [&](const Nest<Inputs + 1>& part, Addresses<Inputs> from) {
    launch_strided<Inputs>(stream, strided, parameters, views, part, from);
  };
  for_pieces(
      nest,
      address,
      [&](const Nest<Inputs + 1>& piece, Addresses<Inputs> from) {
        for_patches(piece, from, bytes, run);
      });
}

#define MUSA_INSTANTIATE(inputs)         \
  template void run_elementwise<inputs>( \
      engine::Stream&,                   \
      DenseKernel<inputs>,               \
      StridedKernel<inputs>,             \
      const Parameters&,                 \
      const View* const(&)[inputs + 1])
MUSA_INSTANTIATE(1);
MUSA_INSTANTIATE(2);
MUSA_INSTANTIATE(3);
#undef MUSA_INSTANTIATE

} // namespace musa_standin::engine::cuda
