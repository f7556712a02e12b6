// SPDX-License-Identifier: Apache-2.0
// ScaledDotProductAttention, forward and backward, against sums in double.
#include "mudnn/array.h"

#include <algorithm>
#include <cmath>

namespace conformance {
namespace {

using Attention = dnn::ScaledDotProductAttention;
// Facts, quirk 82: clients allow the class about this much.
constexpr double kTolerance = 3e-2;

struct Sizes {
  int64_t batch;
  int64_t heads;
  int64_t groups;
  int64_t rows;
  int64_t keys;
  int64_t width;
  int64_t depth;

  Dims query() const { return {batch, heads, rows, width}; }
  Dims key() const { return {batch, groups, keys, width}; }
  Dims value() const { return {batch, groups, keys, depth}; }
  Dims out() const { return {batch, heads, rows, depth}; }
  Dims lse() const { return {batch, heads, rows}; }
};

// Elements of [N, H, L, E] stored as [N, L, H, E].
Dims interleaved(const Dims& dims) {
  return {dims[1] * dims[2] * dims[3], dims[3], dims[1] * dims[3], int64_t{1}};
}

struct Problem {
  Problem(Type element, Sizes given, bool is_causal = false)
      : type(element), sizes(given), causal(is_causal) {
    query = random(sizes.query(), 1);
    key = random(sizes.key(), 2);
    value = random(sizes.value(), 3);
    grad = random(sizes.out(), 4);
    scale = 1 / std::sqrt(static_cast<double>(sizes.width));
  }

  Values random(const Dims& dims, unsigned seed) const {
    Values values = numbers(count_of(dims), -1, 1, seed);
    for (double& v : values) {
      v = rounded(type, v);
    }
    return values;
  }

  Type type;
  Sizes sizes;
  bool causal;
  double scale;
  Values query, key, value, grad;
  Values mask; // [N, H, L, S], added; may be empty
};

struct Answer {
  Values out, lse, grad_query, grad_key, grad_value;
};

// One head of the answer.
class Head {
 public:
  Head(const Problem& problem, Answer& answer, int64_t batch, int64_t head)
      : p_(problem), a_(answer), matrix_(batch * p_.sizes.heads + head),
        group_(
            batch * p_.sizes.groups +
            head / (p_.sizes.heads / p_.sizes.groups)) {}

  void solve() {
    for (int64_t row = 0; row < p_.sizes.rows; ++row) {
      weigh(row);
      answer(row);
    }
  }

 private:
  const Sizes& s() const { return p_.sizes; }
  std::size_t query_at(int64_t row, int64_t i) const {
    return static_cast<std::size_t>((matrix_ * s().rows + row) * s().width + i);
  }
  std::size_t key_at(int64_t key, int64_t i) const {
    return static_cast<std::size_t>((group_ * s().keys + key) * s().width + i);
  }
  std::size_t value_at(int64_t key, int64_t i) const {
    return static_cast<std::size_t>((group_ * s().keys + key) * s().depth + i);
  }
  std::size_t out_at(int64_t row, int64_t i) const {
    return static_cast<std::size_t>((matrix_ * s().rows + row) * s().depth + i);
  }

  void weigh(int64_t row) {
    weights_.assign(static_cast<std::size_t>(s().keys), -INFINITY);
    const int64_t seen = p_.causal ? std::min(row + 1, s().keys) : s().keys;
    for (int64_t key = 0; key < seen; ++key) {
      double sum = 0;
      for (int64_t i = 0; i < s().width; ++i) {
        sum += p_.query[query_at(row, i)] * p_.key[key_at(key, i)];
      }
      sum *= p_.scale;
      if (!p_.mask.empty()) {
        sum += p_.mask[static_cast<std::size_t>(
            (matrix_ * s().rows + row) * s().keys + key)];
      }
      weights_[static_cast<std::size_t>(key)] = sum;
    }
    const double top = *std::max_element(weights_.begin(), weights_.end());
    double total = 0;
    for (double& w : weights_) {
      w = std::exp(w - top);
      total += w;
    }
    for (double& w : weights_) {
      w /= total;
    }
    a_.lse[static_cast<std::size_t>(matrix_ * s().rows + row)] =
        top + std::log(total);
  }

