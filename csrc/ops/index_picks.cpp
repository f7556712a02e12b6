// SPDX-License-Identifier: Apache-2.0
// From index tensors to the arguments of the kernels of csrc/kernels/index.h.
#include "csrc/ops/index_picks.h"

#include "csrc/ops/kernel_operands.h"
#include "csrc/ops/output.h"

#include <ATen/native/IndexingUtils.h>
#include <ATen/ops/as_strided.h>
#include <ATen/ops/scalar_tensor.h>

#include <cstring>
#include <sstream>

namespace torch_fl::ops {

namespace {

using at::Tensor;

constexpr int kUnitBytes = 16;

void* address_of(const Tensor& tensor) {
  return const_cast<void*>(tensor.unsafeGetTensorImpl()->data());
}

std::string shapes_of(const std::vector<Tensor>& tensors) {
  std::ostringstream text;
  const char* comma = "";
  for (const Tensor& tensor : tensors) {
    if (tensor.defined()) {
      text << comma << tensor.sizes();
      comma = ", ";
    }
  }
  return text.str();
}

bool even(const FlPicks& v, int operand) {
  for (int d = 1; d < v.rank; ++d) {
    if (v.strides[operand][d] % 2 != 0) {
      return false;
    }
  }
  return v.strides[operand][0] == 1;
}

// Whether two units of all operands may be moved as one.
bool pairs(const FlPicks& v) {
  const auto mask = static_cast<uintptr_t>(2 * v.unit_bytes - 1);
  const auto low = reinterpret_cast<uintptr_t>(v.dense) |
      reinterpret_cast<uintptr_t>(v.picked);
  if (v.unit_bytes == kUnitBytes || v.rank == 0 || v.dims[0] % 2 != 0 ||
      (low & mask) != 0 || !even(v, 1) || (v.dense != nullptr && !even(v, 0))) {
    return false;
  }
  for (int k = 0; k < v.count; ++k) {
    if (v.strides[2 + k][0] != 0 || v.step[k] % 2 != 0) {
      return false;
    }
  }
  return true;
}

// Rows without gaps go in units of up to 16 bytes.
void widen(FlPicks& v) {
  while (pairs(v)) {
    v.unit_bytes *= 2;
    v.numel /= 2;
    v.dims[0] /= 2;
    for (int k = 0; k < v.count; ++k) {
      v.step[k] /= 2;
    }
    for (int d = 1; d < v.rank; ++d) {
      v.strides[0][d] /= 2;
      v.strides[1][d] /= 2;
    }
  }
}

void check_rank(int64_t rank) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      rank <= kFlMaxRank,
      "flagos takes at most ",
      kFlMaxRank,
      " dimensions that cannot be merged, got ",
      rank);
}

// Operands of the iterator: some, then the index tensors from `first` on.
// slots[operand] is its row of strides, or -1.
FlPicks picks_in(
    const at::TensorIteratorBase& iter,
    const Indexers& by,
    size_t begin,
    int count,
    std::initializer_list<int> slots) {
  check_rank(iter.ndim());
  FlPicks v{};
  v.name = by.name;
  v.from_end = by.from_end ? 1 : 0;
  v.count = count;
  v.rank = iter.ndim();
  v.numel = iter.numel();
  for (int d = 0; d < v.rank; ++d) {
    v.dims[d] = iter.shape()[static_cast<size_t>(d)];
  }
  int operand = 0;
  const auto take = [&](int slot) {
    const auto bytes = static_cast<int64_t>(iter.element_size(operand));
    for (int d = 0; d < v.rank && slot >= 0; ++d) {
      v.strides[slot][d] =
          iter.strides(operand)[static_cast<size_t>(d)] / bytes;
    }
    ++operand;
  };
  for (const int slot : slots) {
    take(slot);
  }
  for (int k = 0; k < count; ++k) {
    v.index[k] = static_cast<const int64_t*>(iter.data_ptr(operand));
    v.extent[k] = by.extents[begin + static_cast<size_t>(k)];
    v.step[k] = by.steps[begin + static_cast<size_t>(k)];
    take(2 + k);
  }
  return v;
}

// At most kFlIndices index tensors: more are joined to places first.
Indexers joined(const Indexers& by) {
  if (by.tensors.size() <= kFlIndices) {
    return by;
  }
  Indexers one{by.name, false, {places_of(by, at::kLong)}, {}, {}};
  one.extents.push_back(std::numeric_limits<int64_t>::max());
  one.steps.push_back(1);
  return one;
}

