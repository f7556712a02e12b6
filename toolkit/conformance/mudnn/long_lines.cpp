// SPDX-License-Identifier: Apache-2.0
// Sorting, selecting, gathering and scattering in shapes of all kinds: where an
// engine has several ways to do it, each is taken.
#include "mudnn/array.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace conformance {
namespace {

// (outer, extent, inner); a line runs along the extent.
struct Shape {
  int64_t outer, extent, inner;

  Dims dims(int64_t n) const { return {outer, n, inner}; }
  int64_t lines() const { return outer * inner; }
  // Of an item of a line that has n.
  std::size_t at(int64_t line, int64_t item, int64_t n) const {
    return static_cast<std::size_t>(
        (line / inner * n + item) * inner + line % inner);
  }
};

const Shape kShapes[] = {
    {5, 1, 3},
    {3, 5, 2},
    {2, 32, 3},
    {4, 33, 1},
    {1, 300, 2},
    {2, 1500, 1},
    {1, 4096, 1},
    {3, 5000, 2},
    {1, 70000, 1}};

// Integers with repeats; floating ones with NaN and infinities between them.
Values mixed(Type type, const Shape& shape) {
  Values values = integers(count_of(shape.dims(shape.extent)), 0, 100, 7);
  if (is_floating(type)) {
    for (std::size_t i = 0; i < values.size(); i += 5) {
      values[i] = i % 2 == 0 ? NAN : i % 3 == 0 ? INFINITY : -INFINITY;
    }
  }
  return values;
}

// The line's items in order, equal ones in theirs; NaN is the largest.
std::vector<int64_t>
ordered(const Shape& shape, const Values& values, int64_t line, bool down) {
  std::vector<int64_t> items(static_cast<std::size_t>(shape.extent));
  std::iota(items.begin(), items.end(), 0);
  const auto less = [](double a, double b) {
    return a < b || (std::isnan(b) && !std::isnan(a));
  };
  std::stable_sort(items.begin(), items.end(), [&](int64_t a, int64_t b) {
    const double x = values[shape.at(line, a, shape.extent)];
    const double y = values[shape.at(line, b, shape.extent)];
    return down ? less(y, x) : less(x, y);
  });
  return items;
}

// The first n of each line.
void expect_order(
    const Shape& shape,
    const Values& in,
    bool down,
    int64_t n,
    const Array& values,
    const Array& places) {
  Values expected_values(static_cast<std::size_t>(shape.lines() * n));
  Values expected_places(expected_values.size());
  for (int64_t line = 0; line < shape.lines(); ++line) {
    const auto items = ordered(shape, in, line, down);
    for (int64_t i = 0; i < n; ++i) {
      const int64_t item = items[static_cast<std::size_t>(i)];
      expected_values[shape.at(line, i, n)] =
          in[shape.at(line, item, shape.extent)];
      expected_places[shape.at(line, i, n)] = static_cast<double>(item);
    }
  }
  expect_near(expected_values, values, 0);
  expect_near(expected_places, places, 0);
}

Values zeros_and_ones(int64_t count, int percent) {
  Values values = integers(count, 0, 99, 11);
  for (double& value : values) {
    value = value < percent ? 1 : 0;
  }
  return values;
}

} // namespace

BEHAVES(Sort, lines_of_every_length) {
  for (const Type type :
       {Type::FLOAT,
        Type::DOUBLE,
        Type::HALF,
        Type::BFLOAT16,
        Type::INT8,
        Type::INT16,
        Type::INT32,
        Type::INT64,
        Type::UINT8}) {
    for (const Shape& shape : kShapes) {
      SCOPED_TRACE(type_name(type) + " " + std::to_string(shape.extent));
      const Values in = mixed(type, shape);
      const Array from(type, shape.dims(shape.extent), in);
      Array values(type, shape.dims(shape.extent));
      Array places(Type::INT64, shape.dims(shape.extent));
      for (const bool down : {false, true}) {
        dnn::Sort sort;
        EXPECT_SUCCESS(sort.SetDim(1));
        EXPECT_SUCCESS(sort.SetStable(true));
        EXPECT_SUCCESS(sort.SetDescending(down));
        EXPECT_SUCCESS(sort.Run(handle(), values, places, from, maintainer()));
        expect_order(shape, in, down, shape.extent, values, places);
      }
    }
  }
}

BEHAVES(TopK, of_lines_of_every_length) {
  for (const Type type :
       {Type::FLOAT, Type::DOUBLE, Type::HALF, Type::BFLOAT16, Type::INT32}) {
    for (const Shape& shape : kShapes) {
      const Values in = mixed(type, shape);
      const Array from(type, shape.dims(shape.extent), in);
      for (const int64_t k : {int64_t{1}, shape.extent / 3 + 1, shape.extent}) {
        SCOPED_TRACE(
            type_name(type) + " " + std::to_string(k) + " of " +
            std::to_string(shape.extent));
        Array values(type, shape.dims(k));
        Array places(Type::INT64, shape.dims(k));
        for (const bool largest : {false, true}) {
          dnn::TopK topk;
          EXPECT_SUCCESS(topk.SetK(static_cast<int>(k)));
          EXPECT_SUCCESS(topk.SetDim(1));
          EXPECT_SUCCESS(topk.SetLargest(largest));
          EXPECT_SUCCESS(topk.SetSorted(true));
          EXPECT_SUCCESS(
              topk.Run(handle(), values, places, from, maintainer()));
          expect_order(shape, in, largest, k, values, places);
        }
      }
    }
  }
}

