// SPDX-License-Identifier: Apache-2.0
// Kernels over the elements of many tensors.
#include "csrc/kernels/foreach.h"

#include "csrc/kernels/lists.h"
#include "csrc/kernels/math_functions.h"
#include "csrc/kernels/math_table.h"

namespace torch_fl::kernels {
namespace {

template <class C>
__host__ __device__ C greater(C x, C y) {
  return is_nan(x) || x > y ? x : y;
}
template <class C>
__host__ __device__ C less(C x, C y) {
  return is_nan(x) || x < y ? x : y;
}
} // namespace

FL_OF_ONE(kFlEachAbs, "foreach_abs", kFloats, fabs(x))
FL_OF_ONE(kFlEachAddNumber, "foreach_add", kFloats, x + *p)
FL_OF_ONE(kFlEachCopy, "foreach_copy", kFloats, x)
FL_OF_ONE(kFlEachDivNumber, "foreach_div", kFloats, x / *p)
FL_OF_ONE(kFlEachExp, "foreach_exp", kFloats, exp(x))
FL_OF_ONE(kFlEachMaxNumber, "foreach_maximum", kFloats, greater(x, *p))
FL_OF_ONE(kFlEachMinNumber, "foreach_minimum", kFloats, less(x, *p))
FL_OF_ONE(kFlEachMulNumber, "foreach_mul", kFloats, x** p)
FL_OF_ONE(kFlEachNeg, "foreach_neg", kFloats, -x)
FL_OF_ONE(kFlEachPowNumber, "foreach_pow", kFloats, pow(x, *p))
FL_OF_ONE(kFlEachReciprocal, "foreach_reciprocal", kFloats, C(1) / x)
FL_OF_ONE(kFlEachRsqrt, "foreach_rsqrt", kFloats, C(1) / sqrt(x))
FL_OF_ONE(
    kFlEachSign,
    "foreach_sign",
    kFloats,
    x > C(0)       ? C(1)
        : x < C(0) ? C(-1)
                   : C(0))
FL_OF_ONE(kFlEachSqrt, "foreach_sqrt", kFloats, sqrt(x))
FL_OF_ONE(kFlEachSubNumber, "foreach_sub", kFloats, x - *p)
FL_OF_ONE(kFlEachZero, "foreach_zero", kFloats, ((void)x, C(0)))

FL_OF_TWO(kFlEachAdd, "foreach_add", kFloats, x + *p * y)
FL_OF_TWO(kFlEachDiv, "foreach_div", kFloats, x / y)
FL_OF_TWO(kFlEachLerpNumber, "foreach_lerp", kFloats, lerp(x, y, *p))
FL_OF_TWO(kFlEachMax, "foreach_maximum", kFloats, greater(x, y))
FL_OF_TWO(kFlEachMin, "foreach_minimum", kFloats, less(x, y))
FL_OF_TWO(kFlEachMul, "foreach_mul", kFloats, x* y)
FL_OF_TWO(kFlEachPow, "foreach_pow", kFloats, pow(x, y))
FL_OF_TWO(kFlEachSub, "foreach_sub", kFloats, x - *p * y)

FL_OF_THREE(kFlEachAddcdiv, "foreach_addcdiv", kFloats, x + *p * (y / z))
FL_OF_THREE(kFlEachAddcmul, "foreach_addcmul", kFloats, x + *p * y * z)
FL_OF_THREE(kFlEachLerp, "foreach_lerp", kFloats, lerp(x, y, z))

namespace {

// Packs of the tensors' elements in one line, a tensor beginning with a pack.
template <auto op, class T, int K>
struct Each {
  using C = typename ComputedIn<T>::Type;
  static constexpr int kPack = kPackOf<T>;
  int32_t count;
  bool aligned;
  const T* tensor;
  int64_t numel[kFlListTensors];
  C number[kFlListTensors];
  T* out[kFlListTensors];
  const T* in[K][kFlListTensors];

