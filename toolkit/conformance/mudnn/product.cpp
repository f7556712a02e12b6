// SPDX-License-Identifier: Apache-2.0
// MatMul, BatchMatMul and Dot.
#include "mudnn/array.h"

#include <cmath>

namespace conformance {
namespace {

struct Shape {
  int64_t batch;
  int64_t m;
  int64_t n;
  int64_t k;
};

struct Product {
  Values a;    // batch × m × k
  Values b;    // batch × k × n
  Values c;    // what was in the output before
  Values bias; // n, may be empty
  double alpha = 1;
  double beta = 0;
  double gamma = 1;
};

Values reference(const Shape& s, const Product& p) {
  Values result;
  for (int64_t batch = 0; batch < s.batch; ++batch) {
    for (int64_t i = 0; i < s.m; ++i) {
      for (int64_t j = 0; j < s.n; ++j) {
        double total = 0;
        for (int64_t l = 0; l < s.k; ++l) {
          total += p.a[static_cast<std::size_t>((batch * s.m + i) * s.k + l)] *
              p.b[static_cast<std::size_t>((batch * s.k + l) * s.n + j)];
        }
        const auto at = static_cast<std::size_t>((batch * s.m + i) * s.n + j);
        total *= p.alpha;
        if (p.beta != 0) {
          total += p.beta * p.c[at];
        }
        if (!p.bias.empty()) {
          total += p.gamma * p.bias[static_cast<std::size_t>(j)];
        }
        result.push_back(total);
      }
    }
  }
  return result;
}

// Row-major batch × rows × columns turned into batch × columns × rows.
Values
transposed(const Values& values, int64_t batch, int64_t rows, int64_t columns) {
  Values result(values.size());
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        result[static_cast<std::size_t>((b * columns + j) * rows + i)] =
            values[static_cast<std::size_t>((b * rows + i) * columns + j)];
      }
    }
  }
  return result;
}

Values operand(Type type, int64_t count, unsigned seed) {
  Values values = is_floating(type) ? numbers(count, -1, 1, seed)
                                    : integers(count, -9, 9, seed);
  for (double& value : values) {
    value = rounded(type, value);
  }
  return values;
}

double tolerance(Type type, int64_t k) {
  return type_epsilon(type) * (4 + 2 * std::sqrt(static_cast<double>(k)));
}

void check(
    const Shape& s,
    const Product& p,
    const Array& out,
    double loose = 1) {
  Values expected = reference(s, p);
  for (double& value : expected) {
    value = rounded(out.type(), value);
  }
  expect_near(expected, out.read(), loose * tolerance(out.type(), s.k));
}

const Shape kShapes[] = {
    {1, 1, 1, 1},
    {1, 5, 7, 3},
    {1, 64, 64, 64},
    {1, 33, 1, 129},
    {1, 1, 65, 31},
    {1, 128, 96, 200}};

void matmul_in(Type type) {
  for (const Shape& s : kShapes) {
    for (int transposes = 0; transposes < 4; ++transposes) {
      SCOPED_TRACE(
          std::to_string(s.m) + "x" + std::to_string(s.n) + "x" +
          std::to_string(s.k) + " transposes " + std::to_string(transposes));
      const bool ta = (transposes & 1) != 0;
      const bool tb = (transposes & 2) != 0;
      Product p;
      p.a = operand(type, s.m * s.k, 1);
      p.b = operand(type, s.k * s.n, 2);
      const Array a(
          type,
          ta ? Dims{s.k, s.m} : Dims{s.m, s.k},
          ta ? transposed(p.a, 1, s.m, s.k) : p.a);
      const Array b(
          type,
          tb ? Dims{s.n, s.k} : Dims{s.k, s.n},
          tb ? transposed(p.b, 1, s.k, s.n) : p.b);
      Array c(type, {s.m, s.n});
      dnn::MatMul matmul;
      EXPECT_SUCCESS(matmul.SetTranspose(ta, tb));
      EXPECT_SUCCESS(matmul.Run(handle(), c, a, b, maintainer()));
      check(s, p, c);
    }
  }
}

} // namespace

