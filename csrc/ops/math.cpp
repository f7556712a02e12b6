// SPDX-License-Identifier: Apache-2.0
// Elementwise functions on kernels of ours.
#include "csrc/ops/math.h"

#include "csrc/runtime/device.h"

#include <ATen/ops/full.h>

#include <utility>

namespace torch_fl::ops {

namespace {

// Whether operands have the dtypes that a kernel reads and writes.
bool plain(
    at::TensorIteratorBase& iter,
    at::ScalarType out,
    at::ScalarType type) {
  int numbers = 0;
  for (int a = 1; a < iter.ntensors(); ++a) {
    if (iter.is_cpu_scalar(a)) {
      ++numbers;
    } else if (iter.dtype(a) != type) {
      return false;
    }
  }
  return iter.dtype(0) == out && numbers <= 1;
}

// The same operands in the dtypes that a kernel takes; a second number becomes
// a tensor.
at::TensorIterator converted(
    at::TensorIteratorBase& iter,
    at::ScalarType out,
    at::ScalarType type) {
  at::TensorIteratorConfig config;
  config.set_check_mem_overlap(false)
      .check_all_same_dtype(false)
      .allow_cpu_scalars(true)
      .resize_outputs(false);
  const at::Tensor& target = iter.tensor(0);
  const at::TensorOptions options = target.options();
  if (target.scalar_type() == out) {
    config.add_owned_output(target);
  } else {
    config.declare_static_dtype_and_device(out, target.device());
    config.add_owned_output(at::Tensor());
  }
  bool number = false;
  for (int a = 1; a < iter.ntensors(); ++a) {
    const at::Tensor& operand = iter.tensor(a);
    if (!iter.is_cpu_scalar(a)) {
      config.add_owned_const_input(operand.to(type));
    } else if (!std::exchange(number, true)) {
      config.add_owned_const_input(operand);
    } else {
      config.add_owned_const_input(
          at::full({}, operand.item(), options.dtype(type)));
    }
  }
  return config.build();
}

// start(operands) in the dtypes that a kernel takes.
template <class Start>
void run(
    at::TensorIteratorBase& iter,
    at::ScalarType out,
    at::ScalarType type,
    const Start& start) {
  if (iter.numel() == 0) {
    return;
  }
  const runtime::DeviceScope scope(iter.device(0));
  if (plain(iter, out, type)) {
    start(kernel_operands(iter));
    return;
  }
  at::TensorIterator same = converted(iter, out, type);
  start(kernel_operands(same));
  if (iter.dtype(0) != out) {
    iter.tensor(0).copy_(same.tensor(0));
  }
}

} // namespace

FlMath math_numbers(std::initializer_list<at::Scalar> numbers) {
  FlMath math{};
  int at = 0;
  for (const at::Scalar& number : numbers) {
    FlNumber& to = math.numbers[at++];
    to.real = number.toDouble();
    to.integer = number.isFloatingPoint()
        ? static_cast<int64_t>(number.toDouble())
        : number.toLong();
  }
  return math;
}

bool kernel_float(at::ScalarType type) {
  return c10::isFloatingType(type) && has_kernel_type(type);
}

bool kernel_integer(at::ScalarType type) {
  return c10::isIntegralType(type, /*includeBool=*/true) &&
      has_kernel_type(type);
}

bool fits_kernel(at::TensorIteratorBase& iter) {
  for (int a = 0; a < iter.ntensors(); ++a) {
    if (c10::isComplexType(iter.dtype(a))) {
      return false;
    }
  }
  return iter.ndim() <= kFlMaxRank;
}

void require_floats(const char* name, at::ScalarType type) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      kernel_float(type),
      '"',
      name,
      "\" not implemented for '",
      c10::toString(type),
      "'");
}

void compute(
    at::TensorIteratorBase& iter,
    at::ScalarType type,
    FlUnary op,
    const FlMath& numbers) {
  run(iter, type, type, [&](const FlOperands& v) {
    FL_MUSA_CHECK(
        fl_unary(op, kernel_type(type), &v, &numbers, kernel_stream()));
  });
}

void compute(
    at::TensorIteratorBase& iter,
    at::ScalarType type,
    FlSpecial op,
    const FlMath& numbers) {
  run(iter, type, type, [&](const FlOperands& v) {
    FL_MUSA_CHECK(
        fl_special(op, kernel_type(type), &v, &numbers, kernel_stream()));
  });
}

void compute(
    at::TensorIteratorBase& iter,
    at::ScalarType type,
    FlBinary op,
    const FlMath& numbers) {
  run(iter, type, type, [&](const FlOperands& v) {
    FL_MUSA_CHECK(
        fl_binary(op, kernel_type(type), &v, &numbers, kernel_stream()));
  });
}

void compute(
    at::TensorIteratorBase& iter,
    at::ScalarType type,
    FlGradient op,
    const FlMath& numbers) {
  run(iter, type, type, [&](const FlOperands& v) {
    FL_MUSA_CHECK(
        fl_gradient(op, kernel_type(type), &v, &numbers, kernel_stream()));
  });
}

void compute(
    at::TensorIteratorBase& iter,
    at::ScalarType type,
    FlTernary op,
    const FlMath& numbers) {
  run(iter, type, type, [&](const FlOperands& v) {
    FL_MUSA_CHECK(
        fl_ternary(op, kernel_type(type), &v, &numbers, kernel_stream()));
  });
}

void compute_nextafter(at::TensorIteratorBase& iter) {
  const at::ScalarType type = iter.common_dtype();
  run(iter, type, type, [&](const FlOperands& v) {
    FL_MUSA_CHECK(fl_nextafter(kernel_type(type), &v, kernel_stream()));
  });
}

void compute_signbit(at::TensorIteratorBase& iter, at::ScalarType type) {
  run(iter, at::kBool, type, [&](const FlOperands& v) {
    FL_MUSA_CHECK(fl_signbit(kernel_type(type), &v, kernel_stream()));
  });
}

at::TensorIterator iterator_over(
    const at::Tensor& out,
    std::initializer_list<at::Tensor> inputs) {
  at::TensorIteratorConfig config;
  config.set_check_mem_overlap(false)
      .check_all_same_dtype(false)
      .allow_cpu_scalars(true)
      .resize_outputs(false)
      .add_owned_output(out);
  for (const at::Tensor& input : inputs) {
    config.add_owned_const_input(input);
  }
  return config.build();
}

} // namespace torch_fl::ops
