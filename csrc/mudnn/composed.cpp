// SPDX-License-Identifier: Apache-2.0
// Elementwise operations made of a few muDNN calls, where it has no mode.
#include "csrc/mudnn/elementwise.h"

#include "csrc/allocator/device_allocator.h"

#include <c10/core/ScalarType.h>

#include <initializer_list>

namespace torch_fl::mudnn {

namespace {

// A dense value of the operation's shape; its memory is reused in stream order.
struct Scratch {
  Scratch(const Operands& v, at::ScalarType dtype)
      : data(allocator::allocate(
            static_cast<size_t>(v.numel) * c10::elementSize(dtype),
            runtime::current_stream())),
        type(dtype) {}

  c10::DataPtr data;
  at::ScalarType type;
};

// Operands of one step: `slots` of the whole operation, in this order (the
// first is written); scratch is placed afterwards.
class Step {
 public:
  Step(const Operands& v, std::initializer_list<int> slots)
      : Step(v, v.compute, slots) {}
  Step(
      const Operands& v,
      at::ScalarType compute,
      std::initializer_list<int> slots) {
    o_.compute = compute;
    o_.flat = v.flat;
    o_.rank = v.rank;
    o_.numel = v.numel;
    for (int i = 0; i < v.rank; ++i) {
      o_.dims[i] = v.dims[i];
    }
    for (const int slot : slots) {
      const int at = o_.count++;
      if (slot < 0) {
        continue;
      }
      o_.type[at] = v.type[slot];
      if (slot == v.scalar_at) {
        o_.scalar_at = at;
        o_.scalar = v.scalar;
        continue;
      }
      o_.addr[at] = v.addr[slot];
      if (!v.flat) {
        for (int i = 0; i < v.rank; ++i) {
          o_.strides[at][i] = v.strides[slot][i];
        }
      }
    }
  }

  Step& place(int at, const Scratch& scratch) {
    o_.addr[at] = scratch.data.get();
    o_.type[at] = scratch.type;
    if (!o_.flat) {
      int64_t stride = 1;
      for (int i = o_.rank - 1; i >= 0; --i) {
        o_.strides[at][i] = stride;
        stride *= o_.dims[i];
      }
    }
    return *this;
  }

  const Operands& operator*() const { return o_; }

