// SPDX-License-Identifier: Apache-2.0
// Convolution: IMPLICIT_GEMM gives the same bits in every run.
#include "mudnn/array.h"

#include <functional>

namespace conformance {
namespace {

// Sums of thousands of products, which invite a library to split them.
const Dims kIn = {16, 32, 14, 14};
const Dims kFilter = {48, 32, 3, 3};
const Dims kOut = {16, 48, 14, 14};

Values operand(const Dims& dims, unsigned seed) {
  return numbers(count_of(dims), -1, 1, seed);
}

void expect_repeats(
    const Dims& dims,
    const std::function<Status(Array&)>& run) {
  constexpr int kRuns = 4;
  Values first;
  for (int i = 0; i < kRuns; ++i) {
    Array out(Type::FLOAT, dims);
    EXPECT_SUCCESS(run(out));
    if (i == 0) {
      first = out.read();
    }
    EXPECT_EQ(first, out.read()) << "run " << i;
  }
}

} // namespace

BEHAVES(Convolution, implicit_gemm_repeats_its_bits) {
  const Array in(Type::FLOAT, kIn, operand(kIn, 1));
  const Array filter(Type::FLOAT, kFilter, operand(kFilter, 2));
  const Array grad(Type::FLOAT, kOut, operand(kOut, 3));
  dnn::Convolution conv;
  EXPECT_SUCCESS(conv.SetNdInfo({1, 1}, {1, 1}, {1, 1}));
  expect_repeats(kOut, [&](Array& out) {
    return conv.Run(
        handle(),
        out,
        in,
        filter,
        dnn::Convolution::Algorithm::IMPLICIT_GEMM,
        maintainer());
  });
  expect_repeats(kIn, [&](Array& out) {
    return conv.RunBwdData(
        handle(),
        out,
        grad,
        filter,
        dnn::Convolution::AlgorithmBwdData::IMPLICIT_GEMM,
        maintainer());
  });
  expect_repeats(kFilter, [&](Array& out) {
    return conv.RunBwdFilter(
        handle(),
        out,
        in,
        grad,
        dnn::Convolution::AlgorithmBwdFilter::IMPLICIT_GEMM,
        maintainer());
  });
}

} // namespace conformance
