// SPDX-License-Identifier: Apache-2.0
// Convolution: forward, fused, and both gradients, against direct sums.
#include "mudnn/array.h"

#include <cmath>

namespace conformance {
namespace {

using Algorithm = dnn::Convolution::Algorithm;
using BwdData = dnn::Convolution::AlgorithmBwdData;
using BwdFilter = dnn::Convolution::AlgorithmBwdFilter;

struct Shape {
  int64_t n, c, h, w;
  int64_t k, r, s;
  int pad, stride, dilation, groups;

  int64_t out_h() const {
    return (h + 2 * pad - dilation * (r - 1) - 1) / stride + 1;
  }
  int64_t out_w() const {
    return (w + 2 * pad - dilation * (s - 1) - 1) / stride + 1;
  }
  Dims in() const { return {n, c, h, w}; }
  Dims filter() const { return {k, c / groups, r, s}; }
  Dims out() const { return {n, k, out_h(), out_w()}; }
};

const Shape kShapes[] = {
    {1, 1, 5, 5, 1, 3, 3, 0, 1, 1, 1},
    {2, 3, 8, 7, 4, 3, 3, 1, 1, 1, 1},
    {2, 4, 9, 9, 6, 1, 1, 0, 1, 1, 1},
    {2, 4, 9, 8, 6, 3, 2, 1, 2, 1, 2},
    {3, 8, 10, 10, 8, 3, 3, 2, 1, 2, 1},
    {2, 6, 7, 7, 6, 3, 3, 1, 1, 1, 6},
    {4, 16, 14, 14, 32, 5, 5, 2, 1, 1, 1},
    {2, 3, 1, 12, 5, 1, 3, 0, 1, 1, 1},
};

std::string text(const Shape& s) {
  return std::to_string(s.c) + "x" + std::to_string(s.h) + "x" +
      std::to_string(s.w) + " k" + std::to_string(s.k) + " groups " +
      std::to_string(s.groups);
}

// Visits every product of the convolution: offsets of input, filter, output.
template <class F>
void each_product(const Shape& s, F f) {
  const int64_t cg = s.c / s.groups;
  const int64_t kg = s.k / s.groups;
  for (int64_t n = 0; n < s.n; ++n) {
    for (int64_t k = 0; k < s.k; ++k) {
      for (int64_t y = 0; y < s.out_h(); ++y) {
        for (int64_t x = 0; x < s.out_w(); ++x) {
          for (int64_t c = 0; c < cg; ++c) {
            for (int64_t r = 0; r < s.r; ++r) {
              for (int64_t q = 0; q < s.s; ++q) {
                const int64_t iy = y * s.stride - s.pad + r * s.dilation;
                const int64_t ix = x * s.stride - s.pad + q * s.dilation;
                if (iy < 0 || iy >= s.h || ix < 0 || ix >= s.w) {
                  continue;
                }
                const int64_t ic = k / kg * cg + c;
                f(static_cast<std::size_t>(
                      ((n * s.c + ic) * s.h + iy) * s.w + ix),
                  static_cast<std::size_t>(((k * cg + c) * s.r + r) * s.s + q),
                  static_cast<std::size_t>(
                      ((n * s.k + k) * s.out_h() + y) * s.out_w() + x));
              }
            }
          }
        }
      }
    }
  }
}

dnn::Convolution& configure(dnn::Convolution& conv, const Shape& s) {
  EXPECT_SUCCESS(conv.SetNdInfo(
      {s.pad, s.pad},
      {s.stride, s.stride},
      {s.dilation, s.dilation}));
  EXPECT_SUCCESS(conv.SetGroups(s.groups));
  return conv;
}

Values operand(Type type, int64_t count, unsigned seed) {
  Values values = numbers(count, -1, 1, seed);
  for (double& value : values) {
    value = rounded(type, value);
  }
  return values;
}

// In units of the type's rounding, for a sum of so many products.
double rounding(int64_t products) {
  return 16 + 6 * std::sqrt(static_cast<double>(products));
}

double slack(const Shape& s) {
  return rounding(s.c * s.r * s.s);
}

// Row-major N,C,H,W values reordered to N,H,W,C.
Values channels_last(const Values& values, const Dims& d) {
  Values result(values.size());
  std::size_t at = 0;
  for (int64_t n = 0; n < d[0]; ++n) {
    for (int64_t y = 0; y < d[2]; ++y) {
      for (int64_t x = 0; x < d[3]; ++x) {
        for (int64_t c = 0; c < d[1]; ++c) {
          result[at++] = values[static_cast<std::size_t>(
              ((n * d[1] + c) * d[2] + y) * d[3] + x)];
        }
      }
    }
  }
  return result;
}

Dims last(const Dims& d) {
  return {d[0], d[2], d[3], d[1]};
}

const Type kTypes[] = {Type::FLOAT, Type::HALF, Type::BFLOAT16};

} // namespace

CONFORMS(Convolution_Run, success, shapes_types_and_groups) {
  for (const Type type : kTypes) {
    for (const Shape& s : kShapes) {
      SCOPED_TRACE(type_name(type) + " " + text(s));
      const Values x = operand(type, count_of(s.in()), 1);
      const Values w = operand(type, count_of(s.filter()), 2);
      Values expected(static_cast<std::size_t>(count_of(s.out())));
      each_product(s, [&](std::size_t i, std::size_t f, std::size_t o) {
        expected[o] += x[i] * w[f];
      });
      const Array in(type, s.in(), x);
      const Array filter(type, s.filter(), w);
      Array out(type, s.out());
      dnn::Convolution conv;
      configure(conv, s);
      EXPECT_SUCCESS(conv.Run(
          handle(),
          out,
          in,
          filter,
          Algorithm::IMPLICIT_GEMM,
          maintainer()));
      expect_near(expected, out, slack(s));
    }
  }
}

CONFORMS(Convolution_Run, null, absent_operands_are_refused) {
  const Array in(Type::FLOAT, {1, 1, 5, 5}, Values(25, 1));
  Array out(Type::FLOAT, {1, 1, 3, 3});
  dnn::Convolution conv;
  configure(conv, kShapes[0]);
  EXPECT_REFUSED(conv.Run(
      handle(),
      out,
      in,
      dnn::Tensor(),
      Algorithm::IMPLICIT_GEMM,
      maintainer()));
}

CONFORMS(Convolution_Run, INVALID_PARAMETER, output_size_does_not_fit) {
  const Array in(Type::FLOAT, {1, 1, 5, 5}, Values(25, 1));
  const Array filter(Type::FLOAT, {1, 1, 3, 3}, Values(9, 1));
  Array out(Type::FLOAT, {1, 1, 4, 4});
  dnn::Convolution conv;
  configure(conv, kShapes[0]);
  EXPECT_STATUS(
      Status::INVALID_PARAMETER,
      conv.Run(
          handle(),
          out,
          in,
          filter,
          Algorithm::IMPLICIT_GEMM,
          maintainer()));
}

BEHAVES(Convolution, channels_last) {
  const Shape s = kShapes[3];
  const Values x = operand(Type::FLOAT, count_of(s.in()), 1);
  const Values w = operand(Type::FLOAT, count_of(s.filter()), 2);
  Values expected(static_cast<std::size_t>(count_of(s.out())));
  each_product(s, [&](std::size_t i, std::size_t f, std::size_t o) {
    expected[o] += x[i] * w[f];
  });
  Array in(Type::FLOAT, last(s.in()), channels_last(x, s.in()));
  Array filter(Type::FLOAT, last(s.filter()), channels_last(w, s.filter()));
  Array out(Type::FLOAT, last(s.out()));
  for (Array* array : {&in, &filter, &out}) {
    EXPECT_SUCCESS(array->tensor().SetFormat(Format::NHWC));
  }
  dnn::Convolution conv;
  configure(conv, s);
  EXPECT_SUCCESS(conv.Run(
      handle(),
      out,
      in,
      filter,
      Algorithm::IMPLICIT_GEMM,
      maintainer()));
  expect_near(channels_last(expected, s.out()), out, slack(s));
}

BEHAVES(Convolution, three_spatial_dims_with_their_format) {
  const Array x(Type::FLOAT, {1, 1, 3, 3, 3}, numbers(27, -1, 1));
  const Array w(Type::FLOAT, {1, 1, 2, 2, 2}, Values(8, 1));
  Array in(Type::FLOAT, {1, 1, 3, 3, 3}, x.read());
  Array filter(Type::FLOAT, {1, 1, 2, 2, 2}, w.read());
  Array out(Type::FLOAT, {1, 1, 2, 2, 2});
  for (Array* array : {&in, &filter, &out}) {
    EXPECT_SUCCESS(array->tensor().SetFormat(Format::NCDHW));
  }
  dnn::Convolution conv;
  EXPECT_SUCCESS(conv.SetNdInfo({0, 0, 0}, {1, 1, 1}, {1, 1, 1}));
  EXPECT_SUCCESS(conv.Run(
      handle(),
      out,
      in,
      filter,
      Algorithm::IMPLICIT_GEMM,
      maintainer()));
  const Values values = x.read();
  Values expected(8);
  for (std::size_t o = 0; o < 8; ++o) {
    for (std::size_t f = 0; f < 8; ++f) {
      const std::size_t z = (o >> 2) + (f >> 2);
      const std::size_t y = (o >> 1 & 1) + (f >> 1 & 1);
      const std::size_t c = (o & 1) + (f & 1);
      expected[o] += values[(z * 3 + y) * 3 + c];
    }
  }
  expect_near(expected, out, 16);
}

BEHAVES(Convolution, works_without_a_maintainer) {
  // Facts, 2.0: nullptr is accepted.
  const Array in(Type::FLOAT, {1, 1, 5, 5}, Values(25, 1));
  const Array filter(Type::FLOAT, {1, 1, 3, 3}, Values(9, 1));
  Array out(Type::FLOAT, {1, 1, 3, 3});
  dnn::Convolution conv;
  configure(conv, kShapes[0]);
  EXPECT_SUCCESS(
      conv.Run(handle(), out, in, filter, Algorithm::IMPLICIT_GEMM, nullptr));
  expect_near(Values(9, 9), out, 1);
}

CONFORMS(Convolution_RunBwdData, success, shapes_types_and_groups) {
  for (const Type type : kTypes) {
    for (const Shape& s : kShapes) {
      SCOPED_TRACE(type_name(type) + " " + text(s));
      const Values dy = operand(type, count_of(s.out()), 1);
      const Values w = operand(type, count_of(s.filter()), 2);
      Values expected(static_cast<std::size_t>(count_of(s.in())));
      each_product(s, [&](std::size_t i, std::size_t f, std::size_t o) {
        expected[i] += dy[o] * w[f];
      });
      Array dx(type, s.in());
      dnn::Convolution conv;
      configure(conv, s);
      EXPECT_SUCCESS(conv.RunBwdData(
          handle(),
          dx,
          Array(type, s.out(), dy),
          Array(type, s.filter(), w),
          BwdData::IMPLICIT_GEMM,
          maintainer()));
      expect_near(expected, dx, rounding(s.k * s.r * s.s));
    }
  }
}

CONFORMS(Convolution_RunBwdData, null, absent_operands_are_refused) {
  const Array dy(Type::FLOAT, {1, 1, 3, 3}, Values(9, 1));
  Array dx(Type::FLOAT, {1, 1, 5, 5});
  dnn::Convolution conv;
  configure(conv, kShapes[0]);
  EXPECT_REFUSED(conv.RunBwdData(
      handle(),
      dx,
      dy,
      dnn::Tensor(),
      BwdData::IMPLICIT_GEMM,
      maintainer()));
}

CONFORMS(Convolution_RunBwdFilter, success, shapes_types_and_groups) {
  for (const Type type : kTypes) {
    for (const Shape& s : kShapes) {
      SCOPED_TRACE(type_name(type) + " " + text(s));
      const Values x = operand(type, count_of(s.in()), 1);
      const Values dy = operand(type, count_of(s.out()), 2);
      Values expected(static_cast<std::size_t>(count_of(s.filter())));
      each_product(s, [&](std::size_t i, std::size_t f, std::size_t o) {
        expected[f] += x[i] * dy[o];
      });
      Array dw(type, s.filter());
      dnn::Convolution conv;
      configure(conv, s);
      EXPECT_SUCCESS(conv.RunBwdFilter(
          handle(),
          dw,
          Array(type, s.in(), x),
          Array(type, s.out(), dy),
          BwdFilter::IMPLICIT_GEMM,
          maintainer()));
      expect_near(expected, dw, rounding(s.n * s.out_h() * s.out_w()));
    }
  }
}

CONFORMS(Convolution_RunBwdFilter, null, absent_operands_are_refused) {
  const Array x(Type::FLOAT, {1, 1, 5, 5}, Values(25, 1));
  Array dw(Type::FLOAT, {1, 1, 3, 3});
  dnn::Convolution conv;
  configure(conv, kShapes[0]);
  EXPECT_REFUSED(conv.RunBwdFilter(
      handle(),
      dw,
      x,
      dnn::Tensor(),
      BwdFilter::IMPLICIT_GEMM,
      maintainer()));
}

CONFORMS(Convolution_RunFusion, success, bias_and_activation) {
  using Activation = dnn::Convolution::FusedActivationDesc;
  const Shape s = kShapes[1];
  const Values x = operand(Type::FLOAT, count_of(s.in()), 1);
  const Values w = operand(Type::FLOAT, count_of(s.filter()), 2);
  const Values b = operand(Type::FLOAT, s.k, 3);
  Values sums(static_cast<std::size_t>(count_of(s.out())));
  each_product(s, [&](std::size_t i, std::size_t f, std::size_t o) {
    sums[o] += x[i] * w[f];
  });
  const auto area = static_cast<std::size_t>(s.out_h() * s.out_w());
  for (const bool relu : {false, true}) {
    Values expected;
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const double sum = sums[i] + b[i / area % static_cast<std::size_t>(s.k)];
      expected.push_back(relu && sum < 0 ? 0 : sum);
    }
    Activation activation;
    EXPECT_SUCCESS(activation.SetMode(
        relu ? Activation::Mode::RELU : Activation::Mode::IDENTITY));
    Array out(Type::FLOAT, s.out());
    dnn::Convolution conv;
    configure(conv, s);
    EXPECT_SUCCESS(conv.RunFusion(
        handle(),
        out,
        Array(Type::FLOAT, s.in(), x),
        Array(Type::FLOAT, s.filter(), w),
        Array(Type::FLOAT, {s.k}, b),
        dnn::Tensor(),
        activation,
        Algorithm::IMPLICIT_GEMM,
        maintainer()));
    expect_near(expected, out, slack(s));
  }
}

