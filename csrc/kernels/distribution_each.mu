// SPDX-License-Identifier: Apache-2.0
// Distributions whose parameters differ from element to element.
#include "csrc/kernels/distribution_math.h"

namespace torch_fl::kernels {
namespace {

// log(k!): exact below 10, then Stirling's series with an error below 1e-12.
__host__ __device__ inline double log_factorial(double k) {
  constexpr double kHalfLogTurn = 0.91893853320467274178;
  if (k < 10) {
    double product = 1;
    for (double i = 2; i <= k; ++i) {
      product *= i;
    }
    return log(product);
  }
  const double x = k + 1;
  const double inverse = 1 / (x * x);
  const double series =
      (1.0 / 12 -
       (1.0 / 360 -
        (1.0 / 1260 - (1.0 / 1680 - inverse / 1188) * inverse) * inverse) *
           inverse) /
      x;
  return (x - 0.5) * log(x) - x + kHalfLogTurn + series;
}

__host__ __device__ inline double unit_of(PhiloxStream& stream) {
  return unit<Wide>(stream.next());
}

// Few: products of uniform numbers. Many: Hörmann's transformed rejection
// (PTRS, 1993).
__host__ __device__ inline double poisson(double rate, PhiloxStream& stream) {
  if (!(rate > 0)) {
    return rate == 0 ? 0 : NAN;
  }
  if (rate < 10) {
    const double limit = exp(-rate);
    double product = unit_of(stream);
    double k = 0;
    while (product > limit) {
      product *= unit_of(stream);
      k += 1;
    }
    return k;
  }
  if (rate > 0x1p62) {
    return rate; // the deviation is below the spacing of doubles
  }
  const double log_rate = log(rate);
  const double b = 0.931 + 2.53 * sqrt(rate);
  const double a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
  const double ratio = 0.9277 - 3.6224 / (b - 2);
  while (true) {
    const double u = unit_of(stream) - 0.5;
    const double v = unit_of(stream);
    const double us = 0.5 - fabs(u);
    const double k = floor((2 * a / us + b) * u + rate + 0.43);
    if (us >= 0.07 && v <= ratio) {
      return k;
    }
    if (k < 0 || (us < 0.013 && v > us)) {
      continue;
    }
    if (log(v) + log(inverse_alpha) - log(a / (us * us) + b) <=
        k * log_rate - rate - log_factorial(k)) {
      return k;
    }
  }
}

// p <= 1/2. Few hits: waiting times between them. Many: Hörmann's BTRS (1993).
__host__ __device__ inline double
binomial_below_half(double count, double p, PhiloxStream& stream) {
  if (count * p < 10) {
    const double scale = -1 / log1p(-p);
    double sum = 0;
    double hits = 0;
    while (true) {
      const double wait = ceil(waiting<Wide>(stream.next()) * scale);
      sum += wait < 1 ? 1 : wait;
      if (sum > count) {
        return hits;
      }
      hits += 1;
    }
  }
  const double deviation = sqrt(count * p * (1 - p));
  const double b = 1.15 + 2.53 * deviation;
  const double a = -0.0873 + 0.0248 * b + 0.01 * p;
  const double c = count * p + 0.5;
  const double ratio = 0.92 - 4.2 / b;
  const double odds = p / (1 - p);
  const double alpha = (2.83 + 5.1 / b) * deviation;
  const double m = floor((count + 1) * p);
  while (true) {
    const double u = unit_of(stream) - 0.5;
    double v = unit_of(stream);
    const double us = 0.5 - fabs(u);
    const double k = floor((2 * a / us + b) * u + c);
    if (us >= 0.07 && v <= ratio) {
      return k;
    }
    if (k < 0 || k > count) {
      continue;
    }
    v = log(v * alpha / (a / (us * us) + b));
    if (v <= log_factorial(m) + log_factorial(count - m) - log_factorial(k) -
            log_factorial(count - k) + (k - m) * log(odds)) {
      return k;
    }
  }
}

__host__ __device__ inline double
binomial(double count, double p, PhiloxStream& stream) {
  if (count <= 0 || p <= 0) {
    return 0;
  }
  if (p >= 1) {
    return count;
  }
  if (!(count > 0 && p > 0)) {
    return NAN;
  }
  return p <= 0.5 ? binomial_below_half(count, p, stream)
                  : count - binomial_below_half(count, 1 - p, stream);
}

template <class T>
__host__ __device__ double wide(T value) {
  return static_cast<double>(value);
}
template <>
__host__ __device__ inline double wide<Half>(Half value) {
  return static_cast<double>(static_cast<float>(value));
}
template <>
__host__ __device__ inline double wide<Bfloat16>(Bfloat16 value) {
  return static_cast<double>(static_cast<float>(value));
}
template <class T>
__host__ __device__ T narrow(double value) {
  if constexpr (sizeof(T) == 2) {
    return T(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}

template <class T>
struct Poisson {
  T* out;
  const T* rate;
  PhiloxPlace place;
  __host__ __device__ void operator()(int64_t i) const {
    PhiloxStream stream(place.resolved(), i);
    out[i] = narrow<T>(poisson(wide(rate[i]), stream));
  }
};

template <class T>
struct Binomial {
  T* out;
  const T* count;
  const T* p;
  PhiloxPlace place;
  __host__ __device__ void operator()(int64_t i) const {
    PhiloxStream stream(place.resolved(), i);
    out[i] = narrow<T>(binomial(wide(count[i]), wide(p[i]), stream));
  }
};

template <class T>
struct Race {
  T* out;
  const T* weight;
  PhiloxPlace place;
  __host__ __device__ void operator()(int64_t i) const {
    using M = typename Drawn<T>::M;
    const PhiloxBlock block = place.resolved().block(i);
    const auto arrival = waiting<M>(M::bits(block, 0));
    out[i] = static_cast<T>(static_cast<typename M::Real>(weight[i]) / arrival);
  }
};

template <class T>
musaError_t draw_each(
    FlElementDistribution what,
    void* out,
    const void* first,
    const void* second,
    int64_t n,
    const PhiloxPlace& place,
    musaStream_t stream) {
  T* const to = reachable<T>(out);
  const T* const a = reachable<T>(first);
  switch (what) {
  case kFlPoisson:
    return for_each(
        "poisson",
        n,
        kDrawGrain / 8,
        Poisson<T>{to, a, place},
        stream);
  case kFlBinomial:
    return for_each(
        "binomial",
        n,
        kDrawGrain / 8,
        Binomial<T>{to, a, reachable<T>(second), place},
        stream);
  case kFlRace:
    return for_each(
        "multinomial",
        n,
        kDrawGrain,
        Race<T>{to, a, place},
        stream);
  default:
    return musaErrorInvalidValue;
  }
}

template <class T>
struct Rrelu {
  using M = typename Drawn<T>::M;
  using Real = typename M::Real;
  T* out;
  T* noise;
  const T* in;
  int64_t n;
  double lower;
  double upper;
  PhiloxPlace place;

  __host__ __device__ void operator()(int64_t b) const {
    const PhiloxBlock block = place.resolved().block(b);
    const int64_t first = b * M::kPerBlock;
    for (int i = 0; i < M::kPerBlock; ++i) {
      if (first + i >= n) {
        return;
      }
      const Real x = static_cast<Real>(in[first + i]);
      const Real slope = static_cast<Real>(
          lower + (upper - lower) * unit<M>(M::bits(block, i)));
      const bool falls = x <= Real{0};
      noise[first + i] = static_cast<T>(falls ? slope : Real{1});
      out[first + i] = static_cast<T>(falls ? x * slope : x);
    }
  }
};

template <class T>
musaError_t rrelu(
    void* out,
    void* noise,
    const void* in,
    int64_t n,
    double lower,
    double upper,
    const FlSequence& sequence,
    musaStream_t stream) {
  constexpr int64_t kPerBlock = Drawn<T>::M::kPerBlock;
  return for_each(
      "rrelu",
      (n + kPerBlock - 1) / kPerBlock,
      kDrawGrain,
      Rrelu<T>{
          reachable<T>(out),
          reachable<T>(noise),
          reachable<T>(in),
          n,
          lower,
          upper,
          place_of(sequence)},
      stream);
}

// The first place whose running sum exceeds a random part of the whole: never
// one that adds nothing.
struct PickBySums {
  int64_t* out;
  const double* sums;
  int64_t n;
  int64_t samples;
  PhiloxPlace place;
  __host__ __device__ void operator()(int64_t i) const {
    const double* row = sums + i / samples * n;
    const double target =
        unit<Wide>(place.resolved().block(i).pair(0)) * row[n - 1];
    int64_t low = 0;
    int64_t high = n - 1;
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      if (row[middle] > target) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    // A product that rounds up to the whole ends behind the last that counts.
    while (low > 0 && !(row[low] > row[low - 1])) {
      --low;
    }
    out[i] = low;
  }
};

} // namespace
} // namespace torch_fl::kernels

musaError_t fl_draw_each(
    FlElementDistribution what,
    FlKernelType type,
    void* out,
    const void* first,
    const void* second,
    int64_t n,
    const FlSequence* sequence,
    musaStream_t stream) {
  namespace k = torch_fl::kernels;
  const k::PhiloxPlace place = k::place_of(*sequence);
  switch (type) {
  case kFlHalf:
    return k::draw_each<k::Half>(what, out, first, second, n, place, stream);
  case kFlBfloat16:
    return k::draw_each<k::Bfloat16>(
        what,
        out,
        first,
        second,
        n,
        place,
        stream);
  case kFlFloat:
    return k::draw_each<float>(what, out, first, second, n, place, stream);
  case kFlDouble:
    return k::draw_each<double>(what, out, first, second, n, place, stream);
  default:
    return musaErrorInvalidValue;
  }
}

musaError_t fl_rrelu(
    FlKernelType type,
    void* out,
    void* noise,
    const void* in,
    int64_t n,
    double lower,
    double upper,
    const FlSequence* sequence,
    musaStream_t stream) {
  namespace k = torch_fl::kernels;
  switch (type) {
  case kFlHalf:
    return k::rrelu<
        k::Half>(out, noise, in, n, lower, upper, *sequence, stream);
  case kFlBfloat16:
    return k::rrelu<
        k::Bfloat16>(out, noise, in, n, lower, upper, *sequence, stream);
  case kFlFloat:
    return k::rrelu<float>(out, noise, in, n, lower, upper, *sequence, stream);
  case kFlDouble:
    return k::rrelu<double>(out, noise, in, n, lower, upper, *sequence, stream);
  default:
    return musaErrorInvalidValue;
  }
}

musaError_t fl_pick_by_sums(
    void* out,
    const void* sums,
    int64_t rows,
    int64_t n,
    int64_t samples,
    const FlSequence* sequence,
    musaStream_t stream) {
  namespace k = torch_fl::kernels;
  return k::for_each(
      "multinomial",
      rows * samples,
      k::kDrawGrain,
      k::PickBySums{
          k::reachable<int64_t>(out),
          k::reachable<double>(sums),
          n,
          samples,
          k::place_of(*sequence)},
      stream);
}
