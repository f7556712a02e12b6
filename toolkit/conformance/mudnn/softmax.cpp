// SPDX-License-Identifier: Apache-2.0
// Softmax, its logarithm and gradients; NLLLoss; Dropout.
#include "mudnn/array.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace conformance {
namespace {

using Mode = dnn::Softmax::Mode;

// Calls f with the offsets of each line along the dim of a row-major tensor.
void each_line(
    const Dims& dims,
    std::size_t dim,
    const std::function<void(const std::vector<std::size_t>&)>& f) {
  const Dims strides = dense_strides(dims);
  const auto length = static_cast<std::size_t>(dims[dim]);
  const auto stride = static_cast<std::size_t>(strides[dim]);
  const auto count = static_cast<std::size_t>(count_of(dims));
  for (std::size_t start = 0; start < count; ++start) {
    if (start / stride % length != 0) {
      continue;
    }
    std::vector<std::size_t> line;
    for (std::size_t i = 0; i < length; ++i) {
      line.push_back(start + i * stride);
    }
    f(line);
  }
}

Values softmax(const Values& x, const Dims& dims, std::size_t dim, bool log) {
  Values result(x.size());
  each_line(dims, dim, [&](const std::vector<std::size_t>& line) {
    double largest = -INFINITY;
    for (const std::size_t at : line) {
      largest = std::max(largest, x[at]);
    }
    double total = 0;
    for (const std::size_t at : line) {
      total += std::exp(x[at] - largest);
    }
    for (const std::size_t at : line) {
      result[at] = log ? x[at] - largest - std::log(total)
                       : std::exp(x[at] - largest) / total;
    }
  });
  return result;
}

Values gradient(
    const Values& y,
    const Values& dy,
    const Dims& dims,
    std::size_t dim,
    bool log) {
  Values result(y.size());
  each_line(dims, dim, [&](const std::vector<std::size_t>& line) {
    double total = 0;
    for (const std::size_t at : line) {
      total += log ? dy[at] : dy[at] * y[at];
    }
    for (const std::size_t at : line) {
      result[at] =
          log ? dy[at] - std::exp(y[at]) * total : y[at] * (dy[at] - total);
    }
  });
  return result;
}

Values rounded_numbers(Type type, int64_t count, unsigned seed) {
  Values values = numbers(count, -4, 4, seed);
  for (double& value : values) {
    value = rounded(type, value);
  }
  return values;
}

} // namespace

CONFORMS(Softmax_Run, success, both_modes_in_every_dim) {
  for (const Type type : {Type::FLOAT, Type::HALF, Type::BFLOAT16}) {
    for (const bool log : {false, true}) {
      for (const Dims& dims : {Dims{4, 5, 6}, Dims{2, 130}, Dims{70}}) {
        for (std::size_t dim = 0; dim < dims.size(); ++dim) {
          SCOPED_TRACE(type_name(type) + " dim " + std::to_string(dim));
          const Values x = rounded_numbers(type, count_of(dims), 1);
          Array out(type, dims);
          dnn::Softmax op;
          EXPECT_SUCCESS(op.SetMode(log ? Mode::LOGSOFTMAX : Mode::SOFTMAX));
          EXPECT_SUCCESS(op.SetAlgorithm(dnn::Softmax::Algorithm::ACCURATE));
          EXPECT_SUCCESS(op.SetDim(static_cast<int>(dim)));
          EXPECT_SUCCESS(
              op.Run(handle(), out, Array(type, dims, x), maintainer()));
          expect_near(softmax(x, dims, dim, log), out, 8);
        }
      }
    }
  }
}

CONFORMS(Softmax_Run, null, absent_operands_are_refused) {
  Array out(Type::FLOAT, {2});
  dnn::Softmax op;
  EXPECT_REFUSED(op.Run(handle(), out, dnn::Tensor()));
}

CONFORMS(Softmax_Run, INVALID_PARAMETER, dim_out_of_range) {
  const Array in(Type::FLOAT, {2}, {1, 2});
  Array out(Type::FLOAT, {2});
  dnn::Softmax op;
  EXPECT_SUCCESS(op.SetDim(1));
  EXPECT_STATUS(Status::INVALID_PARAMETER, op.Run(handle(), out, in));
}

