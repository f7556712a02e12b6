// SPDX-License-Identifier: Apache-2.0
// Unary: every mode in every type against doubles; strides, broadcasts.
#include "mudnn/array.h"

#include <cmath>
#include <limits>

namespace conformance {
namespace {

using Mode = dnn::Unary::Mode;
using Reference = double (*)(double x, double alpha, double beta);

enum Where : unsigned { kFloats = 1, kInts = 2, kBoth = 3 };

struct Case {
  const char* name;
  Mode mode;
  double alpha;
  double beta;
  double low;
  double high;
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

double softplus(double x, double beta, double threshold) {
  return x * beta > threshold ? x : std::log1p(std::exp(x * beta)) / beta;
}

constexpr double kRoot = 0.70710678118654752;

#define REF(expression)         \
  [](double x,                  \
     [[maybe_unused]] double a, \
     [[maybe_unused]] double b) -> double { return expression; }

const Case kCases[] = {
    {"ADD", Mode::ADD, 3, 0, -9, 9, kBoth, false, REF(x + a)},
    {"SUB", Mode::SUB, 3, 0, -9, 9, kBoth, false, REF(x - a)},
    {"MUL", Mode::MUL, 3, 0, -9, 9, kBoth, false, REF(x* a)},
    {"DIV", Mode::DIV, 4, 0, -9, 9, kFloats, false, REF(x / a)},
    {"TRUEDIV", Mode::TRUEDIV, 4, 0, -9, 9, kFloats, false, REF(x / a)},
    {"FLOORDIV",
     Mode::FLOORDIV,
     3,
     0,
     -20,
     20,
     kBoth,
     false,
     REF(std::floor(x / a))},
    {"TRUNCATEDIV",
     Mode::TRUNCATEDIV,
     3,
     0,
     -20,
     20,
     kBoth,
     false,
     REF(std::trunc(x / a))},
    {"TRUNCATEDIV_BY_ONE",
     Mode::TRUNCATEDIV,
     1,
     0,
     -20,
     20,
     kFloats,
     false,
     REF(std::trunc(x))},
    {"FLOORMOD",
     Mode::FLOORMOD,
     4,
     0,
     -20,
     20,
     kBoth,
     false,
     REF(floor_mod(x, a))},
    {"TRUNCATEMOD",
     Mode::TRUNCATEMOD,
     4,
     0,
     -20,
     20,
     kBoth,
     false,
     REF(std::fmod(x, a))},
    {"SUB_BY_ALPHA", Mode::SUB_BY_ALPHA, 3, 0, -9, 9, kBoth, false, REF(a - x)},
    {"DIV_BY_ALPHA",
     Mode::DIV_BY_ALPHA,
     3,
     0,
     1,
     9,
     kFloats,
     false,
     REF(a / x)},
    {"TRUEDIV_BY_ALPHA",
     Mode::TRUEDIV_BY_ALPHA,
     3,
     0,
     1,
     9,
     kFloats,
     false,
     REF(a / x)},
    {"FLOORDIV_BY_ALPHA",
     Mode::FLOORDIV_BY_ALPHA,
     20,
     0,
     1,
     9,
     kBoth,
     false,
     REF(std::floor(a / x))},
    {"TRUNCATEDIV_BY_ALPHA",
     Mode::TRUNCATEDIV_BY_ALPHA,
     -20,
     0,
     1,
     9,
     kBoth,
     false,
     REF(std::trunc(a / x))},
    {"POW", Mode::POW, 3, 0, 0.1, 3, kFloats, false, REF(std::pow(x, a))},
    {"POW_RECIPROCAL", Mode::POW, -1, 0, 0.5, 3, kFloats, false, REF(1 / x)},
    {"MAX", Mode::MAX, 2, 0, -9, 9, kBoth, false, REF(std::fmax(x, a))},
    {"MIN", Mode::MIN, 2, 0, -9, 9, kBoth, false, REF(std::fmin(x, a))},
    {"EQ", Mode::EQ, 2, 0, -3, 3, kBoth, true, REF(x == a)},
    {"NE", Mode::NE, 2, 0, -3, 3, kBoth, true, REF(x != a)},
    {"LT", Mode::LT, 1, 0, -3, 3, kBoth, true, REF(x < a)},
    {"LE", Mode::LE, 1, 0, -3, 3, kBoth, true, REF(x <= a)},
    {"GT", Mode::GT, 1, 0, -3, 3, kBoth, true, REF(x > a)},
    {"GE", Mode::GE, 1, 0, -3, 3, kBoth, true, REF(x >= a)},
    {"IS_NAN", Mode::IS_NAN, 0, 0, -3, 3, kFloats, true, REF(std::isnan(x))},
    {"IS_INF", Mode::IS_INF, 0, 0, -3, 3, kFloats, true, REF(std::isinf(x))},
    {"ABS", Mode::ABS, 0, 0, -9, 9, kBoth, false, REF(std::fabs(x))},
    {"SIGN", Mode::SIGN, 0, 0, -3, 3, kBoth, false, REF((x > 0) - (x < 0))},
    {"SQRT", Mode::SQRT, 0, 0, 0, 9, kFloats, false, REF(std::sqrt(x))},
    {"RSQRT", Mode::RSQRT, 0, 0, 0.1, 9, kFloats, false, REF(1 / std::sqrt(x))},
    {"SQUARE", Mode::SQUARE, 0, 0, -9, 9, kBoth, false, REF(x* x)},
    {"RECIPROCAL", Mode::RECIPROCAL, 0, 0, 0.1, 9, kFloats, false, REF(1 / x)},
    {"EXP", Mode::EXP, 0, 0, -5, 3, kFloats, false, REF(std::exp(x))},
    {"LOG", Mode::LOG, 0, 0, 0.1, 9, kFloats, false, REF(std::log(x))},
    {"LOG2", Mode::LOG2, 0, 0, 0.1, 9, kFloats, false, REF(std::log2(x))},
    {"LOG10", Mode::LOG10, 0, 0, 0.1, 9, kFloats, false, REF(std::log10(x))},
    {"LOG1P", Mode::LOG1P, 0, 0, -0.5, 9, kFloats, false, REF(std::log1p(x))},
    {"SIN", Mode::SIN, 0, 0, -9, 9, kFloats, false, REF(std::sin(x))},
    {"COS", Mode::COS, 0, 0, -9, 9, kFloats, false, REF(std::cos(x))},
    {"TAN", Mode::TAN, 0, 0, -1, 1, kFloats, false, REF(std::tan(x))},
    {"ACOS", Mode::ACOS, 0, 0, -0.9, 0.9, kFloats, false, REF(std::acos(x))},
    {"ATAN", Mode::ATAN, 0, 0, -9, 9, kFloats, false, REF(std::atan(x))},
    {"TANH", Mode::TANH, 0, 0, -4, 4, kFloats, false, REF(std::tanh(x))},
    {"ERF", Mode::ERF, 0, 0, -4, 4, kFloats, false, REF(std::erf(x))},
    {"CEIL", Mode::CEIL, 0, 0, -9, 9, kFloats, false, REF(std::ceil(x))},
    {"FLOOR", Mode::FLOOR, 0, 0, -9, 9, kFloats, false, REF(std::floor(x))},
    {"ROUND", Mode::ROUND, 0, 0, -9, 9, kFloats, false, REF(std::nearbyint(x))},
    {"SIGMOID", Mode::SIGMOID, 0, 0, -9, 9, kFloats, false, REF(sigmoid(x))},
    {"RELU", Mode::RELU, 0, 0, -9, 9, kBoth, false, REF(x < 0 ? 0 : x)},
    {"RELU6",
     Mode::RELU6,
     0,
     0,
     -9,
     9,
     kFloats,
     false,
     REF(std::fmin(std::fmax(x, 0), 6))},
    {"SILU", Mode::SILU, 0, 0, -9, 9, kFloats, false, REF(x* sigmoid(x))},
    {"SWISH", Mode::SWISH, 0, 0, -9, 9, kFloats, false, REF(x* sigmoid(x))},
    {"MISH",
     Mode::MISH,
     0,
     0,
     -9,
     9,
     kFloats,
     false,
     REF(x* std::tanh(std::log1p(std::exp(x))))},
    {"HARDSWISH",
     Mode::HARDSWISH,
     0,
     0,
     -9,
     9,
     kFloats,
     false,
     REF(x* std::fmin(std::fmax(x + 3, 0), 6) / 6)},
    {"HARDSIGMOID",
     Mode::HARDSIGMOID,
     0.166667,
     0.5,
     -9,
     9,
     kFloats,
     false,
     REF(std::fmin(std::fmax(a* x + b, 0), 1))},
    {"LEAKY_RELU",
     Mode::LEAKY_RELU,
     0.25,
     0,
     -9,
     9,
     kFloats,
     false,
     REF(x < 0 ? a * x : x)},
    {"ELU",
     Mode::ELU,
     1.5,
     0,
     -4,
     4,
     kFloats,
     false,
     REF(x > 0 ? x : a * std::expm1(x))},
    {"SOFTPLUS",
     Mode::SOFTPLUS,
     2,
     5,
     -6,
     6,
     kFloats,
     false,
     REF(softplus(x, a, b))},
    {"CLIP",
     Mode::CLIP,
     -2,
     3,
     -9,
     9,
     kBoth,
     false,
     REF(std::fmin(std::fmax(x, a), b))},
    {"GELU",
     Mode::GELU,
     0,
     0,
     -4,
     4,
     kFloats,
     false,
     REF(0.5 * x * (1 + std::erf(x * kRoot)))},
    {"GELU_TANH",
     Mode::GELU_TANH,
     0,
     0,
     -4,
     4,
     kFloats,
     false,
     REF(0.5 * x *
         (1 + std::tanh(0.79788456080286536 * (x + 0.044715 * x * x * x))))},
    {"IDENTITY", Mode::IDENTITY, 0, 0, -9, 9, kBoth, false, REF(x)},
};

void set_parameters(dnn::Unary& unary, const Case& c, Type type) {
  EXPECT_SUCCESS(unary.SetMode(c.mode));
  if (is_floating(type)) {
    EXPECT_SUCCESS(unary.SetAlpha(c.alpha));
    EXPECT_SUCCESS(unary.SetBeta(c.beta));
  } else {
    EXPECT_SUCCESS(unary.SetAlpha(static_cast<int64_t>(c.alpha)));
    EXPECT_SUCCESS(unary.SetBeta(static_cast<int64_t>(c.beta)));
  }
}

Values inputs(const Case& c, Type type, int64_t count) {
  Values values = is_floating(type) ? numbers(count, c.low, c.high)
                                    : integers(
                                          count,
                                          static_cast<int>(std::ceil(c.low)),
                                          static_cast<int>(std::floor(c.high)));
  for (double& value : values) {
    value = rounded(type, value);
  }
  if (is_floating(type) && c.makes_bool) {
    values[1] = c.alpha;
    values[2] = std::numeric_limits<double>::quiet_NaN();
    values[3] = std::numeric_limits<double>::infinity();
    values[4] = -values[3];
  }
  return values;
}

Values expectations(const Case& c, Type out, const Values& in) {
  Values result;
  for (const double x : in) {
    result.push_back(rounded(out, c.reference(x, c.alpha, c.beta)));
  }
  return result;
}

class UnaryTest : public Fixture {
 public:
  UnaryTest(const Case& c, Type type) : case_(c), type_(type) {}

