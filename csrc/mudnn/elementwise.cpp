// SPDX-License-Identifier: Apache-2.0
// Conversion of operands and the elementwise muDNN calls.
#include "csrc/mudnn/elementwise.h"

#include "csrc/allocator/device_allocator.h"
#include "csrc/mudnn/handle.h"

#include <c10/core/ScalarType.h>

#include <array>

namespace torch_fl::mudnn {

namespace {

using Descriptor = ::musa::dnn::Tensor;

int64_t integer_for(at::ScalarType type, const Number& number) {
  return type == at::kBool ? static_cast<int64_t>(number.real != 0)
                           : number.integer;
}

// Alpha is read back in the tensor's kind of type (quirk 8).
template <class Op>
C10_ALWAYS_INLINE void
set_alpha(Op& op, at::ScalarType type, const Number& alpha) {
  if (c10::isIntegralType(type, /*includeBool=*/true)) {
    FL_MUDNN_CHECK(op.SetAlpha(integer_for(type, alpha)));
  } else {
    FL_MUDNN_CHECK(op.SetAlpha(alpha.real));
  }
}

void set_beta(::musa::dnn::Unary& op, at::ScalarType type, const Number& beta) {
  if (c10::isIntegralType(type, /*includeBool=*/true)) {
    FL_MUDNN_CHECK(op.SetBeta(integer_for(type, beta)));
  } else {
    FL_MUDNN_CHECK(op.SetBeta(beta.real));
  }
}

void cast(Descriptor& to, const Descriptor& from) {
  ::musa::dnn::Unary op;
  FL_MUDNN_CHECK(op.SetMode(UnaryMode::CAST));
  FL_MUDNN_CHECK(op.Run(plain_handle(), to, from));
}

c10::DataPtr temporary(int64_t elements, at::ScalarType type) {
  return allocator::allocate(
      static_cast<size_t>(elements) * c10::elementSize(type),
      runtime::current_stream());
}

// Row-major strides over `dims`, 0 where `keep` says that all read one element.
int64_t dense_strides(
    const Operands& v,
    const int64_t* broadcast,
    int64_t* dims,
    int64_t* strides) {
  int64_t elements = 1;
  for (int i = v.rank - 1; i >= 0; --i) {
    const bool one = broadcast != nullptr && broadcast[i] == 0;
    dims[i] = one ? 1 : v.dims[i];
    strides[i] = one ? 0 : elements;
    elements *= dims[i];
  }
  return elements;
}

// The operands after conversion; holds what the conversion needed. Memory is
// reused in stream order, so it may go as soon as the calls are submitted.
class Converted {
 public:
  Converted(const Operands& given, at::ScalarType result, int raw_operand)
      : given_(given), v_(given) {
    for (int a = 1; a < v_.count; ++a) {
      if (a != v_.scalar_at && a != raw_operand && v_.type[a] != v_.compute) {
        read(a);
      }
    }
    if (v_.type[0] != result) {
      divert(result);
    }
  }

  const Operands& operands() const { return v_; }

  // Converts a diverted result into the operand that was given.
  void finish() const {
    if (held_[0]) {
      Descriptor from;
      Descriptor to;
      v_.describe(from, 0);
      given_.describe(to, 0);
      cast(to, from);
    }
  }

 private:
  void read(int a) {
    std::array<int64_t, Operands::kMaxRank> dims{};
    std::array<int64_t, Operands::kMaxRank> strides{};
    int64_t elements = v_.numel;
    Descriptor from;
    Descriptor to;
    FL_MUDNN_CHECK(from.SetType(required_dnn_type(v_.type[a])));
    FL_MUDNN_CHECK(from.SetAddr(v_.addr[a]));
    if (v_.flat) {
      FL_MUDNN_CHECK(from.SetNdInfo(1, v_.dims));
      FL_MUDNN_CHECK(to.SetNdInfo(1, v_.dims));
    } else {
      elements = dense_strides(v_, v_.strides[a], dims.data(), strides.data());
      FL_MUDNN_CHECK(from.SetNdInfo(v_.rank, dims.data(), v_.strides[a]));
      FL_MUDNN_CHECK(to.SetNdInfo(v_.rank, dims.data()));
      for (int i = 0; i < v_.rank; ++i) {
        v_.strides[a][i] = strides[static_cast<size_t>(i)];
      }
    }
    hold(a, elements, v_.compute);
    FL_MUDNN_CHECK(to.SetType(required_dnn_type(v_.compute)));
    FL_MUDNN_CHECK(to.SetAddr(v_.addr[a]));
    cast(to, from);
  }

