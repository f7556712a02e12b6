// SPDX-License-Identifier: Apache-2.0
// Dropout on the CUDA engine.
#include "toolkit/engine/cuda/dnn.h"
#include "toolkit/engine/cuda/elementwise.cuh"
#include "toolkit/engine/cuda/launch.h"
#include "toolkit/engine/error.h"

#include "toolkit/kernels/philox.h"
#include "toolkit/kernels/widen.h"

namespace musa_standin::engine::cuda {

namespace {

constexpr int kThreads = 128;
constexpr int kWords = 4; // of a counter

struct Job {
  void* out;
  const void* in;
  uint8_t* mask;
  int64_t numel;
  double scale;
  uint64_t seed;
  uint64_t position;
  const uint64_t* seed_pointer;
  const uint64_t* offset_pointer;
  uint32_t threshold;
  bool drops_all;
  bool aligned;
};

// Element i lives by word position + i: a thread takes the elements of one
// counter, of which the first and the last may have fewer than four.
template <class T>
__global__ void __launch_bounds__(kThreads)
    drop(const __grid_constant__ Job job) {
  using W = kernels::Wide<T>;
  const uint64_t seed =
      job.seed_pointer != nullptr ? *job.seed_pointer : job.seed;
  const uint64_t position =
      job.position + (job.offset_pointer != nullptr ? *job.offset_pointer : 0);
  const int shift = static_cast<int>(position % kWords);
  const int64_t group = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const int64_t first = group * kWords - shift;
  if (first >= job.numel)
    return;
  const T* in = static_cast<const T*>(job.in);
  T* out = static_cast<T*>(job.out);
  const bool whole = job.aligned && shift == 0 && first + kWords <= job.numel;
  T x[kWords];
  bool valid[kWords];
  if (whole) {
    const auto raw = load_raw<sizeof(T) * kWords>(in + first);
    for (int k = 0; k < kWords; ++k)
      x[k] = element<T>(raw, k);
  } else {
    for (int k = 0; k < kWords; ++k) {
      valid[k] = first + k >= 0 && first + k < job.numel;
      x[k] = valid[k] ? in[first + k] : T{};
    }
  }
  const kernels::PhiloxWords words = kernels::philox(
      seed,
      position / kWords + static_cast<uint64_t>(group),
      0);
  Raw<sizeof(T) * kWords> results{};
  Raw<kWords> kept{};
  for (int k = 0; k < kWords; ++k) {
    const bool keep = words.v[k] >= job.threshold && !job.drops_all;
    const W y = keep ? kernels::widen(x[k]) * static_cast<W>(job.scale) : W(0);
    set_element<T>(results, k, kernels::narrow<T>(y));
    set_element<uint8_t>(kept, k, keep ? 1 : 0);
  }
  if (whole) {
    store_raw(out + first, results);
    store_raw(job.mask + first, kept);
    return;
  }
  for (int k = 0; k < kWords; ++k) {
    if (valid[k]) {
      out[first + k] = element<T>(results, k);
      job.mask[first + k] = element<uint8_t>(kept, k);
    }
  }
}

struct Keep {
  template <class T>
  static __device__ T of(uint8_t kept, T gradient, T scale) {
    return kept != 0 ? gradient * scale : T(0);
  }
};

struct Kernels {
  void (*forward)(Job);
  DenseKernel<2> backward_dense;
  StridedKernel<2> backward;
};
template <class C, class E>
constexpr Kernels kKernels = {
    drop<E>,
    dense<Keep, Fixed<C, E>, Fixed<uint8_t, uint8_t>, Fixed<C, E>>,
    strided<Keep, Fixed<C, E>, Fixed<uint8_t, uint8_t>, Fixed<C, E>>};

const Kernels& kernels_of(Dtype type) {
  static const Kernels table[] = {
      kKernels<float, float>,
      kKernels<float, kernels::Half>,
      kKernels<float, kernels::Bfloat16>,
      kKernels<double, double>};
  if (!is_floating(type))
    throw Error(
        musaErrorNotSupported,
        "dropout of a type that is not floating");
  return table[static_cast<int>(type)];
}

bool aligned(const void* address, int64_t bytes) {
  return reinterpret_cast<uintptr_t>(address) %
      static_cast<uintptr_t>(bytes < 16 ? bytes : 16) ==
      0;
}

} // namespace

void CudaDnn::dropout(Stream& stream, const DropoutArgs& args) {
  const kernels::KeepThreshold threshold = kernels::keep_threshold(args.p);
  const int64_t vector = element_bytes(args.in.dtype) * kWords;
  Job job; // NOLINT(cppcoreguidelines-pro-type-member-init)
  job.out = args.out.address;
  job.in = args.in.address;
  job.mask = static_cast<uint8_t*>(args.mask.address);
  job.numel = args.in.numel;
  job.scale = args.scale;
  job.seed = args.seed;
  job.position = args.offset;
  job.seed_pointer = args.seed_pointer;
  job.offset_pointer = args.offset_pointer;
  job.threshold = threshold.word;
  job.drops_all = threshold.none;
  job.aligned = aligned(job.out, vector) && aligned(job.in, vector) &&
      aligned(job.mask, kWords);
  // The first counter may have only one word of the call.
  const int64_t groups = (job.numel + 2 * (kWords - 1)) / kWords;
  launch(
      stream,
      kernels_of(args.in.dtype).forward,
      static_cast<unsigned>((groups + kThreads - 1) / kThreads),
      kThreads,
      0,
      job);
}

void CudaDnn::dropout_backward(
    Stream& stream,
    const View& grad_in,
    const View& grad_out,
    const View& mask,
    double scale) {
  const Kernels& kernels = kernels_of(grad_in.dtype);
  const View* const views[] = {&grad_in, &mask, &grad_out};
  run_elementwise<2>(
      stream,
      kernels.backward_dense,
      kernels.backward,
      {parameter_bits(compute_of(grad_in.dtype), scale), 0},
      views);
}

} // namespace musa_standin::engine::cuda
