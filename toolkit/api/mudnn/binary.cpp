// SPDX-License-Identifier: Apache-2.0
// muDNN's Binary.
#include "toolkit/api/mudnn/common.h"

#include <cstdint>

namespace musa::dnn {
inline namespace portable_1 {

namespace api = musa_standin::api;
namespace engine = musa_standin::engine;

namespace {

using engine::Dtype;
using engine::View;
using Mode = Binary::Mode;

enum class Rule : uint8_t {
  kNumber,   // floating types may be mixed; integral types must be equal
  kDivision, // the same, but integers give a floating type
  kReal,     // floating
  kCompare,  // floating, integral or BOOL; BOOL out
  kLogical,  // any; BOOL out
};

struct Row {
  const char* name;
  Rule rule;
};

// In the order of Binary::Mode.
constexpr Row kRows[] = {
    {"ADD", Rule::kNumber},
    {"SUB", Rule::kNumber},
    {"MUL", Rule::kNumber},
    {"MAX", Rule::kNumber},
    {"MIN", Rule::kNumber},
    {"ADD_ALPHA", Rule::kNumber},
    {"SUB_ALPHA", Rule::kNumber},
    {"DIV", Rule::kNumber},
    {"TRUEDIV", Rule::kDivision},
    {"FLOORDIV", Rule::kNumber},
    {"TRUNCATEDIV", Rule::kNumber},
    {"FLOORMOD", Rule::kNumber},
    {"TRUNCATEMOD", Rule::kNumber},
    {"DIVNONAN", Rule::kReal},
    {"POW", Rule::kReal},
    {"EQ", Rule::kCompare},
    {"NE", Rule::kCompare},
    {"LT", Rule::kCompare},
    {"LE", Rule::kCompare},
    {"GT", Rule::kCompare},
    {"GE", Rule::kCompare},
    {"LOGICAL_AND", Rule::kLogical},
    {"LOGICAL_OR", Rule::kLogical},
    {"LOGICAL_XOR", Rule::kLogical},
    {"PRELU", Rule::kReal},
    {"SIGMOID_BW", Rule::kReal},
    {"TANH_BW", Rule::kReal},
    {"SILU_BW", Rule::kReal},
    {"GELU_NONE_BW", Rule::kReal},
    {"GELU_TANH_BW", Rule::kReal},
    {"THRESHOLD_BW", Rule::kNumber},
    {"LEAKY_RELU_BW", Rule::kReal},
    {"RELU6_BW", Rule::kReal},
    {"RSQRT_BW", Rule::kReal},
    {"SQUARED_DIFF", Rule::kNumber},
};
static_assert(
    sizeof kRows / sizeof *kRows ==
    static_cast<size_t>(Mode::SQUARED_DIFF) + 1);

bool accepts(Rule rule, Dtype out, Dtype left, Dtype right) {
  const bool real = engine::is_floating(left) && engine::is_floating(right);
  const bool whole = left == right && engine::is_integral(left);
  switch (rule) {
  case Rule::kNumber:
    return real ? engine::is_floating(out) : whole && out == left;
  case Rule::kDivision:
    return (real || whole) && engine::is_floating(out);
  case Rule::kReal:
    return real && engine::is_floating(out);
  case Rule::kCompare:
    return out == Dtype::kBool &&
        (real || whole || (left == Dtype::kBool && right == left));
  default:
    return out == Dtype::kBool && left <= Dtype::kBool && right <= Dtype::kBool;
  }
}

// The engines' integers are signed.
bool needs_sign(Mode mode) {
  return mode != Mode::ADD && mode != Mode::SUB && mode != Mode::MUL &&
      mode != Mode::ADD_ALPHA && mode != Mode::SUB_ALPHA && mode != Mode::EQ &&
      mode != Mode::NE && mode != Mode::SQUARED_DIFF &&
      mode != Mode::LOGICAL_AND && mode != Mode::LOGICAL_OR &&
      mode != Mode::LOGICAL_XOR;
}

// What refuse_operands() finds fault with, in one pass: this is on every
// call's road.
bool are_usable(const View& out, const View& left, const View& right) {
  bool good = out.rank >= 1 && left.rank == out.rank &&
      right.rank == out.rank &&
      (out.numel == 0 ||
       (out.address != nullptr && left.address != nullptr &&
        right.address != nullptr));
  for (int i = 0; good && i < out.rank; ++i) {
    const int64_t size = out.dims[i];
    good = size >= 0 && left.dims[i] == size && right.dims[i] == size;
  }
  return good;
}

[[gnu::cold]] Status
refuse_operands(const View& out, const View& left, const View& right) {
  for (const View* v : {&out, &left, &right}) {
    if (const char* fault = api::operand_fault(*v))
      return api::refuse(
          Status::INVALID_PARAMETER,
          "Binary: an operand %s",
          fault);
  }
  return api::refuse(
      Status::INVALID_PARAMETER,
      "Binary: operands of different sizes");
}

[[gnu::cold]] Status refuse_types(
    const Row& row,
    const View& out,
    const View& left,
    const View& right) {
  return api::refuse(
      Status::NOT_SUPPORTED,
      "Unsupported binary mode: %s, with left data type: %s, "
      "right data type: %s, out data type: %s",
      row.name,
      api::type_name(left.dtype),
      api::type_name(right.dtype),
      api::type_name(out.dtype));
}

} // namespace

Status Binary::Run(
    Handle& handle,
    Tensor& out,
    const Tensor& left,
    const Tensor& right) {
  return api::run("Binary", handle, [&](engine::Stream& stream) {
    const View o = Access::view(out);
    const View l = Access::view(left);
    const View r = Access::view(right);
    if (__builtin_expect(!are_usable(o, l, r), 0))
      return refuse_operands(o, l, r);
    const Row& row = kRows[static_cast<int>(mode_)];
    if (!accepts(row.rule, o.dtype, l.dtype, r.dtype) ||
        (l.dtype == Dtype::kUint64 && needs_sign(mode_)))
      return refuse_types(row, o, l, r);
    if (!(o.dense && l.dense && r.dense) &&
        (api::has_negative_stride(o) || api::has_negative_stride(l) ||
         api::has_negative_stride(r)))
      return api::hang(stream, "Binary");
    if (o.numel == 0)
      return Status::SUCCESS;
    engine::dnn().binary(
        stream,
        static_cast<engine::BinaryMode>(mode_),
        o,
        l,
        r,
        {alpha_.bits});
    return Status::SUCCESS;
  });
}

} // namespace portable_1
} // namespace musa::dnn
