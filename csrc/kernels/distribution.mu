// SPDX-License-Identifier: Apache-2.0
// Distributions made of Philox words.
#include "csrc/kernels/distribution_math.h"

namespace torch_fl::kernels {
namespace {

template <class M>
struct Bernoulli {
  double p;
  __host__ __device__ typename M::Real operator()(
      typename M::Bits bits,
      typename M::Bits /*partner*/,
      int /*i*/) const {
    // Bits below p of all there are; exact for both widths.
    using Real = typename M::Real;
    return (static_cast<double>(bits) + 0.5) * static_cast<double>(M::kStep) < p
        ? Real{1}
        : Real{0};
  }
};

template <class M>
struct Exponential {
  double scale; // 1 / rate
  __host__ __device__ typename M::Real operator()(
      typename M::Bits bits,
      typename M::Bits /*partner*/,
      int /*i*/) const {
    return waiting<M>(bits) * static_cast<typename M::Real>(scale);
  }
};

template <class M>
struct Geometric {
  double scale; // -1 / log(1 - p)
  __host__ __device__ typename M::Real operator()(
      typename M::Bits bits,
      typename M::Bits /*partner*/,
      int /*i*/) const {
    using Real = typename M::Real;
    const Real tries = M::ceil(waiting<M>(bits) * static_cast<Real>(scale));
    return tries < Real{1} ? Real{1} : tries;
  }
};

template <class M>
struct Cauchy {
  double median;
  double scale;
  __host__ __device__ typename M::Real operator()(
      typename M::Bits bits,
      typename M::Bits /*partner*/,
      int /*i*/) const {
    using Real = typename M::Real;
    using Bits = typename M::Bits;
    constexpr Real kPi = static_cast<Real>(3.14159265358979323846);
    // The distance from the nearer end is exact where the tangent is steep.
    const bool upper = bits >> (sizeof(Bits) * 8 - 1) != 0;
    const Real end = unit<M>(upper ? static_cast<Bits>(~bits) : bits);
    const Real steep = end < Real{0.25} ? Real{1} / M::tan(kPi * end)
                                        : M::tan(kPi * (Real{0.5} - end));
    const auto middle = static_cast<Real>(median);
    const auto spread = static_cast<Real>(scale);
    return upper ? middle + spread * steep : middle - spread * steep;
  }
};

// Box and Muller's pair: an even place takes the cosine.
template <class M>
struct LogNormal {
  double mean;
  double deviation;
  __host__ __device__ typename M::Real
  operator()(typename M::Bits bits, typename M::Bits partner, int i) const {
    using Real = typename M::Real;
    constexpr Real kTurn = static_cast<Real>(6.28318530717958647692);
    const bool even = i % 2 == 0;
    const Real radius = M::sqrt(Real{2} * waiting<M>(even ? bits : partner));
    const Real angle = kTurn * unit<M>(even ? partner : bits);
    const Real normal = radius * (even ? M::cos(angle) : M::sin(angle));
    return M::exp(
        static_cast<Real>(mean) + static_cast<Real>(deviation) * normal);
  }
};

template <class T, class R>
__host__ __device__ inline T stored(R value) {
  return static_cast<T>(value);
}
// Past the largest integer is the largest one, as a float becomes on a device.
template <>
__host__ __device__ inline int64_t stored<int64_t, double>(double value) {
  return value >= 0x1p63 ? INT64_MAX : static_cast<int64_t>(value);
}

// A block of words makes neighbours.
template <class T, class F>
struct Draw {
  using M = typename Drawn<T>::M;
  T* out;
  int64_t n;
  PhiloxPlace place;
  F f;

