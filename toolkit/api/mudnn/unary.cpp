// SPDX-License-Identifier: Apache-2.0
// muDNN's Unary.
#include "toolkit/api/mudnn/common.h"

#include <cstdint>

namespace musa::dnn {
inline namespace portable_1 {

namespace api = musa_standin::api;
namespace engine = musa_standin::engine;

namespace {

using engine::Dtype;
using engine::View;
using Mode = Unary::Mode;

// What a mode takes and gives.
enum class Rule : uint8_t {
  kNumber,   // floating or integral, the same out
  kDivision, // the same, but integers give a floating type
  kReal,     // floating, the same out
  kCompare,  // any, BOOL out
  kRealTest, // floating, BOOL out
  kIdentity, // any, the same out
  kCast,     // any to any
};

struct Row {
  const char* name;
  Rule rule;
};

// In the order of Unary::Mode.
constexpr Row kRows[] = {
    {"ADD", Rule::kNumber},
    {"SUB", Rule::kNumber},
    {"MUL", Rule::kNumber},
    {"DIV", Rule::kNumber},
    {"TRUEDIV", Rule::kDivision},
    {"FLOORDIV", Rule::kNumber},
    {"TRUNCATEDIV", Rule::kNumber},
    {"FLOORMOD", Rule::kNumber},
    {"TRUNCATEMOD", Rule::kNumber},
    {"SUB_BY_ALPHA", Rule::kNumber},
    {"DIV_BY_ALPHA", Rule::kNumber},
    {"TRUEDIV_BY_ALPHA", Rule::kDivision},
    {"FLOORDIV_BY_ALPHA", Rule::kNumber},
    {"TRUNCATEDIV_BY_ALPHA", Rule::kNumber},
    {"POW", Rule::kNumber},
    {"MAX", Rule::kNumber},
    {"MIN", Rule::kNumber},
    {"EQ", Rule::kCompare},
    {"NE", Rule::kCompare},
    {"LT", Rule::kCompare},
    {"LE", Rule::kCompare},
    {"GT", Rule::kCompare},
    {"GE", Rule::kCompare},
    {"LOGICAL_AND", Rule::kCompare},
    {"LOGICAL_OR", Rule::kCompare},
    {"LOGICAL_XOR", Rule::kCompare},
    {"IS_NAN", Rule::kRealTest},
    {"IS_INF", Rule::kRealTest},
    {"IS_FINITE", Rule::kRealTest},
    {"IS_NONZERO", Rule::kCompare},
    {"ABS", Rule::kNumber},
    {"SIGN", Rule::kNumber},
    {"SQRT", Rule::kReal},
    {"RSQRT", Rule::kReal},
    {"SQUARE", Rule::kNumber},
    {"RECIPROCAL", Rule::kReal},
    {"EXP", Rule::kReal},
    {"LOG", Rule::kReal},
    {"LOG2", Rule::kReal},
    {"LOG10", Rule::kReal},
    {"LOG1P", Rule::kReal},
    {"SIN", Rule::kReal},
    {"COS", Rule::kReal},
    {"TAN", Rule::kReal},
    {"ACOS", Rule::kReal},
    {"ATAN", Rule::kReal},
    {"TANH", Rule::kReal},
    {"ERF", Rule::kReal},
    {"CEIL", Rule::kReal},
    {"FLOOR", Rule::kReal},
    {"ROUND", Rule::kReal},
    {"SIGMOID", Rule::kReal},
    {"RELU", Rule::kNumber},
    {"RELU6", Rule::kNumber},
    {"SILU", Rule::kReal},
    {"SWISH", Rule::kReal},
    {"MISH", Rule::kReal},
    {"HARDSWISH", Rule::kReal},
    {"HARDSIGMOID", Rule::kReal},
    {"LEAKY_RELU", Rule::kReal},
    {"ELU", Rule::kReal},
    {"SOFTPLUS", Rule::kReal},
    {"CLIP", Rule::kNumber},
    {"GELU", Rule::kReal},
    {"GELU_TANH", Rule::kReal},
    {"IDENTITY", Rule::kIdentity},
    {"CAST", Rule::kCast},
};
static_assert(
    sizeof kRows / sizeof *kRows == static_cast<size_t>(Mode::CAST) + 1);

bool accepts(Rule rule, Dtype out, Dtype in) {
  const bool same = out == in;
  switch (rule) {
  case Rule::kNumber:
    return same && (engine::is_floating(in) || engine::is_integral(in));
  case Rule::kDivision:
    return engine::is_integral(in) ? engine::is_floating(out)
                                   : same && engine::is_floating(in);
  case Rule::kReal:
    return same && engine::is_floating(in);
  case Rule::kCompare:
    return out == Dtype::kBool && in <= Dtype::kBool;
  case Rule::kRealTest:
    return out == Dtype::kBool && engine::is_floating(in);
  case Rule::kIdentity:
    return same && engine::element_bytes(in) != 0;
  default:
    return out <= Dtype::kBool && in <= Dtype::kBool;
  }
}

// The engines' integers are signed.
bool needs_sign(Mode mode) {
  return mode != Mode::ADD && mode != Mode::SUB && mode != Mode::MUL &&
      mode != Mode::EQ && mode != Mode::NE && mode != Mode::IS_NONZERO &&
      mode != Mode::SQUARE && mode != Mode::SUB_BY_ALPHA &&
      mode != Mode::IDENTITY && mode != Mode::CAST;
}

[[gnu::cold]] Status
refuse_types(const Row& row, const View& out, const View& in) {
  return api::refuse(
      Status::NOT_SUPPORTED,
      "Unsupported unary mode: %s, with in data type: %s, out data type: %s",
      row.name,
      api::type_name(in.dtype),
      api::type_name(out.dtype));
}

} // namespace

Status Unary::Run(Handle& handle, Tensor& out, const Tensor& in) {
  return api::run("Unary", handle, [&](engine::Stream& stream) {
    const View o = Access::view(out);
    const View x = Access::view(in);
    for (const View* v : {&o, &x}) {
      if (const char* fault = api::operand_fault(*v))
        return api::refuse(
            Status::INVALID_PARAMETER,
            "Unary: an operand %s",
            fault);
    }
    if (!api::same_dims(o, x))
      return api::refuse(
          Status::INVALID_PARAMETER,
          "Unary: in and out have different sizes");
    const Row& row = kRows[static_cast<int>(mode_)];
    if (!accepts(row.rule, o.dtype, x.dtype) ||
        (x.dtype == Dtype::kUint64 && needs_sign(mode_)))
      return refuse_types(row, o, x);
    if (api::has_negative_stride(o) || api::has_negative_stride(x))
      return api::hang(stream, "Unary");
    if (o.numel == 0)
      return Status::SUCCESS;
    engine::dnn().unary(
        stream,
        static_cast<engine::UnaryMode>(mode_),
        o,
        x,
        {alpha_.bits},
        {beta_.bits});
    return Status::SUCCESS;
  });
}

} // namespace portable_1
} // namespace musa::dnn
