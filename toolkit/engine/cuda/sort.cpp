// SPDX-License-Identifier: Apache-2.0
// The CUDA engine's sorts and selections of the k best: which kernels, and
// their workspace.
#include "toolkit/engine/cuda/dnn.h"
#include "toolkit/engine/cuda/sort_job.h"

#include "toolkit/engine/error.h"

#include <algorithm>

namespace musa_standin::engine::cuda {
namespace {

constexpr int64_t kLimit = int64_t{1} << 31;
// Elements that a radix sort takes at once, if a line has not more.
constexpr int64_t kTogether = int64_t{1} << 26;
constexpr size_t kAlignment = 256;

uint64_t infinity_of(Dtype type) {
  switch (type) {
  case Dtype::kHalf:
    return 0x7C00;
  case Dtype::kBfloat16:
    return 0x7F80;
  case Dtype::kFloat:
    return 0x7F800000;
  case Dtype::kDouble:
    return 0x7FF0000000000000;
  default:
    return 0;
  }
}

KeyCodec::Kind kind_of(Dtype type) {
  if (is_floating(type))
    return KeyCodec::Kind::kFloating;
  return type <= Dtype::kInt64 ? KeyCodec::Kind::kSigned
                               : KeyCodec::Kind::kUnsigned;
}

int64_t product(const View& v, int begin, int end) {
  int64_t n = 1;
  for (int d = begin; d < end; ++d)
    n *= v.dims[d];
  return n;
}

SortJob make_job(const View& in, int dim, bool descending) {
  SortJob job{
      KeyCodec(in.dtype, descending),
      0,
      in.dims[dim],
      product(in, dim + 1, in.rank),
      {},
      in.dims[dim],
      in.dims[dim],
      nullptr,
      in.address,
      nullptr,
      nullptr};
  if (job.extent >= kLimit)
    throw Error(musaErrorNotSupported, "lines are sorted below 2^31 elements");
  job.lines = product(in, 0, dim) * job.inner;
  if (job.lines < kLimit && job.lines > 0)
    job.by_inner = make_divider(job.inner);
  return job;
}

// Lines of in's extent that a radix sort takes at once.
int64_t together(int64_t lines, int64_t extent) {
  return std::clamp<int64_t>(kTogether / extent, 1, lines);
}

size_t aligned(size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

// The largest need over the dimensions, since a family asks before one is
// known.
template <class F>
size_t largest(const View& in, F&& need) {
  size_t bytes = 0;
  for (int d = 0; d < in.rank; ++d) {
    const int64_t extent = in.dims[d];
    if (extent > kBlockItems && extent < kLimit)
      bytes = std::max(bytes, need(in.numel / extent, extent));
  }
  return bytes;
}

} // namespace

KeyCodec::KeyCodec(Dtype type, bool descends)
    : infinity(infinity_of(type)),
      bytes(static_cast<int32_t>(element_bytes(type))), kind(kind_of(type)),
      descending(descends) {}

size_t sort_workspace_bytes(const View& in) {
  return largest(in, [&](int64_t lines, int64_t extent) {
    return radix_bytes(
        together(lines, extent),
        extent,
        element_bytes(in.dtype));
  });
}

// k is not known either: all of the line.
size_t topk_workspace_bytes(const View& in) {
  return largest(in, [&](int64_t lines, int64_t extent) {
    const size_t positions =
        aligned(static_cast<size_t>(in.numel) * sizeof(uint32_t));
    const size_t radix =
        radix_bytes(together(lines, extent), extent, element_bytes(in.dtype));
    // The selection is over when the sort begins.
    return positions + std::max(radix, select_first_bytes(lines));
  });
}

void CudaDnn::sort(Stream& stream, const SortArgs& args) {
  if (args.in.numel == 0)
    return;
  SortJob job = make_job(args.in, args.dim, args.descending);
  job.values = args.values.address;
  job.indices = static_cast<int64_t*>(args.indices.address);
  if (job.items <= kBlockItems)
    sort_in_blocks(stream, job);
  else
    sort_by_radix(stream, job, together(job.lines, job.extent), args.workspace);
}

void CudaDnn::topk(Stream& stream, const TopkArgs& args) {
  if (args.in.numel == 0 || args.k == 0)
    return;
  SortJob job = make_job(args.in, args.dim, args.largest);
  job.kept = args.k;
  job.values = args.values.address;
  job.indices = static_cast<int64_t*>(args.indices.address);
  if (job.extent <= kBlockItems)
    return sort_in_blocks(stream, job);
  Workspace rest = args.workspace;
  auto* const positions = static_cast<uint32_t*>(rest.address);
  const size_t bytes =
      aligned(static_cast<size_t>(job.lines * job.kept) * sizeof(uint32_t));
  rest.address = static_cast<char*>(rest.address) + bytes;
  rest.bytes -= bytes;
  select_first(stream, job, positions, rest);
  job.positions = positions;
  job.items = job.kept;
  // Sorted even where any order would do.
  if (job.items <= kBlockItems)
    sort_in_blocks(stream, job);
  else
    sort_by_radix(stream, job, together(job.lines, job.extent), rest);
}

} // namespace musa_standin::engine::cuda