  __host__ __device__ void operator()(int64_t b) const {
    const PhiloxBlock block = place.resolved().block(b);
    const int64_t first = b * M::kPerBlock;
    for (int i = 0; i < M::kPerBlock; ++i) {
      if (first + i < n) {
        out[first + i] =
            stored<T>(f(M::bits(block, i), M::bits(block, i ^ 1), i));
      }
    }
  }
};

template <class T, class F>
musaError_t draw(
    const char* name,
    void* out,
    int64_t n,
    const F& f,
    const FlSequence& sequence,
    musaStream_t stream) {
  constexpr int64_t kPerBlock = Drawn<T>::M::kPerBlock;
  return for_each(
      name,
      (n + kPerBlock - 1) / kPerBlock,
      kDrawGrain,
      Draw<T, F>{reachable<T>(out), n, place_of(sequence), f},
      stream);
}

struct Call {
  FlDistribution what;
  void* out;
  int64_t n;
  double a;
  double b;
  const FlSequence* sequence;
  musaStream_t stream;
};

template <class T>
musaError_t draw_number(const Call& c) {
  using M = typename Drawn<T>::M;
  const FlSequence& s = *c.sequence;
  switch (c.what) {
  case kFlBernoulli:
    return draw<T>("bernoulli", c.out, c.n, Bernoulli<M>{c.a}, s, c.stream);
  case kFlGeometric:
    return draw<T>(
        "geometric",
        c.out,
        c.n,
        Geometric<M>{-1.0 / ::log1p(-c.a)},
        s,
        c.stream);
  default:
    return musaErrorInvalidValue;
  }
}

template <class T>
musaError_t draw_floating(const Call& c) {
  using M = typename Drawn<T>::M;
  const FlSequence& s = *c.sequence;
  switch (c.what) {
  case kFlExponential:
    return draw<T>(
        "exponential",
        c.out,
        c.n,
        Exponential<M>{1.0 / c.a},
        s,
        c.stream);
  case kFlCauchy:
    return draw<T>("cauchy", c.out, c.n, Cauchy<M>{c.a, c.b}, s, c.stream);
  case kFlLogNormal:
    return draw<T>(
        "log_normal",
        c.out,
        c.n,
        LogNormal<M>{c.a, c.b},
        s,
        c.stream);
  default:
    return draw_number<T>(c);
  }
}

struct Bits {
  uint64_t* out;
  int64_t n;
  PhiloxPlace place;
  __host__ __device__ void operator()(int64_t b) const {
    const PhiloxBlock block = place.resolved().block(b);
    out[2 * b] = block.pair(0);
    if (2 * b + 1 < n) {
      out[2 * b + 1] = block.pair(1);
    }
  }
};

} // namespace
} // namespace torch_fl::kernels

musaError_t fl_draw(
    FlDistribution what,
    FlKernelType type,
    void* out,
    int64_t n,
    double a,
    double b,
    const FlSequence* sequence,
    musaStream_t stream) {
  namespace k = torch_fl::kernels;
  const k::Call call{what, out, n, a, b, sequence, stream};
  switch (type) {
  case kFlUint8:
    return k::draw_number<uint8_t>(call);
  case kFlInt8:
    return k::draw_number<int8_t>(call);
  case kFlInt16:
    return k::draw_number<int16_t>(call);
  case kFlInt32:
    return k::draw_number<int32_t>(call);
  case kFlInt64:
    return k::draw_number<int64_t>(call);
  case kFlHalf:
    return k::draw_floating<k::Half>(call);
  case kFlBfloat16:
    return k::draw_floating<k::Bfloat16>(call);
  case kFlFloat:
    return k::draw_floating<float>(call);
  case kFlDouble:
    return k::draw_floating<double>(call);
  default:
    return musaErrorInvalidValue;
  }
}

musaError_t fl_draw_bits(
    void* out,
    int64_t n,
    const FlSequence* sequence,
    musaStream_t stream) {
  namespace k = torch_fl::kernels;
  return k::for_each(
      "random_bits",
      (n + 1) / 2,
      k::kDrawGrain,
      k::Bits{k::reachable<uint64_t>(out), n, k::place_of(*sequence)},
      stream);
}
