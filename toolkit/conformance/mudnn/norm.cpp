// SPDX-License-Identifier: Apache-2.0
// BatchNorm and LayerNorm with their gradients.
#include "mudnn/array.h"

#include <cmath>

namespace conformance {
namespace {

constexpr int64_t kN = 4;
constexpr int64_t kC = 3;
constexpr int64_t kArea = 10; // 2 × 5
constexpr double kEps = 1e-5;
const Dims kDims = {kN, kC, 2, 5};
constexpr double kCount = static_cast<double>(kN * kArea);

std::size_t channel(std::size_t i) {
  return i / static_cast<std::size_t>(kArea) % static_cast<std::size_t>(kC);
}

struct Statistics {
  Values mean;
  Values variance; // biased
};

Statistics statistics(const Values& x) {
  Statistics s = {Values(kC), Values(kC)};
  for (std::size_t i = 0; i < x.size(); ++i) {
    s.mean[channel(i)] += x[i] / kCount;
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double d = x[i] - s.mean[channel(i)];
    s.variance[channel(i)] += d * d / kCount;
  }
  return s;
}

const Values kGamma = {1.5, -0.5, 2};
const Values kBeta = {0.25, 1, -1};

Values normalised(const Values& x, const Values& mean, const Values& var) {
  Values result;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t c = channel(i);
    result.push_back(
        (x[i] - mean[c]) / std::sqrt(var[c] + kEps) * kGamma[c] + kBeta[c]);
  }
  return result;
}

Values rounded_numbers(Type type, int64_t count, unsigned seed) {
  Values values = numbers(count, -2, 3, seed);
  for (double& value : values) {
    value = rounded(type, value);
  }
  return values;
}

void configure(dnn::BatchNorm& norm, bool training) {
  EXPECT_SUCCESS(norm.SetMode(dnn::BatchNorm::Mode::PER_CHANNEL));
  EXPECT_SUCCESS(norm.SetEpsilon(kEps));
  EXPECT_SUCCESS(norm.SetTraining(training));
}

dnn::Tensor typed() {
  dnn::Tensor tensor;
  EXPECT_SUCCESS(tensor.SetType(Type::FLOAT));
  return tensor;
}

} // namespace

CONFORMS(BatchNorm_RunPure, success, given_statistics) {
  for (const Type type : {Type::FLOAT, Type::HALF, Type::BFLOAT16}) {
    SCOPED_TRACE(type_name(type));
    const Values x = rounded_numbers(type, kN * kC * kArea, 1);
    Array mean(Type::FLOAT, {kC}, {0.5, -1, 2});
    Array var(Type::FLOAT, {kC}, {1, 4, 0.25});
    Array out(type, kDims);
    dnn::BatchNorm norm;
    configure(norm, false);
    EXPECT_SUCCESS(norm.RunPure(
        handle(),
        out,
        Array(type, kDims, x),
        mean,
        var,
        Array(Type::FLOAT, {kC}, kGamma),
        Array(Type::FLOAT, {kC}, kBeta)));
    expect_near(normalised(x, mean.read(), var.read()), out, 8);
  }
}

CONFORMS(BatchNorm_RunPure, null, absent_input_is_refused) {
  Array stats(Type::FLOAT, {kC}, {1, 1, 1});
  Array out(Type::FLOAT, kDims);
  dnn::BatchNorm norm;
  configure(norm, false);
  EXPECT_REFUSED(
      norm.RunPure(handle(), out, dnn::Tensor(), stats, stats, stats, stats));
}