BEHAVES(Nonzero, of_many_elements) {
  for (const Type type :
       {Type::BOOL, Type::UINT8, Type::HALF, Type::FLOAT, Type::INT64}) {
    for (const int64_t rows : {1, 16, 171, 20000}) {
      for (const int percent : {0, 1, 50, 100}) {
        SCOPED_TRACE(
            type_name(type) + " " + std::to_string(rows) + " rows, " +
            std::to_string(percent) + "%");
        const Values values = zeros_and_ones(rows * 24, percent);
        Array out(Type::INT64, {rows * 24, 3});
        dnn::Nonzero nonzero;
        EXPECT_SUCCESS(nonzero.Run(
            handle(),
            out,
            Array(type, {rows, 8, 3}, values),
            maintainer()));
        Values expected;
        for (std::size_t i = 0; i < values.size(); ++i) {
          if (values[i] != 0) {
            expected.push_back(static_cast<double>(i / 24));
            expected.push_back(static_cast<double>(i / 3 % 8));
            expected.push_back(static_cast<double>(i % 3));
          }
        }
        Dims dims;
        EXPECT_SUCCESS(out.tensor().GetNdInfo(dims));
        EXPECT_EQ((Dims{static_cast<int64_t>(expected.size()) / 3, 3}), dims);
        Values found = out.read();
        found.resize(expected.size());
        expect_near(expected, found, 0);
      }
    }
  }
}

BEHAVES(MaskedSelect, of_many_elements) {
  for (const Type type : {Type::UINT8, Type::HALF, Type::FLOAT, Type::INT64}) {
    for (const int64_t count : {31, 4097, 300000}) {
      SCOPED_TRACE(type_name(type) + " " + std::to_string(count));
      const Values values = integers(count, 0, 100);
      const Values mask = zeros_and_ones(count, 30);
      Array out(type, {count});
      dnn::MaskedSelect select;
      EXPECT_SUCCESS(select.Run(
          handle(),
          out,
          Array(type, {count}, values),
          Array(Type::BOOL, {count}, mask),
          maintainer()));
      Values expected;
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (mask[i] != 0) {
          expected.push_back(values[i]);
        }
      }
      Dims dims;
      EXPECT_SUCCESS(out.tensor().GetNdInfo(dims));
      EXPECT_EQ((Dims{static_cast<int64_t>(expected.size())}), dims);
      Values found = out.read();
      found.resize(expected.size());
      expect_near(expected, found, 0);
    }
  }
}

BEHAVES(GatherX, slices_of_every_size) {
  for (const Type type : {Type::FLOAT, Type::HALF, Type::INT8, Type::DOUBLE}) {
    for (const int64_t inner : {1, 3, 16, 700}) {
      SCOPED_TRACE(type_name(type) + " " + std::to_string(inner));
      const Values values = integers(2 * 3 * 5 * inner, -99, 99);
      const Values picks = integers(2 * 7, 0, 4);
      Values expected;
      for (std::size_t row = 0; row < 6; ++row) {
        for (std::size_t pick = 0; pick < 7; ++pick) {
          const auto k = static_cast<std::size_t>(picks[row / 3 * 7 + pick]);
          const auto from =
              values.begin() + static_cast<std::ptrdiff_t>(row * 5 + k) * inner;
          expected.insert(expected.end(), from, from + inner);
        }
      }
      Array out(type, {2, 3, 7, inner});
      dnn::GatherX gather;
      EXPECT_SUCCESS(gather.SetMode(dnn::GatherX::Mode::GATHER));
      EXPECT_SUCCESS(gather.SetAxis(2));
      EXPECT_SUCCESS(gather.SetBatchDims(1));
      EXPECT_SUCCESS(gather.Run(
          handle(),
          out,
          Array(Type::INT64, {2, 7}, picks),
          Array(type, {2, 3, 5, inner}, values)));
      expect_near(expected, out, 0);
    }
  }
}

BEHAVES(Scatter, in_every_mode_along_every_dim) {
  using Mode = dnn::Scatter::Mode;
  for (const Type type :
       {Type::FLOAT, Type::DOUBLE, Type::HALF, Type::INT8, Type::INT64}) {
    for (int dim = 0; dim < 2; ++dim) {
      for (const Mode mode :
           {Mode::UPDATE_ONLY, Mode::ADD, Mode::SUB, Mode::MUL}) {
        SCOPED_TRACE(type_name(type) + " dim " + std::to_string(dim));
        // No index twice in a line, since 4 and 5 are prime to 9.
        Values picks;
        for (int i = 0; i < 8; ++i) {
          for (int j = 0; j < 9; ++j) {
            picks.push_back((i * 4 + j * 5) % 9);
          }
        }
        const Values update = integers(8 * 9, -2, 2);
        Values expected = integers(9 * 9, -3, 3, 5);
        Array self(type, {9, 9}, expected);
        for (std::size_t n = 0; n < picks.size(); ++n) {
          const auto k = static_cast<std::size_t>(picks[n]);
          double& to = expected[dim == 0 ? k * 9 + n % 9 : n / 9 * 9 + k];
          to = mode == Mode::UPDATE_ONLY ? update[n]
              : mode == Mode::ADD        ? to + update[n]
              : mode == Mode::SUB        ? to - update[n]
                                         : to * update[n];
        }
        dnn::Scatter scatter;
        EXPECT_SUCCESS(scatter.SetMode(mode));
        EXPECT_SUCCESS(scatter.Run(
            handle(),
            self,
            Array(Type::INT64, {8, 9}, picks),
            Array(type, {8, 9}, update),
            dim,
            maintainer()));
        expect_near(expected, self, 0);
      }
    }
  }
}

} // namespace conformance
