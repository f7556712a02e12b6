// SPDX-License-Identifier: Apache-2.0
// Batch normalisation.
#include "csrc/mudnn/norm.h"
#include "csrc/ops/output.h"
#include "csrc/routing/register.h"
#include "csrc/runtime/device.h"

#include <ATen/ops/_batch_norm_with_update_ops.h>
#include <ATen/ops/_native_batch_norm_legit_ops.h>
#include <ATen/ops/batch_norm_backward_ops.h>
#include <ATen/ops/native_batch_norm_backward_ops.h>
#include <ATen/ops/native_batch_norm_ops.h>

#include <array>
#include <numeric>
#include <optional>
#include <tuple>

namespace torch_fl::ops {

namespace {

using at::IntArrayRef;
using at::MemoryFormat;
using at::Tensor;
using Three = std::tuple<Tensor, Tensor, Tensor>;

Tensor value_of(const std::optional<Tensor>& tensor) {
  return tensor.has_value() ? *tensor : Tensor();
}
Tensor value_of(const Tensor& tensor) {
  return tensor;
}

// muDNN keeps weights and statistics in float, whatever the input is.
Tensor as_float(const Tensor& tensor) {
  if (!tensor.defined() ||
      (tensor.scalar_type() == at::kFloat && tensor.is_contiguous())) {
    return tensor;
  }
  return tensor.to(at::kFloat).contiguous();
}

// A batch of any rank as rank-4 images: (N, C, rest, 1) or channels last.
struct Image {
  explicit Image(const Tensor& input)
      : layout(
            input.dim() == 4 &&
                    input.suggest_memory_format() == MemoryFormat::ChannelsLast
                ? MemoryFormat::ChannelsLast
                : MemoryFormat::Contiguous),
        sizes(sizes_of(input)) {}

  static std::array<int64_t, 4> sizes_of(const Tensor& input) {
    if (input.dim() == 4) {
      return {input.size(0), input.size(1), input.size(2), input.size(3)};
    }
    int64_t rest = 1;
    for (int64_t i = 2; i < input.dim(); ++i) {
      rest *= input.size(i);
    }
    return {input.size(0), input.size(1), rest, 1};
  }

  // Dense, rank 4; shares memory with what is dense already.
  Tensor of(const Tensor& tensor) const {
    const Tensor dense = tensor.contiguous(layout);
    return dense.dim() == 4 ? dense : dense.view(sizes);
  }

  Tensor output_like(const Tensor& tensor) const {
    return make_strided(
        tensor.sizes(),
        {},
        tensor.options().memory_format(layout));
  }

  MemoryFormat layout;
  std::array<int64_t, 4> sizes;
};

void check_channels(const char* name, const Tensor& t, int64_t channels) {
  TORCH_CHECK(
      !t.defined() || t.numel() == channels,
      "expected ",
      name,
      " to have ",
      channels,
      " elements, got ",
      t.sizes());
}

// One float statistic: the caller's own tensor where it is one, else a copy
// that goes back.
class Running {
 public:
  explicit Running(const Tensor& given)
      : given_(given), used_(as_float(given)) {}
  const Tensor& tensor() const { return used_; }
  void finish() const {
    if (given_.defined() && !used_.is_same(given_)) {
      copy_back(given_, used_);
    }
  }