// An index tensor among the dimensions of what it picks.
Tensor placed(const Tensor& index, int64_t before, int64_t rank) {
  at::DimVector sizes(static_cast<size_t>(rank), 1);
  at::DimVector strides(static_cast<size_t>(rank), 0);
  for (int64_t d = 0; d < index.dim(); ++d) {
    sizes[static_cast<size_t>(before + d)] = index.size(d);
    strides[static_cast<size_t>(before + d)] = index.stride(d);
  }
  return index.as_strided(sizes, strides);
}

at::TensorIterator iterator_of(
    const Tensor& to,
    const Tensor& from,
    const Indexers& by,
    int64_t before) {
  at::TensorIteratorConfig config;
  config.set_check_mem_overlap(false)
      .resize_outputs(false)
      .check_all_same_dtype(false)
      .add_owned_output(to);
  if (from.defined()) {
    config.add_owned_const_input(from);
  }
  for (const Tensor& index : by.tensors) {
    config.add_owned_const_input(placed(index, before, to.dim()));
  }
  return config.build();
}

void put(const Picks& picks, const Tensor& dense, const NumberBits& number) {
  const Indexers by = joined(picks.by);
  const Tensor to = restrided(picks);
  const at::TensorIterator iter = iterator_of(to, dense, by, picks.before);
  if (iter.numel() == 0) {
    return;
  }
  const auto count = static_cast<int>(by.tensors.size());
  FlPicks v = dense.defined() ? picks_in(iter, by, 0, count, {1, 0})
                              : picks_in(iter, by, 0, count, {1});
  v.dense = dense.defined() ? iter.data_ptr(1) : nullptr;
  v.picked = iter.data_ptr(0);
  v.unit_bytes = static_cast<int32_t>(picks.base.element_size());
  v.number[0] = number[0];
  v.number[1] = number[1];
  widen(v);
  FL_MUSA_CHECK(fl_index_put(&v, kernel_stream()));
}

// The last position that the indexed dimensions reach, in elements.
int64_t reach(const Indexers& by) {
  int64_t last = 0;
  for (size_t k = 0; k < by.extents.size(); ++k) {
    last += (by.extents[k] - 1) * by.steps[k];
  }
  return last;
}

// The dimensions that are not indexed: target's strides and source's, merged.
struct RowShape {
  int64_t columns = 1;
  int32_t rank = 0;
  int64_t dims[kFlMaxRank] = {};
  int64_t strides[2][kFlMaxRank] = {};

  void add(int64_t size, int64_t target, int64_t source) {
    if (size == 1) {
      return;
    }
    columns *= size;
    const int d = rank - 1;
    if (rank > 0 && strides[0][d] * dims[d] == target &&
        strides[1][d] * dims[d] == source) {
      dims[d] *= size;
      return;
    }
    check_rank(rank + 1);
    dims[rank] = size;
    strides[0][rank] = target;
    strides[1][rank] = source;
    ++rank;
  }
  [[nodiscard]] bool dense() const {
    return rank == 0 || (rank == 1 && strides[0][0] == 1 && strides[1][0] == 1);
  }
};

// What sorted rows are made of.
struct Rows {
  Sorted sorted;
  Tensor source; // broadcast to the picks' sizes
  int64_t row_stride = 0;
  RowShape shape;
};

// Dimensions [begin, end) as one, of that stride; -1 if they are not.
int64_t merged_stride(const Tensor& t, int64_t begin, int64_t end) {
  int64_t stride = -1;
  int64_t span = 1;
  for (int64_t d = end - 1; d >= begin; --d) {
    if (t.size(d) == 1) {
      continue;
    }
    if (stride < 0) {
      stride = t.stride(d);
    } else if (t.stride(d) != stride * span) {
      return -1;
    }
    span *= t.size(d);
  }
  return stride < 0 ? 0 : stride;
}

Rows rows_of(const Picks& picks, const Tensor& dense) {
  const Tensor to = restrided(picks);
  const int64_t first = picks.before;
  const auto last = first + static_cast<int64_t>(picks.shape.size());
  Rows rows;
  rows.source = dense.expand(to.sizes());
  rows.row_stride = merged_stride(rows.source, first, last);
  if (rows.row_stride < 0) {
    rows.source = rows.source.contiguous();
    rows.row_stride = merged_stride(rows.source, first, last);
  }
  for (int64_t d = to.dim() - 1; d >= 0; --d) {
    if (d < first || d >= last) {
      rows.shape.add(to.size(d), to.stride(d), rows.source.stride(d));
    }
  }
  constexpr int64_t kNarrow = std::numeric_limits<int32_t>::max();
  const at::ScalarType type = reach(picks.by) < kNarrow ? at::kInt : at::kLong;
  rows.sorted = sorted_along(places_of(picks.by, type).view({-1}), 0);
  return rows;
}

