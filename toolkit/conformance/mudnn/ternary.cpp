// SPDX-License-Identifier: Apache-2.0
// Ternary: select, addcmul, addcdiv and clamp.
#include "mudnn/array.h"

#include <algorithm>
#include <cmath>

namespace conformance {
namespace {

using Mode = dnn::Ternary::Mode;

struct Case {
  const char* name;
  Mode mode;
  double alpha;
  bool ints;
  double (*reference)(double a, double b, double c, double alpha);
};

const Case kCases[] = {
    {"ADDCMUL",
     Mode::ADDCMUL,
     0,
     true,
     [](double a, double b, double c, double) { return a + b * c; }},
    {"ADDCMUL_ALPHA",
     Mode::ADDCMUL_ALPHA,
     3,
     true,
     [](double a, double b, double c, double alpha) {
       return a + alpha * b * c;
     }},
    {"ADDCDIV",
     Mode::ADDCDIV,
     0,
     false,
     [](double a, double b, double c, double) { return a + b / c; }},
    {"ADDCDIV_ALPHA",
     Mode::ADDCDIV_ALPHA,
     3,
     false,
     [](double a, double b, double c, double alpha) {
       return a + alpha * b / c;
     }},
};

Values operand(Type type, double low, double high, unsigned seed) {
  Values values = is_floating(type)
      ? numbers(60, low, high, seed)
      : integers(60, static_cast<int>(low), static_cast<int>(high), seed);
  for (double& value : values) {
    value = rounded(type, value);
  }
  return values;
}

class TernaryTest : public Fixture {
 public:
  TernaryTest(const Case& c, Type type) : case_(c), type_(type) {}

  void TestBody() override {
    dnn::Ternary ternary;
    EXPECT_SUCCESS(ternary.SetMode(case_.mode));
    if (is_floating(type_)) {
      EXPECT_SUCCESS(ternary.SetAlpha(case_.alpha));
    } else {
      EXPECT_SUCCESS(ternary.SetAlpha(static_cast<int64_t>(case_.alpha)));
    }
    const Values a = operand(type_, -9, 9, 1);
    const Values b = operand(type_, -9, 9, 2);
    const Values c = operand(type_, 1, 9, 3);
    {
      SCOPED_TRACE("dense");
      Array out(type_, {3, 4, 5});
      EXPECT_SUCCESS(ternary.Run(
          handle(),
          out,
          Array(type_, {3, 4, 5}, a),
          Array(type_, {3, 4, 5}, b),
          Array(type_, {3, 4, 5}, c)));
      check(a, b, c, out);
    }
    {
      SCOPED_TRACE("strided and broadcast");
      Values row;
      for (std::size_t i = 0; i < 60; ++i) {
        row.push_back(c[i % 5]);
      }
      Array out(type_, {3, 4, 5}, {1, 3, 12}, {});
      EXPECT_SUCCESS(ternary.Run(
          handle(),
          out,
          Array(type_, {3, 4, 5}, {1, 15, 3}, a),
          Array(type_, {3, 4, 5}, {40, 10, 2}, b, 1),
          Array(type_, {3, 4, 5}, {0, 0, 1}, row)));
      check(a, b, row, out);
    }
  }

 private:
  void
  check(const Values& a, const Values& b, const Values& c, const Array& out) {
    Values expected;
    for (std::size_t i = 0; i < a.size(); ++i) {
      expected.push_back(
          rounded(type_, case_.reference(a[i], b[i], c[i], case_.alpha)));
    }
    expect_near(expected, out, 64);
  }

  const Case& case_;
  Type type_;
};

[[maybe_unused]] const bool added_ternary = [] {
  for (const Case& c : kCases) {
    for (const Type type :
         {Type::FLOAT, Type::HALF, Type::BFLOAT16, Type::INT32, Type::INT64}) {
      if (is_floating(type) || c.ints) {
        add_test(
            "Ternary",
            std::string(c.name) + "_" + type_name(type),
            __FILE__,
            __LINE__,
            [&c, type]() -> Fixture* { return new TernaryTest(c, type); });
      }
    }
  }
  return true;
}();

} // namespace

CONFORMS(Ternary_Run, success, SELECT_of_every_type) {
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
    const Values which = integers(12, 0, 1, 5);
    const int most = type == Type::BOOL ? 1 : 100;
    const Values yes = integers(12, 0, most, 6);
    const Values no = integers(12, 0, most, 7);
    Array out(type, {3, 4});
    dnn::Ternary ternary;
    EXPECT_SUCCESS(ternary.SetMode(Mode::SELECT));
    EXPECT_SUCCESS(ternary.Run(
        handle(),
        out,
        Array(Type::BOOL, {3, 4}, {1, 3}, which),
        Array(type, {3, 4}, yes),
        Array(type, {3, 4}, {8, 2}, no)));
    Values expected;
    for (std::size_t i = 0; i < 12; ++i) {
      expected.push_back(which[i] != 0 ? yes[i] : no[i]);
    }
    expect_near(expected, out, 0);
  }
}

CONFORMS(Ternary_Run, null, absent_operands_are_refused) {
  dnn::Ternary ternary;
  EXPECT_SUCCESS(ternary.SetMode(Mode::ADDCMUL));
  Array out(Type::FLOAT, {2});
  const Array in(Type::FLOAT, {2}, {1, 2});
  EXPECT_REFUSED(ternary.Run(handle(), out, in, in, dnn::Tensor()));
  EXPECT_REFUSED(ternary.Run(handle(), out, dnn::Tensor(), in, in));
}

CONFORMS(Ternary_Run, NOT_SUPPORTED, clamp_of_mixed_types) {
  // Facts, 16: CLAMP wants one common type.
  dnn::Ternary ternary;
  EXPECT_SUCCESS(ternary.SetMode(Mode::CLAMP));
  Array out(Type::FLOAT, {2});
  const Array in(Type::FLOAT, {2}, {1, 2});
  const Array low(Type::HALF, {2}, {0, 0});
  EXPECT_REFUSED(ternary.Run(handle(), out, in, low, in));
}

CONFORMS(Ternary_Run, INVALID_PARAMETER, sizes_differ) {
  dnn::Ternary ternary;
  EXPECT_SUCCESS(ternary.SetMode(Mode::ADDCMUL));
  Array out(Type::FLOAT, {2});
  const Array two(Type::FLOAT, {2}, {1, 2});
  const Array three(Type::FLOAT, {3}, {1, 2, 3});
  EXPECT_STATUS(
      Status::INVALID_PARAMETER,
      ternary.Run(handle(), out, two, two, three));
}

BEHAVES(Ternary, CLAMP_between_tensors) {
  for (const Type type :
       {Type::FLOAT, Type::HALF, Type::INT32, Type::INT64, Type::DOUBLE}) {
    SCOPED_TRACE(type_name(type));
    const Array in(type, {5}, {-9, -1, 0, 4, 9});
    const Array low(type, {5}, {0}, {-2, -2, -2, -2, -2});
    const Array high(type, {5}, {3, 3, 3, 3, 3});
    Array out(type, {5});
    dnn::Ternary ternary;
    EXPECT_SUCCESS(ternary.SetMode(Mode::CLAMP));
    EXPECT_SUCCESS(ternary.Run(handle(), out, in, low, high));
    expect_near({-2, -1, 0, 3, 3}, out, 0);
  }
}

} // namespace conformance