 private:
  Tensor given_;
  Tensor used_;
};

struct BatchNormCall {
  Tensor weight;
  Tensor bias;
  Tensor running_mean;
  Tensor running_var;
  double momentum;
  double epsilon;
};

void check(const Tensor& input, const BatchNormCall& call) {
  TORCH_CHECK(
      input.dim() >= 2,
      "batch_norm expects an input of two dimensions or more, got ",
      input.sizes());
  const int64_t channels = input.size(1);
  check_channels("weight", call.weight, channels);
  check_channels("bias", call.bias, channels);
  check_channels("running_mean", call.running_mean, channels);
  check_channels("running_var", call.running_var, channels);
  for (const Tensor* t :
       {&call.weight, &call.bias, &call.running_mean, &call.running_var}) {
    if (t->defined()) {
      check_same_device(input, *t);
    }
  }
}

Three train(const Tensor& input, const BatchNormCall& call) {
  const Image image(input);
  Tensor out = image.output_like(input);
  const int64_t channels = input.size(1);
  Tensor save_mean = make_dense({channels}, at::kFloat);
  Tensor save_invstd = make_dense({channels}, at::kFloat);
  if (input.numel() == 0) {
    save_mean.zero_();
    save_invstd.zero_();
    return {std::move(out), std::move(save_mean), std::move(save_invstd)};
  }
  const Running mean(call.running_mean);
  const Running var(call.running_var);
  mudnn::batch_norm_training(
      image.of(out),
      image.of(input),
      {mean.tensor(), var.tensor(), save_mean, save_invstd},
      {as_float(call.weight), as_float(call.bias)},
      {call.momentum, call.epsilon, image.layout});
  mean.finish();
  var.finish();
  return {std::move(out), std::move(save_mean), std::move(save_invstd)};
}

// No statistics are saved in evaluation: backward reads the running ones.
Three evaluate(const Tensor& input, const BatchNormCall& call) {
  TORCH_CHECK(
      call.running_mean.defined() && call.running_var.defined(),
      "batch_norm in evaluation needs running_mean and running_var");
  const Image image(input);
  Tensor out = image.output_like(input);
  if (input.numel() != 0) {
    mudnn::batch_norm_inference(
        image.of(out),
        image.of(input),
        as_float(call.running_mean),
        as_float(call.running_var),
        as_float(call.weight),
        as_float(call.bias),
        call.epsilon,
        image.layout);
  }
  return {
      std::move(out),
      make_dense({0}, at::kFloat),
      make_dense({0}, at::kFloat)};
}

Three batch_norm(
    const Tensor& input,
    const BatchNormCall& call,
    bool training) {
  check(input, call);
  const runtime::DeviceScope scope(input.device());
  return training ? train(input, call) : evaluate(input, call);
}

// Two operators differ only in whether running statistics may be absent.
template <class Op, class Statistic>
Three batch_norm_form(
    const Tensor& input,
    const std::optional<Tensor>& weight,
    const std::optional<Tensor>& bias,
    Statistic running_mean,
    Statistic running_var,
    bool training,
    double momentum,
    double epsilon) {
  if (!mudnn::can_normalize(input.scalar_type())) {
    return routing::to_cpu<Op>::call(
        input,
        weight,
        bias,
        running_mean,
        running_var,
        training,
        momentum,
        epsilon);
  }
  return batch_norm(
      input,
      {value_of(weight),
       value_of(bias),
       value_of(running_mean),
       value_of(running_var),
       momentum,
       epsilon},
      training);
}

Three batch_norm_no_stats(
    const Tensor& input,
    const std::optional<Tensor>& weight,
    const std::optional<Tensor>& bias,
    bool /*training*/,
    double momentum,
    double epsilon) {
  if (!mudnn::can_normalize(input.scalar_type())) {
    return routing::to_cpu<at::_ops::_native_batch_norm_legit_no_stats>::call(
        input,
        weight,
        bias,
        true,
        momentum,
        epsilon);
  }
  return batch_norm(
      input,
      {value_of(weight), value_of(bias), {}, {}, momentum, epsilon},
      true);
}

std::tuple<Tensor, Tensor, Tensor, Tensor> batch_norm_with_update(
    const Tensor& input,
    const std::optional<Tensor>& weight,
    const std::optional<Tensor>& bias,
    Tensor& running_mean,
    Tensor& running_var,
    double momentum,
    double epsilon) {
  if (!mudnn::can_normalize(input.scalar_type())) {
    return routing::to_cpu<at::_ops::_batch_norm_with_update>::call(
        input,
        weight,
        bias,
        running_mean,
        running_var,
        momentum,
        epsilon);
  }
  auto [out, mean, invstd] = batch_norm(
      input,
      {value_of(weight),
       value_of(bias),
       running_mean,
       running_var,
       momentum,
       epsilon},
      true);
  return {
      std::move(out),
      std::move(mean),
      std::move(invstd),
      make_dense({0}, at::kByte)};
}

Tensor in_type(const Tensor& tensor, at::ScalarType type) {
  return tensor.scalar_type() == type ? tensor : tensor.to(type);
}

// Gradients of an input and of the affine parameters.
struct Gradients {
  Tensor input;
  Tensor weight;
  Tensor bias;

