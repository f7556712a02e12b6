// SPDX-License-Identifier: Apache-2.0
// Reduce: values, positions, types and dims.
#include "mudnn/array.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace conformance {
namespace {

using Mode = dnn::Reduce::Mode;

struct Case {
  const char* name;
  Mode mode;
  bool ints;
  double (*reference)(const Values& line);
};

double sum(const Values& v) {
  double total = 0;
  for (const double x : v) {
    total += x;
  }
  return total;
}

double variance(const Values& v) {
  const double mean = sum(v) / static_cast<double>(v.size());
  double total = 0;
  for (const double x : v) {
    total += (x - mean) * (x - mean);
  }
  return total / static_cast<double>(v.size() - 1);
}

const Case kCases[] = {
    {"ADD", Mode::ADD, true, &sum},
    {"MEAN",
     Mode::MEAN,
     false,
     [](const Values& v) { return sum(v) / static_cast<double>(v.size()); }},
    {"PROD",
     Mode::PROD,
     true,
     [](const Values& v) {
       double product = 1;
       for (const double x : v) {
         product *= x;
       }
       return product;
     }},
    {"MAX",
     Mode::MAX,
     true,
     [](const Values& v) { return *std::max_element(v.begin(), v.end()); }},
    {"MIN",
     Mode::MIN,
     true,
     [](const Values& v) { return *std::min_element(v.begin(), v.end()); }},
    {"NORM",
     Mode::NORM,
     false,
     [](const Values& v) {
       double total = 0;
       for (const double x : v) {
         total += x * x;
       }
       return std::sqrt(total);
     }},
    // Facts, 31: unbiased unless SetCorrection says otherwise.
    {"VARIANCE", Mode::VARIANCE, false, &variance},
    {"STD",
     Mode::STD,
     false,
     [](const Values& v) { return std::sqrt(variance(v)); }},
};

// Reduces row-major values of dims over the axes.
Values reference(
    const Case& c,
    const Values& values,
    const Dims& dims,
    const Dims& axes) {
  Dims out_dims = dims;
  for (const int64_t axis : axes) {
    out_dims[static_cast<std::size_t>(axis)] = 1;
  }
  std::vector<Values> lines(static_cast<std::size_t>(count_of(out_dims)));
  const Dims out_strides = dense_strides(out_dims);
  for (std::size_t i = 0; i < values.size(); ++i) {
    auto rest = static_cast<int64_t>(i);
    int64_t at = 0;
    for (std::size_t d = dims.size(); d-- > 0;) {
      at += (rest % dims[d] % out_dims[d]) * out_strides[d];
      rest /= dims[d];
    }
    lines[static_cast<std::size_t>(at)].push_back(values[i]);
  }
  Values result;
  for (const Values& line : lines) {
    result.push_back(c.reference(line));
  }
  return result;
}

Status run(
    Mode mode,
    Array& out,
    const Array& in,
    const std::vector<int>& axes,
    const std::function<void(dnn::Reduce&)>& adjust = nullptr) {
  dnn::Reduce reduce;
  EXPECT_SUCCESS(reduce.SetMode(mode));
  EXPECT_SUCCESS(reduce.SetDim(static_cast<int>(axes.size()), axes.data()));
  if (adjust) {
    adjust(reduce);
  }
  return reduce.Run(handle(), out, in, maintainer());
}

class ReduceTest : public Fixture {
 public:
  ReduceTest(const Case& c, Type type) : case_(c), type_(type) {}

  void TestBody() override {
    const Dims dims = {3, 4, 5};
    Values values =
        is_floating(type_) ? numbers(60, 0.5, 1.5) : integers(60, 1, 2);
    for (double& value : values) {
      value = rounded(type_, value);
    }
    struct Axes {
      std::vector<int> axes;
      Dims out;
    };
    const Axes all[] = {
        {{0}, {1, 4, 5}},
        {{1}, {3, 1, 5}},
        {{2}, {3, 4, 1}},
        {{0, 2}, {1, 4, 1}},
        {{0, 1}, {1, 1, 5}},
        {{1, 2}, {3, 1, 1}},
        {{0, 1, 2}, {1, 1, 1}}};
    for (const Axes& axes : all) {
      SCOPED_TRACE(axes.axes.size());
      SCOPED_TRACE(axes.axes.front());
      const Array in(type_, dims, values);
      Array out(type_, axes.out);
      EXPECT_SUCCESS(run(case_.mode, out, in, axes.axes));
      const Values expected = reference(
          case_,
          values,
          dims,
          Dims(axes.axes.begin(), axes.axes.end()));
      expect_near(rounded_all(expected), out, 64);
    }
    {
      SCOPED_TRACE("no dims reduce everything");
      const Array in(type_, dims, values);
      Array out(type_, {1});
      EXPECT_SUCCESS(run(case_.mode, out, in, {}));
      expect_near(
          rounded_all(reference(case_, values, dims, {0, 1, 2})),
          out,
          64);
    }
    if (count_of(dims) > 1) {
      // Facts, 29: strided input wants the squeezed shape.
      SCOPED_TRACE("one axis of a strided input");
      const Array in(type_, dims, {1, 15, 3}, values, 1);
      Array out(type_, {3, 5});
      EXPECT_SUCCESS(run(case_.mode, out, in, {1}));
      expect_near(rounded_all(reference(case_, values, dims, {1})), out, 64);
    }
  }