  void TestBody() override {
    dnn::Unary unary;
    set_parameters(unary, case_, type_);
    const Type out_type = case_.makes_bool ? Type::BOOL : type_;
    const Dims dims = {3, 5, 7};
    const Values values = inputs(case_, type_, count_of(dims));
    const Values expected = expectations(case_, out_type, values);
    const double slack = 8;
    {
      SCOPED_TRACE("dense");
      const Array in(type_, dims, values);
      Array out(out_type, dims);
      EXPECT_SUCCESS(unary.Run(handle(), out, in));
      expect_near(expected, out, slack);
    }
    {
      SCOPED_TRACE("strided on both sides");
      const Array in(type_, dims, {1, 3, 15}, values, 2);
      Array out(out_type, dims, {80, 8, 1}, {}, 1);
      EXPECT_SUCCESS(unary.Run(handle(), out, in));
      expect_near(expected, out, slack);
    }
    {
      SCOPED_TRACE("an input with stride 0");
      const Values row(values.begin(), values.begin() + 7);
      const Array in(type_, {3, 5, 7}, {0, 0, 1}, repeat(row, 15));
      Array out(out_type, dims);
      EXPECT_SUCCESS(unary.Run(handle(), out, in));
      expect_near(expectations(case_, out_type, repeat(row, 15)), out, slack);
    }
    if (out_type == type_) {
      SCOPED_TRACE("in place");
      Array both(type_, dims, values);
      EXPECT_SUCCESS(unary.Run(handle(), both, both));
      expect_near(expected, both, slack);
    }
  }