CONFORMS(Softmax_Run, NOT_SUPPORTED, another_type_for_the_output) {
  // Facts, 2.8: no half to float.
  const Array in(Type::HALF, {2}, {1, 2});
  Array out(Type::FLOAT, {2});
  dnn::Softmax op;
  EXPECT_REFUSED(op.Run(handle(), out, in));
}

BEHAVES(Softmax, negative_dim_counts_from_the_end) {
  const Values x = rounded_numbers(Type::FLOAT, 12, 1);
  Array out(Type::FLOAT, {3, 4});
  dnn::Softmax op;
  EXPECT_SUCCESS(op.SetDim(-1));
  EXPECT_SUCCESS(op.Run(handle(), out, Array(Type::FLOAT, {3, 4}, x)));
  expect_near(softmax(x, {3, 4}, 1, false), out, 8);
}

BEHAVES(Softmax, large_values_do_not_overflow) {
  const Array in(Type::FLOAT, {3}, {1e30, 1e30, -1e30});
  Array out(Type::FLOAT, {3});
  dnn::Softmax op;
  EXPECT_SUCCESS(op.SetDim(0));
  EXPECT_SUCCESS(op.Run(handle(), out, in));
  expect_near({0.5, 0.5, 0}, out, 4);
}

BEHAVES(Softmax, LOGSUMEXP_of_one_dim) {
  const Array in(Type::FLOAT, {2, 3}, {1, 2, 3, 0, 0, 0});
  Array out(Type::FLOAT, {2, 1});
  dnn::Softmax op;
  EXPECT_SUCCESS(op.SetMode(Mode::LOGSUMEXP));
  EXPECT_SUCCESS(op.SetDim(1));
  EXPECT_SUCCESS(op.Run(handle(), out, in));
  expect_near({3.4076059644443806, std::log(3.0)}, out, 8);
}

CONFORMS(Softmax_RunBwd, success, both_modes) {
  for (const Type type : {Type::FLOAT, Type::HALF, Type::BFLOAT16}) {
    for (const bool log : {false, true}) {
      for (std::size_t dim = 0; dim < 3; ++dim) {
        SCOPED_TRACE(type_name(type) + " dim " + std::to_string(dim));
        const Dims dims = {3, 4, 5};
        const Values x = rounded_numbers(type, 60, 1);
        Values y = softmax(x, dims, dim, log);
        for (double& value : y) {
          value = rounded(type, value);
        }
        const Values dy = rounded_numbers(type, 60, 2);
        Array out(type, dims);
        dnn::Softmax op;
        EXPECT_SUCCESS(op.SetMode(log ? Mode::LOGSOFTMAX : Mode::SOFTMAX));
        EXPECT_SUCCESS(op.SetDim(static_cast<int>(dim)));
        EXPECT_SUCCESS(op.RunBwd(
            handle(),
            out,
            Array(type, dims, y),
            Array(type, dims, dy),
            maintainer()));
        expect_near(gradient(y, dy, dims, dim, log), out, 16);
      }
    }
  }
}

CONFORMS(Softmax_RunBwd, null, absent_operands_are_refused) {
  Array out(Type::FLOAT, {2});
  dnn::Softmax op;
  EXPECT_REFUSED(op.RunBwd(handle(), out, out, dnn::Tensor()));
}

// --- NLLLoss ---------------------------------------------------------------

namespace {

using Loss = dnn::NLLLoss::Mode;

struct LossCase {
  Values x; // 4 × 3 logarithms
  Values target;
  Values weight;
  int64_t ignored;
};

const LossCase kLoss = {
    {-1, -2, -3, -0.5, -1.5, -2.5, -0.1, -0.2, -0.3, -4, -5, -6},
    {2, 0, 1, 2},
    {0.5, 1, 2},
    1};

} // namespace

CONFORMS(NLLLoss_Run, success, every_reduction) {
  const Array x(Type::FLOAT, {4, 3}, kLoss.x);
  const Array target(Type::INT64, {4}, kLoss.target);
  const Array weight(Type::FLOAT, {3}, kLoss.weight);
  Array total(Type::FLOAT, {1});
  dnn::NLLLoss loss;
  EXPECT_SUCCESS(loss.SetIgnoreIndex(kLoss.ignored));
  // Sample 2 is ignored: 3·2, 0.5·0.5, nothing, 6·2.
  Array out(Type::FLOAT, {1});
  EXPECT_SUCCESS(loss.SetReductionMode(Loss::SUM));
  EXPECT_SUCCESS(
      loss.Run(handle(), out, total, x, target, weight, maintainer()));
  expect_near({18.25}, out, 4);
  EXPECT_SUCCESS(loss.SetReductionMode(Loss::MEAN));
  EXPECT_SUCCESS(
      loss.Run(handle(), out, total, x, target, weight, maintainer()));
  expect_near({18.25 / 4.5}, out, 4);
  expect_near({4.5}, total, 4);
  Array each(Type::FLOAT, {4});
  EXPECT_SUCCESS(loss.SetReductionMode(Loss::NONE));
  EXPECT_SUCCESS(
      loss.Run(handle(), each, total, x, target, weight, maintainer()));
  expect_near({6, 0.25, 0, 12}, each, 4);
}

