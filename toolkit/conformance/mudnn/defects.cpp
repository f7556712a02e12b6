// SPDX-License-Identifier: Apache-2.0
// The vendor's measured defects (numbers of the muDNN fact sheet, section 4),
// which every engine reproduces: a client that works around them must see them.
#include "mudnn/array.h"
#include "support/child.h"
#include "support/poison.h"

#include <cmath>
#include <csignal>
#include <cstring>

namespace conformance {
namespace {

Status reduce(
    dnn::Reduce::Mode mode,
    Array& out,
    const Array& in,
    std::vector<int> axes) {
  dnn::Reduce op;
  EXPECT_SUCCESS(op.SetMode(mode));
  EXPECT_SUCCESS(op.SetDim(static_cast<int>(axes.size()), axes.data()));
  return op.Run(handle(), out, in, maintainer());
}

constexpr auto kAdd = dnn::Reduce::Mode::ADD;

dnn::Tensor bare(Type type, const void* address) {
  dnn::Tensor tensor;
  EXPECT_SUCCESS(tensor.SetType(type));
  EXPECT_SUCCESS(tensor.SetAddr(address));
  return tensor;
}

} // namespace

BEHAVES(defect_1, rank_zero_is_rejected) {
  const Buffer memory(4);
  dnn::Tensor scalar = bare(Type::FLOAT, memory.get());
  EXPECT_REFUSED(scalar.SetNdInfo(0, static_cast<const int64_t*>(nullptr)));
  dnn::Unary unary;
  EXPECT_SUCCESS(unary.SetMode(dnn::Unary::Mode::ABS));
  EXPECT_REFUSED(unary.Run(handle(), scalar, scalar));
  EXPECT_SUCCESS(scalar.SetNdInfo({1})) << "a scalar is [1]";
}

BEHAVES(defect_2, rank_nine_is_rejected) {
  dnn::Tensor tensor;
  EXPECT_REFUSED(tensor.SetNdInfo({1, 1, 1, 1, 1, 1, 1, 1, 1}));
  EXPECT_SUCCESS(tensor.SetNdInfo({1, 1, 1, 1, 1, 1, 1, 1}));
}

BEHAVES(defect_4, empty_operands_are_not_uniformly_accepted) {
  const Buffer memory(16);
  const auto empty = [&](std::initializer_list<int64_t> dims) {
    dnn::Tensor tensor = bare(Type::FLOAT, memory.get());
    EXPECT_SUCCESS(tensor.SetNdInfo(dims));
    return tensor;
  };
  dnn::Tensor line = empty({0});
  dnn::Unary unary;
  EXPECT_SUCCESS(unary.SetMode(dnn::Unary::Mode::ABS));
  EXPECT_SUCCESS(unary.Run(handle(), line, line));
  dnn::Tensor one = empty({1});
  dnn::Reduce op;
  EXPECT_SUCCESS(op.SetDim({0}));
  EXPECT_REFUSED(op.Run(handle(), one, line, maintainer()));
  const dnn::Tensor inputs[] = {one, line};
  dnn::Concat concat;
  EXPECT_REFUSED(concat.Run(handle(), one, 2, inputs));
}

// Fills a new handle's product with values that TF32 cannot hold.
BEHAVES(defect_6, a_new_handle_rounds_to_tf32) {
  const int64_t n = 64;
  const Values a = numbers(n * n, -1, 1, 1);
  const Values b = numbers(n * n, -1, 1, 2);
  Values expected(static_cast<std::size_t>(n * n));
  for (std::size_t i = 0; i < 64; ++i) {
    for (std::size_t k = 0; k < 64; ++k) {
      for (std::size_t j = 0; j < 64; ++j) {
        expected[i * 64 + j] += rounded(Type::FLOAT, a[i * 64 + k]) *
            rounded(Type::FLOAT, b[k * 64 + j]);
      }
    }
  }
  const Array left(Type::FLOAT, {n, n}, a);
  const Array right(Type::FLOAT, {n, n}, b);
  const auto worst = [&](dnn::Handle& with, bool scalar) {
    Array out(Type::FLOAT, {n, n});
    dnn::MatMul matmul;
    if (scalar) {
      EXPECT_SUCCESS(matmul.SetComputeMode(dnn::MatMul::ComputeMode::SCALAR));
    }
    EXPECT_SUCCESS(matmul.Run(with, out, left, right, maintainer()));
    const Values got = out.read();
    double error = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      error = std::fmax(error, std::fabs(got[i] - expected[i]));
    }
    return error;
  };
  dnn::Handle fresh;
  const double by_default = worst(fresh, false);
  EXPECT_GT(by_default, 1e-4) << "TF32 is on in a new handle";
  EXPECT_LT(by_default, 5e-2);
  EXPECT_LT(worst(fresh, true), 1e-4) << "SCALAR is exact";
  EXPECT_SUCCESS(fresh.SetAllowTF32(false));
  EXPECT_LT(worst(fresh, false), 1e-4);
}