CONFORMS(BatchNorm_RunComposite, success, trains_and_updates) {
  for (const Type type : {Type::FLOAT, Type::HALF, Type::BFLOAT16}) {
    SCOPED_TRACE(type_name(type));
    const Values x = rounded_numbers(type, kN * kC * kArea, 1);
    const Statistics s = statistics(x);
    Array running_mean(Type::FLOAT, {kC}, {1, 1, 1});
    Array running_var(Type::FLOAT, {kC}, {2, 2, 2});
    Array save_mean(Type::FLOAT, {kC});
    Array save_invstd(Type::FLOAT, {kC});
    Array out(type, kDims);
    dnn::BatchNorm norm;
    configure(norm, true);
    EXPECT_SUCCESS(norm.RunComposite(
        handle(),
        out,
        Array(type, kDims, x),
        running_mean,
        running_var,
        save_mean,
        save_invstd,
        Array(Type::FLOAT, {kC}, kGamma),
        Array(Type::FLOAT, {kC}, kBeta),
        0.1,
        maintainer()));
    expect_near(normalised(x, s.mean, s.variance), out, 16);
    Values means;
    Values invstds;
    Values new_means;
    Values new_vars;
    for (std::size_t c = 0; c < static_cast<std::size_t>(kC); ++c) {
      means.push_back(s.mean[c]);
      invstds.push_back(1 / std::sqrt(s.variance[c] + kEps));
      new_means.push_back(0.9 + 0.1 * s.mean[c]);
      // Facts, 65: the sample variance.
      new_vars.push_back(1.8 + 0.1 * s.variance[c] * kCount / (kCount - 1));
    }
    expect_near(means, save_mean, 16);
    expect_near(invstds, save_invstd, 16);
    expect_near(new_means, running_mean, 16);
    expect_near(new_vars, running_var, 16);
  }
}

CONFORMS(BatchNorm_RunComposite, null, absent_input_is_refused) {
  Array stats(Type::FLOAT, {kC}, {1, 1, 1});
  Array out(Type::FLOAT, kDims);
  dnn::BatchNorm norm;
  configure(norm, true);
  EXPECT_REFUSED(norm.RunComposite(
      handle(),
      out,
      dnn::Tensor(),
      stats,
      stats,
      stats,
      stats,
      stats,
      stats,
      0.1,
      maintainer()));
}

CONFORMS(BatchNorm_RunBwd, success, all_gradients) {
  for (const Type type : {Type::FLOAT, Type::HALF, Type::BFLOAT16}) {
    SCOPED_TRACE(type_name(type));
    const Values x = rounded_numbers(type, kN * kC * kArea, 1);
    const Values dy = rounded_numbers(type, kN * kC * kArea, 2);
    const Statistics s = statistics(x);
    Values invstd;
    for (const double v : s.variance) {
      invstd.push_back(1 / std::sqrt(v + kEps));
    }
    Values dgamma(kC);
    Values dbeta(kC);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::size_t c = channel(i);
      dgamma[c] += dy[i] * (x[i] - s.mean[c]) * invstd[c];
      dbeta[c] += dy[i];
    }
    Values dx;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::size_t c = channel(i);
      const double hat = (x[i] - s.mean[c]) * invstd[c];
      dx.push_back(
          kGamma[c] * invstd[c] *
          (dy[i] - dbeta[c] / kCount - hat * dgamma[c] / kCount));
    }
    Array grad_in(type, kDims, Values(x.size(), 0));
    Array grad_gamma(Type::FLOAT, {kC}, Values(kC, 0));
    Array grad_beta(Type::FLOAT, {kC}, Values(kC, 0));
    dnn::Tensor no_mean = typed();
    dnn::Tensor no_var = typed();
    dnn::BatchNorm norm;
    configure(norm, true);
    EXPECT_SUCCESS(norm.RunBwd(
        handle(),
        grad_in,
        no_mean,
        no_var,
        grad_gamma,
        grad_beta,
        Array(type, kDims, x),
        Array(type, kDims, dy),
        Array(Type::FLOAT, {kC}, s.mean),
        Array(Type::FLOAT, {kC}, invstd),
        Array(Type::FLOAT, {kC}, kGamma),
        maintainer()));
    expect_near(dx, grad_in, 64);
    expect_near(dgamma, grad_gamma, 256);
    expect_near(dbeta, grad_beta, 256);
  }
}

CONFORMS(BatchNorm_RunBwd, null, absent_input_is_refused) {
  Array stats(Type::FLOAT, {kC}, {1, 1, 1});
  Array out(Type::FLOAT, kDims, Values(120, 0));
  dnn::Tensor none = typed();
  dnn::BatchNorm norm;
  configure(norm, true);
  EXPECT_REFUSED(norm.RunBwd(
      handle(),
      out,
      none,
      none,
      stats,
      stats,
      dnn::Tensor(),
      out,
      stats,
      stats,
      stats,
      maintainer()));
}

