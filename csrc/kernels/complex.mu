// SPDX-License-Identifier: Apache-2.0
// Kernels of complex numbers.
#include "csrc/kernels/complex.h"

#include "csrc/kernels/elementwise.h"
#include "csrc/kernels/math_functions.h"

namespace torch_fl::kernels {
namespace {

template <class R>
struct alignas(2 * sizeof(R)) Complex {
  R re;
  R im;
};

template <class R>
__host__ __device__ Complex<R> product(Complex<R> a, Complex<R> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
// Smith's way (1962): the squares of large parts would overflow.
template <class R>
__host__ __device__ Complex<R> quotient(Complex<R> a, Complex<R> b) {
  const R wide = fabs(b.re);
  const R high = fabs(b.im);
  if (wide >= high) {
    if (wide == R(0) && high == R(0)) {
      return {a.re / wide, a.im / high};
    }
    const R ratio = b.im / b.re;
    const R scale = R(1) / (b.re + b.im * ratio);
    return {(a.re + a.im * ratio) * scale, (a.im - a.re * ratio) * scale};
  }
  const R ratio = b.re / b.im;
  const R scale = R(1) / (b.re * ratio + b.im);
  return {(a.re * ratio + a.im) * scale, (a.im * ratio - a.re) * scale};
}

template <FlComplex op, class R>
struct Binary {
  Complex<R> alpha;
  __host__ __device__ Complex<R> operator()(Complex<R> a, Complex<R> b) const {
    if constexpr (op == kFlComplexAdd) {
      const Complex<R> scaled = product(alpha, b);
      return {a.re + scaled.re, a.im + scaled.im};
    } else if constexpr (op == kFlComplexSub) {
      const Complex<R> scaled = product(alpha, b);
      return {a.re - scaled.re, a.im - scaled.im};
    } else if constexpr (op == kFlComplexMul) {
      return product(a, b);
    } else {
      return quotient(a, b);
    }
  }
};

// With a factor of 1 no product is made: infinite times 0 is not a number.
template <class R, bool subtract>
struct Sum {
  __host__ __device__ Complex<R> operator()(Complex<R> a, Complex<R> b) const {
    return subtract ? Complex<R>{a.re - b.re, a.im - b.im}
                    : Complex<R>{a.re + b.re, a.im + b.im};
  }
};

template <FlComplex op, class R>
struct Unary {
  __host__ __device__ Complex<R> operator()(Complex<R> a) const {
    if constexpr (op == kFlComplexConj) {
      return {a.re, -a.im};
    } else if constexpr (op == kFlComplexNeg) {
      return {-a.re, -a.im};
    } else if constexpr (op == kFlComplexReciprocal) {
      return quotient(Complex<R>{R(1), R(0)}, a);
    } else {
      const R size = hypot(a.re, a.im);
      return size == R(0) ? Complex<R>{R(0), R(0)}
                          : Complex<R>{a.re / size, a.im / size};
    }
  }
};

template <class R>
musaError_t
run(const FlComplexCall& call, const FlOperands& v, musaStream_t stream) {
  using T = Complex<R>;
  const T alpha{static_cast<R>(call.alpha[0]), static_cast<R>(call.alpha[1])};
  const bool one = alpha.re == R(1) && alpha.im == R(0);
  switch (call.op) {
  case kFlComplexAdd:
    return one ? binary<T>("add", v, Sum<R, false>{}, stream)
               : binary<T>("add", v, Binary<kFlComplexAdd, R>{alpha}, stream);
  case kFlComplexSub:
    return one ? binary<T>("sub", v, Sum<R, true>{}, stream)
               : binary<T>("sub", v, Binary<kFlComplexSub, R>{alpha}, stream);
  case kFlComplexMul:
    return binary<T>("mul", v, Binary<kFlComplexMul, R>{alpha}, stream);
  case kFlComplexDiv:
    return binary<T>("div", v, Binary<kFlComplexDiv, R>{alpha}, stream);
  case kFlComplexConj:
    return unary<T>("conj", v, Unary<kFlComplexConj, R>{}, stream);
  case kFlComplexNeg:
    return unary<T>("neg", v, Unary<kFlComplexNeg, R>{}, stream);
  case kFlComplexReciprocal:
    return unary<T>("reciprocal", v, Unary<kFlComplexReciprocal, R>{}, stream);
  case kFlComplexSgn:
    return unary<T>("sgn", v, Unary<kFlComplexSgn, R>{}, stream);
  default:
    return musaErrorInvalidValue;
  }
}

template <class R>
struct Abs {
  __host__ __device__ R operator()(Complex<R> a) const {
    return hypot(a.re, a.im);
  }
};
template <class R>
struct Angle {
  __host__ __device__ R operator()(Complex<R> a) const {
    return atan2(a.im, a.re);
  }
};
template <class R, bool equal>
struct Compare {
  __host__ __device__ uint8_t operator()(Complex<R> a, Complex<R> b) const {
    return (a.re == b.re && a.im == b.im) == equal ? 1 : 0;
  }
};
template <class R>
struct Polar {
  __host__ __device__ Complex<R> operator()(R length, R angle) const {
    return {length * cos(angle), length * sin(angle)};
  }
};

template <class R>
musaError_t run_to(FlComplexTo op, const FlOperands& v, musaStream_t stream) {
  using T = Complex<R>;
  switch (op) {
  case kFlComplexAbs:
    return elementwise<1, T, R>("abs", v, Abs<R>{}, stream);
  case kFlComplexAngle:
    return elementwise<1, T, R>("angle", v, Angle<R>{}, stream);
  case kFlComplexEqual:
    return elementwise<2, T, uint8_t>("eq", v, Compare<R, true>{}, stream);
  case kFlComplexNotEqual:
    return elementwise<2, T, uint8_t>("ne", v, Compare<R, false>{}, stream);
  case kFlComplexPolar:
    return elementwise<2, R, T>("polar", v, Polar<R>{}, stream);
  }
  return musaErrorInvalidValue;
}

} // namespace
} // namespace torch_fl::kernels

musaError_t fl_complex(
    const FlComplexCall* call,
    const FlOperands* operands,
    musaStream_t stream) {
  namespace k = torch_fl::kernels;
  return call->is_double != 0 ? k::run<double>(*call, *operands, stream)
                              : k::run<float>(*call, *operands, stream);
}

musaError_t fl_complex_to(
    FlComplexTo op,
    int32_t is_double,
    const FlOperands* operands,
    musaStream_t stream) {
  namespace k = torch_fl::kernels;
  return is_double != 0 ? k::run_to<double>(op, *operands, stream)
                        : k::run_to<float>(op, *operands, stream);
}