BEHAVES(defect_6, convolution_follows_the_flag_too) {
  const Values x = numbers(32 * 16 * 16, -1, 1, 1);
  const Values w = numbers(32 * 32 * 9, -1, 1, 2);
  using Algorithm = dnn::Convolution::Algorithm;
  double difference = 0;
  // Not every algorithm has a form that rounds.
  for (const Algorithm algorithm :
       {Algorithm::IMPLICIT_GEMM,
        Algorithm::DIRECT,
        Algorithm::WINOGRAD_NONFUSED,
        Algorithm::GEMM}) {
    Values sums[2];
    bool accepted = true;
    for (const bool allow : {false, true}) {
      dnn::Handle with;
      EXPECT_SUCCESS(with.SetAllowTF32(allow));
      Array out(Type::FLOAT, {1, 32, 14, 14});
      dnn::Convolution conv;
      EXPECT_SUCCESS(conv.SetNdInfo({0, 0}, {1, 1}, {1, 1}));
      accepted = accepted &&
          conv.Run(
              with,
              out,
              Array(Type::FLOAT, {1, 32, 16, 16}, x),
              Array(Type::FLOAT, {32, 32, 3, 3}, w),
              algorithm,
              maintainer()) == dnn::Status::SUCCESS;
      sums[allow ? 1 : 0] = out.read();
    }
    for (std::size_t i = 0; accepted && i < sums[0].size(); ++i) {
      difference = std::fmax(difference, std::fabs(sums[0][i] - sums[1][i]));
    }
  }
  EXPECT_GT(difference, 1e-5);
  EXPECT_LT(difference, 5e-2);
}