BEHAVES(BatchNorm, two_dims_are_batch_and_channel) {
  const Values x = rounded_numbers(Type::FLOAT, 12, 1);
  Array mean(Type::FLOAT, {3}, {0.5, -1, 2});
  Array var(Type::FLOAT, {3}, {1, 4, 0.25});
  Array out(Type::FLOAT, {4, 3});
  Values expected;
  for (std::size_t i = 0; i < 12; ++i) {
    const std::size_t c = i % 3;
    expected.push_back(
        (x[i] - mean.read()[c]) / std::sqrt(var.read()[c] + kEps) * kGamma[c] +
        kBeta[c]);
  }
  dnn::BatchNorm norm;
  configure(norm, false);
  EXPECT_SUCCESS(norm.RunPure(
      handle(),
      out,
      Array(Type::FLOAT, {4, 3}, x),
      mean,
      var,
      Array(Type::FLOAT, {3}, kGamma),
      Array(Type::FLOAT, {3}, kBeta)));
  expect_near(expected, out, 8);
}

// --- LayerNorm -------------------------------------------------------------

namespace {

constexpr std::size_t kRows = 6;
constexpr std::size_t kColumns = 20; // 4 × 5
const Dims kLayer = {2, 3, 4, 5};
const Dims kStats = {2, 3, 1, 1};

struct Layer {
  Values mean;
  Values rstd;
  Values out;
};

Layer layer_reference(
    const Values& x,
    const Values& gamma,
    const Values& beta) {
  Layer result;
  for (std::size_t r = 0; r < kRows; ++r) {
    double mean = 0;
    for (std::size_t c = 0; c < kColumns; ++c) {
      mean += x[r * kColumns + c] / kColumns;
    }
    double var = 0;
    for (std::size_t c = 0; c < kColumns; ++c) {
      const double d = x[r * kColumns + c] - mean;
      var += d * d / kColumns;
    }
    const double rstd = 1 / std::sqrt(var + kEps);
    result.mean.push_back(mean);
    result.rstd.push_back(rstd);
    for (std::size_t c = 0; c < kColumns; ++c) {
      result.out.push_back(
          (x[r * kColumns + c] - mean) * rstd * gamma[c] + beta[c]);
    }
  }
  return result;
}

void configure(dnn::LayerNorm& norm, Type type) {
  const int axes[] = {2, 3};
  EXPECT_SUCCESS(norm.SetAxis(2, axes));
  EXPECT_SUCCESS(norm.SetEpsilon(kEps));
  EXPECT_SUCCESS(norm.SetVarMode(
      type == Type::FLOAT ? dnn::LayerNorm::VarMode::WELFORD
                          : dnn::LayerNorm::VarMode::DIRECT));
}

} // namespace

CONFORMS(LayerNorm_Run, success, trailing_axes) {
  for (const Type type : {Type::FLOAT, Type::HALF, Type::BFLOAT16}) {
    SCOPED_TRACE(type_name(type));
    const Values x = rounded_numbers(type, 120, 1);
    const Values gamma = rounded_numbers(type, 20, 2);
    const Values beta = rounded_numbers(type, 20, 3);
    const Layer expected = layer_reference(x, gamma, beta);
    Array out(type, kLayer);
    Array mean(Type::FLOAT, kStats);
    Array rstd(Type::FLOAT, kStats);
    dnn::LayerNorm norm;
    configure(norm, type);
    EXPECT_SUCCESS(norm.Run(
        handle(),
        out,
        mean,
        rstd,
        Array(type, kLayer, x),
        Array(type, {4, 5}, gamma),
        Array(type, {4, 5}, beta),
        maintainer()));
    expect_near(expected.out, out, 16);
    expect_near(expected.mean, mean, 16);
    expect_near(expected.rstd, rstd, 16);
  }
}

