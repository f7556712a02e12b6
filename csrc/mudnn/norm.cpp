// SPDX-License-Identifier: Apache-2.0
// Batch and layer normalisation through muDNN.
#include "csrc/mudnn/norm.h"

#include "csrc/mudnn/handle.h"
#include "csrc/mudnn/image.h"
#include "csrc/mudnn/workspace.h"
#include "csrc/runtime/stream.h"

#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include <cmath>
#include <limits>

namespace torch_fl::mudnn {

namespace {

namespace dnn = ::musa::dnn;

// An operand that is absent carries its type only.
dnn::Tensor absent(dnn::Tensor::Type type = dnn::Tensor::Type::FLOAT) {
  dnn::Tensor none;
  FL_MUDNN_CHECK(none.SetType(type));
  return none;
}

dnn::Tensor view_or_absent(const at::Tensor& tensor) {
  return tensor.defined() ? view(tensor) : absent();
}

dnn::Tensor writable_or_absent(const at::Tensor& tensor) {
  return tensor.defined() ? writable(tensor) : absent();
}

void configure(dnn::BatchNorm& op, double epsilon, bool training) {
  // PER_ACTIVATION is faster and less accurate (quirk 71).
  FL_MUDNN_CHECK(op.SetMode(dnn::BatchNorm::Mode::PER_CHANNEL));
  FL_MUDNN_CHECK(op.SetEpsilon(epsilon));
  FL_MUDNN_CHECK(op.SetTraining(training));
}

dnn::Tensor describe_rows(const at::Tensor& dense, const RowsOf& rows) {
  dnn::Tensor made;
  const int64_t dims[2] = {rows.rows, rows.columns};
  FL_MUDNN_CHECK(made.SetType(required_dnn_type(dense.scalar_type())));
  FL_MUDNN_CHECK(made.SetAddr(dense.unsafeGetTensorImpl()->data()));
  FL_MUDNN_CHECK(made.SetNdInfo(2, dims));
  return made;
}

dnn::Tensor describe_row(const at::Tensor& dense) {
  dnn::Tensor made;
  if (dense.defined()) {
    const int64_t numel = dense.numel();
    FL_MUDNN_CHECK(made.SetType(required_dnn_type(dense.scalar_type())));
    FL_MUDNN_CHECK(made.SetAddr(dense.unsafeGetTensorImpl()->data()));
    FL_MUDNN_CHECK(made.SetNdInfo(1, &numel));
  }
  return made;
}

void configure(dnn::LayerNorm& op) {
  const int axis = 1;
  FL_MUDNN_CHECK(op.SetAxis(1, &axis));
}

void run_composite(
    const at::Tensor& out,
    const at::Tensor& in,
    const BatchStatistics& statistics,
    const Affine& affine,
    const BatchNormOptions& options) {
  dnn::Tensor result;
  dnn::Tensor image;
  describe_image_output(result, out, options.layout);
  describe_image(image, in, options.layout);
  dnn::Tensor mean = writable_or_absent(statistics.running_mean);
  dnn::Tensor var = writable_or_absent(statistics.running_var);
  dnn::Tensor saved_mean = writable(statistics.save_mean);
  dnn::Tensor saved_invstd = writable(statistics.save_invstd);
  dnn::BatchNorm op;
  configure(op, options.epsilon, true);
  FL_MUDNN_CHECK(op.RunComposite(
      plain_handle(),
      result,
      image,
      mean,
      var,
      saved_mean,
      saved_invstd,
      view_or_absent(affine.weight),
      view_or_absent(affine.bias),
      options.momentum,
      workspace()));
}

// Makes another stream current until the end of the scope.
class SideStream {
 public:
  SideStream() : before_(runtime::current_stream()) {
    runtime::set_current_stream(runtime::pool_stream(before_.device()));
  }
  SideStream(const SideStream&) = delete;
  SideStream& operator=(const SideStream&) = delete;
  SideStream(SideStream&&) = delete;
  SideStream& operator=(SideStream&&) = delete;
  ~SideStream() { runtime::set_current_stream(before_); }