CONFORMS(Convolution_RunFusion, null, empty_bias_and_residual_are_none) {
  const Shape s = kShapes[0];
  Array out(Type::FLOAT, s.out());
  dnn::Convolution conv;
  configure(conv, s);
  EXPECT_SUCCESS(conv.RunFusion(
      handle(),
      out,
      Array(Type::FLOAT, s.in(), Values(25, 1)),
      Array(Type::FLOAT, s.filter(), Values(9, 1)),
      dnn::Tensor(),
      dnn::Tensor(),
      {},
      Algorithm::IMPLICIT_GEMM,
      maintainer()));
  expect_near(Values(9, 9), out, 1);
}

namespace {

// Every algorithm, forward and both gradients: right, or refused.
template <class AlgorithmKind, class Runner>
int accepted(Runner run) {
  int count = 0;
  for (const AlgorithmKind algorithm :
       {AlgorithmKind::IMPLICIT_GEMM,
        AlgorithmKind::DIRECT,
        AlgorithmKind::WINOGRAD_NONFUSED,
        AlgorithmKind::GEMM}) {
    count += run(algorithm) == Status::SUCCESS ? 1 : 0;
  }
  return count;
}

// IMPLICIT_GEMM sums products in some order. What the others do is the
// library's: those that transform tiles (Winograd) round several times more.
template <class AlgorithmKind>
double rounding(AlgorithmKind algorithm, int64_t products) {
  constexpr double kTiles = 4;
  return algorithm == AlgorithmKind::IMPLICIT_GEMM
      ? rounding(products)
      : kTiles * rounding(products);
}

} // namespace

