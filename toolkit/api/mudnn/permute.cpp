// SPDX-License-Identifier: Apache-2.0
// muDNN's Permute.
#include "toolkit/api/mudnn/common.h"

namespace musa::dnn {
inline namespace portable_1 {

namespace api = musa_standin::api;
namespace engine = musa_standin::engine;

using engine::View;

Status
Permute::ConfigDimStride(Tensor& out, Tensor& in, int n, const int64_t* order) {
  const View x = Access::view(in);
  if (n != x.rank || order == nullptr)
    return api::refuse(
        Status::INVALID_PARAMETER,
        "Permute: the order is not of in's rank");
  int64_t dims[engine::kMaxRank];
  int64_t strides[engine::kMaxRank];
  uint32_t seen = 0;
  for (int i = 0; i < n; ++i) {
    if (order[i] < 0 || order[i] >= n || (seen >> order[i] & 1U) != 0)
      return api::refuse(
          Status::INVALID_PARAMETER,
          "Permute: not a permutation");
    seen |= 1U << order[i];
    dims[i] = x.dims[order[i]];
    strides[i] = x.strides[order[i]];
  }
  const Status status = in.SetNdInfo(n, dims, strides);
  return status == Status::SUCCESS ? out.SetNdInfo(n, dims) : status;
}

Status Permute::ConfigDimStrideForSlice(
    Tensor& out,
    Tensor& in,
    const int64_t* starts) {
  return ConfigDimStrideForSlice(out, in, starts, nullptr);
}

Status Permute::ConfigDimStrideForSlice(
    Tensor& out,
    Tensor& in,
    const int64_t* starts,
    const int64_t* steps) {
  const View x = Access::view(in);
  const View o = Access::view(out);
  const int64_t bytes = engine::element_bytes(x.dtype);
  if (o.rank != x.rank || starts == nullptr || bytes == 0)
    return api::refuse(
        Status::INVALID_PARAMETER,
        "Permute: a slice of another rank");
  int64_t strides[engine::kMaxRank];
  int64_t offset = 0;
  for (int i = 0; i < x.rank; ++i) {
    const int64_t step = steps != nullptr ? steps[i] : 1;
    const int64_t last = starts[i] + (o.dims[i] - 1) * step;
    if (o.dims[i] > 0 &&
        (starts[i] < 0 || starts[i] >= x.dims[i] || last < 0 ||
         last >= x.dims[i]))
      return api::refuse(
          Status::INVALID_PARAMETER,
          "Permute: a slice outside the input");
    offset += starts[i] * x.strides[i];
    strides[i] = step * x.strides[i];
  }
  in.SetAddr(static_cast<char*>(x.address) + offset * bytes);
  return in.SetNdInfo(x.rank, o.dims, strides);
}

Status Permute::Run(Handle& handle, Tensor& out, const Tensor& in) {
  return api::run("Permute", handle, [&](engine::Stream& stream) {
    const View o = Access::view(out);
    const View x = Access::view(in);
    for (const View* v : {&o, &x}) {
      if (const char* fault = api::operand_fault(*v))
        return api::refuse(
            Status::INVALID_PARAMETER,
            "Permute: an operand %s",
            fault);
    }
    if (!api::same_dims(o, x))
      return api::refuse(
          Status::INVALID_PARAMETER,
          "Permute: in and out have different sizes");
    if (o.dtype != x.dtype || engine::element_bytes(o.dtype) == 0)
      return api::refuse(
          Status::NOT_SUPPORTED,
          "Unsupported permute data types: in %s, out %s",
          api::type_name(x.dtype),
          api::type_name(o.dtype));
    if (api::has_negative_stride(o) || api::has_negative_stride(x))
      return api::hang(stream, "Permute");
    if (o.numel != 0)
      engine::dnn().copy(stream, o, x);
    return Status::SUCCESS;
  });
}

} // namespace portable_1
} // namespace musa::dnn
