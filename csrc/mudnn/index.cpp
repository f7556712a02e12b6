// SPDX-License-Identifier: Apache-2.0
// Gathering, joining and selecting on muDNN, whose classes want dense operands.
#include "csrc/mudnn/index.h"

#include "csrc/allocator/device_allocator.h"
#include "csrc/mudnn/copy.h"
#include "csrc/mudnn/handle.h"
#include "csrc/mudnn/tensor_view.h"
#include "csrc/mudnn/workspace.h"

#include <ATen/EmptyTensor.h>
#include <c10/util/SmallVector.h>

namespace torch_fl::mudnn {

namespace {

using Descriptor = ::musa::dnn::Tensor;

at::Tensor make(at::IntArrayRef sizes, at::ScalarType dtype) {
  return at::detail::empty_generic(
      sizes,
      allocator::device_allocator(),
      c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
      dtype,
      std::nullopt);
}

at::Tensor dense(const at::Tensor& in) {
  if (in.is_contiguous()) {
    return in;
  }
  at::Tensor made = make(in.sizes(), in.scalar_type());
  copy(made, in);
  return made;
}

at::Tensor target(const at::Tensor& out) {
  return out.is_contiguous() ? out : make(out.sizes(), out.scalar_type());
}

void deliver(const at::Tensor& out, const at::Tensor& from) {
  if (!from.is_same(out)) {
    copy(out, from);
  }
}

void gather(
    const at::Tensor& out,
    const at::Tensor& in,
    int64_t dim,
    const at::Tensor& index,
    ::musa::dnn::GatherX::Mode mode) {
  if (out.numel() == 0) {
    return;
  }
  const at::Tensor source = dense(in);
  const at::Tensor places = dense(index);
  const at::Tensor result = target(out);
  Descriptor to = writable(result);
  ::musa::dnn::GatherX op;
  FL_MUDNN_CHECK(op.SetMode(mode));
  FL_MUDNN_CHECK(op.SetAxis(static_cast<int>(dim)));
  FL_MUDNN_CHECK(op.Run(plain_handle(), to, view(places), view(source)));
  deliver(out, result);
}

void scatter(
    const at::Tensor& self,
    int64_t dim,
    const at::Tensor& index,
    const at::Tensor& update,
    ::musa::dnn::Scatter::Mode mode) {
  // Contiguous operands only (quirk 74).
  const at::Tensor places = dense(index);
  const at::Tensor values = dense(update);
  const at::Tensor result = dense(self);
  Descriptor to = writable(result);
  ::musa::dnn::Scatter op;
  FL_MUDNN_CHECK(op.SetMode(mode));
  FL_MUDNN_CHECK(op.Run(
      plain_handle(),
      to,
      view(places),
      view(values),
      static_cast<int>(dim),
      workspace()));
  deliver(self, result);
}

// The length that a selecting class left in its descriptor.
int64_t first_extent(const Descriptor& view) {
  std::vector<int64_t> sizes;
  FL_MUDNN_CHECK(view.GetNdInfo(sizes));
  return sizes.empty() ? 0 : sizes.front();
}

} // namespace

void concat(
    const at::Tensor& out,
    const std::vector<at::Tensor>& parts,
    int64_t dim) {
  if (out.numel() == 0) {
    return;
  }
  // Inputs are read as dense blocks (quirk 76).
  std::vector<at::Tensor> held;
  std::vector<Descriptor> views;
  held.reserve(parts.size());
  views.reserve(parts.size());
  for (const at::Tensor& part : parts) {
    held.push_back(dense(part));
    views.push_back(view(held.back()));
  }
  const at::Tensor result = target(out);
  Descriptor to = writable(result);
  ::musa::dnn::Concat op;
  FL_MUDNN_CHECK(op.SetAxis(static_cast<int>(dim)));
  FL_MUDNN_CHECK(
      op.Run(plain_handle(), to, static_cast<int>(views.size()), views.data()));
  deliver(out, result);
}

void concat_dense(
    const at::Tensor& out,
    const at::ITensorListRef& parts,
    int64_t dim) {
  c10::SmallVector<Descriptor, 4> views;
  for (const at::Tensor& part : parts) {
    views.push_back(view(part));
  }
  Descriptor to = writable(out);
  ::musa::dnn::Concat op;
  FL_MUDNN_CHECK(op.SetAxis(static_cast<int>(dim)));
  FL_MUDNN_CHECK(
      op.Run(plain_handle(), to, static_cast<int>(views.size()), views.data()));
}

void gather_slices(
    const at::Tensor& out,
    const at::Tensor& in,
    int64_t dim,
    const at::Tensor& index) {
  gather(out, in, dim, index, ::musa::dnn::GatherX::Mode::GATHER);
}

void gather_elements(
    const at::Tensor& out,
    const at::Tensor& in,
    int64_t dim,
    const at::Tensor& index) {
  gather(out, in, dim, index, ::musa::dnn::GatherX::Mode::GATHER_ELEMENTS);
}

void scatter_update(
    const at::Tensor& self,
    int64_t dim,
    const at::Tensor& index,
    const at::Tensor& update) {
  scatter(self, dim, index, update, ::musa::dnn::Scatter::Mode::UPDATE_ONLY);
}

void scatter_add(
    const at::Tensor& self,
    int64_t dim,
    const at::Tensor& index,
    const at::Tensor& update) {
  scatter(self, dim, index, update, ::musa::dnn::Scatter::Mode::ADD);
}

at::Tensor nonzero(const at::Tensor& in) {
  const at::Tensor source = dense(in);
  const int64_t rank = in.dim();
  at::Tensor places = make({in.numel(), rank}, at::kLong);
  Descriptor to = writable(places);
  ::musa::dnn::Nonzero op;
  FL_MUDNN_CHECK(op.Run(plain_handle(), to, view(source), workspace()));
  return places.narrow(0, 0, first_extent(to));
}

at::Tensor masked_select(const at::Tensor& in, const at::Tensor& mask) {
  const at::Tensor source = dense(in);
  const at::Tensor where = dense(mask);
  at::Tensor selected = make({in.numel()}, in.scalar_type());
  Descriptor to = writable(selected);
  ::musa::dnn::MaskedSelect op;
  FL_MUDNN_CHECK(
      op.Run(plain_handle(), to, view(source), view(where), workspace()));
  return selected.narrow(0, 0, first_extent(to));
}

} // namespace torch_fl::mudnn