 private:
  runtime::Stream before_;
};

// Whether RunComposite writes save_mean and save_invstd is disputed (quirk 66),
// so one tiny call answers it. On a stream of its own, because reading the
// answer must not wait for work that the caller has queued.
bool probe_saved_statistics() {
  const SideStream side;
  constexpr double kEpsilon = 3;
  const auto options =
      at::TensorOptions()
          .dtype(at::kFloat)
          .device(c10::DeviceType::PrivateUse1, runtime::current_device());
  const at::Tensor in = at::ones({2, 1, 1, 2}, options);
  const at::Tensor out = at::ones({2, 1, 1, 2}, options);
  const at::Tensor saved =
      at::full({2, 1}, std::numeric_limits<float>::quiet_NaN(), options);
  const at::Tensor none;
  const at::Tensor mean = saved.select(0, 0);
  const at::Tensor invstd = saved.select(0, 1);
  run_composite(
      out,
      in,
      {none, none, mean, invstd},
      {none, none},
      {0, kEpsilon, at::MemoryFormat::Contiguous});
  const double sum = saved.sum().item<float>();
  return std::abs(sum - (1 + 1 / std::sqrt(kEpsilon))) < 1e-3;
}

bool writes_saved_statistics() {
  static const bool answer = probe_saved_statistics();
  return answer;
}

} // namespace

bool can_normalize(at::ScalarType type) {
  return type == at::kFloat || type == at::kHalf || type == at::kBFloat16;
}

void batch_norm_inference(
    const at::Tensor& out,
    const at::Tensor& in,
    const at::Tensor& mean,
    const at::Tensor& var,
    const at::Tensor& weight,
    const at::Tensor& bias,
    double epsilon,
    at::MemoryFormat layout) {
  dnn::Tensor result;
  dnn::Tensor image;
  describe_image_output(result, out, layout);
  describe_image(image, in, layout);
  dnn::Tensor means = view(mean);
  dnn::Tensor variances = view(var);
  dnn::BatchNorm op;
  configure(op, epsilon, false);
  FL_MUDNN_CHECK(op.RunPure(
      plain_handle(),
      result,
      image,
      means,
      variances,
      view_or_absent(weight),
      view_or_absent(bias)));
}

// running_var gets the sample (N-1) variance, as torch wants (quirk 65).
void batch_norm_training(
    const at::Tensor& out,
    const at::Tensor& in,
    const BatchStatistics& statistics,
    const Affine& affine,
    const BatchNormOptions& options) {
  run_composite(out, in, statistics, affine, options);
  if (C10_UNLIKELY(!writes_saved_statistics())) {
    const at::Tensor values = in.to(at::kFloat);
    const int64_t axes[] = {0, 2, 3};
    statistics.save_mean.copy_(values.mean(at::IntArrayRef(axes)));
    statistics.save_invstd.copy_(
        values.var(at::IntArrayRef(axes), /*unbiased=*/false)
            .add_(options.epsilon)
            .rsqrt_());
  }
}

void batch_norm_backward(
    const NormGradients& gradients,
    const at::Tensor& in,
    const at::Tensor& grad_out,
    const at::Tensor& mean,
    const at::Tensor& invstd,
    const at::Tensor& weight,
    double epsilon,
    at::MemoryFormat layout) {
  dnn::Tensor result;
  describe_image_output(result, gradients.input, layout);
  dnn::Tensor gamma_gradient = writable(gradients.weight);
  dnn::Tensor beta_gradient = writable(gradients.bias);
  dnn::Handle& h = plain_handle();
  // RunBwd adds to what its outputs hold (quirk 64).
  dnn::Fill zero;
  FL_MUDNN_CHECK(zero.SetValue(0.0));
  for (dnn::Tensor* output : {&result, &gamma_gradient, &beta_gradient}) {
    FL_MUDNN_CHECK(zero.Run(h, *output));
  }
  dnn::Tensor image;
  dnn::Tensor gradient;
  describe_image(image, in, layout);
  describe_image(gradient, grad_out, layout);
  dnn::Tensor grad_mean = absent();
  dnn::Tensor grad_var = absent();
  dnn::BatchNorm op;
  configure(op, epsilon, true);
  // The saved statistics, with the reciprocal deviation (quirk 67).
  FL_MUDNN_CHECK(op.RunBwd(
      h,
      result,
      grad_mean,
      grad_var,
      gamma_gradient,
      beta_gradient,
      image,
      gradient,
      view(mean),
      view(invstd),
      view_or_absent(weight),
      workspace()));
}

void layer_norm(
    const at::Tensor& out,
    const at::Tensor& mean,
    const at::Tensor& rstd,
    const at::Tensor& in,
    const at::Tensor& weight,
    const at::Tensor& bias,
    double epsilon,
    const RowsOf& rows) {
  at::Tensor gamma = weight;
  at::Tensor beta = bias;
  // One of the two alone is not supported (quirk 68).
  if (gamma.defined() != beta.defined()) {
    const at::Tensor& there = gamma.defined() ? gamma : beta;
    (gamma.defined() ? beta : gamma) = gamma.defined()
        ? at::zeros(there.sizes(), there.options())
        : at::ones(there.sizes(), there.options());
  }
  dnn::Tensor result = describe_rows(out, rows);
  // Statistics keep the normalised axis as a 1 (quirk 69).
  dnn::Tensor means = describe_rows(mean, {rows.rows, 1});
  dnn::Tensor deviations = describe_rows(rstd, {rows.rows, 1});
  dnn::LayerNorm op;
  configure(op);
  FL_MUDNN_CHECK(op.SetEpsilon(epsilon));
  FL_MUDNN_CHECK(op.SetVarMode(
      in.scalar_type() == at::kFloat ? dnn::LayerNorm::VarMode::WELFORD
                                     : dnn::LayerNorm::VarMode::DIRECT));
  FL_MUDNN_CHECK(op.Run(
      plain_handle(),
      result,
      means,
      deviations,
      describe_rows(in, rows),
      describe_row(gamma),
      describe_row(beta),
      workspace()));
}

void layer_norm_backward(
    const NormGradients& gradients,
    const at::Tensor& grad_out,
    const at::Tensor& in,
    const at::Tensor& mean,
    const at::Tensor& rstd,
    const at::Tensor& weight,
    const RowsOf& rows) {
  dnn::Tensor result = describe_rows(gradients.input, rows);
  dnn::Tensor gamma_gradient = describe_row(gradients.weight);
  dnn::Tensor beta_gradient = describe_row(gradients.bias);
  dnn::LayerNorm op;
  configure(op);
  FL_MUDNN_CHECK(op.RunBwd(
      plain_handle(),
      result,
      gamma_gradient,
      beta_gradient,
      describe_rows(grad_out, rows),
      describe_rows(in, rows),
      describe_rows(mean, {rows.rows, 1}),
      describe_rows(rstd, {rows.rows, 1}),
      describe_row(weight),
      workspace()));
}

} // namespace torch_fl::mudnn