BEHAVES(Convolution, every_accepted_algorithm_is_right) {
  const Shape s = kShapes[1];
  const Values x = operand(Type::FLOAT, count_of(s.in()), 1);
  const Values w = operand(Type::FLOAT, count_of(s.filter()), 2);
  Values y(static_cast<std::size_t>(count_of(s.out())));
  Values dx(x.size());
  Values dw(w.size());
  const Values dy = operand(Type::FLOAT, count_of(s.out()), 3);
  each_product(s, [&](std::size_t i, std::size_t f, std::size_t o) {
    y[o] += x[i] * w[f];
    dx[i] += dy[o] * w[f];
    dw[f] += dy[o] * x[i];
  });
  const Array in(Type::FLOAT, s.in(), x);
  const Array filter(Type::FLOAT, s.filter(), w);
  const Array grad(Type::FLOAT, s.out(), dy);
  dnn::Convolution conv;
  configure(conv, s);
  EXPECT_GE(
      accepted<Algorithm>([&](Algorithm algorithm) {
        Array out(Type::FLOAT, s.out());
        const Status status =
            conv.Run(handle(), out, in, filter, algorithm, maintainer());
        if (status == Status::SUCCESS) {
          expect_near(y, out, rounding(algorithm, s.c * s.r * s.s));
        }
        return status;
      }),
      1);
  EXPECT_GE(
      accepted<BwdData>([&](BwdData algorithm) {
        Array out(Type::FLOAT, s.in());
        const Status status = conv.RunBwdData(
            handle(),
            out,
            grad,
            filter,
            algorithm,
            maintainer());
        if (status == Status::SUCCESS) {
          expect_near(dx, out, rounding(algorithm, s.k * s.r * s.s));
        }
        return status;
      }),
      1);
  EXPECT_GE(
      accepted<BwdFilter>([&](BwdFilter algorithm) {
        Array out(Type::FLOAT, s.filter());
        const Status status =
            conv.RunBwdFilter(handle(), out, in, grad, algorithm, maintainer());
        if (status == Status::SUCCESS) {
          expect_near(
              dw,
              out,
              rounding(algorithm, s.n * s.out_h() * s.out_w()));
        }
        return status;
      }),
      1);
}

