// SPDX-License-Identifier: Apache-2.0
// Fused optimizer steps on kernels of ours: a few launches for all tensors, and
// no value leaves the device.
#include "csrc/kernels/optimizer.h"

#include "csrc/ops/kernel_operands.h"
#include "csrc/ops/output.h"
#include "csrc/ops/tensor_lists.h"
#include "csrc/routing/register.h"
#include "csrc/runtime/device.h"

#include <initializer_list>

namespace torch_fl::ops {

namespace {

using at::Tensor;
using at::TensorList;

// Lists of equal length whose tensors agree in size, strides, dtype and device,
// without gaps.
void check_lists(const char* op, std::initializer_list<TensorList> lists) {
  const TensorList first = *lists.begin();
  for (const TensorList list : lists) {
    TORCH_CHECK(
        list.size() == first.size(),
        op,
        ": the lists differ in length, ",
        first.size(),
        " and ",
        list.size());
    for (size_t t = 0; t < list.size(); ++t) {
      TORCH_CHECK(
          list[t].device() == first[0].device() &&
              list[t].scalar_type() == first[0].scalar_type() &&
              list[t].layout() == at::kStrided &&
              list[t].sizes() == first[t].sizes() &&
              list[t].strides() == first[t].strides() &&
              list[t].is_non_overlapping_and_dense(),
          op,
          ": parameters, gradients and states must have the same dtype, "
          "device, sizes and strides, without gaps (tensor ",
          t,
          ")");
    }
  }
}

void check_steps(const char* op, TensorList params, TensorList steps) {
  TORCH_CHECK(
      steps.size() == params.size(),
      op,
      ": ",
      params.size(),
      " parameters need as many state_steps, got ",
      steps.size());
  for (const Tensor& step : steps) {
    TORCH_CHECK(
        step.device() == params[0].device() &&
            step.scalar_type() == at::kFloat && step.numel() == 1,
        op,
        ": each of state_steps must be one float on ",
        params[0].device());
  }
}

// The learning rate as a number, or where it lies on the device.
struct Rate {
  double number = 0;
  Tensor tensor;