CONFORMS(MatMul_Run, success, FLOAT) {
  matmul_in(Type::FLOAT);
}
CONFORMS(MatMul_Run, success, HALF) {
  matmul_in(Type::HALF);
}
CONFORMS(MatMul_Run, success, BFLOAT16) {
  matmul_in(Type::BFLOAT16);
}
CONFORMS(MatMul_Run, success, INT64) {
  matmul_in(Type::INT64);
}

CONFORMS(MatMul_Run, null, absent_operands_are_refused) {
  const Array a(Type::FLOAT, {2, 2}, {1, 2, 3, 4});
  Array c(Type::FLOAT, {2, 2});
  dnn::MatMul matmul;
  EXPECT_REFUSED(matmul.Run(handle(), c, a, dnn::Tensor(), maintainer()));
  EXPECT_REFUSED(matmul.Run(handle(), c, dnn::Tensor(), a, maintainer()));
}

CONFORMS(MatMul_Run, INVALID_PARAMETER, inner_sizes_differ) {
  const Array a(Type::FLOAT, {2, 2}, {1, 2, 3, 4});
  const Array b(Type::FLOAT, {3, 2}, {1, 2, 3, 4, 5, 6});
  Array c(Type::FLOAT, {2, 2});
  dnn::MatMul matmul;
  EXPECT_STATUS(
      Status::INVALID_PARAMETER,
      matmul.Run(handle(), c, a, b, maintainer()));
}

BEHAVES(MatMul, alpha_and_beta) {
  const Shape s = {1, 6, 5, 4};
  Product p;
  p.a = operand(Type::FLOAT, 24, 1);
  p.b = operand(Type::FLOAT, 20, 2);
  p.c = operand(Type::FLOAT, 30, 3);
  p.alpha = 0.5;
  p.beta = -2;
  Array c(Type::FLOAT, {6, 5}, p.c);
  dnn::MatMul matmul;
  EXPECT_SUCCESS(matmul.SetAlpha(p.alpha));
  EXPECT_SUCCESS(matmul.SetBeta(p.beta));
  EXPECT_SUCCESS(matmul.Run(
      handle(),
      c,
      Array(Type::FLOAT, {6, 4}, p.a),
      Array(Type::FLOAT, {4, 5}, p.b)));
  check(s, p, c);
}

BEHAVES(MatMul, beta_zero_ignores_nan_in_the_output) {
  const Shape s = {1, 3, 3, 2};
  Product p;
  p.a = operand(Type::FLOAT, 6, 1);
  p.b = operand(Type::FLOAT, 6, 2);
  Array c(Type::FLOAT, {3, 3}, Values(9, NAN));
  dnn::MatMul matmul;
  EXPECT_SUCCESS(matmul.Run(
      handle(),
      c,
      Array(Type::FLOAT, {3, 2}, p.a),
      Array(Type::FLOAT, {2, 3}, p.b)));
  check(s, p, c);
}

BEHAVES(MatMul, matrix_times_vector) {
  const Shape s = {1, 6, 1, 4};
  Product p;
  p.a = operand(Type::FLOAT, 24, 1);
  p.b = operand(Type::FLOAT, 4, 2);
  Array c(Type::FLOAT, {6});
  dnn::MatMul matmul;
  EXPECT_SUCCESS(matmul.Run(
      handle(),
      c,
      Array(Type::FLOAT, {6, 4}, p.a),
      Array(Type::FLOAT, {4}, p.b)));
  check(s, p, c);
}

