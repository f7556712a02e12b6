// SPDX-License-Identifier: Apache-2.0
// Pooling gives the same in both formats, whatever the number of channels.
#include "mudnn/array.h"

#include <string>

namespace conformance {
namespace {

using Mode = dnn::Pooling::Mode;

// Sizes of the image and, where the mode has no window, of the output.
struct Case {
  Mode mode;
  int64_t h, w;
  int kernel, pad, stride, dilation;
  int64_t out_h, out_w;

  bool maximum() const {
    return mode == Mode::MAXPOOL || mode == Mode::ADAPTIVE_MAXPOOL;
  }
  int64_t out(int64_t size, int64_t given) const {
    return given != 0
        ? given
        : (size + 2 * pad - dilation * (kernel - 1) - 1) / stride + 1;
  }
};

const Case kCases[] = {
    {Mode::MAXPOOL, 9, 12, 3, 1, 2, 1, 0, 0},
    {Mode::MAXPOOL, 8, 7, 2, 0, 2, 1, 0, 0},
    {Mode::MAXPOOL, 9, 8, 2, 1, 1, 3, 0, 0},
    {Mode::MAXPOOL, 14, 14, 7, 3, 1, 1, 0, 0},
    {Mode::AVGPOOL_COUNT_PAD, 9, 12, 3, 1, 2, 1, 0, 0},
    {Mode::AVGPOOL_COUNT_PAD, 30, 30, 9, 4, 9, 1, 0, 0},
    {Mode::AVGPOOL_COUNT_WITHOUT_PAD, 9, 12, 3, 1, 2, 1, 0, 0},
    {Mode::AVGPOOL_COUNT_WITHOUT_PAD, 8, 7, 2, 0, 2, 1, 0, 0},
    {Mode::GLOBAL_AVGPOOL, 7, 9, 1, 0, 1, 1, 1, 1},
    {Mode::ADAPTIVE_MAXPOOL, 5, 7, 1, 0, 1, 1, 2, 3},
    {Mode::ADAPTIVE_MAXPOOL, 12, 13, 1, 0, 1, 1, 1, 2},
    {Mode::ADAPTIVE_AVGPOOL, 3, 4, 1, 0, 1, 1, 7, 9},
    {Mode::ADAPTIVE_AVGPOOL, 7, 7, 1, 0, 1, 1, 1, 1}};

constexpr int64_t kN = 2;

// From NCHW to NHWC, or back.
Values moved(const Values& values, int64_t c, int64_t positions, bool back) {
  Values result(values.size());
  const auto channels = static_cast<std::size_t>(c);
  const auto plane = static_cast<std::size_t>(positions);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t n = i / (channels * plane);
    const std::size_t last =
        n * channels * plane + i % plane * channels + i / plane % channels;
    (back ? result[i] : result[last]) = values[back ? last : i];
  }
  return result;
}

struct Pooled {
  Values out;
  Values places;
  Values grad;
};

Pooled run(
    const Case& how,
    Type type,
    int64_t c,
    bool last,
    const Values& in,
    const Values& grad_out) {
  const int64_t out_h = how.out(how.h, how.out_h);
  const int64_t out_w = how.out(how.w, how.out_w);
  const auto dims = [&](int64_t h, int64_t w) {
    return last ? Dims{kN, h, w, c} : Dims{kN, c, h, w};
  };
  const Format format = last ? Format::NHWC : Format::NCHW;
  const auto as = [&](const Values& values, int64_t positions) {
    return last ? moved(values, c, positions, false) : values;
  };
  Array x(type, dims(how.h, how.w), as(in, how.h * how.w));
  Array y(type, dims(out_h, out_w));
  Array places(Type::INT64, dims(out_h, out_w));
  Array dy(type, dims(out_h, out_w), as(grad_out, out_h * out_w));
  Array dx(type, dims(how.h, how.w));
  for (Array* array : {&x, &y, &places, &dy, &dx}) {
    EXPECT_SUCCESS(array->tensor().SetFormat(format));
  }
  dnn::Tensor none;
  dnn::Tensor& found = how.maximum() ? places.tensor() : none;
  dnn::Pooling pool;
  EXPECT_SUCCESS(pool.SetMode(how.mode));
  EXPECT_SUCCESS(pool.SetNdInfo(
      {how.kernel, how.kernel},
      {how.pad, how.pad},
      {how.stride, how.stride},
      {how.dilation, how.dilation}));
  EXPECT_SUCCESS(pool.Run(handle(), y, x, found));
  EXPECT_SUCCESS(pool.RunBwd(handle(), dx, dy, found));
  const auto back = [&](const Array& array, int64_t positions) {
    return last ? moved(array.read(), c, positions, true) : array.read();
  };
  return {
      back(y, out_h * out_w),
      how.maximum() ? back(places, out_h * out_w) : Values(),
      back(dx, how.h * how.w)};
}

} // namespace

BEHAVES(Pooling, formats_agree) {
  for (const Type type :
       {Type::FLOAT, Type::HALF, Type::BFLOAT16, Type::DOUBLE}) {
    for (const Case& how : kCases) {
      for (const int64_t c : {1, 3, 8, 40}) {
        SCOPED_TRACE(
            type_name(type) + " case " + std::to_string(&how - kCases) + ", " +
            std::to_string(c) + " channels");
        const Values in = integers(kN * c * how.h * how.w, -50, 50);
        const Values dy = integers(
            kN * c * how.out(how.h, how.out_h) * how.out(how.w, how.out_w),
            -4,
            4,
            3);
        const Pooled first = run(how, type, c, false, in, dy);
        const Pooled last = run(how, type, c, true, in, dy);
        const double tolerance = 8 * type_epsilon(type);
        expect_near(first.out, last.out, how.maximum() ? 0 : tolerance);
        expect_near(first.places, last.places, 0);
        expect_near(first.grad, last.grad, 4 * tolerance);
      }
    }
  }
}

} // namespace conformance