CONFORMS(NLLLoss_Run, null, absent_weight_counts_one) {
  const Array x(Type::FLOAT, {4, 3}, kLoss.x);
  const Array target(Type::INT64, {4}, kLoss.target);
  Array total(Type::FLOAT, {1});
  Array out(Type::FLOAT, {1});
  dnn::NLLLoss loss;
  EXPECT_SUCCESS(loss.SetReductionMode(Loss::MEAN));
  EXPECT_SUCCESS(
      loss.Run(handle(), out, total, x, target, dnn::Tensor(), maintainer()));
  expect_near({(3 + 0.5 + 0.2 + 6) / 4}, out, 4);
  expect_near({4}, total, 4);
}

CONFORMS(NLLLoss_Run, NOT_SUPPORTED, other_types_than_FLOAT) {
  const Array x(Type::DOUBLE, {4, 3}, kLoss.x);
  const Array target(Type::INT64, {4}, kLoss.target);
  Array total(Type::DOUBLE, {1});
  Array out(Type::DOUBLE, {1});
  dnn::NLLLoss loss;
  EXPECT_STATUS(
      Status::NOT_SUPPORTED,
      loss.Run(handle(), out, total, x, target, dnn::Tensor(), maintainer()));
}

CONFORMS(NLLLoss_RunBwd, success, every_reduction) {
  const Array target(Type::INT64, {4}, kLoss.target);
  const Array weight(Type::FLOAT, {3}, kLoss.weight);
  const Array total(Type::FLOAT, {1}, {4.5});
  dnn::NLLLoss loss;
  EXPECT_SUCCESS(loss.SetIgnoreIndex(kLoss.ignored));
  Array grad(Type::FLOAT, {4, 3});
  EXPECT_SUCCESS(loss.SetReductionMode(Loss::SUM));
  EXPECT_SUCCESS(loss.RunBwd(
      handle(),
      grad,
      Array(Type::FLOAT, {1}, {3}),
      target,
      weight,
      total,
      maintainer()));
  expect_near({0, 0, -6, -1.5, 0, 0, 0, 0, 0, 0, 0, -6}, grad, 4);
  EXPECT_SUCCESS(loss.SetReductionMode(Loss::MEAN));
  EXPECT_SUCCESS(loss.RunBwd(
      handle(),
      grad,
      Array(Type::FLOAT, {1}, {4.5}),
      target,
      weight,
      total,
      maintainer()));
  expect_near({0, 0, -2, -0.5, 0, 0, 0, 0, 0, 0, 0, -2}, grad, 4);
  EXPECT_SUCCESS(loss.SetReductionMode(Loss::NONE));
  EXPECT_SUCCESS(loss.RunBwd(
      handle(),
      grad,
      Array(Type::FLOAT, {4}, {1, 2, 3, 4}),
      target,
      weight,
      total,
      maintainer()));
  expect_near({0, 0, -2, -1, 0, 0, 0, 0, 0, 0, 0, -8}, grad, 4);
}

CONFORMS(NLLLoss_RunBwd, null, absent_target_is_refused) {
  Array grad(Type::FLOAT, {4, 3});
  const Array one(Type::FLOAT, {1}, {1});
  dnn::NLLLoss loss;
  EXPECT_REFUSED(loss.RunBwd(
      handle(),
      grad,
      one,
      dnn::Tensor(),
      dnn::Tensor(),
      one,
      maintainer()));
}

// --- Dropout -----------------------------------------------------------------