CONFORMS(LayerNorm_Run, null, gamma_and_beta_may_be_absent) {
  const Values x = rounded_numbers(Type::FLOAT, 120, 1);
  const Layer expected =
      layer_reference(x, Values(kColumns, 1), Values(kColumns, 0));
  Array out(Type::FLOAT, kLayer);
  Array mean(Type::FLOAT, kStats);
  Array rstd(Type::FLOAT, kStats);
  dnn::LayerNorm norm;
  configure(norm, Type::FLOAT);
  EXPECT_SUCCESS(norm.Run(
      handle(),
      out,
      mean,
      rstd,
      Array(Type::FLOAT, kLayer, x),
      dnn::Tensor(),
      dnn::Tensor(),
      maintainer()));
  expect_near(expected.out, out, 16);
}

CONFORMS(LayerNorm_Run, INVALID_PARAMETER, gamma_of_another_size) {
  Array out(Type::FLOAT, kLayer);
  Array stats(Type::FLOAT, kStats);
  const Array in(Type::FLOAT, kLayer, Values(120, 1));
  const Array gamma(Type::FLOAT, {7}, Values(7, 1));
  dnn::LayerNorm norm;
  configure(norm, Type::FLOAT);
  EXPECT_STATUS(
      Status::INVALID_PARAMETER,
      norm.Run(handle(), out, stats, stats, in, gamma, gamma, maintainer()));
}

CONFORMS(LayerNorm_RunBwd, success, all_gradients) {
  const Values x = rounded_numbers(Type::FLOAT, 120, 1);
  const Values dy = rounded_numbers(Type::FLOAT, 120, 2);
  const Values gamma = rounded_numbers(Type::FLOAT, 20, 3);
  const Layer forward = layer_reference(x, gamma, Values(kColumns, 0));
  Values dgamma(kColumns);
  Values dbeta(kColumns);
  Values dx;
  for (std::size_t r = 0; r < kRows; ++r) {
    double sum = 0;
    double dot = 0;
    for (std::size_t c = 0; c < kColumns; ++c) {
      const std::size_t i = r * kColumns + c;
      const double hat = (x[i] - forward.mean[r]) * forward.rstd[r];
      dgamma[c] += dy[i] * hat;
      dbeta[c] += dy[i];
      sum += dy[i] * gamma[c];
      dot += dy[i] * gamma[c] * hat;
    }
    for (std::size_t c = 0; c < kColumns; ++c) {
      const std::size_t i = r * kColumns + c;
      const double hat = (x[i] - forward.mean[r]) * forward.rstd[r];
      dx.push_back(
          forward.rstd[r] *
          (dy[i] * gamma[c] - sum / kColumns - hat * dot / kColumns));
    }
  }
  Array grad_in(Type::FLOAT, kLayer);
  Array grad_gamma(Type::FLOAT, {4, 5});
  Array grad_beta(Type::FLOAT, {4, 5});
  dnn::LayerNorm norm;
  configure(norm, Type::FLOAT);
  EXPECT_SUCCESS(norm.RunBwd(
      handle(),
      grad_in,
      grad_gamma,
      grad_beta,
      Array(Type::FLOAT, kLayer, dy),
      Array(Type::FLOAT, kLayer, x),
      Array(Type::FLOAT, kStats, forward.mean),
      Array(Type::FLOAT, kStats, forward.rstd),
      Array(Type::FLOAT, {4, 5}, gamma),
      maintainer()));
  expect_near(dx, grad_in, 64);
  expect_near(dgamma, grad_gamma, 64);
  expect_near(dbeta, grad_beta, 64);
}

CONFORMS(LayerNorm_RunBwd, null, absent_input_is_refused) {
  Array grad_in(Type::FLOAT, kLayer);
  Array grad(Type::FLOAT, {4, 5});
  const Array stats(Type::FLOAT, kStats, Values(6, 1));
  dnn::LayerNorm norm;
  configure(norm, Type::FLOAT);
  EXPECT_REFUSED(norm.RunBwd(
      handle(),
      grad_in,
      grad,
      grad,
      grad_in,
      dnn::Tensor(),
      stats,
      stats,
      dnn::Tensor(),
      maintainer()));
}

} // namespace conformance
