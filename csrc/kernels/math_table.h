// SPDX-License-Identifier: Apache-2.0
// From a function of elements, one row, to its kernels of every type.
#pragma once

#include "csrc/kernels/elementwise.h"
#include "csrc/kernels/math.h"
#include "csrc/kernels/scalar.h"

#include <type_traits>
#include <utility>

namespace torch_fl::kernels {

// What elements of T are computed in.
template <class T>
struct ComputedIn {
  using Type = T;
};
template <>
struct ComputedIn<Half> {
  using Type = float;
};
template <>
struct ComputedIn<Bfloat16> {
  using Type = float;
};

enum class Takes { kFloats, kIntegers, kAll };

// The function `op`: kTakes, kName, and of(p, x...) for the numbers p.
template <auto op>
struct Function;

// Rows: the value of one, two or three elements x, y, z of type C.
#define FL_OF_ONE(op, name, takes, ...)                \
  template <>                                          \
  struct Function<op> {                                \
    static constexpr const char* kName = name;         \
    static constexpr Takes kTakes = Takes::takes;      \
    template <class C>                                 \
    static __host__ __device__ C of(const C* p, C x) { \
      (void)p;                                         \
      return __VA_ARGS__;                              \
    }                                                  \
  };
#define FL_OF_TWO(op, name, takes, ...)                     \
  template <>                                               \
  struct Function<op> {                                     \
    static constexpr const char* kName = name;              \
    static constexpr Takes kTakes = Takes::takes;           \
    template <class C>                                      \
    static __host__ __device__ C of(const C* p, C x, C y) { \
      (void)p;                                              \
      return __VA_ARGS__;                                   \
    }                                                       \
  };
#define FL_OF_THREE(op, name, takes, ...)                        \
  template <>                                                    \
  struct Function<op> {                                          \
    static constexpr const char* kName = name;                   \
    static constexpr Takes kTakes = Takes::takes;                \
    template <class C>                                           \
    static __host__ __device__ C of(const C* p, C x, C y, C z) { \
      (void)p;                                                   \
      return __VA_ARGS__;                                        \
    }                                                            \
  };

// The function with its numbers, on elements of T.
template <auto op, class T>
struct Bound {
  using C = typename ComputedIn<T>::Type;
  C p[kFlNumbers];

  explicit Bound(const FlMath& math) {
    for (int i = 0; i < kFlNumbers; ++i) {
      p[i] = std::is_integral_v<C> ? static_cast<C>(math.numbers[i].integer)
                                   : static_cast<C>(math.numbers[i].real);
    }
  }
  template <class... X>
  __host__ __device__ T operator()(X... x) const {
    return static_cast<T>(
        Function<op>::template of<C>(p, static_cast<C>(x)...));
  }
};

// A call of elementwise operands.
struct ElementCall {
  FlKernelType type;
  const FlOperands& operands;
  const FlMath& math;
  musaStream_t stream;

  template <auto op, int K, class T>
  musaError_t start() const {
    return elementwise<K, T>(
        Function<op>::kName,
        operands,
        Bound<op, T>(math),
        stream);
  }
};

template <auto op, int K, class Call>
musaError_t by_type(const Call& call) {
  constexpr Takes kTakes = Function<op>::kTakes;
  if constexpr (kTakes != Takes::kIntegers) {
    switch (call.type) {
    case kFlHalf:
      return call.template start<op, K, Half>();
    case kFlBfloat16:
      return call.template start<op, K, Bfloat16>();
    case kFlFloat:
      return call.template start<op, K, float>();
    case kFlDouble:
      return call.template start<op, K, double>();
    default:
      break;
    }
  }
  if constexpr (kTakes != Takes::kFloats) {
    switch (call.type) {
    case kFlBool:
    case kFlUint8:
      return call.template start<op, K, uint8_t>();
    case kFlInt8:
      return call.template start<op, K, int8_t>();
    case kFlInt16:
      return call.template start<op, K, int16_t>();
    case kFlInt32:
      return call.template start<op, K, int32_t>();
    case kFlInt64:
      return call.template start<op, K, int64_t>();
    default:
      break;
    }
  }
  return musaErrorInvalidValue;
}

template <int K, class E, class Call, size_t... I>
musaError_t
by_row(E op, const Call& call, std::index_sequence<I...> /*every function*/) {
  using Start = musaError_t (*)(const Call&);
  static constexpr Start kTable[] = {&by_type<static_cast<E>(I), K, Call>...};
  const auto row = static_cast<size_t>(op);
  return row < sizeof...(I) ? kTable[row](call) : musaErrorInvalidValue;
}

// Function `op` of `count` on K operands.
template <int K, auto count, class Call>
musaError_t call(decltype(count) op, const Call& call) {
  return by_row<K>(
      op,
      call,
      std::make_index_sequence<static_cast<size_t>(count)>());
}

} // namespace torch_fl::kernels