  static __host__ __device__ int64_t packs(int64_t n) {
    return (n + kPack - 1) / kPack;
  }
  __host__ __device__ C number_of(int t) const {
    return tensor != nullptr ? static_cast<C>(*tensor) : number[t];
  }
  __host__ __device__ static T value(const C& n, const T (&x)[K]) {
    using Row = Function<op>;
    if constexpr (K == 1) {
      return static_cast<T>(Row::template of<C>(&n, static_cast<C>(x[0])));
    } else if constexpr (K == 2) {
      return static_cast<T>(
          Row::template of<C>(&n, static_cast<C>(x[0]), static_cast<C>(x[1])));
    } else {
      return static_cast<T>(Row::template of<C>(
          &n,
          static_cast<C>(x[0]),
          static_cast<C>(x[1]),
          static_cast<C>(x[2])));
    }
  }
  __host__ __device__ void elements(int t, int64_t first, int64_t last) const {
    const C n = number_of(t);
    for (int64_t i = first; i < last; ++i) {
      T x[K];
      for (int k = 0; k < K; ++k) {
        x[k] = in[k][t][i];
      }
      out[t][i] = value(n, x);
    }
  }
  __host__ __device__ void operator()(int64_t p) const {
    int t = 0;
    for (int64_t here = packs(numel[0]); p >= here; here = packs(numel[t])) {
      p -= here;
      ++t;
    }
    const int64_t i = p * kPack;
    const int64_t end = numel[t];
    if (!aligned || i + kPack > end) {
      elements(t, i, i + kPack < end ? i + kPack : end);
      return;
    }
    const C n = number_of(t);
    Pack<T, kPack> x[K];
    for (int k = 0; k < K; ++k) {
      x[k] = *reinterpret_cast<const Pack<T, kPack>*>(in[k][t] + i);
    }
    Pack<T, kPack> y;
    for (int j = 0; j < kPack; ++j) {
      T of[K];
      for (int k = 0; k < K; ++k) {
        of[k] = x[k].at[j];
      }
      y.at[j] = value(n, of);
    }
    *reinterpret_cast<Pack<T, kPack>*>(out[t] + i) = y;
  }
  // Packs [first, last) on a host: a plain loop a tensor.
  __forceinline__ void range(int64_t first, int64_t last) const {
    int64_t begin = 0;
    for (int t = 0; t < count && begin < last; ++t) {
      const int64_t here = packs(numel[t]);
      const int64_t from = first > begin ? first - begin : 0;
      const int64_t to = last - begin < here ? last - begin : here;
      if (from < to) {
        elements(
            t,
            from * kPack,
            to * kPack < numel[t] ? to * kPack : numel[t]);
      }
      begin += here;
    }
  }
};

struct EachCall {
  FlKernelType type;
  const FlTensors& lists;
  const FlEach& each;
  musaStream_t stream;

  template <auto op, int K, class T>
  musaError_t start() const {
    using Loop = Each<op, T, K>;
    Loop loop{};
    loop.count = lists.count;
    loop.tensor = reachable<T>(each.tensor);
    loop.aligned = true;
    int64_t total = 0;
    for (int t = 0; t < lists.count; ++t) {
      loop.numel[t] = lists.numel[t];
      loop.number[t] = static_cast<typename Loop::C>(each.number[t]);
      loop.out[t] = reachable<T>(lists.address[0][t]);
      loop.aligned = loop.aligned && aligned_for_packs<T>(loop.out[t]);
      for (int k = 0; k < K; ++k) {
        loop.in[k][t] = reachable<T>(lists.address[k + 1][t]);
        loop.aligned = loop.aligned && aligned_for_packs<T>(loop.in[k][t]);
      }
      total += Loop::packs(lists.numel[t]);
    }
    return for_each(
        Function<op>::kName,
        total,
        kListGrain / Loop::kPack,
        loop,
        stream);
  }
};

// ---- norms

template <class C>
__host__ __device__ C joined(FlNorm norm, C a, C b) {
  return norm == kFlNormMax ? greater(a, b) : a + b;
}
template <class C>
__host__ __device__ C measured(FlNorm norm, C x) {
  switch (norm) {
  case kFlNormCount:
    return x != C(0) ? C(1) : C(0);
  case kFlNormRoot:
    return x * x;
  default:
    return fabs(x);
  }
}

// Part p of a tensor: on a device every parts-th element, so that neighbours
// read neighbours; on a host a run.
template <class T>
struct Parts {
  using C = typename ComputedIn<T>::Type;
  FlNorm norm;
  int32_t count;
  int64_t numel[kFlListTensors];
  int64_t parts[kFlListTensors];
  const T* in[kFlListTensors];
  C* out[kFlListTensors];

  __host__ __device__ void operator()(int64_t p) const {
    int t = 0;
    while (p >= parts[t]) {
      p -= parts[t++];
    }
    C sum = C(0);
#if defined(MUSA_PORTABLE_HOST)
    const int64_t width = (numel[t] + parts[t] - 1) / parts[t];
    const int64_t first = p * width;
    const int64_t last = first + width < numel[t] ? first + width : numel[t];
    constexpr int64_t kStep = 1;
#else
    const int64_t first = p;
    const int64_t last = numel[t];
    const int64_t kStep = parts[t];
#endif
    for (int64_t i = first; i < last; i += kStep) {
      sum = joined(norm, sum, measured(norm, static_cast<C>(in[t][i])));
    }
    out[t][p] = sum;
  }
};

template <class T>
musaError_t begin(FlNorm norm, const FlTensors& lists, musaStream_t stream) {
  Parts<T> loop{};
  loop.norm = norm;
  loop.count = lists.count;
  int64_t total = 0;
  for (int t = 0; t < lists.count; ++t) {
    loop.numel[t] = lists.numel[t];
    loop.parts[t] = fl_norm_parts(lists.numel[t]);
    loop.in[t] = reachable<T>(lists.address[0][t]);
    loop.out[t] = reachable<typename Parts<T>::C>(lists.address[1][t]);
    total += loop.parts[t];
  }
  return for_each(
      "foreach_norm",
      total,
      kListGrain / kFlNormPart,
      loop,
      stream);
}

template <class C>
struct Tails {
  FlNorm norm;
  int64_t parts[kFlListTensors];
  const C* in[kFlListTensors];
  C* out[kFlListTensors];

