// SPDX-License-Identifier: Apache-2.0
// muDNN's Fill.
#include "toolkit/api/mudnn/common.h"

namespace musa::dnn {
inline namespace portable_1 {

namespace api = musa_standin::api;
namespace engine = musa_standin::engine;

namespace {

using engine::Dtype;
using engine::View;

Status
fill(engine::Stream& stream, const View& out, uint64_t bits, const View* mask) {
  if (const char* fault = api::operand_fault(out))
    return api::refuse(Status::INVALID_PARAMETER, "Fill: out %s", fault);
  if (out.dtype > Dtype::kBool)
    return api::refuse(
        Status::NOT_SUPPORTED,
        "Unsupported fill data type: %s",
        api::type_name(out.dtype));
  if (mask != nullptr) {
    if (const char* fault = api::operand_fault(*mask))
      return api::refuse(Status::INVALID_PARAMETER, "Fill: mask %s", fault);
    if (mask->dtype != Dtype::kBool || !api::same_dims(out, *mask))
      return api::refuse(
          Status::INVALID_PARAMETER,
          "Fill: the mask is not BOOL of the output's sizes");
  }
  if (api::has_negative_stride(out) ||
      (mask != nullptr && api::has_negative_stride(*mask)))
    return api::hang(stream, "Fill");
  if (out.numel != 0)
    engine::dnn().fill(stream, out, {bits}, mask);
  return Status::SUCCESS;
}

} // namespace

Status Fill::Run(Handle& handle, Tensor& out) {
  return api::run("Fill", handle, [&](engine::Stream& stream) {
    return fill(stream, Access::view(out), value_.bits, nullptr);
  });
}

Status Fill::Run(Handle& handle, Tensor& out, const Tensor& mask) {
  return api::run("Fill", handle, [&](engine::Stream& stream) {
    const View m = Access::view(mask);
    return fill(stream, Access::view(out), value_.bits, &m);
  });
}

} // namespace portable_1
} // namespace musa::dnn