  void answer(int64_t row) {
    Values grads(weights_.size());
    double delta = 0;
    for (int64_t key = 0; key < s().keys; ++key) {
      const auto at = static_cast<std::size_t>(key);
      for (int64_t i = 0; i < s().depth; ++i) {
        const double grad = p_.grad[out_at(row, i)];
        a_.out[out_at(row, i)] += weights_[at] * p_.value[value_at(key, i)];
        a_.grad_value[value_at(key, i)] += weights_[at] * grad;
        grads[at] += grad * p_.value[value_at(key, i)];
      }
      delta += weights_[at] * grads[at];
    }
    for (int64_t key = 0; key < s().keys; ++key) {
      const auto at = static_cast<std::size_t>(key);
      const double grad = weights_[at] * (grads[at] - delta) * p_.scale;
      for (int64_t i = 0; i < s().width; ++i) {
        a_.grad_query[query_at(row, i)] += grad * p_.key[key_at(key, i)];
        a_.grad_key[key_at(key, i)] += grad * p_.query[query_at(row, i)];
      }
    }
  }

  const Problem& p_;
  Answer& a_;
  int64_t matrix_;
  int64_t group_;
  Values weights_;
};

Answer solve(const Problem& p) {
  Answer a;
  a.out.resize(p.grad.size());
  a.lse.resize(static_cast<std::size_t>(count_of(p.sizes.lse())));
  a.grad_query.resize(p.query.size());
  a.grad_key.resize(p.key.size());
  a.grad_value.resize(p.value.size());
  for (int64_t batch = 0; batch < p.sizes.batch; ++batch) {
    for (int64_t head = 0; head < p.sizes.heads; ++head) {
      Head(p, a, batch, head).solve();
    }
  }
  return a;
}

void configure(Attention& op, const Problem& p) {
  EXPECT_SUCCESS(op.SetComputeMode(Attention::ComputeMode::TENSOR));
  EXPECT_SUCCESS(
      op.SetEmbedDim(static_cast<int>(p.sizes.heads * p.sizes.depth)));
  EXPECT_SUCCESS(op.SetHeadsNum(static_cast<int>(p.sizes.heads)));
  EXPECT_SUCCESS(op.SetMaskMode(false));
  EXPECT_SUCCESS(op.SetCausal(p.causal));
  EXPECT_SUCCESS(op.SetTraining(true));
}

// Runs both passes with a mask or none, operands dense or interleaved.
void check(const Problem& p, const dnn::Tensor& mask, bool strided = false) {
  const auto place = [&](const Dims& dims) {
    return strided ? interleaved(dims) : dense_strides(dims);
  };
  const auto made = [&](const Dims& dims, const Values& values) {
    return Array(p.type, dims, place(dims), values);
  };
  const auto blank = [&](const Dims& dims) {
    return made(dims, Values(static_cast<std::size_t>(count_of(dims)), 7));
  };
  const Sizes& s = p.sizes;
  const Array query = made(s.query(), p.query);
  const Array key = made(s.key(), p.key);
  const Array value = made(s.value(), p.value);
  const Array grad = made(s.out(), p.grad);
  Array out = blank(s.out());
  Array lse(Type::FLOAT, s.lse());
  dnn::Tensor dropout;
  const Answer expected = solve(p);
  Attention op;
  configure(op, p);
  EXPECT_SUCCESS(op.RunFlash(
      handle(),
      out,
      lse,
      query,
      key,
      value,
      mask,
      dropout,
      maintainer()));
  expect_near(expected.out, out.read(), kTolerance);
  expect_near(expected.lse, lse.read(), kTolerance);
  Array grad_query = blank(s.query());
  Array grad_key = blank(s.key());
  Array grad_value = blank(s.value());
  EXPECT_SUCCESS(op.RunFlashBwd(
      handle(),
      grad_query,
      grad_key,
      grad_value,
      grad,
      query,
      key,
      value,
      mask,
      out,
      lse,
      dropout,
      maintainer()));
  expect_near(expected.grad_query, grad_query.read(), kTolerance);
  expect_near(expected.grad_key, grad_key.read(), kTolerance);
  expect_near(expected.grad_value, grad_value.read(), kTolerance);
}

constexpr Sizes kSmall = {2, 2, 2, 8, 16, 64, 64};

// Operands of a call that is refused.
struct Operands {
  explicit Operands(Type type = Type::HALF, Sizes s = kSmall)
      : out(type, s.out()), lse(Type::FLOAT, s.lse()), query(type, s.query()),
        key(type, s.key()), value(type, s.value()) {}
  Status forward(const dnn::Tensor& mask = dnn::Tensor()) {
    Attention op;
    dnn::Tensor dropout;
    return op.RunFlash(
        handle(),
        out,
        lse,
        query,
        key,
        value,
        mask,
        dropout,
        maintainer());
  }
  Status backward(const dnn::Tensor& grad) {
    Attention op;
    return op.RunFlashBwd(
        handle(),
        query,
        key,
        value,
        grad,
        query,
        key,
        value,
        dnn::Tensor(),
        out,
        lse,
        dnn::Tensor(),
        maintainer());
  }