CONFORMS(MatMul_RunWithBiasAdd, success, bias_and_residual) {
  for (const Type type : {Type::FLOAT, Type::HALF, Type::BFLOAT16}) {
    SCOPED_TRACE(type_name(type));
    const Shape s = {1, 6, 5, 4};
    Product p;
    p.a = operand(type, 24, 1);
    p.b = operand(type, 20, 2);
    p.c = operand(type, 30, 3);
    p.bias = operand(type, 5, 4);
    p.alpha = 2;
    p.beta = 0.5;
    p.gamma = 3;
    const Array a(type, {6, 4}, p.a);
    const Array b(type, {4, 5}, p.b);
    const Array c(type, {6, 5}, p.c);
    const Array bias(type, {5}, p.bias);
    dnn::MatMul matmul;
    EXPECT_SUCCESS(matmul.SetAlpha(p.alpha));
    EXPECT_SUCCESS(matmul.SetBeta(p.beta));
    EXPECT_SUCCESS(matmul.SetGamma(p.gamma));
    Array d(type, {6, 5});
    EXPECT_SUCCESS(
        matmul.RunWithBiasAdd(handle(), d, a, b, c, bias, maintainer()));
    check(s, p, d, 4);
    Array both(type, {6, 5}, p.c);
    EXPECT_SUCCESS(
        matmul.RunWithBiasAdd(handle(), both, a, b, bias, maintainer()));
    check(s, p, both, 4);
  }
}

CONFORMS(MatMul_RunWithBiasAdd, null, empty_bias_is_none) {
  const Shape s = {1, 6, 5, 4};
  Product p;
  p.a = operand(Type::FLOAT, 24, 1);
  p.b = operand(Type::FLOAT, 20, 2);
  Array d(Type::FLOAT, {6, 5});
  dnn::MatMul matmul;
  EXPECT_SUCCESS(matmul.RunWithBiasAdd(
      handle(),
      d,
      Array(Type::FLOAT, {6, 4}, p.a),
      Array(Type::FLOAT, {4, 5}, p.b),
      d,
      dnn::Tensor(),
      maintainer()));
  check(s, p, d);
}

CONFORMS(MatMul_RunWithBiasAdd, INVALID_PARAMETER, bias_of_another_length) {
  const Array a(Type::FLOAT, {2, 2}, {1, 2, 3, 4});
  const Array bias(Type::FLOAT, {3}, {1, 2, 3});
  Array c(Type::FLOAT, {2, 2});
  dnn::MatMul matmul;
  EXPECT_STATUS(
      Status::INVALID_PARAMETER,
      matmul.RunWithBiasAdd(handle(), c, a, a, bias, maintainer()));
}

CONFORMS(BatchMatMul_Run, success, every_type) {
  for (const Type type :
       {Type::FLOAT, Type::HALF, Type::BFLOAT16, Type::INT64}) {
    for (int transposes = 0; transposes < 4; ++transposes) {
      SCOPED_TRACE(type_name(type) + std::to_string(transposes));
      const bool ta = (transposes & 1) != 0;
      const bool tb = (transposes & 2) != 0;
      const Shape s = {3, 5, 6, 7};
      Product p;
      p.a = operand(type, 3 * 35, 1);
      p.b = operand(type, 3 * 42, 2);
      const Array a(
          type,
          ta ? Dims{3, 7, 5} : Dims{3, 5, 7},
          ta ? transposed(p.a, 3, 5, 7) : p.a);
      const Array b(
          type,
          tb ? Dims{3, 6, 7} : Dims{3, 7, 6},
          tb ? transposed(p.b, 3, 7, 6) : p.b);
      Array c(type, {3, 5, 6});
      dnn::BatchMatMul matmul;
      EXPECT_SUCCESS(matmul.SetTranspose(ta, tb));
      EXPECT_SUCCESS(matmul.Run(handle(), c, a, b, maintainer()));
      check(s, p, c);
    }
  }
}

CONFORMS(BatchMatMul_Run, null, absent_operands_are_refused) {
  const Array a(Type::FLOAT, {1, 2, 2}, {1, 2, 3, 4});
  Array c(Type::FLOAT, {1, 2, 2});
  dnn::BatchMatMul matmul;
  EXPECT_REFUSED(matmul.Run(handle(), c, a, dnn::Tensor(), maintainer()));
}

BEHAVES(BatchMatMul, one_batch_serves_all) {
  const Shape s = {3, 2, 2, 2};
  Product p;
  p.a = operand(Type::FLOAT, 12, 1);
  const Values one = operand(Type::FLOAT, 4, 2);
  for (int i = 0; i < 3; ++i) {
    p.b.insert(p.b.end(), one.begin(), one.end());
  }
  Array c(Type::FLOAT, {3, 2, 2});
  dnn::BatchMatMul matmul;
  EXPECT_SUCCESS(matmul.Run(
      handle(),
      c,
      Array(Type::FLOAT, {3, 2, 2}, p.a),
      Array(Type::FLOAT, {1, 2, 2}, one),
      maintainer()));
  check(s, p, c);
}