 private:
  Values rounded_all(Values values) const {
    for (double& value : values) {
      value = rounded(type_, value);
    }
    return values;
  }

  const Case& case_;
  Type type_;
};

[[maybe_unused]] const bool added_reduce = [] {
  for (const Case& c : kCases) {
    for (const Type type :
         {Type::FLOAT,
          Type::DOUBLE,
          Type::HALF,
          Type::BFLOAT16,
          Type::INT32,
          Type::INT64}) {
      if (is_floating(type) || c.ints) {
        add_test(
            "Reduce",
            std::string(c.name) + "_" + type_name(type),
            __FILE__,
            __LINE__,
            [&c, type]() -> Fixture* { return new ReduceTest(c, type); });
      }
    }
  }
  return true;
}();

} // namespace

CONFORMS(Reduce_Run, success, int32_sums_to_int64) {
  // Facts, 2.4: integral inputs sum to INT64.
  const Array in(Type::INT32, {2, 3}, {1, 2, 3, 4, 5, 6});
  Array out(Type::INT64, {2, 1});
  EXPECT_SUCCESS(run(Mode::ADD, out, in, {1}));
  expect_near({6, 15}, out, 0);
}

CONFORMS(Reduce_Run, null, absent_operands_are_refused) {
  dnn::Reduce reduce;
  EXPECT_SUCCESS(reduce.SetMode(Mode::ADD));
  Array out(Type::FLOAT, {1});
  EXPECT_REFUSED(reduce.Run(handle(), out, dnn::Tensor(), maintainer()));
}

CONFORMS(Reduce_Run, INVALID_PARAMETER, axis_out_of_range) {
  const Array in(Type::FLOAT, {2, 3}, {1, 2, 3, 4, 5, 6});
  Array out(Type::FLOAT, {2});
  EXPECT_STATUS(Status::INVALID_PARAMETER, run(Mode::ADD, out, in, {2}));
}

CONFORMS(Reduce_Run, NOT_SUPPORTED, logic_of_floats) {
  // Facts, 33.
  const Array in(Type::FLOAT, {3}, {1, 0, 1});
  Array out(Type::BOOL, {1});
  EXPECT_STATUS(Status::NOT_SUPPORTED, run(Mode::AND, out, in, {0}));
}

CONFORMS(Reduce_RunWithIndices, success, lowest_position_of_ties) {
  const Array in(Type::FLOAT, {2, 4}, {1, 7, 7, 3, -1, -5, 0, -5});
  Array values(Type::FLOAT, {2, 1});
  Array places(Type::INT64, {2, 1});
  dnn::Reduce reduce;
  EXPECT_SUCCESS(reduce.SetDim({1}));
  EXPECT_SUCCESS(reduce.SetMode(Mode::MAX));
  EXPECT_SUCCESS(
      reduce.RunWithIndices(handle(), values, places, in, maintainer()));
  expect_near({7, 0}, values, 0);
  expect_near({1, 2}, places, 0);
  EXPECT_SUCCESS(reduce.SetMode(Mode::MIN));
  EXPECT_SUCCESS(
      reduce.RunWithIndices(handle(), values, places, in, maintainer()));
  expect_near({1, -5}, values, 0);
  expect_near({0, 1}, places, 0);
}

CONFORMS(Reduce_RunWithIndices, null, absent_operands_are_refused) {
  const Array in(Type::FLOAT, {4}, {1, 2, 3, 4});
  Array values(Type::FLOAT, {1});
  dnn::Tensor nothing;
  dnn::Reduce reduce;
  EXPECT_SUCCESS(reduce.SetDim({0}));
  EXPECT_SUCCESS(reduce.SetMode(Mode::MAX));
  EXPECT_REFUSED(
      reduce.RunWithIndices(handle(), values, nothing, in, maintainer()));
}

