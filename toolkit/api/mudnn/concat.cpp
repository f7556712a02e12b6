// SPDX-License-Identifier: Apache-2.0
// muDNN's Concat.
#include "toolkit/api/mudnn/common.h"

#include <vector>

namespace musa::dnn {
inline namespace portable_1 {

namespace api = musa_standin::api;
namespace engine = musa_standin::engine;

namespace {

using engine::View;

// Why the input cannot be joined, or null.
const char* input_fault(const View& out, const View& in, int axis) {
  if (const char* fault = api::operand_fault(in))
    return fault;
  if (in.numel == 0)
    return "is empty";
  if (in.rank != out.rank)
    return "has another rank than the output";
  if (in.dtype != out.dtype || in.scale != out.scale)
    return "has another type or scale than the output";
  for (int d = 0; d < in.rank; ++d) {
    if (d != axis && in.dims[d] != out.dims[d])
      return "does not fit the output's sizes";
  }
  return nullptr;
}

} // namespace

// Reads its inputs as dense blocks, whatever their strides say (quirk 76).
Status
Concat::Run(Handle& handle, Tensor& out, int count, const Tensor* inputs) {
  return api::run("Concat", handle, [&](engine::Stream& stream) {
    const View o = Access::view(out);
    if (const char* fault = api::operand_fault(o))
      return api::refuse(Status::INVALID_PARAMETER, "Concat: out %s", fault);
    const int axis = api::normal_axis(axis_, o.rank);
    if (axis < 0 || count < 1 || inputs == nullptr)
      return api::refuse(
          Status::INVALID_PARAMETER,
          "Concat: no input, or no such axis");
    if (!o.dense || engine::element_bytes(o.dtype) == 0)
      return api::refuse(
          Status::NOT_SUPPORTED,
          "Concat: out is not dense or has no bytes");
    constexpr int kInline = 16;
    View few[kInline];
    std::vector<View> many;
    View* views = few;
    if (count > kInline) {
      many.resize(static_cast<size_t>(count));
      views = many.data();
    }
    int64_t extent = 0;
    for (int i = 0; i < count; ++i) {
      views[i] = Access::view(inputs[i]);
      if (const char* fault = input_fault(o, views[i], axis))
        return api::refuse(
            Status::INVALID_PARAMETER,
            "Concat: input %d %s",
            i,
            fault);
      extent += views[i].dims[axis];
    }
    if (extent != o.dims[axis])
      return api::refuse(
          Status::INVALID_PARAMETER,
          "Concat: the inputs' extents do not add up to the output's");
    engine::dnn().concat(stream, o, axis, count, views);
    return Status::SUCCESS;
  });
}

} // namespace portable_1
} // namespace musa::dnn