CONFORMS(BatchMatMul_RunWithBiasAdd, success, residual_and_bias) {
  const Shape s = {2, 3, 4, 5};
  Product p;
  p.a = operand(Type::FLOAT, 30, 1);
  p.b = operand(Type::FLOAT, 40, 2);
  p.c = operand(Type::FLOAT, 24, 3);
  p.bias = operand(Type::FLOAT, 4, 4);
  p.alpha = 0.5;
  p.beta = 2;
  const Array a(Type::FLOAT, {2, 3, 5}, p.a);
  const Array b(Type::FLOAT, {2, 5, 4}, p.b);
  const Array c(Type::FLOAT, {2, 3, 4}, p.c);
  const Array bias(Type::FLOAT, {4}, p.bias);
  dnn::BatchMatMul matmul;
  EXPECT_SUCCESS(matmul.SetAlpha(p.alpha));
  EXPECT_SUCCESS(matmul.SetBeta(p.beta));
  Array d(Type::FLOAT, {2, 3, 4});
  EXPECT_SUCCESS(
      matmul.RunWithBiasAdd(handle(), d, a, b, c, bias, maintainer()));
  check(s, p, d, 4);
  Array both(Type::FLOAT, {2, 3, 4}, p.c);
  EXPECT_SUCCESS(
      matmul.RunWithBiasAdd(handle(), both, a, b, bias, maintainer()));
  check(s, p, both, 4);
}

CONFORMS(BatchMatMul_RunWithBiasAdd, null, empty_bias_is_none) {
  const Shape s = {1, 2, 2, 2};
  Product p;
  p.a = operand(Type::FLOAT, 4, 1);
  p.b = operand(Type::FLOAT, 4, 2);
  p.c = operand(Type::FLOAT, 4, 3);
  p.beta = 1;
  Array d(Type::FLOAT, {1, 2, 2});
  dnn::BatchMatMul matmul;
  EXPECT_SUCCESS(matmul.SetBeta(1));
  EXPECT_SUCCESS(matmul.RunWithBiasAdd(
      handle(),
      d,
      Array(Type::FLOAT, {1, 2, 2}, p.a),
      Array(Type::FLOAT, {1, 2, 2}, p.b),
      Array(Type::FLOAT, {1, 2, 2}, p.c),
      dnn::Tensor(),
      maintainer()));
  check(s, p, d);
}

CONFORMS(Dot_Run, success, of_vectors) {
  for (const Type type : {Type::FLOAT, Type::HALF, Type::BFLOAT16}) {
    SCOPED_TRACE(type_name(type));
    const Values left = operand(type, 1000, 1);
    const Values right = operand(type, 1000, 2);
    double expected = 0;
    for (std::size_t i = 0; i < left.size(); ++i) {
      expected += left[i] * right[i];
    }
    Array out(type, {1});
    dnn::Dot dot;
    EXPECT_SUCCESS(dot.Run(
        handle(),
        out,
        Array(type, {1000}, left),
        Array(type, {1000}, right),
        maintainer()));
    EXPECT_NEAR(expected, out.read()[0], tolerance(type, 1000) * 10);
  }
}

CONFORMS(Dot_Run, null, absent_operands_are_refused) {
  const Array left(Type::FLOAT, {2}, {1, 2});
  Array out(Type::FLOAT, {1});
  dnn::Dot dot;
  EXPECT_REFUSED(dot.Run(handle(), out, left, dnn::Tensor(), maintainer()));
}

CONFORMS(Dot_Run, INVALID_PARAMETER, lengths_differ) {
  const Array left(Type::FLOAT, {2}, {1, 2});
  const Array right(Type::FLOAT, {3}, {1, 2, 3});
  Array out(Type::FLOAT, {1});
  dnn::Dot dot;
  EXPECT_STATUS(
      Status::INVALID_PARAMETER,
      dot.Run(handle(), out, left, right, maintainer()));
}

} // namespace conformance