template <class Args>
void describe(Args& v, const Sorted& sorted) {
  v.keys = address_of(sorted.values);
  v.keys_wide = sorted.values.scalar_type() == at::kLong ? 1 : 0;
  v.order = static_cast<const int64_t*>(address_of(sorted.indices));
  v.n = sorted.values.numel();
}

template <class Args>
void describe(Args& v, const RowShape& shape) {
  v.columns = shape.columns;
  v.rank = shape.dense() ? 0 : shape.rank;
  for (int d = 0; d < shape.rank; ++d) {
    v.dims[d] = shape.dims[d];
    v.strides[0][d] = shape.strides[0][d];
    v.strides[1][d] = shape.strides[1][d];
  }
}

} // namespace

NumberBits number_bits(const at::Scalar& number, at::ScalarType type) {
  const Tensor one =
      at::scalar_tensor(number, at::device(at::kCPU).dtype(type));
  NumberBits bits{};
  auto* const bytes = reinterpret_cast<char*>(bits.data());
  const auto size = static_cast<size_t>(one.element_size());
  for (size_t at = 0; at < sizeof(bits); at += size) {
    std::memcpy(bytes + at, one.const_data_ptr(), size);
  }
  return bits;
}

Picks picks_of(
    const char* name,
    const Tensor& self,
    const at::IOptTensorListRef& indices) {
  at::native::checkIndexTensorTypes(indices, /*allow_int=*/true);
  std::vector<Tensor> tensors = at::native::expandTensors(
      self,
      indices,
      /*ensure_same_device=*/true);
  TORCH_CHECK_INDEX(
      static_cast<int64_t>(tensors.size()) <= self.dim(),
      "too many indices for tensor of dimension ",
      self.dim(),
      " (got ",
      tensors.size(),
      ")");
  try {
    tensors = at::expand_outplace(tensors);
  } catch (const std::exception&) {
    TORCH_CHECK_INDEX(
        false,
        "shape mismatch: indexing tensors could not be broadcast together with "
        "shapes ",
        shapes_of(tensors));
  }
  tensors.resize(static_cast<size_t>(self.dim()));
  Picks picks{{name, true, {}, {}, {}}, self, 0, {}};
  if (!at::native::hasContiguousSubspace(tensors)) {
    std::tie(picks.base, tensors) = at::native::transposeToFront(self, tensors);
  }
  bool any_empty = false;
  for (int64_t d = 0; d < picks.base.dim(); ++d) {
    const Tensor& index = tensors[static_cast<size_t>(d)];
    if (!index.defined()) {
      picks.before += picks.by.tensors.empty() ? 1 : 0;
      continue;
    }
    picks.shape = at::DimVector(index.sizes());
    picks.by.tensors.push_back(
        index.scalar_type() == at::kLong ? index : index.to(at::kLong));
    picks.by.extents.push_back(picks.base.size(d));
    picks.by.steps.push_back(picks.base.stride(d));
    any_empty = any_empty || picks.base.size(d) == 0;
  }
  TORCH_CHECK_INDEX(
      !any_empty || c10::multiply_integers(picks.shape) == 0,
      "index is out of bounds for dimension with size 0");
  return picks;
}

Picks picks_along(
    const char* name,
    const Tensor& self,
    int64_t dim,
    const Tensor& index,
    bool from_end) {
  Picks picks{{name, from_end, {}, {}, {}}, self, dim, {}};
  if (self.dim() == 0) {
    picks.base = self.as_strided({1}, {1});
  }
  const Tensor line = index.dim() == 0 ? index.as_strided({1}, {1}) : index;
  TORCH_CHECK_INDEX(
      picks.base.size(dim) > 0 || line.numel() == 0,
      name,
      "(): index out of range, the dimension has no elements");
  picks.shape = at::DimVector(line.sizes());
  picks.by.tensors.push_back(
      line.scalar_type() == at::kLong ? line : line.to(at::kLong));
  picks.by.extents.push_back(picks.base.size(dim));
  picks.by.steps.push_back(picks.base.stride(dim));
  return picks;
}

Tensor restrided(const Picks& picks) {
  const auto indexed = static_cast<int64_t>(picks.by.tensors.size());
  at::DimVector sizes;
  at::DimVector strides;
  for (int64_t d = 0; d < picks.base.dim(); ++d) {
    if (d == picks.before && indexed > 0) {
      sizes.append(picks.shape.begin(), picks.shape.end());
      strides.append(picks.shape.size(), 0);
    }
    if (d < picks.before || d >= picks.before + indexed) {
      sizes.push_back(picks.base.size(d));
      strides.push_back(picks.base.stride(d));
    }
  }
  return picks.base.as_strided(sizes, strides);
}