CONFORMS(Reduce_RunIndices, success, positions_alone) {
  const Array in(Type::INT64, {2, 3}, {1, 5, 2, 9, 0, 9});
  Array places(Type::INT64, {2, 1});
  dnn::Reduce reduce;
  EXPECT_SUCCESS(reduce.SetDim({1}));
  EXPECT_SUCCESS(reduce.SetMode(Mode::MAX));
  EXPECT_SUCCESS(reduce.RunIndices(handle(), places, in, maintainer()));
  expect_near({1, 0}, places, 0);
}

CONFORMS(Reduce_RunIndices, null, absent_operands_are_refused) {
  Array places(Type::INT64, {1});
  dnn::Reduce reduce;
  EXPECT_SUCCESS(reduce.SetDim({0}));
  EXPECT_SUCCESS(reduce.SetMode(Mode::MAX));
  EXPECT_REFUSED(
      reduce.RunIndices(handle(), places, dnn::Tensor(), maintainer()));
}

BEHAVES(Reduce, AND_and_OR_of_truth_values) {
  for (const Type type : {Type::BOOL, Type::UINT8}) {
    const Array in(type, {3, 2}, {1, 1, 0, 1, 0, 0});
    Array out(type, {3, 1});
    EXPECT_SUCCESS(run(Mode::AND, out, in, {1}));
    expect_near({1, 0, 0}, out, 0);
    EXPECT_SUCCESS(run(Mode::OR, out, in, {1}));
    expect_near({1, 1, 0}, out, 0);
  }
}

BEHAVES(Reduce, MAX_keeps_nan) {
  const Array in(Type::FLOAT, {4}, {1, NAN, 3, 2});
  Array out(Type::FLOAT, {1});
  EXPECT_SUCCESS(run(Mode::MAX, out, in, {0}));
  EXPECT_TRUE(std::isnan(out.read()[0]));
}

BEHAVES(Reduce, correction_zero_is_biased) {
  const Array in(Type::FLOAT, {4}, {1, 2, 3, 4});
  Array out(Type::FLOAT, {1});
  EXPECT_SUCCESS(run(Mode::VARIANCE, out, in, {0}, [](dnn::Reduce& r) {
    EXPECT_SUCCESS(r.SetCorrection(0));
  }));
  expect_near({1.25}, out, 4);
}

BEHAVES(Reduce, other_norms) {
  const Array in(Type::FLOAT, {4}, {1, -2, 3, -4});
  Array out(Type::FLOAT, {1});
  EXPECT_SUCCESS(run(Mode::NORM, out, in, {0}, [](dnn::Reduce& r) {
    EXPECT_SUCCESS(r.SetNormOrd(1.0F));
  }));
  expect_near({10}, out, 4);
  EXPECT_SUCCESS(run(Mode::NORM, out, in, {0}, [](dnn::Reduce& r) {
    EXPECT_SUCCESS(r.SetNormOrd(3.0F));
  }));
  expect_near({std::cbrt(100.0)}, out, 16);
}

// An engine that reads several elements at once must not lose what is left.
BEHAVES(Reduce, every_short_length) {
  for (const Type type : {Type::FLOAT, Type::HALF, Type::DOUBLE, Type::INT32}) {
    for (int64_t count = 1; count <= 70; ++count) {
      SCOPED_TRACE(std::string(type_name(type)) + " " + std::to_string(count));
      Values values(static_cast<std::size_t>(count), 1);
      values.back() = 3;
      const Array line(type, {count}, values);
      Array out(type, {1});
      EXPECT_SUCCESS(run(Mode::ADD, out, line, {0}));
      expect_near({static_cast<double>(count + 2)}, out, 1);
      EXPECT_SUCCESS(run(Mode::MAX, out, line, {0}));
      expect_near({3}, out, 1);
    }
  }
}

BEHAVES(Reduce, long_sums_are_accurate) {
  const int64_t count = 1 << 20;
  const Values values(static_cast<std::size_t>(count), 0.1);
  const Array in(Type::FLOAT, {count}, values);
  Array out(Type::FLOAT, {1});
  EXPECT_SUCCESS(run(Mode::ADD, out, in, {0}));
  const double expected =
      static_cast<double>(count) * rounded(Type::FLOAT, 0.1);
  EXPECT_NEAR(expected, out.read()[0], expected * 1e-5);
}

} // namespace conformance
