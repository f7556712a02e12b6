// SPDX-License-Identifier: Apache-2.0
// muDNN's Ternary.
#include "toolkit/api/mudnn/common.h"

namespace musa::dnn {
inline namespace portable_1 {

namespace api = musa_standin::api;
namespace engine = musa_standin::engine;

namespace {

using engine::Dtype;
using engine::View;
using Mode = Ternary::Mode;

constexpr const char* kNames[] = {
    "SELECT",
    "SELECTV2",
    "ADDCMUL",
    "ADDCMUL_ALPHA",
    "ADDCDIV",
    "ADDCDIV_ALPHA",
    "CLAMP",
};

bool accepts(Mode mode, Dtype out, const View* in) {
  if (mode == Mode::SELECT || mode == Mode::SELECTV2)
    return in[0].dtype == Dtype::kBool && in[1].dtype == out &&
        in[2].dtype == out && engine::element_bytes(out) != 0;
  for (int i = 0; i < 3; ++i) {
    if (in[i].dtype != out)
      return false;
  }
  return engine::is_floating(out) ||
      (engine::is_integral(out) && out != Dtype::kUint64);
}

} // namespace

Status Ternary::Run(
    Handle& handle,
    Tensor& out,
    const Tensor& a,
    const Tensor& b,
    const Tensor& c) {
  return api::run("Ternary", handle, [&](engine::Stream& stream) {
    const View o = Access::view(out);
    const View in[] = {Access::view(a), Access::view(b), Access::view(c)};
    for (const View* v : {&o, &in[0], &in[1], &in[2]}) {
      if (const char* fault = api::operand_fault(*v))
        return api::refuse(
            Status::INVALID_PARAMETER,
            "Ternary: an operand %s",
            fault);
      if (!api::same_dims(o, *v))
        return api::refuse(
            Status::INVALID_PARAMETER,
            "Ternary: operands of different sizes");
    }
    if (!accepts(mode_, o.dtype, in))
      return api::refuse(
          Status::NOT_SUPPORTED,
          "Unsupported ternary mode: %s, with data types: %s, %s, %s, out: %s",
          kNames[static_cast<int>(mode_)],
          api::type_name(in[0].dtype),
          api::type_name(in[1].dtype),
          api::type_name(in[2].dtype),
          api::type_name(o.dtype));
    if (api::has_negative_stride(o) || api::has_negative_stride(in[0]) ||
        api::has_negative_stride(in[1]) || api::has_negative_stride(in[2]))
      return api::hang(stream, "Ternary");
    if (o.numel == 0)
      return Status::SUCCESS;
    engine::dnn().ternary(
        stream,
        static_cast<engine::TernaryMode>(mode_),
        o,
        in,
        {alpha_.bits});
    return Status::SUCCESS;
  });
}

} // namespace portable_1
} // namespace musa::dnn
