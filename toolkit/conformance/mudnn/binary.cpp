// SPDX-License-Identifier: Apache-2.0
// Binary: every mode in every type against doubles; broadcasts, aliases.
#include "mudnn/array.h"

#include <cmath>

namespace conformance {
namespace {

using Mode = dnn::Binary::Mode;
using Reference = double (*)(double left, double right, double alpha);

enum Where : unsigned { kFloats = 1, kInts = 2, kBoth = 3, kBools = 4 };

struct Case {
  const char* name;
  Mode mode;
  double alpha;
  double low;
  double high;
  double right_low;
  double right_high;
  unsigned where;
  bool makes_bool;
  Reference reference;
};

double floor_mod(double x, double y) {
  const double rest = std::fmod(x, y);
  return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

double silu_slope(double x) {
  const double s = sigmoid(x);
  return s * (1 + x * (1 - s));
}

double gelu_slope(double x) {
  const double density = std::exp(-0.5 * x * x) * 0.39894228040143268;
  return 0.5 * (1 + std::erf(x * 0.70710678118654752)) + x * density;
}

double gelu_tanh_slope(double x) {
  const double k = 0.79788456080286536;
  const double t = std::tanh(k * (x + 0.044715 * x * x * x));
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * k * (1 + 3 * 0.044715 * x * x);
}

#define REF(expression)                                         \
  [](double l, double r, [[maybe_unused]] double a) -> double { \
    return expression;                                          \
  }

const Case kCases[] = {
    {"ADD", Mode::ADD, 0, -9, 9, -9, 9, kBoth, false, REF(l + r)},
    {"SUB", Mode::SUB, 0, -9, 9, -9, 9, kBoth, false, REF(l - r)},
    {"MUL", Mode::MUL, 0, -9, 9, -9, 9, kBoth, false, REF(l* r)},
    {"MAX", Mode::MAX, 0, -9, 9, -9, 9, kBoth, false, REF(std::fmax(l, r))},
    {"MIN", Mode::MIN, 0, -9, 9, -9, 9, kBoth, false, REF(std::fmin(l, r))},
    {"ADD_ALPHA",
     Mode::ADD_ALPHA,
     3,
     -9,
     9,
     -9,
     9,
     kBoth,
     false,
     REF(l + a * r)},
    {"SUB_ALPHA",
     Mode::SUB_ALPHA,
     3,
     -9,
     9,
     -9,
     9,
     kBoth,
     false,
     REF(l - a * r)},
    {"DIV", Mode::DIV, 0, -9, 9, 1, 9, kFloats, false, REF(l / r)},
    {"TRUEDIV", Mode::TRUEDIV, 0, -9, 9, 1, 9, kFloats, false, REF(l / r)},
    {"FLOORDIV",
     Mode::FLOORDIV,
     0,
     -20,
     20,
     1,
     6,
     kBoth,
     false,
     REF(std::floor(l / r))},
    {"TRUNCATEDIV",
     Mode::TRUNCATEDIV,
     0,
     -20,
     20,
     1,
     6,
     kBoth,
     false,
     REF(std::trunc(l / r))},
    {"FLOORMOD",
     Mode::FLOORMOD,
     0,
     -20,
     20,
     -6,
     -1,
     kBoth,
     false,
     REF(floor_mod(l, r))},
    {"TRUNCATEMOD",
     Mode::TRUNCATEMOD,
     0,
     -20,
     20,
     1,
     6,
     kBoth,
     false,
     REF(std::fmod(l, r))},
    {"DIVNONAN",
     Mode::DIVNONAN,
     0,
     -9,
     9,
     -1,
     1,
     kFloats,
     false,
     REF(r == 0 ? 0 : l / r)},
    {"POW", Mode::POW, 0, 0.1, 3, -2, 2, kFloats, false, REF(std::pow(l, r))},
    {"EQ", Mode::EQ, 0, 0, 2, 0, 2, kBoth, true, REF(l == r)},
    {"NE", Mode::NE, 0, 0, 2, 0, 2, kBoth, true, REF(l != r)},
    {"LT", Mode::LT, 0, -3, 3, -3, 3, kBoth, true, REF(l < r)},
    {"LE", Mode::LE, 0, -3, 3, -3, 3, kBoth, true, REF(l <= r)},
    {"GT", Mode::GT, 0, -3, 3, -3, 3, kBoth, true, REF(l > r)},
    {"GE", Mode::GE, 0, -3, 3, -3, 3, kBoth, true, REF(l >= r)},
    {"LOGICAL_AND",
     Mode::LOGICAL_AND,
     0,
     0,
     1,
     0,
     1,
     kBools,
     true,
     REF(l != 0 && r != 0)},
    {"LOGICAL_OR",
     Mode::LOGICAL_OR,
     0,
     0,
     1,
     0,
     1,
     kBools,
     true,
     REF(l != 0 || r != 0)},
    {"LOGICAL_XOR",
     Mode::LOGICAL_XOR,
     0,
     0,
     1,
     0,
     1,
     kBools,
     true,
     REF((l != 0) != (r != 0))},
    {"PRELU",
     Mode::PRELU,
     0,
     -9,
     9,
     0,
     1,
     kFloats,
     false,
     REF(l < 0 ? l * r : l)},
    // Gradient and output.
    {"SIGMOID_BW",
     Mode::SIGMOID_BW,
     0,
     -2,
     2,
     0,
     1,
     kFloats,
     false,
     REF(l* r * (1 - r))},
    {"TANH_BW",
     Mode::TANH_BW,
     0,
     -2,
     2,
     -1,
     1,
     kFloats,
     false,
     REF(l * (1 - r * r))},
    // Gradient and input.
    {"SILU_BW",
     Mode::SILU_BW,
     0,
     -2,
     2,
     -4,
     4,
     kFloats,
     false,
     REF(l* silu_slope(r))},
    {"GELU_NONE_BW",
     Mode::GELU_NONE_BW,
     0,
     -2,
     2,
     -4,
     4,
     kFloats,
     false,
     REF(l* gelu_slope(r))},
    {"GELU_TANH_BW",
     Mode::GELU_TANH_BW,
     0,
     -2,
     2,
     -4,
     4,
     kFloats,
     false,
     REF(l* gelu_tanh_slope(r))},
    {"THRESHOLD_BW",
     Mode::THRESHOLD_BW,
     0.5,
     -2,
     2,
     -4,
     4,
     kFloats,
     false,
     REF(r > a ? l : 0)},
    {"LEAKY_RELU_BW",
     Mode::LEAKY_RELU_BW,
     0.25,
     -2,
     2,
     -4,
     4,
     kFloats,
     false,
     REF(r > 0 ? l : a * l)},
    {"RELU6_BW",
     Mode::RELU6_BW,
     0,
     -2,
     2,
     -4,
     9,
     kFloats,
     false,
     REF(r > 0 && r < 6 ? l : 0)},
    // Output and gradient.
    {"RSQRT_BW",
     Mode::RSQRT_BW,
     0,
     0.5,
     2,
     -2,
     2,
     kFloats,
     false,
     REF(-0.5 * r * l * l * l)},
    {"SQUARED_DIFF",
     Mode::SQUARED_DIFF,
     0,
     -9,
     9,
     -9,
     9,
     kFloats,
     false,
     REF((l - r) * (l - r))},
};

Values operand(Type type, int64_t count, double low, double high, unsigned s) {
  Values values = is_floating(type) ? numbers(count, low, high, s)
                                    : integers(
                                          count,
                                          static_cast<int>(std::ceil(low)),
                                          static_cast<int>(std::floor(high)),
                                          s);
  for (double& value : values) {
    value = rounded(type, value);
  }
  return values;
}

class BinaryTest : public Fixture {
 public:
  BinaryTest(const Case& c, Type type) : case_(c), type_(type) {}

  void TestBody() override {
    out_type_ = case_.makes_bool ? Type::BOOL : type_;
    EXPECT_SUCCESS(binary_.SetMode(case_.mode));
    if (is_floating(type_)) {
      EXPECT_SUCCESS(binary_.SetAlpha(case_.alpha));
    } else {
      EXPECT_SUCCESS(binary_.SetAlpha(static_cast<int64_t>(case_.alpha)));
    }
    equal_dense();
    strided();
    broadcast();
    in_place();
  }

 private:
  void equal_dense() {
    SCOPED_TRACE("dense");
    Values left = operand(type_, 105, case_.low, case_.high, 1);
    Values right = operand(type_, 105, case_.right_low, case_.right_high, 2);
    if (case_.mode == Mode::DIVNONAN) {
      right[3] = 0;
      right[50] = 0;
    }
    if (case_.makes_bool) {
      right[7] = left[7];
    }
    const Array l(type_, {3, 5, 7}, left);
    const Array r(type_, {3, 5, 7}, right);
    Array out(out_type_, {3, 5, 7});
    EXPECT_SUCCESS(binary_.Run(handle(), out, l, r));
    check(left, right, out);
  }

  void strided() {
    SCOPED_TRACE("strided");
    const Values left = operand(type_, 105, case_.low, case_.high, 3);
    const Values right =
        operand(type_, 105, case_.right_low, case_.right_high, 4);
    const Array l(type_, {3, 5, 7}, {1, 3, 15}, left, 1);
    const Array r(type_, {3, 5, 7}, {70, 14, 2}, right);
    Array out(out_type_, {3, 5, 7}, {35, 1, 5}, {}, 2);
    EXPECT_SUCCESS(binary_.Run(handle(), out, l, r));
    check(left, right, out);
  }

  // Facts, 2.2: zero strides are read correctly on both sides.
  void broadcast() {
    SCOPED_TRACE("broadcast");
    const Values row = operand(type_, 7, case_.low, case_.high, 5);
    const Values column =
        operand(type_, 15, case_.right_low, case_.right_high, 6);
    Values left;
    Values right;
    for (std::size_t i = 0; i < 105; ++i) {
      left.push_back(row[i % 7]);
      right.push_back(column[i / 7]);
    }
    const Array l(type_, {3, 5, 7}, {0, 0, 1}, left);
    const Array r(type_, {3, 5, 7}, {5, 1, 0}, right);
    Array out(out_type_, {3, 5, 7});
    EXPECT_SUCCESS(binary_.Run(handle(), out, l, r));
    check(left, right, out);
  }

  void in_place() {
    if (out_type_ != type_) {
      return;
    }
    SCOPED_TRACE("in place");
    const Values left = operand(type_, 105, case_.low, case_.high, 7);
    const Values right =
        operand(type_, 105, case_.right_low, case_.right_high, 8);
    Array l(type_, {105}, left);
    const Array r(type_, {105}, right);
    EXPECT_SUCCESS(binary_.Run(handle(), l, l, r));
    check(left, right, l);
  }

  void check(const Values& left, const Values& right, const Array& out) {
    Values expected;
    for (std::size_t i = 0; i < left.size(); ++i) {
      expected.push_back(
          rounded(out_type_, case_.reference(left[i], right[i], case_.alpha)));
    }
    expect_near(expected, out, 16);
  }

  const Case& case_;
  Type type_;
  Type out_type_ = Type::FLOAT;
  dnn::Binary binary_;
};

[[maybe_unused]] const bool added_binary = [] {
  for (const Case& c : kCases) {
    for (const Type type :
         {Type::FLOAT,
          Type::DOUBLE,
          Type::HALF,
          Type::BFLOAT16,
          Type::INT32,
          Type::INT64,
          Type::BOOL}) {
      const unsigned where = type == Type::BOOL ? kBools
          : is_floating(type)                   ? kFloats
                                                : kInts;
      if ((c.where & where) != 0) {
        add_test(
            "Binary",
            std::string(c.name) + "_" + type_name(type),
            __FILE__,
            __LINE__,
            [&c, type]() -> Fixture* { return new BinaryTest(c, type); });
      }
    }
  }
  return true;
}();

} // namespace

CONFORMS(Binary_Run, success, comparisons_see_nan) {
  const double nan = NAN;
  const Array l(Type::FLOAT, {3}, {nan, 1, nan});
  const Array r(Type::FLOAT, {3}, {1, nan, nan});
  Array out(Type::BOOL, {3});
  dnn::Binary binary;
  EXPECT_SUCCESS(binary.SetMode(Mode::EQ));
  EXPECT_SUCCESS(binary.Run(handle(), out, l, r));
  expect_near({0, 0, 0}, out, 0);
  EXPECT_SUCCESS(binary.SetMode(Mode::NE));
  EXPECT_SUCCESS(binary.Run(handle(), out, l, r));
  expect_near({1, 1, 1}, out, 0);
  EXPECT_SUCCESS(binary.SetMode(Mode::GE));
  EXPECT_SUCCESS(binary.Run(handle(), out, l, r));
  expect_near({0, 0, 0}, out, 0);
}

CONFORMS(Binary_Run, null, absent_operands_are_refused) {
  dnn::Binary binary;
  EXPECT_SUCCESS(binary.SetMode(Mode::ADD));
  Array out(Type::FLOAT, {4});
  const Array in(Type::FLOAT, {4}, {1, 2, 3, 4});
  EXPECT_REFUSED(binary.Run(handle(), out, in, dnn::Tensor()));
  EXPECT_REFUSED(binary.Run(handle(), out, dnn::Tensor(), in));
  dnn::Tensor nothing;
  EXPECT_REFUSED(binary.Run(handle(), nothing, in, in));
}

CONFORMS(Binary_Run, INVALID_PARAMETER, sizes_differ) {
  dnn::Binary binary;
  EXPECT_SUCCESS(binary.SetMode(Mode::ADD));
  Array out(Type::FLOAT, {4});
  const Array four(Type::FLOAT, {4}, {1, 2, 3, 4});
  const Array one(Type::FLOAT, {5}, {1, 2, 3, 4, 5});
  EXPECT_STATUS(
      Status::INVALID_PARAMETER,
      binary.Run(handle(), out, four, one));
}

CONFORMS(Binary_Run, NOT_SUPPORTED, integer_powers) {
  // Facts, 13.
  dnn::Binary binary;
  EXPECT_SUCCESS(binary.SetMode(Mode::POW));
  Array out(Type::INT32, {2});
  const Array l(Type::INT32, {2}, {2, 3});
  EXPECT_STATUS(Status::NOT_SUPPORTED, binary.Run(handle(), out, l, l));
}

BEHAVES(Binary, ADD_takes_mixed_floats) {
  // Facts, 2.2: one HALF or BFLOAT16 operand beside a FLOAT one.
  for (const Type small : {Type::HALF, Type::BFLOAT16}) {
    SCOPED_TRACE(type_name(small));
    const Array l(small, {3}, {0.5, 1.5, -2});
    const Array r(Type::FLOAT, {3}, {1, 2, 3.25});
    Array out(Type::FLOAT, {3});
    dnn::Binary binary;
    EXPECT_SUCCESS(binary.SetMode(Mode::ADD));
    EXPECT_SUCCESS(binary.Run(handle(), out, l, r));
    expect_near({1.5, 3.5, 1.25}, out, 0);
  }
}

BEHAVES(Binary, TRUEDIV_of_integers_writes_floats) {
  // Facts, 14.
  for (const Type type : {Type::INT8, Type::INT16, Type::INT32, Type::INT64}) {
    SCOPED_TRACE(type_name(type));
    const Array l(type, {3}, {1, 7, -9});
    const Array r(type, {3}, {2, 4, 2});
    Array out(Type::FLOAT, {3});
    dnn::Binary binary;
    EXPECT_SUCCESS(binary.SetMode(Mode::TRUEDIV));
    EXPECT_SUCCESS(binary.Run(handle(), out, l, r));
    expect_near({0.5, 1.75, -4.5}, out, 1);
  }
}

BEHAVES(Binary, small_integers_add) {
  for (const Type type : {Type::INT8, Type::INT16, Type::UINT8}) {
    SCOPED_TRACE(type_name(type));
    const Array l(type, {4}, {1, 2, 3, 100});
    const Array r(type, {4}, {10, 20, 30, 20});
    Array out(type, {4});
    dnn::Binary binary;
    EXPECT_SUCCESS(binary.SetMode(Mode::ADD));
    EXPECT_SUCCESS(binary.Run(handle(), out, l, r));
    expect_near({11, 22, 33, 120}, out, 0);
  }
}

BEHAVES(Binary, rank_eight_works) {
  const Dims dims = {2, 1, 2, 1, 2, 1, 2, 3};
  const Values values = integers(48, -9, 9);
  const Array l(Type::FLOAT, dims, values);
  const Array r(Type::FLOAT, dims, {1, 1, 2, 1, 4, 1, 8, 16}, values);
  Array out(Type::FLOAT, dims);
  dnn::Binary binary;
  EXPECT_SUCCESS(binary.SetMode(Mode::ADD));
  EXPECT_SUCCESS(binary.Run(handle(), out, l, r));
  Values expected;
  for (const double value : values) {
    expected.push_back(2 * value);
  }
  expect_near(expected, out, 0);
}

} // namespace conformance