  Array out, lse, query, key, value;
};

} // namespace

CONFORMS(ScaledDotProductAttention_RunFlash, success, types_and_lengths) {
  for (const Type type : {Type::HALF, Type::BFLOAT16}) {
    for (const bool causal : {false, true}) {
      for (const Sizes& s :
           {kSmall,
            Sizes{1, 2, 2, 70, 70, 64, 64},
            Sizes{1, 1, 1, 130, 200, 32, 32}}) {
        SCOPED_TRACE(
            type_name(type) + " of " + std::to_string(s.rows) + " rows" +
            (causal ? ", causal" : ""));
        check(Problem(type, s, causal), dnn::Tensor());
      }
    }
  }
}

CONFORMS(ScaledDotProductAttention_RunFlashBwd, success, heads_of_128) {
  check(Problem(Type::HALF, {1, 2, 2, 40, 48, 128, 128}), dnn::Tensor());
}

CONFORMS(ScaledDotProductAttention_RunFlash, null, absent_operands) {
  Array out(Type::HALF, {1, 1, 2, 8});
  Array lse(Type::FLOAT, {1, 1, 2});
  const dnn::Tensor none;
  dnn::Tensor dropout;
  Attention op;
  EXPECT_REFUSED(
      op.RunFlash(handle(), out, lse, none, none, none, none, dropout));
}

CONFORMS(ScaledDotProductAttention_RunFlashBwd, null, absent_gradient) {
  Operands o;
  EXPECT_REFUSED(o.backward(dnn::Tensor()));
}

CONFORMS(
    ScaledDotProductAttention_RunFlash,
    INVALID_PARAMETER,
    sizes_that_do_not_fit) {
  Operands o;
  o.key = Array(Type::HALF, {2, 2, 16, 32});
  EXPECT_STATUS(Status::INVALID_PARAMETER, o.forward());
  Operands other;
  const Array mask(Type::HALF, {8, 15});
  EXPECT_STATUS(Status::INVALID_PARAMETER, other.forward(mask));
}

CONFORMS(ScaledDotProductAttention_RunFlash, NOT_SUPPORTED, types_and_heads) {
  // Facts, 2.25: half and bfloat16; heads of up to 128, and two other pairs.
  EXPECT_STATUS(Status::NOT_SUPPORTED, Operands(Type::FLOAT).forward());
  EXPECT_STATUS(
      Status::NOT_SUPPORTED,
      Operands(Type::HALF, {1, 1, 1, 4, 4, 256, 256}).forward());
}

CONFORMS(
    ScaledDotProductAttention_RunFlashBwd,
    INVALID_PARAMETER,
    gradient_with_strides_of_0) {
  // Facts, quirk 81.
  Operands o;
  const Array grad(Type::HALF, {2, 2, 8, 64}, {0, 0, 0, 0}, Values(2048, 1));
  EXPECT_STATUS(Status::INVALID_PARAMETER, o.backward(grad));
}

BEHAVES(ScaledDotProductAttention, strides_are_honoured) {
  check(
      Problem(Type::BFLOAT16, {2, 4, 4, 20, 36, 64, 64}, true),
      dnn::Tensor(),
      true);
}

BEHAVES(ScaledDotProductAttention, heads_share_keys) {
  check(Problem(Type::HALF, {2, 4, 2, 24, 40, 64, 64}), dnn::Tensor());
  check(
      Problem(Type::BFLOAT16, {1, 4, 1, 24, 24, 64, 64}, true),
      dnn::Tensor());
}

BEHAVES(ScaledDotProductAttention, added_masks_broadcast) {
  Problem p(Type::HALF, {2, 2, 2, 16, 24, 64, 64});
  const Sizes& s = p.sizes;
  for (const Dims& dims :
       {Dims{16, 24},
        Dims{2, 16, 24},
        Dims{2, 1, 16, 24},
        Dims{2, 2, 16, 24}}) {
    SCOPED_TRACE("rank " + std::to_string(dims.size()));
    Dims four(4 - dims.size(), 1);
    four.insert(four.end(), dims.begin(), dims.end());
    const Dims strides = dense_strides(four);
    const Values values = p.random(dims, 9);
    p.mask.clear();
    for (int64_t i = 0; i < s.batch * s.heads * s.rows * s.keys; ++i) {
      const int64_t at[] = {
          i / (s.heads * s.rows * s.keys),
          i / (s.rows * s.keys) % s.heads,
          i / s.keys % s.rows,
          i % s.keys};
      int64_t from = 0;
      for (std::size_t d = 0; d < 4; ++d) {
        from += four[d] == 1 ? 0 : at[d] * strides[d];
      }
      p.mask.push_back(values[static_cast<std::size_t>(from)]);
    }
    check(p, Array(p.type, dims, values));
  }
}

BEHAVES(ScaledDotProductAttention, a_bool_mask_names_what_is_seen) {
  Problem p(Type::BFLOAT16, {2, 2, 2, 16, 24, 64, 64});
  const Sizes& s = p.sizes;
  Values seen = integers(s.rows * s.keys, 0, 1);
  for (int64_t row = 0; row < s.rows; ++row) {
    seen[static_cast<std::size_t>(row * s.keys)] = 1;
  }
  for (int64_t matrix = 0; matrix < s.batch * s.heads; ++matrix) {
    for (const double v : seen) {
      p.mask.push_back(v != 0 ? 0 : -INFINITY);
    }
  }
  check(p, Array(Type::BOOL, {s.rows, s.keys}, seen));
}

BEHAVES(ScaledDotProductAttention, a_padding_mask_is_of_batches_and_keys) {
  Problem p(Type::HALF, {2, 1, 1, 16, 16, 64, 64});
  const Sizes& s = p.sizes;
  Values seen;
  for (int64_t batch = 0; batch < s.batch; ++batch) {
    for (int64_t key = 0; key < s.keys; ++key) {
      seen.push_back(key < 16 - 5 * batch ? 1 : 0);
    }
  }
  for (int64_t batch = 0; batch < s.batch; ++batch) {
    for (int64_t i = 0; i < s.rows * s.keys; ++i) {
      const auto at = static_cast<std::size_t>(batch * s.keys + i % s.keys);
      p.mask.push_back(seen[at] != 0 ? 0 : -INFINITY);
    }
  }
  const Answer expected = solve(p);
  Array out(p.type, s.out());
  Array lse(Type::FLOAT, s.lse());
  dnn::Tensor dropout;
  Attention op;
  configure(op, p);
  EXPECT_SUCCESS(op.SetMaskMode(true));
  EXPECT_SUCCESS(op.RunFlash(
      handle(),
      out,
      lse,
      Array(p.type, s.query(), p.query),
      Array(p.type, s.key(), p.key),
      Array(p.type, s.value(), p.value),
      Array(Type::BOOL, {s.batch, s.keys}, seen),
      dropout,
      maintainer()));
  expect_near(expected.out, out.read(), kTolerance);
}

BEHAVES(ScaledDotProductAttention, the_scale_can_be_set) {
  Problem p(Type::HALF, kSmall);
  p.scale = 0.5;
  const Answer expected = solve(p);
  Array out(p.type, p.sizes.out());
  Array lse(Type::FLOAT, p.sizes.lse());
  dnn::Tensor dropout;
  Attention op;
  configure(op, p);
  EXPECT_SUCCESS(op.SetScale(p.scale));
  EXPECT_SUCCESS(op.RunFlash(
      handle(),
      out,
      lse,
      Array(p.type, p.sizes.query(), p.query),
      Array(p.type, p.sizes.key(), p.key),
      Array(p.type, p.sizes.value(), p.value),
      dnn::Tensor(),
      dropout,
      maintainer()));
  expect_near(expected.out, out.read(), kTolerance);
}

BEHAVES(ScaledDotProductAttention, deterministic_gradients_repeat) {
  const Problem p(Type::BFLOAT16, {1, 2, 2, 300, 300, 64, 64}, true);
  const Sizes& s = p.sizes;
  const Array query(p.type, s.query(), p.query);
  const Array key(p.type, s.key(), p.key);
  const Array value(p.type, s.value(), p.value);
  const Array grad(p.type, s.out(), p.grad);
  Array out(p.type, s.out());
  Array lse(Type::FLOAT, s.lse());
  dnn::Tensor dropout;
  Attention op;
  configure(op, p);
  EXPECT_SUCCESS(op.SetIsDeterministic(true));
  EXPECT_SUCCESS(op.RunFlash(
      handle(),
      out,
      lse,
      query,
      key,
      value,
      {},
      dropout,
      maintainer()));
  std::vector<Values> results;
  for (int i = 0; i < 2; ++i) {
    Array grad_query(p.type, s.query());
    Array grad_key(p.type, s.key());
    Array grad_value(p.type, s.value());
    EXPECT_SUCCESS(op.RunFlashBwd(
        handle(),
        grad_query,
        grad_key,
        grad_value,
        grad,
        query,
        key,
        value,
        {},
        out,
        lse,
        dropout,
        maintainer()));
    Values all = grad_query.read();
    for (const Array* more : {&grad_key, &grad_value}) {
      const Values next = more->read();
      all.insert(all.end(), next.begin(), next.end());
    }
    results.push_back(all);
  }
  EXPECT_TRUE(results[0] == results[1]);
}

} // namespace conformance