  __host__ __device__ void operator()(int64_t i) const {
    const auto t = static_cast<int>(i / kFlNormTail);
    const int64_t at = i % kFlNormTail;
    C sum = C(0);
    for (int64_t p = at; p < parts[t]; p += kFlNormTail) {
      sum = joined(norm, sum, in[t][p]);
    }
    out[t][at] = sum;
  }
};

template <class T>
musaError_t shorten(FlNorm norm, const FlTensors& lists, musaStream_t stream) {
  using C = typename ComputedIn<T>::Type;
  Tails<C> loop{};
  loop.norm = norm;
  for (int t = 0; t < lists.count; ++t) {
    loop.parts[t] = fl_norm_parts(lists.numel[t]);
    loop.in[t] = reachable<C>(lists.address[0][t]);
    loop.out[t] = reachable<C>(lists.address[1][t]);
  }
  return for_each(
      "foreach_norm",
      lists.count * kFlNormTail,
      kFlNormTail,
      loop,
      stream);
}

template <class T>
struct End {
  using C = typename ComputedIn<T>::Type;
  FlNorm norm;
  T* out;
  const C* tails;

  __host__ __device__ void operator()(int64_t t) const {
    C sum = C(0);
    for (int64_t i = 0; i < kFlNormTail; ++i) {
      sum = joined(norm, sum, tails[t * kFlNormTail + i]);
    }
    out[t] = static_cast<T>(norm == kFlNormRoot ? sqrt(sum) : sum);
  }
};

template <class T>
musaError_t end(
    FlNorm norm,
    void* out,
    const void* tails,
    int64_t count,
    musaStream_t stream) {
  using C = typename ComputedIn<T>::Type;
  return for_each(
      "foreach_norm",
      count,
      1024,
      End<T>{norm, reachable<T>(out), reachable<C>(tails)},
      stream);
}

} // namespace
} // namespace torch_fl::kernels

namespace k = torch_fl::kernels;

musaError_t fl_each_one(
    FlEachOne op,
    FlKernelType type,
    const FlTensors* lists,
    const FlEach* each,
    musaStream_t stream) {
  return k::call<1, kFlEachOneCount>(
      op,
      k::EachCall{type, *lists, *each, stream});
}

musaError_t fl_each_two(
    FlEachTwo op,
    FlKernelType type,
    const FlTensors* lists,
    const FlEach* each,
    musaStream_t stream) {
  return k::call<2, kFlEachTwoCount>(
      op,
      k::EachCall{type, *lists, *each, stream});
}

musaError_t fl_each_three(
    FlEachThree op,
    FlKernelType type,
    const FlTensors* lists,
    const FlEach* each,
    musaStream_t stream) {
  return k::call<3, kFlEachThreeCount>(
      op,
      k::EachCall{type, *lists, *each, stream});
}

#define FL_BY_FLOAT_TYPE(type, function, ...)     \
  switch (type) {                                 \
  case kFlHalf:                                   \
    return k::function<k::Half>(__VA_ARGS__);     \
  case kFlBfloat16:                               \
    return k::function<k::Bfloat16>(__VA_ARGS__); \
  case kFlFloat:                                  \
    return k::function<float>(__VA_ARGS__);       \
  case kFlDouble:                                 \
    return k::function<double>(__VA_ARGS__);      \
  default:                                        \
    return musaErrorInvalidValue;                 \
  }

musaError_t fl_norm_begin(
    FlNorm norm,
    FlKernelType type,
    const FlTensors* lists,
    musaStream_t stream){FL_BY_FLOAT_TYPE(type, begin, norm, *lists, stream)}

musaError_t fl_norm_shorten(
    FlNorm norm,
    FlKernelType type,
    const FlTensors* lists,
    musaStream_t stream){FL_BY_FLOAT_TYPE(type, shorten, norm, *lists, stream)}

musaError_t fl_norm_end(
    FlNorm norm,
    FlKernelType type,
    void* out,
    const void* tails,
    int64_t count,
    musaStream_t stream) {
  FL_BY_FLOAT_TYPE(type, end, norm, out, tails, count, stream)
}