  Rate(const char* /*op*/, double value, at::Device /*device*/)
      : number(value) {}
  Rate(const char* op, const Tensor& rate, at::Device device) {
    TORCH_CHECK(rate.numel() == 1, op, ": lr must be one number");
    if (rate.device().is_cpu()) {
      number = rate.item().toDouble();
      return;
    }
    TORCH_CHECK(
        rate.device() == device &&
            (rate.scalar_type() == at::kFloat ||
             rate.scalar_type() == at::kDouble),
        op,
        ": lr must be a float or double on ",
        device,
        " or on the CPU");
    tensor = rate;
  }
};

FlStep step_of(
    const char* op,
    const Rate& rate,
    double weight_decay,
    bool maximize,
    const std::optional<Tensor>& grad_scale,
    const std::optional<Tensor>& found_inf,
    at::Device device) {
  FlStep step{};
  step.learning_rate = rate.number;
  step.weight_decay = weight_decay;
  if (rate.tensor.defined()) {
    step.rate = address_of(rate.tensor);
    step.rate_is_double = rate.tensor.scalar_type() == at::kDouble ? 1 : 0;
  }
  step.maximize = maximize ? 1 : 0;
  step.grad_scale = flag_of(op, "grad_scale", grad_scale, device);
  step.found_inf = flag_of(op, "found_inf", found_inf, device);
  return step;
}

struct AdamArgs {
  TensorList params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, steps;
  double beta1, beta2, weight_decay, eps;
  bool amsgrad, maximize;
  const std::optional<Tensor>& grad_scale;
  const std::optional<Tensor>& found_inf;
};

void adam(const char* op, const AdamArgs& a, const Rate& rate, bool decoupled) {
  if (a.params.empty()) {
    return;
  }
  const at::Device device = a.params[0].device();
  const at::ScalarType type = a.params[0].scalar_type();
  check_lists(op, {a.params, a.grads, a.exp_avgs, a.exp_avg_sqs});
  if (a.amsgrad) {
    check_lists(op, {a.params, a.max_exp_avg_sqs});
  }
  check_steps(op, a.params, a.steps);
  TORCH_CHECK(
      at::isFloatingType(type),
      op,
      ": takes floating tensors, got ",
      type);
  const runtime::DeviceScope scope(device);
  FlAdam args{};
  args.step = step_of(
      op,
      rate,
      a.weight_decay,
      a.maximize,
      a.grad_scale,
      a.found_inf,
      device);
  args.beta1 = a.beta1;
  args.beta2 = a.beta2;
  args.epsilon = a.eps;
  args.amsgrad = a.amsgrad ? 1 : 0;
  args.decoupled = decoupled ? 1 : 0;
  const Tensor corrections =
      make_dense({static_cast<int64_t>(a.params.size()), 2}, at::kFloat);
  auto* const table =
      static_cast<float*>(corrections.unsafeGetTensorImpl()->mutable_data());
  by_portions({a.steps}, [&](const FlTensors& steps, size_t first) {
    FL_MUSA_CHECK(fl_adam_corrections(
        &steps,
        a.beta1,
        a.beta2,
        table + 2 * first,
        kernel_stream()));
  });
  // Lists that are not there are not read.
  const TensorList highest = a.amsgrad ? a.max_exp_avg_sqs : a.params;
  by_portions(
      {a.params, a.grads, a.exp_avgs, a.exp_avg_sqs, highest},
      [&](const FlTensors& lists, size_t first) {
        args.corrections = table + 2 * first;
        FL_MUSA_CHECK(
            fl_adam(kernel_type(type), &lists, &args, kernel_stream()));
      });
}

// Lr: a number, or a tensor.
template <bool decoupled, class Lr>
void fused_adam(
    TensorList self,
    TensorList grads,
    TensorList exp_avgs,
    TensorList exp_avg_sqs,
    TensorList max_exp_avg_sqs,
    TensorList state_steps,
    Lr lr,
    double beta1,
    double beta2,
    double weight_decay,
    double eps,
    bool amsgrad,
    bool maximize,
    const std::optional<Tensor>& grad_scale,
    const std::optional<Tensor>& found_inf) {
  if (self.empty()) {
    return;
  }
  const char* const op = decoupled ? "_fused_adamw_" : "_fused_adam_";
  adam(
      op,
      {self,
       grads,
       exp_avgs,
       exp_avg_sqs,
       max_exp_avg_sqs,
       state_steps,
       beta1,
       beta2,
       weight_decay,
       eps,
       amsgrad,
       maximize,
       grad_scale,
       found_inf},
      Rate(op, lr, self[0].device()),
      decoupled);
}

struct SgdArgs {
  TensorList params, grads, buffers;
  double weight_decay, momentum, dampening;
  bool nesterov, maximize, first;
  const std::optional<Tensor>& grad_scale;
  const std::optional<Tensor>& found_inf;
};

void sgd(const SgdArgs& a, const Rate& rate) {
  constexpr const char* kOp = "_fused_sgd_";
  const at::Device device = a.params[0].device();
  const at::ScalarType type = a.params[0].scalar_type();
  const bool momentum = a.momentum != 0;
  check_lists(kOp, {a.params, a.grads});
  if (momentum) {
    check_lists(kOp, {a.params, a.buffers});
  }
  TORCH_CHECK(
      at::isFloatingType(type),
      kOp,
      ": takes floating tensors, got ",
      type);
  const runtime::DeviceScope scope(device);
  FlSgd args{};
  args.step = step_of(
      kOp,
      rate,
      a.weight_decay,
      a.maximize,
      a.grad_scale,
      a.found_inf,
      device);
  args.momentum = a.momentum;
  args.dampening = a.dampening;
  args.nesterov = a.nesterov ? 1 : 0;
  args.first = a.first ? 1 : 0;
  const TensorList buffers = momentum ? a.buffers : a.params;
  by_portions(
      {a.params, a.grads, buffers},
      [&](const FlTensors& lists, size_t /*first*/) {
        FL_MUSA_CHECK(
            fl_sgd(kernel_type(type), &lists, &args, kernel_stream()));
      });
}

template <class Lr>
void fused_sgd(
    TensorList self,
    TensorList grads,
    TensorList momentum_buffer_list,
    double weight_decay,
    double momentum,
    Lr lr,
    double dampening,
    bool nesterov,
    bool maximize,
    bool is_first_step,
    const std::optional<Tensor>& grad_scale,
    const std::optional<Tensor>& found_inf) {
  if (!self.empty()) {
    sgd({self,
         grads,
         momentum_buffer_list,
         weight_decay,
         momentum,
         dampening,
         nesterov,
         maximize,
         is_first_step,
         grad_scale,
         found_inf},
        Rate("_fused_sgd_", lr, self[0].device()));
  }
}

struct AdagradArgs {
  TensorList params, grads, sums, steps;
  double lr_decay, weight_decay, eps;
  bool maximize;
  const std::optional<Tensor>& grad_scale;
  const std::optional<Tensor>& found_inf;
};

void adagrad(const AdagradArgs& a, const Rate& rate) {
  constexpr const char* kOp = "_fused_adagrad_";
  const at::Device device = a.params[0].device();
  const at::ScalarType type = a.params[0].scalar_type();
  check_lists(kOp, {a.params, a.grads, a.sums});
  check_steps(kOp, a.params, a.steps);
  TORCH_CHECK(
      at::isFloatingType(type),
      kOp,
      ": takes floating tensors, got ",
      type);
  const runtime::DeviceScope scope(device);
  FlAdagrad args{};
  args.step = step_of(
      kOp,
      rate,
      a.weight_decay,
      a.maximize,
      a.grad_scale,
      a.found_inf,
      device);
  args.rate_decay = a.lr_decay;
  args.epsilon = a.eps;
  by_portions(
      {a.params, a.grads, a.sums, a.steps},
      [&](const FlTensors& lists, size_t /*first*/) {
        FL_MUSA_CHECK(
            fl_adagrad(kernel_type(type), &lists, &args, kernel_stream()));
      });
}

template <class Lr>
void fused_adagrad(
    TensorList self,
    TensorList grads,
    TensorList state_sums,
    TensorList state_steps,
    Lr lr,
    double lr_decay,
    double weight_decay,
    double eps,
    bool maximize,
    const std::optional<Tensor>& grad_scale,
    const std::optional<Tensor>& found_inf) {
  if (!self.empty()) {
    adagrad(
        {self,
         grads,
         state_sums,
         state_steps,
         lr_decay,
         weight_decay,
         eps,
         maximize,
         grad_scale,
         found_inf},
        Rate("_fused_adagrad_", lr, self[0].device()));
  }
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  routing::Registrar r(library);
  r.native<&fused_adam<false, double>>("_fused_adam_");
  r.native<&fused_adam<false, const Tensor&>>("_fused_adam_.tensor_lr");
  r.native<&fused_adam<true, double>>("_fused_adamw_");
  r.native<&fused_adam<true, const Tensor&>>("_fused_adamw_.tensor_lr");
  r.native<&fused_sgd<double>>("_fused_sgd_");
  r.native<&fused_sgd<const Tensor&>>("_fused_sgd_.tensor_lr");
  r.native<&fused_adagrad<double>>("_fused_adagrad_");
  r.native<&fused_adagrad<const Tensor&>>("_fused_adagrad_.tensor_lr");
}

} // namespace

} // namespace torch_fl::ops
