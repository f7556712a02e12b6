// SPDX-License-Identifier: Apache-2.0
// Elements written where an index says: scatter, scatter_add, scatter_reduce.
#include "csrc/mudnn/index.h"
#include "csrc/ops/elementwise.h"

#include <ATen/Context.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/scatter_add_meta.h>
#include <ATen/ops/scatter_meta.h>
#include <ATen/ops/scatter_reduce_meta.h>

#include <string_view>

namespace torch_fl::ops {

namespace {

using at::Tensor;

bool known(const Tensor& self) {
  return mudnn::has_dnn_type(self.scalar_type());
}

// Operands of one dimension at least, `src` cut to the index' shape.
struct Call {
  Tensor out;
  int64_t dim;
  Tensor index;
  Tensor src;

  Call(
      const Tensor& result,
      int64_t asked,
      const Tensor& where,
      const Tensor& source)
      : out(lined(result)), dim(at::maybe_wrap_dim(asked, out.dim())),
        index(lined(where)), src(lined(source)) {
    for (int64_t d = 0; d < index.dim(); ++d) {
      if (src.size(d) != index.size(d)) {
        src = src.narrow(d, 0, index.size(d));
      }
    }
  }

 private:
  static Tensor lined(const Tensor& tensor) {
    return tensor.dim() == 0 ? tensor.as_strided({1}, {1}) : tensor;
  }
};

// A result to write into, with self's values.
void begin(const Tensor& out, const Tensor& self) {
  if (!out.is_same(self)) {
    out.copy_(self);
  }
}

// Runs `write` on a dense result of one dimension, and where in it the index'
// elements point.
template <class Write>
void on_flat(const Call& call, Write&& write) {
  const Tensor result = call.out.contiguous();
  Tensor place = call.index.to(at::kLong).mul(result.stride(call.dim));
  for (int64_t d = 0; d < call.index.dim(); ++d) {
    if (d == call.dim) {
      continue;
    }
    at::DimVector shape(static_cast<size_t>(call.index.dim()), 1);
    shape[static_cast<size_t>(d)] = call.index.size(d);
    place.add_(
        at::arange(call.index.size(d), place.options()).view(shape),
        result.stride(d));
  }
  Tensor flat = result.view({-1});
  write(flat, place.view({-1}), call.src.reshape({-1}));
  if (!result.is_same(call.out)) {
    call.out.copy_(result);
  }
}

bool deterministic() {
  return at::globalContext().deterministicAlgorithms();
}

// The last of equal places wins, or sums in the index' order.
void put(const Call& call, bool accumulate) {
  on_flat(call, [&](Tensor& flat, const Tensor& place, const Tensor& values) {
    flat.index_put_({place}, values, accumulate);
  });
}

void update(const Call& call) {
  if (deterministic()) {
    put(call, /*accumulate=*/false);
  } else {
    mudnn::scatter_update(call.out, call.dim, call.index, call.src);
  }
}

void add(const Call& call) {
  if (deterministic()) {
    put(call, /*accumulate=*/true);
  } else {
    mudnn::scatter_add(call.out, call.dim, call.index, call.src);
  }
}

// muDNN has neither maxima nor means; its products have little evidence.
void reduce(const Call& call, std::string_view how, bool include_self) {
  on_flat(call, [&](Tensor& flat, const Tensor& place, const Tensor& values) {
    flat.index_reduce_(0, place, values, how, include_self);
  });
}

Tensor
filled(const Tensor& self, const Tensor& index, const at::Scalar& value) {
  return make_dense(index.sizes(), self.scalar_type()).fill_(value);
}

struct ScatterSrc : at::meta::structured_scatter_src {
  bool accepts(
      const Tensor& self,
      int64_t /*dim*/,
      const Tensor& /*index*/,
      const Tensor& /*src*/) {
    return known(self);
  }
  void impl(
      const Tensor& self,
      int64_t dim,
      const Tensor& index,
      const Tensor& src,
      const Tensor& out) {
    begin(out, self);
    if (index.numel() != 0) {
      update(Call(out, dim, index, src));
    }
  }
};

struct ScatterValue : at::meta::structured_scatter_value {
  bool accepts(
      const Tensor& self,
      int64_t /*dim*/,
      const Tensor& /*index*/,
      const at::Scalar& value) {
    return known(self) && !value.isComplex();
  }
  void impl(
      const Tensor& self,
      int64_t dim,
      const Tensor& index,
      const at::Scalar& value,
      const Tensor& out) {
    begin(out, self);
    if (index.numel() != 0) {
      update(Call(out, dim, index, filled(out, index, value)));
    }
  }
};

// "add" or "multiply", which meta has checked.
void combine(const Call& call, std::string_view how) {
  if (how == "add") {
    add(call);
  } else {
    reduce(call, "prod", /*include_self=*/true);
  }
}

struct ScatterCombine : at::meta::structured_scatter_reduce {
  bool accepts(
      const Tensor& self,
      int64_t /*dim*/,
      const Tensor& /*index*/,
      const Tensor& /*src*/,
      std::string_view /*reduce*/) {
    return arithmetic(self.scalar_type());
  }
  void impl(
      const Tensor& self,
      int64_t dim,
      const Tensor& index,
      const Tensor& src,
      std::string_view how,
      const Tensor& out) {
    begin(out, self);
    if (index.numel() != 0) {
      combine(Call(out, dim, index, src), how);
    }
  }
};

struct ScatterCombineValue : at::meta::structured_scatter_value_reduce {
  bool accepts(
      const Tensor& self,
      int64_t /*dim*/,
      const Tensor& /*index*/,
      const at::Scalar& value,
      std::string_view /*reduce*/) {
    return arithmetic(self.scalar_type()) && !value.isComplex();
  }
  void impl(
      const Tensor& self,
      int64_t dim,
      const Tensor& index,
      const at::Scalar& value,
      std::string_view how,
      const Tensor& out) {
    begin(out, self);
    if (index.numel() != 0) {
      combine(Call(out, dim, index, filled(out, index, value)), how);
    }
  }
};

struct ScatterAdd : at::meta::structured_scatter_add {
  bool accepts(
      const Tensor& self,
      int64_t /*dim*/,
      const Tensor& /*index*/,
      const Tensor& /*src*/) {
    return arithmetic(self.scalar_type());
  }
  void impl(
      const Tensor& self,
      int64_t dim,
      const Tensor& index,
      const Tensor& src,
      const Tensor& out) {
    begin(out, self);
    if (index.numel() != 0) {
      add(Call(out, dim, index, src));
    }
  }
};

struct ScatterReduce : at::meta::structured_scatter_reduce_two {
  bool accepts(
      const Tensor& self,
      int64_t /*dim*/,
      const Tensor& /*index*/,
      const Tensor& /*src*/,
      std::string_view /*reduce*/,
      bool /*include_self*/) {
    return arithmetic(self.scalar_type());
  }
  void impl(
      const Tensor& self,
      int64_t dim,
      const Tensor& index,
      const Tensor& src,
      std::string_view how,
      bool include_self,
      const Tensor& out) {
    begin(out, self);
    if (index.numel() == 0) {
      return;
    }
    const Call call(out, dim, index, src);
    if (how != "sum") {
      reduce(call, how, include_self);
      return;
    }
    if (!include_self) {
      update(Call(out, dim, index, filled(out, index, 0)));
    }
    add(call);
  }
};

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  routing::Registrar r(library);
  structured<ScatterSrc>(r, "scatter.src", "scatter_.src", "scatter.src_out");
  structured<ScatterValue>(
      r,
      "scatter.value",
      "scatter_.value",
      "scatter.value_out");
  structured<ScatterCombine>(
      r,
      "scatter.reduce",
      "scatter_.reduce",
      "scatter.reduce_out");
  structured<ScatterCombineValue>(
      r,
      "scatter.value_reduce",
      "scatter_.value_reduce",
      "scatter.value_reduce_out");
  structured<ScatterAdd>(r, "scatter_add", "scatter_add_", "scatter_add.out");
  structured<ScatterReduce>(
      r,
      "scatter_reduce.two",
      "scatter_reduce_.two",
      "scatter_reduce.two_out");
}

} // namespace

} // namespace torch_fl::ops