  void divert(at::ScalarType result) {
    if (!v_.flat) {
      std::array<int64_t, Operands::kMaxRank> dims{};
      dense_strides(v_, nullptr, dims.data(), v_.strides[0]);
    }
    hold(0, v_.numel, result);
  }

  void hold(int a, int64_t elements, at::ScalarType type) {
    auto& data = held_[static_cast<size_t>(a)];
    data = temporary(elements, type);
    v_.addr[a] = data.get();
    v_.type[a] = type;
  }

  const Operands& given_;
  Operands v_;
  std::array<c10::DataPtr, Operands::kMaxOperands> held_;
};

bool fits(const Operands& v, at::ScalarType result, int raw_operand) {
  if (C10_LIKELY(v.matched)) {
    return true;
  }
  bool same = v.type[0] == result;
  for (int a = 1; a < v.count; ++a) {
    same = same &&
        (v.type[a] == v.compute || a == v.scalar_at || a == raw_operand);
  }
  return same;
}

// Runs `call` on operands of the right dtypes.
template <class F>
C10_ALWAYS_INLINE void converted(
    const Operands& v,
    at::ScalarType result,
    F&& call,
    int raw_operand = -1) {
  if (v.numel == 0) {
    return;
  }
  if (C10_LIKELY(fits(v, result, raw_operand))) {
    call(v);
    return;
  }
  const Converted ready(v, result, raw_operand);
  call(ready.operands());
  ready.finish();
}

// The tensor operand of a call whose other operand is a number.
int tensor_operand(const Operands& v) {
  return v.scalar_at == 1 ? 2 : 1;
}

C10_ALWAYS_INLINE void run_unary(
    const Operands& v,
    UnaryMode mode,
    const Number& alpha,
    const Number& beta) {
  Descriptor out;
  Descriptor in;
  v.describe(out, 0);
  v.describe(in, tensor_operand(v));
  ::musa::dnn::Unary op;
  FL_MUDNN_CHECK(op.SetMode(mode));
  // Both default to 0 (quirk 9), so both are set.
  set_alpha(op, v.compute, alpha);
  set_beta(op, v.compute, beta);
  FL_MUDNN_CHECK(op.Run(plain_handle(), out, in));
}

C10_ALWAYS_INLINE void run_binary(
    const Operands& v,
    const Descriptor& left,
    const Descriptor& right,
    BinaryMode mode,
    const Number& alpha) {
  Descriptor out;
  v.describe(out, 0);
  ::musa::dnn::Binary op;
  FL_MUDNN_CHECK(op.SetMode(mode));
  set_alpha(op, v.compute, alpha);
  FL_MUDNN_CHECK(op.Run(plain_handle(), out, left, right));
}

// A number that no mode takes becomes one element, read with stride 0.
c10::DataPtr number_operand(const Operands& v, Descriptor& view) {
  c10::DataPtr data = temporary(1, v.compute);
  const int64_t one = 1;
  FL_MUDNN_CHECK(view.SetType(required_dnn_type(v.compute)));
  FL_MUDNN_CHECK(view.SetAddr(data.get()));
  FL_MUDNN_CHECK(view.SetNdInfo(1, &one));
  ::musa::dnn::Fill op;
  if (c10::isIntegralType(v.compute, /*includeBool=*/true)) {
    FL_MUDNN_CHECK(op.SetValue(integer_for(v.compute, v.scalar)));
  } else {
    FL_MUDNN_CHECK(op.SetValue(v.scalar.real));
  }
  FL_MUDNN_CHECK(op.Run(plain_handle(), view));
  const std::array<int64_t, Operands::kMaxRank> zeros{};
  FL_MUDNN_CHECK(view.SetNdInfo(v.rank, v.dims, zeros.data()));
  return data;
}

void run_with_number(
    const Operands& v,
    const BinaryRow& row,
    const Number& alpha) {
  const bool right = v.scalar_at == 2;
  if (right ? row.folds_right : row.folds_left) {
    run_unary(v, right ? row.number_right : row.number_left, v.scalar, {});
    return;
  }
  Descriptor number;
  const c10::DataPtr data = number_operand(v, number);
  Descriptor tensor;
  v.describe(tensor, tensor_operand(v));
  run_binary(
      v,
      right ? tensor : number,
      right ? number : tensor,
      row.both,
      alpha);
}

} // namespace

void unary(
    const Operands& operands,
    UnaryMode mode,
    const Number& alpha,
    const Number& beta) {
  converted(operands, operands.compute, [&](const Operands& v) {
    run_unary(v, mode, alpha, beta);
  });
}

void cast_operand(const Operands& operands) {
  if (operands.numel == 0) {
    return;
  }
  Descriptor to;
  Descriptor from;
  operands.describe(to, 0);
  operands.describe(from, 1);
  cast(to, from);
}

void unary_to_bool(
    const Operands& operands,
    UnaryMode mode,
    const Number& alpha) {
  converted(operands, at::kBool, [&](const Operands& v) {
    run_unary(v, mode, alpha, {});
  });
}

void binary(
    const Operands& operands,
    const BinaryRow& row,
    const Number& alpha) {
  const at::ScalarType result = row.yields_bool ? at::kBool : operands.compute;
  converted(operands, result, [&](const Operands& v) {
    if (v.scalar_at >= 0) {
      run_with_number(v, row, alpha);
      return;
    }
    Descriptor left;
    Descriptor right;
    v.describe(left, 1);
    v.describe(right, 2);
    run_binary(v, left, right, row.both, alpha);
  });
}

void binary_ordered(
    const Operands& operands,
    int left,
    int right,
    BinaryMode mode,
    const Number& alpha) {
  converted(operands, operands.compute, [&](const Operands& v) {
    Descriptor l;
    Descriptor r;
    v.describe(l, left);
    v.describe(r, right);
    run_binary(v, l, r, mode, alpha);
  });
}

void ternary(const Operands& operands, TernaryMode mode, const Number& alpha) {
  converted(operands, operands.compute, [&](const Operands& v) {
    Descriptor out;
    v.describe(out, 0);
    std::array<Descriptor, 3> in;
    c10::DataPtr held;
    for (int a = 1; a < 4; ++a) {
      Descriptor& value = in[static_cast<size_t>(a - 1)];
      if (a == v.scalar_at) {
        held = number_operand(v, value);
      } else {
        v.describe(value, a);
      }
    }
    ::musa::dnn::Ternary op;
    FL_MUDNN_CHECK(op.SetMode(mode));
    set_alpha(op, v.compute, alpha);
    FL_MUDNN_CHECK(op.Run(plain_handle(), out, in[0], in[1], in[2]));
  });
}

void select(const Operands& operands) {
  const auto call = [](const Operands& v) {
    Descriptor out;
    Descriptor condition;
    v.describe(out, 0);
    v.describe(condition, 1);
    std::array<Descriptor, 2> values;
    c10::DataPtr held;
    for (int a = 2; a < 4; ++a) {
      Descriptor& value = values[static_cast<size_t>(a - 2)];
      if (a == v.scalar_at) {
        held = number_operand(v, value);
      } else {
        v.describe(value, a);
      }
    }
    ::musa::dnn::Ternary op;
    FL_MUDNN_CHECK(op.SetMode(TernaryMode::SELECT));
    FL_MUDNN_CHECK(
        op.Run(plain_handle(), out, condition, values[0], values[1]));
  };
  converted(operands, operands.compute, call, /*raw_operand=*/1);
}

void unary_tensor(
    const at::Tensor& out,
    const at::Tensor& in,
    UnaryMode mode,
    const Number& alpha,
    const Number& beta) {
  if (out.numel() == 0) {
    return;
  }
  Descriptor to = writable(out);
  const Descriptor from = view(in);
  ::musa::dnn::Unary op;
  FL_MUDNN_CHECK(op.SetMode(mode));
  set_alpha(op, in.scalar_type(), alpha);
  set_beta(op, in.scalar_type(), beta);
  FL_MUDNN_CHECK(op.Run(plain_handle(), to, from));
}

void fill(const at::Tensor& out, const Number& value) {
  if (out.numel() == 0) {
    return;
  }
  Descriptor to = writable(out);
  ::musa::dnn::Fill op;
  if (c10::isIntegralType(out.scalar_type(), /*includeBool=*/true)) {
    FL_MUDNN_CHECK(op.SetValue(integer_for(out.scalar_type(), value)));
  } else {
    FL_MUDNN_CHECK(op.SetValue(value.real));
  }
  FL_MUDNN_CHECK(op.Run(plain_handle(), to));
}

void fill_masked(
    const at::Tensor& out,
    const at::Tensor& mask,
    const Number& value) {
  if (out.numel() == 0) {
    return;
  }
  Descriptor to = writable(out);
  const Descriptor where = view(mask);
  ::musa::dnn::Fill op;
  if (c10::isIntegralType(out.scalar_type(), /*includeBool=*/true)) {
    FL_MUDNN_CHECK(op.SetValue(integer_for(out.scalar_type(), value)));
  } else {
    FL_MUDNN_CHECK(op.SetValue(value.real));
  }
  FL_MUDNN_CHECK(op.Run(plain_handle(), to, where));
}

} // namespace torch_fl::mudnn