  Three masked(std::array<bool, 3> mask, at::ScalarType affine) {
    return {
        mask[0] ? std::move(input) : Tensor(),
        mask[1] ? in_type(weight, affine) : Tensor(),
        mask[2] ? in_type(bias, affine) : Tensor()};
  }
};

Gradients backward_training(
    const Tensor& grad_out,
    const Tensor& input,
    const Tensor& weight,
    const Tensor& save_mean,
    const Tensor& save_invstd,
    double epsilon) {
  const Image image(input);
  Gradients made;
  made.input = image.output_like(input);
  made.weight = make_dense({input.size(1)}, at::kFloat);
  made.bias = make_dense({input.size(1)}, at::kFloat);
  if (input.numel() == 0) {
    made.weight.zero_();
    made.bias.zero_();
  } else {
    mudnn::batch_norm_backward(
        {image.of(made.input), made.weight, made.bias},
        image.of(input),
        image.of(grad_out),
        as_float(save_mean),
        as_float(save_invstd),
        as_float(weight),
        epsilon,
        image.layout);
  }
  return made;
}

// Statistics were constants: muDNN's RunBwd has no such mode.
Gradients backward_evaluation(
    const Tensor& grad_out,
    const Tensor& input,
    const Tensor& weight,
    const Tensor& running_mean,
    const Tensor& running_var,
    double epsilon,
    std::array<bool, 3> mask) {
  at::DimVector shape(static_cast<size_t>(input.dim()), 1);
  shape[1] = input.size(1);
  at::DimVector others(static_cast<size_t>(input.dim()) - 1);
  std::iota(others.begin(), others.end(), 1);
  others[0] = 0;
  const Tensor invstd = as_float(running_var).add(epsilon).rsqrt();
  const Tensor gradient = grad_out.to(at::kFloat);
  Gradients made;
  if (mask[0]) {
    const Tensor scale =
        weight.defined() ? invstd.mul(as_float(weight)) : invstd;
    made.input = gradient.mul(scale.view(shape)).to(input.scalar_type());
  }
  if (mask[1]) {
    const Tensor centred =
        input.to(at::kFloat).sub(as_float(running_mean).view(shape));
    made.weight = gradient.mul(centred).sum(others).mul(invstd);
  }
  if (mask[2]) {
    made.bias = gradient.sum(others);
  }
  return made;
}

// NOLINTNEXTLINE(readability-function-size): the schema's arguments
Three native_batch_norm_backward(
    const Tensor& grad_out,
    const Tensor& input,
    const std::optional<Tensor>& weight,
    const std::optional<Tensor>& running_mean,
    const std::optional<Tensor>& running_var,
    const std::optional<Tensor>& save_mean,
    const std::optional<Tensor>& save_invstd,
    bool training,
    double epsilon,
    std::array<bool, 3> output_mask) {
  if (!mudnn::can_normalize(input.scalar_type())) {
    return routing::to_cpu<at::_ops::native_batch_norm_backward>::call(
        grad_out,
        input,
        weight,
        running_mean,
        running_var,
        save_mean,
        save_invstd,
        training,
        epsilon,
        output_mask);
  }
  check_same_device(grad_out, input);
  const runtime::DeviceScope scope(input.device());
  const Tensor gamma = value_of(weight);
  Gradients made = training ? backward_training(
                                  grad_out,
                                  input,
                                  gamma,
                                  value_of(save_mean),
                                  value_of(save_invstd),
                                  epsilon)
                            : backward_evaluation(
                                  grad_out,
                                  input,
                                  gamma,
                                  value_of(running_mean),
                                  value_of(running_var),
                                  epsilon,
                                  output_mask);
  return made.masked(
      output_mask,
      gamma.defined() ? gamma.scalar_type() : at::kFloat);
}

// NOLINTNEXTLINE(readability-function-size): the schema's arguments
Three batch_norm_backward(
    const Tensor& grad_out,
    const Tensor& input,
    const Tensor& weight,
    const std::optional<Tensor>& running_mean,
    const std::optional<Tensor>& running_var,
    const std::optional<Tensor>& save_mean,
    const std::optional<Tensor>& save_var,
    bool update,
    double epsilon,
    std::array<bool, 3> output_mask,
    const Tensor& /*reserve*/) {
  return native_batch_norm_backward(
      grad_out,
      input,
      weight,
      running_mean,
      running_var,
      save_mean,
      save_var,
      update,
      epsilon,
      output_mask);
}

} // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  routing::Registrar registrar(library);
  registrar.native<&batch_norm_form<
      at::_ops::native_batch_norm,
      const std::optional<Tensor>&>>("native_batch_norm");
  registrar
      .native<&batch_norm_form<at::_ops::_native_batch_norm_legit, Tensor&>>(
          "_native_batch_norm_legit");
  registrar.native<&batch_norm_no_stats>("_native_batch_norm_legit.no_stats");
  registrar.native<&batch_norm_with_update>("_batch_norm_with_update");
  registrar.native<&native_batch_norm_backward>("native_batch_norm_backward");
  registrar.native<&batch_norm_backward>("batch_norm_backward");
}

} // namespace torch_fl::ops