namespace {

// What the two overloads store: the bits of a double, read as an integer.
int64_t bits_of(double value) {
  int64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

} // namespace

BEHAVES(defect_8, fill_of_integers_with_a_double_writes_its_bits) {
  Array out(Type::INT64, {2});
  dnn::Fill fill;
  EXPECT_SUCCESS(fill.SetValue(3.0));
  EXPECT_SUCCESS(fill.Run(handle(), out));
  int64_t values[2] = {};
  EXPECT_OK(musaMemcpy(values, out.address(), 16, musaMemcpyDeviceToHost));
  EXPECT_EQ(bits_of(3.0), values[0]);
  EXPECT_EQ(bits_of(3.0), values[1]);
}

BEHAVES(defect_8, unary_and_binary_alpha_are_stored_raw) {
  const Array in(Type::INT64, {1}, {5});
  Array out(Type::INT64, {1});
  int64_t value = 0;
  dnn::Unary unary;
  EXPECT_SUCCESS(unary.SetMode(dnn::Unary::Mode::ADD));
  EXPECT_SUCCESS(unary.SetAlpha(3.0));
  EXPECT_SUCCESS(unary.Run(handle(), out, in));
  EXPECT_OK(musaMemcpy(&value, out.address(), 8, musaMemcpyDeviceToHost));
  EXPECT_EQ(bits_of(3.0) + 5, value);
  const Array one(Type::INT64, {1}, {1});
  dnn::Binary binary;
  EXPECT_SUCCESS(binary.SetMode(dnn::Binary::Mode::ADD_ALPHA));
  EXPECT_SUCCESS(binary.SetAlpha(3.0));
  EXPECT_SUCCESS(binary.Run(handle(), out, in, one));
  EXPECT_OK(musaMemcpy(&value, out.address(), 8, musaMemcpyDeviceToHost));
  EXPECT_EQ(bits_of(3.0) + 5, value);
}

BEHAVES(defect_9, alpha_and_beta_start_at_zero) {
  const Array in(Type::FLOAT, {4}, {-3, -0.5, 0.5, 3});
  Array out(Type::FLOAT, {4});
  {
    dnn::Unary unary;
    EXPECT_SUCCESS(unary.SetMode(dnn::Unary::Mode::HARDSIGMOID));
    EXPECT_SUCCESS(unary.Run(handle(), out, in));
    expect_near({0, 0, 0, 0}, out, 0);
  }
  {
    // log(1 + e^0) / 0 while x · 0 does not exceed the threshold 0.
    dnn::Unary unary;
    EXPECT_SUCCESS(unary.SetMode(dnn::Unary::Mode::SOFTPLUS));
    EXPECT_SUCCESS(unary.Run(handle(), out, in));
    expect_near(Values(4, INFINITY), out, 0);
  }
  {
    dnn::Unary unary;
    EXPECT_SUCCESS(unary.SetMode(dnn::Unary::Mode::CLIP));
    EXPECT_SUCCESS(unary.Run(handle(), out, in));
    expect_near({0, 0, 0, 0}, out, 0);
  }
}

BEHAVES(defect_12, bool_arithmetic_is_rejected) {
  const Array in(Type::BOOL, {2}, {1, 0});
  Array out(Type::BOOL, {2});
  dnn::Binary binary;
  for (const auto mode :
       {dnn::Binary::Mode::ADD,
        dnn::Binary::Mode::MUL,
        dnn::Binary::Mode::SUB,
        dnn::Binary::Mode::MAX}) {
    EXPECT_SUCCESS(binary.SetMode(mode));
    EXPECT_STATUS(Status::NOT_SUPPORTED, binary.Run(handle(), out, in, in));
  }
}

BEHAVES(defect_21, swapped_gradient_operands_succeed_with_wrong_numbers) {
  const Array grad(Type::FLOAT, {1}, {2});
  const Array result(Type::FLOAT, {1}, {0.25});
  Array out(Type::FLOAT, {1});
  dnn::Binary binary;
  EXPECT_SUCCESS(binary.SetMode(dnn::Binary::Mode::SIGMOID_BW));
  EXPECT_SUCCESS(binary.Run(handle(), out, grad, result));
  expect_near({2 * 0.25 * 0.75}, out, 4);
  EXPECT_SUCCESS(binary.Run(handle(), out, result, grad));
  expect_near({0.25 * 2 * -1}, out, 4);
}

SCENARIO(sigfpe) {
  const Array in(Type::FLOAT, {3, 4}, {0, 0}, Values(12, 1));
  Array out(Type::FLOAT, {1});
  std::puts("reducing");
  std::fflush(stdout);
  (void)reduce(kAdd, out, in, {0, 1});
  return 0;
}

BEHAVES(defect_26, several_axes_of_a_broadcast_raise_sigfpe) {
  const ChildResult child = run_child("sigfpe");
  EXPECT_NE(std::string::npos, child.output.find("reducing"));
  EXPECT_FALSE(child.exited) << child.status;
  EXPECT_EQ(SIGFPE, child.status);
}

BEHAVES(defect_27, one_axis_of_a_broadcast_writes_the_first_output_only) {
  const Array in(Type::FLOAT, {3, 4}, {0, 0}, Values(12, 2));
  Array out(Type::FLOAT, {3}, {-1, -1, -1});
  EXPECT_SUCCESS(reduce(kAdd, out, in, {1}));
  expect_near({8, -1, -1}, out, 0);
}

BEHAVES(defect_28, several_axes_ignore_strides) {
  // The fact sheet's case: 210 where 60 is right.
  const Buffer memory(20 * sizeof(float));
  float numbers_to_19[20];
  for (int i = 0; i < 20; ++i) {
    numbers_to_19[i] = static_cast<float>(i + 1);
  }
  EXPECT_OK(musaMemcpy(
      memory.get(),
      numbers_to_19,
      sizeof numbers_to_19,
      musaMemcpyHostToDevice));
  dnn::Tensor in = bare(Type::FLOAT, memory.get());
  EXPECT_SUCCESS(in.SetNdInfo({4, 5}, {0, 1}));
  Array out(Type::FLOAT, {1});
  dnn::Reduce op;
  EXPECT_SUCCESS(op.SetMode(kAdd));
  EXPECT_SUCCESS(op.SetDim({0, 1}));
  EXPECT_SUCCESS(op.Run(handle(), out, in, maintainer()));
  expect_near({210}, out, 0);
}

BEHAVES(defect_29, kept_dims_with_strided_input_write_the_first_output_only) {
  const Array in(Type::FLOAT, {2, 3}, {1, 2}, {1, 2, 3, 4, 5, 6});
  Array kept(Type::FLOAT, {2, 1}, {-1, -1});
  EXPECT_SUCCESS(reduce(kAdd, kept, in, {1}));
  expect_near({6, -1}, kept, 0);
  Array squeezed(Type::FLOAT, {2}, {-1, -1});
  EXPECT_SUCCESS(reduce(kAdd, squeezed, in, {1}));
  expect_near({6, 15}, squeezed, 0);
}

BEHAVES(defect_30, MUL_writes_zeros_and_PROD_is_right) {
  const Array in(Type::FLOAT, {2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  Array out(Type::FLOAT, {2}, {-1, -1});
  EXPECT_SUCCESS(reduce(dnn::Reduce::Mode::MUL, out, in, {1}));
  expect_near({0, 0}, out, 0);
  EXPECT_SUCCESS(reduce(dnn::Reduce::Mode::PROD, out, in, {1}));
  expect_near({24, 1680}, out, 4);
}

BEHAVES(defect_31, variance_is_unbiased_by_default) {
  const Array in(Type::FLOAT, {4}, {1, 2, 3, 4});
  Array out(Type::FLOAT, {1});
  EXPECT_SUCCESS(reduce(dnn::Reduce::Mode::VARIANCE, out, in, {0}));
  expect_near({5.0 / 3}, out, 4);
  EXPECT_SUCCESS(reduce(dnn::Reduce::Mode::STD, out, in, {0}));
  expect_near({std::sqrt(5.0 / 3)}, out, 4);
}

BEHAVES(defect_32, norms_of_order_zero_and_infinity_are_rejected) {
  const Array in(Type::FLOAT, {4}, {1, 2, 3, 4});
  Array out(Type::FLOAT, {1});
  dnn::Reduce op;
  EXPECT_SUCCESS(op.SetMode(dnn::Reduce::Mode::NORM));
  EXPECT_SUCCESS(op.SetDim({0}));
  for (const float order : {0.0F, INFINITY, -INFINITY}) {
    EXPECT_SUCCESS(op.SetNormOrd(order));
    EXPECT_STATUS(
        Status::NOT_SUPPORTED,
        op.Run(handle(), out, in, maintainer()));
  }
}

BEHAVES(defect_38, topk_rejects_most_integers) {
  const Array in(Type::INT64, {3}, {1, 2, 3});
  Array values(Type::INT64, {1});
  Array places(Type::INT64, {1});
  dnn::TopK topk;
  EXPECT_SUCCESS(topk.SetK(1));
  EXPECT_STATUS(
      Status::NOT_SUPPORTED,
      topk.Run(handle(), values, places, in, maintainer()));
}

BEHAVES(defect_41, products_reject_strided_operands) {
  const Array dense(Type::FLOAT, {2, 2}, {1, 2, 3, 4});
  const Array strided(Type::FLOAT, {2, 2}, {1, 2}, {1, 2, 3, 4});
  Array out(Type::FLOAT, {2, 2});
  dnn::MatMul matmul;
  EXPECT_REFUSED(matmul.Run(handle(), out, strided, dense, maintainer()));
  EXPECT_REFUSED(matmul.Run(handle(), out, dense, strided, maintainer()));
  Array wide(Type::FLOAT, {2, 2}, {3, 1}, {0, 0, 0, 0});
  EXPECT_REFUSED(matmul.Run(handle(), wide, dense, dense, maintainer()));
}

BEHAVES(defect_42, batches_with_stride_zero_are_rejected) {
  const Array a(Type::FLOAT, {3, 2, 2}, Values(12, 1));
  const Array b(Type::FLOAT, {3, 2, 2}, {0, 2, 1}, Values(12, 1));
  Array c(Type::FLOAT, {3, 2, 2});
  dnn::BatchMatMul matmul;
  EXPECT_STATUS(
      Status::INVALID_PARAMETER,
      matmul.Run(handle(), c, a, b, maintainer()));
}

BEHAVES(defect_43, an_empty_sum_leaves_the_output_alone) {
  const Buffer memory(16);
  dnn::Tensor a = bare(Type::FLOAT, memory.get());
  EXPECT_SUCCESS(a.SetNdInfo({2, 0}));
  dnn::Tensor b = bare(Type::FLOAT, memory.get());
  EXPECT_SUCCESS(b.SetNdInfo({0, 3}));
  Array c(Type::FLOAT, {2, 3}, Values(6, 7));
  dnn::MatMul matmul;
  EXPECT_SUCCESS(matmul.Run(handle(), c, a, b, maintainer()));
  expect_near(Values(6, 7), c, 0);
}

BEHAVES(defect_44, bias_of_doubles_is_rejected) {
  const Array a(Type::DOUBLE, {2, 2}, {1, 2, 3, 4});
  const Array bias(Type::DOUBLE, {2}, {1, 2});
  Array c(Type::DOUBLE, {2, 2});
  dnn::MatMul matmul;
  EXPECT_STATUS(
      Status::NOT_SUPPORTED,
      matmul.RunWithBiasAdd(handle(), c, a, a, bias, maintainer()));
}

namespace {

constexpr auto kGemm = dnn::Convolution::Algorithm::IMPLICIT_GEMM;

} // namespace

BEHAVES(defect_51, one_spatial_dim_passes_SetNdInfo_and_fails_in_Run) {
  dnn::Convolution conv;
  const int zero[] = {0};
  const int one[] = {1};
  EXPECT_SUCCESS(conv.SetNdInfo(1, zero, one, one));
  const Array in(Type::FLOAT, {1, 1, 5}, Values(5, 1));
  const Array filter(Type::FLOAT, {1, 1, 3}, Values(3, 1));
  Array out(Type::FLOAT, {1, 1, 3});
  EXPECT_REFUSED(conv.Run(handle(), out, in, filter, kGemm, maintainer()));
}

BEHAVES(defect_52, rank_five_wants_its_format) {
  dnn::Convolution conv;
  EXPECT_SUCCESS(conv.SetNdInfo({0, 0, 0}, {1, 1, 1}, {1, 1, 1}));
  const Array in(Type::FLOAT, {1, 1, 3, 3, 3}, Values(27, 1));
  const Array filter(Type::FLOAT, {1, 1, 2, 2, 2}, Values(8, 1));
  Array out(Type::FLOAT, {1, 1, 2, 2, 2});
  EXPECT_REFUSED(conv.Run(handle(), out, in, filter, kGemm, maintainer()));
}

BEHAVES(defect_53, strided_images_are_rejected) {
  dnn::Convolution conv;
  EXPECT_SUCCESS(conv.SetNdInfo({0, 0}, {1, 1}, {1, 1}));
  const Array in(Type::FLOAT, {1, 2, 4, 4}, {32, 1, 8, 2}, Values(32, 1));
  const Array filter(Type::FLOAT, {1, 2, 3, 3}, Values(18, 1));
  Array out(Type::FLOAT, {1, 1, 2, 2});
  EXPECT_REFUSED(conv.Run(handle(), out, in, filter, kGemm, maintainer()));
}

BEHAVES(defect_54, doubles_are_rejected) {
  dnn::Convolution conv;
  EXPECT_SUCCESS(conv.SetNdInfo({0, 0}, {1, 1}, {1, 1}));
  const Array in(Type::DOUBLE, {1, 1, 4, 4}, Values(16, 1));
  const Array filter(Type::DOUBLE, {1, 1, 3, 3}, Values(9, 1));
  Array out(Type::DOUBLE, {1, 1, 2, 2});
  EXPECT_STATUS(
      Status::NOT_SUPPORTED,
      conv.Run(handle(), out, in, filter, kGemm, maintainer()));
}

BEHAVES(defect_55, the_recommendation_for_groups_is_refused_in_Run) {
  dnn::Convolution conv;
  EXPECT_SUCCESS(conv.SetNdInfo({0, 0}, {1, 1}, {1, 1}));
  EXPECT_SUCCESS(conv.SetGroups(2));
  const Array in(Type::FLOAT, {1, 2, 4, 4}, Values(32, 1));
  const Array filter(Type::FLOAT, {2, 1, 3, 3}, Values(18, 1));
  Array out(Type::FLOAT, {1, 2, 2, 2});
  auto algorithm = dnn::Convolution::Algorithm::GEMM;
  EXPECT_SUCCESS(
      conv.GetRecommendForwardAlgorithm(handle(), algorithm, out, in, filter));
  EXPECT_EQ(
      static_cast<int>(dnn::Convolution::Algorithm::DIRECT),
      static_cast<int>(algorithm));
  EXPECT_REFUSED(conv.Run(handle(), out, in, filter, algorithm, maintainer()));
  EXPECT_SUCCESS(conv.Run(handle(), out, in, filter, kGemm, maintainer()));
  expect_near(Values(8, 9), out, 1);
}

namespace {

Status fused(int64_t height, int groups) {
  const int64_t kernel = height == 1 ? 1 : 3;
  const int64_t out_height = height - kernel + 1;
  dnn::Convolution conv;
  EXPECT_SUCCESS(conv.SetNdInfo({0, 0}, {1, 1}, {1, 1}));
  EXPECT_SUCCESS(conv.SetGroups(groups));
  const Array in(
      Type::FLOAT,
      {1, 2, height, 4},
      Values(static_cast<std::size_t>(8 * height), 1));
  const Array filter(
      Type::FLOAT,
      {2, 2 / groups, kernel, 3},
      Values(static_cast<std::size_t>(12 / groups * kernel), 1));
  const Array bias(Type::FLOAT, {1, 2, 1, 1}, {1, 2});
  Array out(Type::FLOAT, {1, 2, out_height, 2});
  return conv.RunFusion(
      handle(),
      out,
      in,
      filter,
      bias,
      dnn::Tensor(),
      {},
      kGemm,
      maintainer());
}

} // namespace

BEHAVES(defect_56, fused_bias_fails_for_unit_height_or_groups) {
  EXPECT_SUCCESS(fused(4, 1));
  EXPECT_REFUSED(fused(1, 1));
  EXPECT_REFUSED(fused(4, 2));
}

BEHAVES(defect_62, maxpool_gradient_without_positions_is_an_internal_error) {
  const Array grad(Type::FLOAT, {1, 1, 2, 2}, Values(4, 1));
  Array dx(Type::FLOAT, {1, 1, 4, 4});
  dnn::Pooling pool;
  EXPECT_SUCCESS(pool.SetMode(dnn::Pooling::Mode::MAXPOOL));
  EXPECT_SUCCESS(pool.SetNdInfo({2, 2}, {0, 0}, {2, 2}, {1, 1}));
  EXPECT_STATUS(
      Status::INTERNAL_ERROR,
      pool.RunBwd(handle(), dx, grad, dnn::Tensor()));
}

BEHAVES(defect_64, batchnorm_gradients_accumulate) {
  const Values x = numbers(24, -1, 1, 1);
  const Values dy = numbers(24, -1, 1, 2);
  const Array in(Type::FLOAT, {2, 3, 2, 2}, x);
  const Array grad(Type::FLOAT, {2, 3, 2, 2}, dy);
  const Array stats(Type::FLOAT, {3}, {1, 1, 1});
  const auto run = [&](double before, Array& dx, Array& dgamma, Array& dbeta) {
    dx.write(Values(24, before));
    dgamma.write(Values(3, before));
    dbeta.write(Values(3, before));
    dnn::Tensor none;
    EXPECT_SUCCESS(none.SetType(Type::FLOAT));
    dnn::Tensor none_too = none;
    dnn::BatchNorm norm;
    EXPECT_SUCCESS(norm.SetEpsilon(1e-5));
    EXPECT_SUCCESS(norm.SetTraining(true));
    EXPECT_SUCCESS(norm.RunBwd(
        handle(),
        dx,
        none,
        none_too,
        dgamma,
        dbeta,
        in,
        grad,
        stats,
        stats,
        stats,
        maintainer()));
  };
  Array dx(Type::FLOAT, {2, 3, 2, 2});
  Array dgamma(Type::FLOAT, {3});
  Array dbeta(Type::FLOAT, {3});
  run(0, dx, dgamma, dbeta);
  const Values clean[] = {dx.read(), dgamma.read(), dbeta.read()};
  run(10, dx, dgamma, dbeta);
  const Values added[] = {dx.read(), dgamma.read(), dbeta.read()};
  for (int i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < clean[i].size(); ++j) {
      EXPECT_NEAR(clean[i][j] + 10, added[i][j], 1e-4) << i << " " << j;
    }
  }
}

BEHAVES(defect_65, running_variance_takes_the_sample_variance) {
  const Array in(Type::FLOAT, {4, 1}, {1, 2, 3, 4});
  Array running_mean(Type::FLOAT, {1}, {0});
  Array running_var(Type::FLOAT, {1}, {0});
  Array save_mean(Type::FLOAT, {1});
  Array save_invstd(Type::FLOAT, {1});
  Array out(Type::FLOAT, {4, 1});
  const Array gamma(Type::FLOAT, {1}, {1});
  const Array beta(Type::FLOAT, {1}, {0});
  dnn::BatchNorm norm;
  EXPECT_SUCCESS(norm.SetEpsilon(1e-5));
  EXPECT_SUCCESS(norm.SetTraining(true));
  EXPECT_SUCCESS(norm.RunComposite(
      handle(),
      out,
      in,
      running_mean,
      running_var,
      save_mean,
      save_invstd,
      gamma,
      beta,
      1.0,
      maintainer()));
  expect_near({5.0 / 3}, running_var, 4);
}

BEHAVES(defect_68, layernorm_gamma_without_beta_is_rejected) {
  const Array in(Type::FLOAT, {2, 3}, {1, 2, 3, 4, 5, 6});
  const Array gamma(Type::FLOAT, {3}, {1, 1, 1});
  Array out(Type::FLOAT, {2, 3});
  Array mean(Type::FLOAT, {2, 1});
  Array rstd(Type::FLOAT, {2, 1});
  const int axes[] = {1};
  dnn::LayerNorm norm;
  EXPECT_SUCCESS(norm.SetAxis(1, axes));
  EXPECT_STATUS(
      Status::NOT_SUPPORTED,
      norm.Run(
          handle(),
          out,
          mean,
          rstd,
          in,
          gamma,
          dnn::Tensor(),
          maintainer()));
}

#if CONFORMANCE_PORTABLE

SCENARIO(negative_stride) {
  musaStream_t stream = nullptr;
  REQUIRE(musaStreamCreate(&stream) == musaSuccess);
  poison(stream);
  REQUIRE(musaStreamSynchronize(stream) == musaErrorLaunchFailure);
  REQUIRE(musaDeviceSynchronize() == musaErrorLaunchFailure);
  std::printf("%s\n", musaPortableFailedTask());
  return 0;
}

BEHAVES(defect_3, negative_strides_end_in_a_sticky_launch_failure) {
  const ChildResult child = run_child("negative_stride");
  expect_good(child);
  EXPECT_NE(std::string::npos, child.output.find("Permute")) << child.output;
}

#endif

} // namespace conformance