Tensor places_of(const Indexers& by, at::ScalarType type) {
  const size_t all = by.tensors.size();
  const Tensor out = make_dense(by.tensors[0].sizes(), type);
  for (size_t k = 0; k < all && out.numel() > 0; k += kFlIndices) {
    const size_t count = std::min<size_t>(kFlIndices, all - k);
    at::TensorIteratorConfig config;
    config.set_check_mem_overlap(false)
        .resize_outputs(false)
        .check_all_same_dtype(false)
        .add_output(out);
    for (size_t j = 0; j < count; ++j) {
      config.add_const_input(by.tensors[k + j]);
    }
    const at::TensorIterator iter = config.build();
    const FlPicks v = picks_in(iter, by, k, static_cast<int>(count), {0});
    FL_MUSA_CHECK(fl_index_places(
        kernel_type(type),
        iter.data_ptr(0),
        k > 0 ? 1 : 0,
        &v,
        kernel_stream()));
  }
  return out;
}

void get_picks(at::TensorIteratorBase& iter, Indexers by) {
  if (iter.numel() == 0) {
    return;
  }
  const int count = iter.ninputs() - 1;
  if (count > kFlIndices) {
    for (int k = 0; k < count; ++k) {
      by.tensors.push_back(iter.tensor(2 + k));
    }
    by = joined(by);
    at::TensorIterator fewer = at::TensorIteratorConfig()
                                   .set_check_mem_overlap(false)
                                   .resize_outputs(false)
                                   .check_all_same_dtype(false)
                                   .add_output(iter.tensor(0))
                                   .add_const_input(iter.tensor(1))
                                   .add_const_input(by.tensors[0])
                                   .build();
    get_picks(fewer, std::move(by));
    return;
  }
  FlPicks v = picks_in(iter, by, 0, count, {0, 1});
  v.dense = iter.data_ptr(0);
  v.picked = iter.data_ptr(1);
  v.unit_bytes = static_cast<int32_t>(iter.element_size(0));
  widen(v);
  FL_MUSA_CHECK(fl_index_get(&v, kernel_stream()));
}

void put_picks(const Picks& picks, const Tensor& dense) {
  put(picks, dense, {});
}

void put_picks(const Picks& picks, const NumberBits& number) {
  put(picks, Tensor(), number);
}

void put_last(const Picks& picks, const Tensor& dense) {
  if (c10::multiply_integers(picks.shape) == 0 || picks.base.numel() == 0) {
    return;
  }
  const Rows rows = rows_of(picks, dense);
  FlSortedRows v{};
  describe(v, rows.sorted);
  v.target = picks.base.unsafeGetTensorImpl()->mutable_data();
  v.source = address_of(rows.source);
  v.row_stride = rows.row_stride;
  v.unit_bytes = static_cast<int32_t>(picks.base.element_size());
  describe(v, rows.shape);
  FL_MUSA_CHECK(fl_index_put_last(picks.by.name, &v, kernel_stream()));
}

void fold_picks(const Picks& picks, const Tensor& dense, const Fold& fold) {
  if (c10::multiply_integers(picks.shape) == 0 || picks.base.numel() == 0) {
    return;
  }
  const Rows rows = rows_of(picks, dense);
  FlSegments v{};
  v.name = picks.by.name;
  v.fold = fold.how;
  v.keep = fold.keep ? 1 : 0;
  v.mean = fold.mean ? 1 : 0;
  if (c10::isFloatingType(picks.base.scalar_type())) {
    v.alpha = fold.alpha.toDouble();
  } else {
    v.whole_alpha = fold.alpha.toLong();
  }
  v.skipped = fold.skipped;
  v.key_stride = 1;
  v.row_stride = rows.row_stride;
  describe(v, rows.shape);
  fold_rows(v, picks.base, rows.sorted, rows.source);
}

void fold_rows(
    FlSegments v,
    const Tensor& target,
    const Sorted& sorted,
    const Tensor& source) {
  const FlKernelType type = kernel_type(target.scalar_type());
  describe(v, sorted);
  v.target = target.unsafeGetTensorImpl()->mutable_data();
  v.source = address_of(source);
  const Tensor scratch =
      make_dense({fl_segments_scratch(type, v.n, v.columns)}, at::kByte);
  v.scratch = scratch.unsafeGetTensorImpl()->mutable_data();
  FL_MUSA_CHECK(fl_segments(type, &v, kernel_stream()));
}

} // namespace torch_fl::ops
