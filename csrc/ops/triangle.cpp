// SPDX-License-Identifier: Apache-2.0
// Triangles of matrices and reversed dimensions, on kernels of ours.
#include "csrc/kernels/triangle.h"

#include "csrc/ops/kernel_operands.h"
#include "csrc/ops/structured.h"

#include <ATen/WrapDimUtilsMulti.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/tril_meta.h>
#include <ATen/ops/triu_meta.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace torch_fl::ops {

namespace {

using at::Tensor;

bool kernel_size(const Tensor& tensor) {
  const int64_t size = tensor.element_size();
  return size <= 16 && (size & (size - 1)) == 0;
}

// Two operands of equal sizes, given from the last dimension on. The first
// `kept` dimensions stay, the others are merged where strides allow.
class Places {
 public:
  Places(const Tensor& out, const Tensor& in, int kept) : kept_(kept) {
    v_.count = 2;
    v_.numel = out.numel();
    v_.address[0] = out.unsafeGetTensorImpl()->mutable_data();
    v_.address[1] = const_cast<void*>(in.unsafeGetTensorImpl()->data());
  }
  // Where element (0, ...) of the second operand lies.
  void move_input(int64_t bytes) {
    v_.address[1] = static_cast<char*>(v_.address[1]) + bytes;
  }
  void add(int64_t size, int64_t out_stride, int64_t in_stride) {
    if (v_.rank >= kept_ && size == 1) {
      return;
    }
    const int last = v_.rank - 1;
    if (v_.rank > kept_ && v_.strides[0][last] * v_.dims[last] == out_stride &&
        v_.strides[1][last] * v_.dims[last] == in_stride) {
      v_.dims[last] *= size;
      return;
    }
    TORCH_CHECK_NOT_IMPLEMENTED(
        v_.rank < kFlMaxRank,
        "flagos takes at most ",
        kFlMaxRank,
        " dimensions that cannot be merged");
    v_.dims[v_.rank] = size;
    v_.strides[0][v_.rank] = out_stride;
    v_.strides[1][v_.rank] = in_stride;
    ++v_.rank;
  }
  const FlOperands* operands() const { return &v_; }

 private:
  FlOperands v_{};
  int kept_;
};

template <class Meta, bool lower>
struct Triangle : Meta {
  static bool accepts(const Tensor& self, int64_t /*diagonal*/) {
    return kernel_size(self);
  }
  void impl(const Tensor& self, int64_t diagonal, const Tensor& out) {
    if (out.numel() == 0) {
      return;
    }
    Places places(out, self, 2);
    for (int64_t d = out.dim() - 1; d >= 0; --d) {
      places.add(out.size(d), out.stride(d), self.stride(d));
    }
    const FlKeep keep{
        diagonal,
        lower ? 1 : 0,
        static_cast<int32_t>(self.element_size())};
    FL_MUSA_CHECK(fl_keep_triangle(places.operands(), &keep, kernel_stream()));
  }
};

Tensor flip(const Tensor& self, at::IntArrayRef dims) {
  if (!kernel_size(self)) {
    return routing::ToCpuByName<Tensor(const Tensor&, at::IntArrayRef)>::call(
        "flip",
        self,
        dims);
  }
  const auto turned =
      at::dim_list_to_bitset(dims, static_cast<size_t>(self.dim()));
  const runtime::DeviceScope scope(self.device());
  Tensor out = at::empty_like(self, at::MemoryFormat::Preserve);
  if (out.numel() == 0) {
    return out;
  }
  // The result's memory in order: neighbours are written by neighbours.
  std::vector<int64_t> order(static_cast<size_t>(out.dim()));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return out.stride(a) > out.stride(b);
  });
  Places places(out, self, 0);
  for (auto d = order.rbegin(); d != order.rend(); ++d) {
    const bool turn = turned[static_cast<size_t>(*d)];
    const int64_t stride = self.stride(*d);
    if (turn) {
      places.move_input((self.size(*d) - 1) * stride * self.element_size());
    }
    places.add(self.size(*d), out.stride(*d), turn ? -stride : stride);
  }
  FL_MUSA_CHECK(fl_copy_strided(
      places.operands(),
      static_cast<int32_t>(self.element_size()),
      kernel_stream()));
  return out;
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  routing::Registrar r(library);
  structured<Triangle<at::meta::structured_tril, true>>(
      r,
      "tril",
      "tril_",
      "tril.out");
  structured<Triangle<at::meta::structured_triu, false>>(
      r,
      "triu",
      "triu_",
      "triu.out");
  r.native<&flip>("flip");
}

} // namespace

} // namespace torch_fl::ops
