// SPDX-License-Identifier: Apache-2.0
// Kernels of integer bits.
#include "csrc/kernels/bits.h"

#include "csrc/kernels/elementwise.h"

#include <type_traits>

namespace torch_fl::kernels {
namespace {

template <class T>
struct And {
  __host__ __device__ T operator()(T a, T b) const {
    return static_cast<T>(a & b);
  }
};
template <class T>
struct Or {
  __host__ __device__ T operator()(T a, T b) const {
    return static_cast<T>(a | b);
  }
};
template <class T>
struct Xor {
  __host__ __device__ T operator()(T a, T b) const {
    return static_cast<T>(a ^ b);
  }
};
template <class T>
struct ShiftLeft {
  __host__ __device__ T operator()(T a, T b) const {
    using U = std::make_unsigned_t<T>;
    constexpr auto kBits = static_cast<int>(sizeof(T) * 8);
    return static_cast<int64_t>(b) < 0 || b >= kBits
        ? T{0}
        : static_cast<T>(
              static_cast<U>(static_cast<uint64_t>(static_cast<U>(a)) << b));
  }
};
template <class T>
struct ShiftRight {
  __host__ __device__ T operator()(T a, T b) const {
    // The sign fills all bits but one, which is as far as a shift can go.
    constexpr auto kMost =
        static_cast<int>(sizeof(T) * 8 - (std::is_signed_v<T> ? 1 : 0));
    if (static_cast<int64_t>(b) < 0 || b >= kMost) {
      return std::is_signed_v<T> && a < 0 ? static_cast<T>(-1) : T{0};
    }
    return static_cast<T>(a >> b);
  }
};
template <class T>
struct Not {
  __host__ __device__ T operator()(T a) const { return static_cast<T>(~a); }
};
struct NotBool {
  __host__ __device__ uint8_t operator()(uint8_t a) const {
    return static_cast<uint8_t>(a == 0);
  }
};

template <class T>
musaError_t run(FlBits op, const FlOperands& v, musaStream_t stream) {
  switch (op) {
  case kFlBitsAnd:
    return binary<T>("bitwise_and", v, And<T>{}, stream);
  case kFlBitsOr:
    return binary<T>("bitwise_or", v, Or<T>{}, stream);
  case kFlBitsXor:
    return binary<T>("bitwise_xor", v, Xor<T>{}, stream);
  case kFlBitsShiftLeft:
    return binary<T>("bitwise_left_shift", v, ShiftLeft<T>{}, stream);
  case kFlBitsShiftRight:
    return binary<T>("bitwise_right_shift", v, ShiftRight<T>{}, stream);
  }
  return musaErrorInvalidValue;
}

} // namespace
} // namespace torch_fl::kernels

musaError_t fl_bits_binary(
    FlBits op,
    FlKernelType type,
    const FlOperands* operands,
    musaStream_t stream) {
  using torch_fl::kernels::run;
  switch (type) {
  case kFlBool:
    return op >= kFlBitsShiftLeft ? musaErrorInvalidValue
                                  : run<uint8_t>(op, *operands, stream);
  case kFlUint8:
    return run<uint8_t>(op, *operands, stream);
  case kFlInt8:
    return run<int8_t>(op, *operands, stream);
  case kFlInt16:
    return run<int16_t>(op, *operands, stream);
  case kFlInt32:
    return run<int32_t>(op, *operands, stream);
  case kFlInt64:
    return run<int64_t>(op, *operands, stream);
  default:
    return musaErrorInvalidValue;
  }
}

musaError_t fl_bits_not(
    FlKernelType type,
    const FlOperands* operands,
    musaStream_t stream) {
  using namespace torch_fl::kernels; // NOLINT(google-build-using-namespace)
  switch (type) {
  case kFlBool:
    return unary<uint8_t>("bitwise_not", *operands, NotBool{}, stream);
  case kFlUint8:
    return unary<uint8_t>("bitwise_not", *operands, Not<uint8_t>{}, stream);
  case kFlInt8:
    return unary<int8_t>("bitwise_not", *operands, Not<int8_t>{}, stream);
  case kFlInt16:
    return unary<int16_t>("bitwise_not", *operands, Not<int16_t>{}, stream);
  case kFlInt32:
    return unary<int32_t>("bitwise_not", *operands, Not<int32_t>{}, stream);
  case kFlInt64:
    return unary<int64_t>("bitwise_not", *operands, Not<int64_t>{}, stream);
  default:
    return musaErrorInvalidValue;
  }
}