namespace {

constexpr int64_t kDropped = 20'000;

struct Dropped {
  Values out;
  Values mask;
};

Dropped drop(double p, uint64_t seed, uint64_t offset, Type type) {
  const Array in(type, {kDropped}, Values(kDropped, 1));
  Array out(type, {kDropped});
  Array mask(Type::BOOL, {kDropped});
  dnn::Dropout dropout;
  EXPECT_SUCCESS(dropout.SetP(p));
  EXPECT_SUCCESS(dropout.SetSeed(seed));
  EXPECT_SUCCESS(dropout.SetOffset(offset));
  EXPECT_SUCCESS(dropout.RunDropout(handle(), out, in, mask));
  return {out.read(), mask.read()};
}

} // namespace

CONFORMS(Dropout_RunDropout, success, keeps_scales_and_repeats) {
  for (const Type type : {Type::FLOAT, Type::HALF, Type::BFLOAT16}) {
    SCOPED_TRACE(type_name(type));
    const Dropped once = drop(0.25, 42, 0, type);
    double kept = 0;
    for (std::size_t i = 0; i < once.out.size(); ++i) {
      kept += once.mask[i];
      const double expected = once.mask[i] != 0 ? rounded(type, 1 / 0.75) : 0;
      ASSERT_NEAR(expected, once.out[i], 4 * type_epsilon(type));
    }
    // Six standard deviations.
    EXPECT_NEAR(0.75 * kDropped, kept, 6 * std::sqrt(kDropped * 0.1875));
    EXPECT_EQ(once.mask, drop(0.25, 42, 0, type).mask);
    EXPECT_NE(once.mask, drop(0.25, 43, 0, type).mask);
    EXPECT_NE(once.mask, drop(0.25, 42, kDropped, type).mask);
  }
}

CONFORMS(Dropout_RunDropout, null, absent_operands_are_refused) {
  Array out(Type::FLOAT, {2});
  Array mask(Type::BOOL, {2});
  dnn::Dropout dropout;
  EXPECT_REFUSED(dropout.RunDropout(handle(), out, dnn::Tensor(), mask));
}

BEHAVES(Dropout, edges_keep_all_or_nothing) {
  const Dropped all = drop(0, 1, 0, Type::FLOAT);
  EXPECT_EQ(Values(kDropped, 1), all.out);
  EXPECT_EQ(Values(kDropped, 1), all.mask);
  const Dropped none = drop(1, 1, 0, Type::FLOAT);
  EXPECT_EQ(Values(kDropped, 0), none.out);
  EXPECT_EQ(Values(kDropped, 0), none.mask);
}

BEHAVES(Dropout, seed_and_offset_in_device_memory) {
  const uint64_t state[2] = {42, 0};
  const Buffer memory(16);
  EXPECT_OK(musaMemcpy(memory.get(), state, 16, musaMemcpyHostToDevice));
  const Array in(Type::FLOAT, {kDropped}, Values(kDropped, 1));
  Array out(Type::FLOAT, {kDropped});
  Array mask(Type::BOOL, {kDropped});
  dnn::Dropout dropout;
  EXPECT_SUCCESS(dropout.SetP(0.25));
  auto* words = reinterpret_cast<uint64_t*>(memory.get());
  EXPECT_SUCCESS(dropout.SetSeed(words));
  EXPECT_SUCCESS(dropout.SetOffset(words + 1, uint64_t{0}));
  EXPECT_SUCCESS(dropout.RunDropout(handle(), out, in, mask));
  EXPECT_EQ(drop(0.25, 42, 0, Type::FLOAT).mask, mask.read());
}

CONFORMS(Dropout_RunDropoutBwd, success, follows_the_mask) {
  const Array grad(Type::FLOAT, {4}, {1, 2, 3, 4});
  const Array mask(Type::BOOL, {4}, {1, 0, 1, 0});
  Array out(Type::FLOAT, {4});
  dnn::Dropout dropout;
  EXPECT_SUCCESS(dropout.SetP(0.5));
  EXPECT_SUCCESS(dropout.SetScale(2));
  EXPECT_SUCCESS(dropout.RunDropoutBwd(handle(), out, grad, mask));
  expect_near({2, 0, 6, 0}, out, 1);
}

CONFORMS(Dropout_RunDropoutBwd, null, absent_operands_are_refused) {
  const Array grad(Type::FLOAT, {4}, {1, 2, 3, 4});
  Array out(Type::FLOAT, {4});
  dnn::Dropout dropout;
  EXPECT_REFUSED(dropout.RunDropoutBwd(handle(), out, grad, dnn::Tensor()));
}

} // namespace conformance