CONFORMS(Convolution_GetRecommendForwardAlgorithm, success, names_one) {
  const Shape s = kShapes[1];
  const Array in(Type::FLOAT, s.in());
  const Array filter(Type::FLOAT, s.filter());
  const Array out(Type::FLOAT, s.out());
  dnn::Convolution conv;
  configure(conv, s);
  auto algorithm = static_cast<Algorithm>(99);
  EXPECT_SUCCESS(
      conv.GetRecommendForwardAlgorithm(handle(), algorithm, out, in, filter));
  EXPECT_LT(static_cast<int>(algorithm), 4);
  std::size_t bytes = 1;
  EXPECT_SUCCESS(conv.GetForwardWorkspaceSize(
      handle(),
      bytes,
      out,
      in,
      filter,
      algorithm));
  EXPECT_LT(bytes, std::size_t{1} << 30);
}
COVERS(
    Convolution_GetForwardWorkspaceSize,
    success,
    Convolution_GetRecommendForwardAlgorithm,
    success_names_one)

CONFORMS(Convolution_GetRecommendBackwardDataAlgorithm, success, names_one) {
  const Shape s = kShapes[1];
  const Array in(Type::FLOAT, s.in());
  const Array filter(Type::FLOAT, s.filter());
  const Array out(Type::FLOAT, s.out());
  dnn::Convolution conv;
  configure(conv, s);
  auto algorithm = static_cast<BwdData>(99);
  EXPECT_SUCCESS(conv.GetRecommendBackwardDataAlgorithm(
      handle(),
      algorithm,
      in,
      out,
      filter));
  EXPECT_LT(static_cast<int>(algorithm), 4);
  std::size_t bytes = 1;
  EXPECT_SUCCESS(conv.GetBackwardDataWorkspaceSize(
      handle(),
      bytes,
      in,
      out,
      filter,
      algorithm));
}
COVERS(
    Convolution_GetBackwardDataWorkspaceSize,
    success,
    Convolution_GetRecommendBackwardDataAlgorithm,
    success_names_one)

CONFORMS(Convolution_GetRecommendBackwardFilterAlgorithm, success, names_one) {
  const Shape s = kShapes[1];
  const Array in(Type::FLOAT, s.in());
  const Array filter(Type::FLOAT, s.filter());
  const Array out(Type::FLOAT, s.out());
  dnn::Convolution conv;
  configure(conv, s);
  auto algorithm = static_cast<BwdFilter>(99);
  EXPECT_SUCCESS(conv.GetRecommendBackwardFilterAlgorithm(
      handle(),
      algorithm,
      filter,
      in,
      out));
  EXPECT_LT(static_cast<int>(algorithm), 4);
  std::size_t bytes = 1;
  EXPECT_SUCCESS(conv.GetBackwardFilterWorkspaceSize(
      handle(),
      bytes,
      filter,
      in,
      out,
      algorithm));
}
COVERS(
    Convolution_GetBackwardFilterWorkspaceSize,
    success,
    Convolution_GetRecommendBackwardFilterAlgorithm,
    success_names_one)

} // namespace conformance
