// SPDX-License-Identifier: Apache-2.0
// Pooling in every mode, with positions and gradients.
#include "mudnn/array.h"

#include <algorithm>
#include <cmath>

namespace conformance {
namespace {

using Mode = dnn::Pooling::Mode;

struct Window {
  int64_t h, w;
  int kernel, pad, stride, dilation;

  int64_t out(int64_t size) const {
    return (size + 2 * pad - dilation * (kernel - 1) - 1) / stride + 1;
  }
  Dims out_dims(int64_t n, int64_t c) const { return {n, c, out(h), out(w)}; }
};

const Window kWindows[] = {
    {6, 6, 2, 0, 2, 1},
    {7, 5, 3, 1, 2, 1},
    {8, 9, 2, 0, 1, 2},
    {5, 5, 3, 1, 1, 1}};

constexpr int64_t kN = 2;
constexpr int64_t kC = 3;

void configure(dnn::Pooling& pool, const Window& w, Mode mode) {
  EXPECT_SUCCESS(pool.SetMode(mode));
  EXPECT_SUCCESS(pool.SetNdInfo(
      {w.kernel, w.kernel},
      {w.pad, w.pad},
      {w.stride, w.stride},
      {w.dilation, w.dilation}));
}

// Offsets within a plane of what an output element looks at.
std::vector<std::size_t> seen(const Window& w, int64_t y, int64_t x) {
  std::vector<std::size_t> result;
  for (int64_t r = 0; r < w.kernel; ++r) {
    for (int64_t q = 0; q < w.kernel; ++q) {
      const int64_t iy = y * w.stride - w.pad + r * w.dilation;
      const int64_t ix = x * w.stride - w.pad + q * w.dilation;
      if (iy >= 0 && iy < w.h && ix >= 0 && ix < w.w) {
        result.push_back(static_cast<std::size_t>(iy * w.w + ix));
      }
    }
  }
  return result;
}

// Cells of a padded window that lie within input and padding.
int64_t padded_cells(const Window& w, int64_t y, int64_t x) {
  const auto side = [&](int64_t at, int64_t size) {
    const int64_t start = at * w.stride - w.pad;
    return std::min<int64_t>(start + w.kernel, size + w.pad) - start;
  };
  return side(y, w.h) * side(x, w.w);
}

struct Pooled {
  Values out;
  Values places;
};

Pooled max_reference(const Window& w, const Values& in) {
  Pooled result;
  const auto plane = static_cast<std::size_t>(w.h * w.w);
  for (std::size_t p = 0; p < static_cast<std::size_t>(kN * kC); ++p) {
    for (int64_t y = 0; y < w.out(w.h); ++y) {
      for (int64_t x = 0; x < w.out(w.w); ++x) {
        std::size_t best = seen(w, y, x).front();
        for (const std::size_t at : seen(w, y, x)) {
          best = in[p * plane + at] > in[p * plane + best] ? at : best;
        }
        result.out.push_back(in[p * plane + best]);
        result.places.push_back(static_cast<double>(best));
      }
    }
  }
  return result;
}

Values rounded_numbers(Type type, int64_t count) {
  Values values = numbers(count, -5, 5);
  for (double& value : values) {
    value = rounded(type, value);
  }
  return values;
}

} // namespace

CONFORMS(Pooling_Run, success, maximum_and_its_positions) {
  for (const Type type :
       {Type::FLOAT, Type::HALF, Type::BFLOAT16, Type::DOUBLE}) {
    for (const Window& w : kWindows) {
      SCOPED_TRACE(type_name(type) + " kernel " + std::to_string(w.kernel));
      const Values values = rounded_numbers(type, kN * kC * w.h * w.w);
      const Array in(type, {kN, kC, w.h, w.w}, values);
      Array out(type, w.out_dims(kN, kC));
      Array places(Type::INT64, w.out_dims(kN, kC));
      dnn::Pooling pool;
      configure(pool, w, Mode::MAXPOOL);
      EXPECT_SUCCESS(pool.Run(handle(), out, in, places));
      const Pooled expected = max_reference(w, values);
      expect_near(expected.out, out, 0);
      expect_near(expected.places, places, 0);
    }
  }
}

CONFORMS(Pooling_Run, null, positions_may_be_absent) {
  const Window& w = kWindows[0];
  const Values values = rounded_numbers(Type::FLOAT, kN * kC * 36);
  const Array in(Type::FLOAT, {kN, kC, 6, 6}, values);
  Array out(Type::FLOAT, w.out_dims(kN, kC));
  dnn::Tensor none;
  dnn::Pooling pool;
  configure(pool, w, Mode::MAXPOOL);
  EXPECT_SUCCESS(pool.Run(handle(), out, in, none));
  expect_near(max_reference(w, values).out, out, 0);
  EXPECT_REFUSED(pool.Run(handle(), out, dnn::Tensor(), none));
}

CONFORMS(Pooling_Run, INVALID_PARAMETER, output_size_does_not_fit) {
  const Array in(Type::FLOAT, {1, 1, 6, 6}, Values(36, 1));
  Array out(Type::FLOAT, {1, 1, 4, 4});
  dnn::Tensor none;
  dnn::Pooling pool;
  configure(pool, kWindows[0], Mode::MAXPOOL);
  EXPECT_STATUS(Status::INVALID_PARAMETER, pool.Run(handle(), out, in, none));
}

BEHAVES(Pooling, averages_with_and_without_padding) {
  for (const Mode mode :
       {Mode::AVGPOOL_COUNT_PAD, Mode::AVGPOOL_COUNT_WITHOUT_PAD}) {
    for (const int divisor : {0, 5}) {
      for (const Window& w : kWindows) {
        if (w.dilation != 1) {
          continue;
        }
        SCOPED_TRACE(w.kernel * 10 + divisor);
        const Values values = rounded_numbers(Type::FLOAT, kN * kC * w.h * w.w);
        Values expected;
        const auto plane = static_cast<std::size_t>(w.h * w.w);
        for (std::size_t p = 0; p < static_cast<std::size_t>(kN * kC); ++p) {
          for (int64_t y = 0; y < w.out(w.h); ++y) {
            for (int64_t x = 0; x < w.out(w.w); ++x) {
              const auto cells = seen(w, y, x);
              double sum = 0;
              for (const std::size_t at : cells) {
                sum += values[p * plane + at];
              }
              const double count = divisor != 0 ? divisor
                  : mode == Mode::AVGPOOL_COUNT_PAD
                  ? static_cast<double>(padded_cells(w, y, x))
                  : static_cast<double>(cells.size());
              expected.push_back(sum / count);
            }
          }
        }
        Array out(Type::FLOAT, w.out_dims(kN, kC));
        dnn::Tensor none;
        dnn::Pooling pool;
        configure(pool, w, mode);
        EXPECT_SUCCESS(pool.SetDivisor(divisor));
        EXPECT_SUCCESS(pool.Run(
            handle(),
            out,
            Array(Type::FLOAT, {kN, kC, w.h, w.w}, values),
            none));
        expect_near(expected, out, 8);
      }
    }
  }
}

BEHAVES(Pooling, adaptive_windows_follow_the_sizes) {
  const Values values = rounded_numbers(Type::FLOAT, 2 * 5 * 7);
  const Array in(Type::FLOAT, {1, 2, 5, 7}, values);
  Array mean(Type::FLOAT, {1, 2, 2, 3});
  Array largest(Type::FLOAT, {1, 2, 2, 3});
  Array places(Type::INT64, {1, 2, 2, 3});
  Values means;
  Values maxima;
  for (std::size_t c = 0; c < 2; ++c) {
    for (std::size_t y = 0; y < 2; ++y) {
      for (std::size_t x = 0; x < 3; ++x) {
        double sum = 0;
        double most = -INFINITY;
        int count = 0;
        for (std::size_t i = y * 5 / 2; i < ((y + 1) * 5 + 1) / 2; ++i) {
          for (std::size_t j = x * 7 / 3; j < ((x + 1) * 7 + 2) / 3; ++j) {
            const double value = values[c * 35 + i * 7 + j];
            sum += value;
            most = std::max(most, value);
            ++count;
          }
        }
        means.push_back(sum / count);
        maxima.push_back(most);
      }
    }
  }
  dnn::Tensor none;
  dnn::Pooling pool;
  EXPECT_SUCCESS(pool.SetMode(Mode::ADAPTIVE_AVGPOOL));
  EXPECT_SUCCESS(pool.Run(handle(), mean, in, none));
  expect_near(means, mean, 8);
  EXPECT_SUCCESS(pool.SetMode(Mode::ADAPTIVE_MAXPOOL));
  EXPECT_SUCCESS(pool.Run(handle(), largest, in, places));
  expect_near(maxima, largest, 0);
  const Values found = places.read();
  for (std::size_t i = 0; i < 12; ++i) {
    EXPECT_EQ(
        maxima[i],
        values[i / 6 * 35 + static_cast<std::size_t>(found[i])]);
  }
}

BEHAVES(Pooling, global_average) {
  const Values values = rounded_numbers(Type::FLOAT, 2 * 12);
  Array out(Type::FLOAT, {1, 2, 1, 1});
  dnn::Tensor none;
  dnn::Pooling pool;
  EXPECT_SUCCESS(pool.SetMode(Mode::GLOBAL_AVGPOOL));
  EXPECT_SUCCESS(
      pool.Run(handle(), out, Array(Type::FLOAT, {1, 2, 3, 4}, values), none));
  Values expected(2);
  for (std::size_t i = 0; i < 24; ++i) {
    expected[i / 12] += values[i] / 12;
  }
  expect_near(expected, out, 8);
}

BEHAVES(Pooling, maximum_keeps_nan) {
  Values values(16, 1);
  values[5] = NAN;
  Array out(Type::FLOAT, {1, 1, 2, 2});
  Array places(Type::INT64, {1, 1, 2, 2});
  dnn::Pooling pool;
  configure(pool, {4, 4, 2, 0, 2, 1}, Mode::MAXPOOL);
  EXPECT_SUCCESS(pool.Run(
      handle(),
      out,
      Array(Type::FLOAT, {1, 1, 4, 4}, values),
      places));
  EXPECT_TRUE(std::isnan(out.read()[0]));
  EXPECT_EQ(5, places.read()[0]);
}

CONFORMS(Pooling_RunBwd, success, maximum) {
  for (const Type type : {Type::FLOAT, Type::HALF, Type::BFLOAT16}) {
    for (const Window& w : kWindows) {
      SCOPED_TRACE(type_name(type) + " kernel " + std::to_string(w.kernel));
      const Values values = rounded_numbers(type, kN * kC * w.h * w.w);
      const Pooled pooled = max_reference(w, values);
      const auto count = static_cast<int64_t>(pooled.out.size());
      const Values dy = integers(count, -3, 3);
      Values expected(values.size());
      const std::size_t out_plane =
          pooled.out.size() / static_cast<std::size_t>(kN * kC);
      for (std::size_t i = 0; i < dy.size(); ++i) {
        expected
            [i / out_plane * static_cast<std::size_t>(w.h * w.w) +
             static_cast<std::size_t>(pooled.places[i])] += dy[i];
      }
      Array dx(type, {kN, kC, w.h, w.w});
      dnn::Pooling pool;
      configure(pool, w, Mode::MAXPOOL);
      EXPECT_SUCCESS(pool.RunBwd(
          handle(),
          dx,
          Array(type, w.out_dims(kN, kC), dy),
          Array(Type::INT64, w.out_dims(kN, kC), pooled.places)));
      expect_near(expected, dx, 4);
    }
  }
}

CONFORMS(Pooling_RunBwd, null, gradient_is_refused) {
  Array dx(Type::FLOAT, {1, 1, 6, 6});
  const Array places(Type::INT64, {1, 1, 3, 3}, Values(9, 0));
  dnn::Pooling pool;
  configure(pool, kWindows[0], Mode::MAXPOOL);
  EXPECT_REFUSED(pool.RunBwd(handle(), dx, dnn::Tensor(), places));
}

BEHAVES(Pooling, gradients_of_averages) {
  for (const Window& w : kWindows) {
    if (w.dilation != 1) {
      continue;
    }
    SCOPED_TRACE(w.kernel);
    const Dims out_dims = w.out_dims(kN, kC);
    const Values dy = numbers(count_of(out_dims), -1, 1);
    Values expected(static_cast<std::size_t>(kN * kC * w.h * w.w));
    std::size_t at = 0;
    for (std::size_t p = 0; p < static_cast<std::size_t>(kN * kC); ++p) {
      for (int64_t y = 0; y < w.out(w.h); ++y) {
        for (int64_t x = 0; x < w.out(w.w); ++x, ++at) {
          for (const std::size_t cell : seen(w, y, x)) {
            expected[p * static_cast<std::size_t>(w.h * w.w) + cell] +=
                dy[at] / static_cast<double>(padded_cells(w, y, x));
          }
        }
      }
    }
    Array dx(Type::FLOAT, {kN, kC, w.h, w.w});
    dnn::Pooling pool;
    configure(pool, w, Mode::AVGPOOL_COUNT_PAD);
    EXPECT_SUCCESS(pool.RunBwd(
        handle(),
        dx,
        Array(Type::FLOAT, out_dims, dy),
        dnn::Tensor()));
    expect_near(expected, dx, 16);
  }
}

} // namespace conformance