 private:
  static Values repeat(const Values& row, int times) {
    Values result;
    for (int i = 0; i < times; ++i) {
      result.insert(result.end(), row.begin(), row.end());
    }
    return result;
  }

  const Case& case_;
  Type type_;
};

[[maybe_unused]] const bool added_unary = [] {
  for (const Case& c : kCases) {
    for (const Type type :
         {Type::FLOAT,
          Type::DOUBLE,
          Type::HALF,
          Type::BFLOAT16,
          Type::INT32,
          Type::INT64}) {
      if ((c.where & (is_floating(type) ? kFloats : kInts)) != 0) {
        add_test(
            "Unary",
            std::string(c.name) + "_" + type_name(type),
            __FILE__,
            __LINE__,
            [&c, type]() -> Fixture* { return new UnaryTest(c, type); });
      }
    }
  }
  return true;
}();

} // namespace

CONFORMS(Unary_Run, success, large_tensors_in_one_task) {
  const int64_t count = 300'001;
  const Values values = numbers(count, -3, 3);
  const Array in(Type::FLOAT, {count}, values);
  Array out(Type::FLOAT, {count});
  dnn::Unary unary;
  EXPECT_SUCCESS(unary.SetMode(Mode::TANH));
  EXPECT_SUCCESS(unary.Run(handle(), out, in));
  Values expected;
  for (const double x : values) {
    expected.push_back(std::tanh(x));
  }
  expect_near(expected, out, 8);
}

CONFORMS(Unary_Run, null, absent_operands_are_refused) {
  dnn::Unary unary;
  EXPECT_SUCCESS(unary.SetMode(Mode::ABS));
  Array out(Type::FLOAT, {4});
  EXPECT_REFUSED(unary.Run(handle(), out, dnn::Tensor()));
  dnn::Tensor no_address;
  EXPECT_SUCCESS(no_address.SetType(Type::FLOAT));
  EXPECT_SUCCESS(no_address.SetNdInfo({4}));
  EXPECT_REFUSED(unary.Run(handle(), out, no_address));
  EXPECT_REFUSED(unary.Run(handle(), no_address, out));
}

CONFORMS(Unary_Run, INVALID_PARAMETER, sizes_differ) {
  dnn::Unary unary;
  EXPECT_SUCCESS(unary.SetMode(Mode::ABS));
  Array out(Type::FLOAT, {4});
  const Array in(Type::FLOAT, {5}, {1, 2, 3, 4, 5});
  EXPECT_STATUS(Status::INVALID_PARAMETER, unary.Run(handle(), out, in));
}

CONFORMS(Unary_Run, NOT_SUPPORTED, bool_arithmetic) {
  // Facts, 12: BOOL takes comparisons, logic, IDENTITY and CAST only.
  Array out(Type::BOOL, {4});
  const Array in(Type::BOOL, {4}, {0, 1, 1, 0});
  dnn::Unary unary;
  for (const Mode mode : {Mode::ADD, Mode::MUL, Mode::ABS, Mode::EXP}) {
    EXPECT_SUCCESS(unary.SetMode(mode));
    EXPECT_STATUS(Status::NOT_SUPPORTED, unary.Run(handle(), out, in));
  }
}

BEHAVES(Unary, IDENTITY_copies_every_type) {
  for (const Type type :
       {Type::FLOAT,
        Type::DOUBLE,
        Type::HALF,
        Type::BFLOAT16,
        Type::INT8,
        Type::INT16,
        Type::INT32,
        Type::INT64,
        Type::UINT8,
        Type::BOOL}) {
    SCOPED_TRACE(type_name(type));
    const Values values = integers(24, 0, 1);
    const Array in(type, {2, 3, 4}, {1, 8, 2}, values);
    Array out(type, {2, 3, 4});
    dnn::Unary unary;
    EXPECT_SUCCESS(unary.SetMode(Mode::IDENTITY));
    EXPECT_SUCCESS(unary.Run(handle(), out, in));
    expect_near(values, out, 1);
  }
}

BEHAVES(Unary, CAST_between_all_types) {
  const Type types[] = {
      Type::FLOAT,
      Type::DOUBLE,
      Type::HALF,
      Type::BFLOAT16,
      Type::INT8,
      Type::INT16,
      Type::INT32,
      Type::INT64,
      Type::UINT8,
      Type::BOOL};
  dnn::Unary unary;
  EXPECT_SUCCESS(unary.SetMode(Mode::CAST));
  for (const Type from : types) {
    for (const Type to : types) {
      SCOPED_TRACE(type_name(from) + " to " + type_name(to));
      Values values = from == Type::BOOL ? integers(60, 0, 1)
          : is_floating(from)            ? numbers(60, 0, 100)
                                         : integers(60, 0, 100);
      Values expected;
      for (double& value : values) {
        value = rounded(from, value);
        expected.push_back(
            to == Type::BOOL      ? (value != 0 ? 1 : 0)
                : is_floating(to) ? rounded(to, value)
                                  : std::trunc(value));
      }
      const Array in(from, {3, 4, 5}, {1, 15, 3}, values);
      Array out(to, {3, 4, 5});
      EXPECT_SUCCESS(unary.Run(handle(), out, in));
      expect_near(expected, out, 0);
    }
  }
}

BEHAVES(Unary, logic_with_a_truth_value) {
  struct Logic {
    Mode mode;
    double (*reference)(bool, bool);
  };
  const Logic cases[] = {
      {Mode::LOGICAL_AND, [](bool x, bool a) -> double { return x && a; }},
      {Mode::LOGICAL_OR, [](bool x, bool a) -> double { return x || a; }},
      {Mode::LOGICAL_XOR, [](bool x, bool a) -> double { return x != a; }}};
  const Values values = {0, 1, 1, 0, 1};
  for (const Logic& logic : cases) {
    for (const bool alpha : {false, true}) {
      const Array in(Type::BOOL, {5}, values);
      Array out(Type::BOOL, {5});
      dnn::Unary unary;
      EXPECT_SUCCESS(unary.SetMode(logic.mode));
      EXPECT_SUCCESS(unary.SetAlpha(int64_t{alpha}));
      EXPECT_SUCCESS(unary.Run(handle(), out, in));
      Values expected;
      for (const double value : values) {
        expected.push_back(logic.reference(value != 0, alpha));
      }
      expect_near(expected, out, 0);
    }
  }
}

BEHAVES(Unary, int64_is_exact_beyond_doubles) {
  const int64_t big = (int64_t{1} << 60) + 1;
  Array out(Type::INT64, {1});
  const Buffer memory(8);
  EXPECT_OK(musaMemcpy(memory.get(), &big, 8, musaMemcpyHostToDevice));
  dnn::Tensor in;
  EXPECT_SUCCESS(in.SetType(Type::INT64));
  EXPECT_SUCCESS(in.SetAddr(memory.get()));
  EXPECT_SUCCESS(in.SetNdInfo({1}));
  dnn::Unary unary;
  EXPECT_SUCCESS(unary.SetMode(Mode::ADD));
  EXPECT_SUCCESS(unary.SetAlpha(int64_t{1}));
  EXPECT_SUCCESS(unary.Run(handle(), out, in));
  int64_t result = 0;
  EXPECT_OK(musaMemcpy(&result, out.address(), 8, musaMemcpyDeviceToHost));
  EXPECT_EQ(big + 1, result);
}

BEHAVES(Unary, ROUND_goes_to_even) {
  const Array in(Type::FLOAT, {6}, {0.5, 1.5, 2.5, -0.5, -1.5, -2.5});
  Array out(Type::FLOAT, {6});
  dnn::Unary unary;
  EXPECT_SUCCESS(unary.SetMode(Mode::ROUND));
  EXPECT_SUCCESS(unary.Run(handle(), out, in));
  expect_near({0, 2, 2, 0, -2, -2}, out, 0);
}

BEHAVES(Unary, propagates_nan) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  dnn::Unary unary;
  for (const Mode mode :
       {Mode::RELU, Mode::ABS, Mode::EXP, Mode::SIGMOID, Mode::GELU}) {
    const Array in(Type::FLOAT, {2}, {nan, 1});
    Array out(Type::FLOAT, {2});
    EXPECT_SUCCESS(unary.SetMode(mode));
    EXPECT_SUCCESS(unary.Run(handle(), out, in));
    EXPECT_TRUE(std::isnan(out.read()[0])) << static_cast<int>(mode);
  }
}

} // namespace conformance
