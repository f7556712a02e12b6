// SPDX-License-Identifier: Apache-2.0
// Elementwise operators and reductions of sizes and strides at which an engine
// may take other ways than for a few elements.
#include "mudnn/array.h"

#include <algorithm>

namespace conformance {
namespace {

// (batch, rows, columns) with the last two exchanged in memory.
Dims crossed(const Dims& dims) {
  return {dims[1] * dims[2], 1, dims[1]};
}

const Dims kShapes[] =
    {{1, 256, 256}, {1, 203, 517}, {3, 64, 1000}, {2, 9, 4099}, {1, 5000, 17}};

} // namespace

BEHAVES(Binary, crossed_operands_of_any_size) {
  for (const Type type : {Type::FLOAT, Type::HALF, Type::INT64, Type::UINT8}) {
    for (const Dims& dims : kShapes) {
      SCOPED_TRACE(type_name(type) + " " + std::to_string(dims[1]));
      const Values left = integers(count_of(dims), 0, 99, 1);
      const Values right = integers(count_of(dims), 0, 99, 2);
      const Array l(type, dims, left);
      const Array r(type, dims, crossed(dims), right);
      Array out(type, dims);
      dnn::Binary binary;
      EXPECT_SUCCESS(binary.SetMode(dnn::Binary::Mode::ADD));
      EXPECT_SUCCESS(binary.Run(handle(), out, l, r));
      Values expected(left);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        expected[i] += right[i];
      }
      expect_near(expected, out, 0);
    }
  }
}

// Sums of integers, exact in every order; every other element, too.
BEHAVES(Reduce, long_lines_in_parts) {
  for (const int64_t step : {1, 2}) {
    for (const int64_t count : {65537, 262144, 1000003}) {
      SCOPED_TRACE(std::to_string(count) + " by " + std::to_string(step));
      Values values = integers(count, 0, 3);
      const auto last = static_cast<std::size_t>(count - 1);
      values[last] = values[last - 1] = 9;
      const Array in(Type::FLOAT, {count}, {step}, values);
      double expected = 0;
      for (const double value : values) {
        expected += value;
      }
      Array sum(Type::FLOAT, {1});
      dnn::Reduce reduce;
      EXPECT_SUCCESS(reduce.SetDim({0}));
      EXPECT_SUCCESS(reduce.SetMode(dnn::Reduce::Mode::ADD));
      EXPECT_SUCCESS(reduce.Run(handle(), sum, in, maintainer()));
      expect_near({expected}, sum, 0);
      Array largest(Type::FLOAT, {1});
      Array place(Type::INT64, {1});
      EXPECT_SUCCESS(reduce.SetMode(dnn::Reduce::Mode::MAX));
      EXPECT_SUCCESS(
          reduce.RunWithIndices(handle(), largest, place, in, maintainer()));
      expect_near({9}, largest, 0);
      expect_near({static_cast<double>(count - 2)}, place, 0);
    }
  }
}

BEHAVES(Reduce, few_columns_of_many_rows) {
  const int64_t rows = 10007;
  for (const int64_t columns : {3, 8, 100}) {
    SCOPED_TRACE(columns);
    const Values values = integers(rows * columns, 0, 3);
    const Array in(Type::FLOAT, {rows, columns}, values);
    Values expected(static_cast<std::size_t>(columns), 0);
    for (std::size_t i = 0; i < values.size(); ++i) {
      expected[i % expected.size()] += values[i];
    }
    Array out(Type::FLOAT, {columns});
    dnn::Reduce reduce;
    EXPECT_SUCCESS(reduce.SetDim({0}));
    EXPECT_SUCCESS(reduce.SetMode(dnn::Reduce::Mode::ADD));
    EXPECT_SUCCESS(reduce.Run(handle(), out, in, maintainer()));
    expect_near(expected, out, 0);
  }
}

} // namespace conformance