 private:
  Operands o_;
};

constexpr int kScratch = -1;

// In two steps wherever the result takes the place of an operand: the ADDC*
// modes cannot work in place (quirk 15).
void addc(
    const Operands& v,
    TernaryMode mode,
    const BinaryRow& product,
    const Number& value) {
  bool in_place = false;
  for (int a = 1; a < v.count; ++a) {
    in_place = in_place || (a != v.scalar_at && v.addr[a] == v.addr[0]);
  }
  if (!in_place) {
    ternary(v, mode, value);
    return;
  }
  const Scratch scratch(v, v.compute);
  binary(*Step(v, {kScratch, 2, 3}).place(0, scratch), product);
  const BinaryRow
      add{BinaryMode::ADD_ALPHA, UnaryMode::ADD, UnaryMode::ADD, false, false};
  binary(*Step(v, {0, 1, kScratch}).place(2, scratch), add, value);
}

// For double there is no wider type. e^x - 1 = 2t / (1 - t) with t = tanh(x/2)
// keeps its digits near 0, the difference keeps them elsewhere.
void expm1_double(const Operands& v) {
  const Number one(int64_t{1});
  const Number two(int64_t{2});
  const Number half(0.5);
  const Scratch near(v, v.compute);
  const Scratch far(v, v.compute);
  const Scratch is_near(v, at::kBool);
  const auto in_place = [&](const Scratch& s, UnaryMode mode, const Number& a) {
    unary(*Step(v, {kScratch, kScratch}).place(0, s).place(1, s), mode, a);
  };
  unary(*Step(v, {kScratch, 1}).place(0, near), UnaryMode::MUL, half);
  in_place(near, UnaryMode::TANH, {});
  unary(
      *Step(v, {kScratch, kScratch}).place(0, far).place(1, near),
      UnaryMode::SUB_BY_ALPHA,
      one);
  binary_ordered(
      *Step(v, {kScratch, kScratch, kScratch})
           .place(0, near)
           .place(1, near)
           .place(2, far),
      1,
      2,
      BinaryMode::TRUEDIV);
  in_place(near, UnaryMode::MUL, two);
  unary(*Step(v, {kScratch, 1}).place(0, far), UnaryMode::ABS);
  unary_to_bool(
      *Step(v, {kScratch, kScratch}).place(0, is_near).place(1, far),
      UnaryMode::LT,
      half);
  unary(*Step(v, {kScratch, 1}).place(0, far), UnaryMode::EXP);
  in_place(far, UnaryMode::SUB, one);
  select(*Step(v, {0, kScratch, kScratch, kScratch})
              .place(1, is_near)
              .place(2, near)
              .place(3, far));
}

} // namespace

void expm1(const Operands& v) {
  if (v.numel == 0) {
    return;
  }
  if (v.compute == at::kDouble) {
    expm1_double(v);
    return;
  }
  // EXP, then SUB 1, in the next wider type: in its own the difference would
  // have no correct digit near 0.
  const at::ScalarType wide =
      v.compute == at::kFloat ? at::kDouble : at::kFloat;
  const Scratch power(v, wide);
  unary(*Step(v, wide, {kScratch, 1}).place(0, power), UnaryMode::EXP);
  unary(
      *Step(v, wide, {0, kScratch}).place(1, power),
      UnaryMode::SUB,
      Number(int64_t{1}));
}

void truncated_div(const Operands& v) {
  constexpr BinaryRow kDiv{
      BinaryMode::TRUEDIV,
      UnaryMode::TRUEDIV,
      UnaryMode::TRUEDIV_BY_ALPHA};
  constexpr BinaryRow kTruncated{
      BinaryMode::TRUNCATEDIV,
      UnaryMode::TRUNCATEDIV,
      UnaryMode::TRUNCATEDIV_BY_ALPHA};
  if (v.numel == 0 || (v.compute != at::kHalf && v.compute != at::kBFloat16)) {
    binary(v, kTruncated);
    return;
  }
  // torch rounds the quotient to the dtype before it cuts: 2.9944 is 3.
  const Scratch quotient(v, v.compute);
  binary(*Step(v, {kScratch, 1, 2}).place(0, quotient), kDiv);
  unary(
      *Step(v, {0, kScratch}).place(1, quotient),
      UnaryMode::TRUNCATEDIV,
      Number(int64_t{1}));
}

void lerp(const Operands& v, const Number& weight) {
  if (v.numel == 0) {
    return;
  }
  const Scratch distance(v, v.compute);
  binary_ordered(
      *Step(v, {kScratch, 2, 1}).place(0, distance),
      1,
      2,
      BinaryMode::SUB);
  if (weight.real < 0.5) {
    binary_ordered(
        *Step(v, {0, 1, kScratch}).place(2, distance),
        1,
        2,
        BinaryMode::ADD_ALPHA,
        weight);
  } else {
    binary_ordered(
        *Step(v, {0, 2, kScratch}).place(2, distance),
        1,
        2,
        BinaryMode::SUB_ALPHA,
        Number(1 - weight.real));
  }
}

void lerp_by_tensor(const Operands& v) {
  if (v.numel == 0) {
    return;
  }
  const Scratch distance(v, v.compute);
  binary_ordered(
      *Step(v, {kScratch, 2, 1}).place(0, distance),
      1,
      2,
      BinaryMode::SUB);
  binary_ordered(
      *Step(v, {kScratch, kScratch, 3}).place(0, distance).place(1, distance),
      1,
      2,
      BinaryMode::MUL);
  binary_ordered(
      *Step(v, {0, 1, kScratch}).place(2, distance),
      1,
      2,
      BinaryMode::ADD);
}

void addcmul(const Operands& v, const Number& value) {
  addc(
      v,
      TernaryMode::ADDCMUL_ALPHA,
      {BinaryMode::MUL, UnaryMode::MUL, UnaryMode::MUL},
      value);
}

void addcdiv(const Operands& v, const Number& value) {
  addc(
      v,
      TernaryMode::ADDCDIV_ALPHA,
      {BinaryMode::TRUEDIV, UnaryMode::TRUEDIV, UnaryMode::TRUEDIV_BY_ALPHA},
      value);
}

} // namespace torch_fl::mudnn
