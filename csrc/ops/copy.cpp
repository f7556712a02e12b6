// SPDX-License-Identifier: Apache-2.0
// Copies between host and devices, and reading a value.
#include "csrc/allocator/host_allocator.h"
#include "csrc/ops/device_copy.h"
#include "csrc/ops/output.h"
#include "csrc/routing/register.h"
#include "csrc/runtime/device.h"
#include "csrc/runtime/event.h"
#include "csrc/runtime/memcpy.h"

#include <ATen/EmptyTensor.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/ops/_local_scalar_dense.h>
#include <ATen/ops/view_as_real.h>

namespace torch_fl::ops {

namespace {

using runtime::Stream;

bool dense_alike(const at::Tensor& a, const at::Tensor& b) {
  return (a.is_contiguous() && b.is_contiguous()) ||
      (a.strides() == b.strides() && a.is_non_overlapping_and_dense());
}

bool is_dense(const at::Tensor& tensor) {
  return tensor.is_contiguous() || tensor.is_non_overlapping_and_dense();
}

void* out_address(const at::Tensor& tensor) {
  return tensor.unsafeGetTensorImpl()->mutable_data();
}

const void* in_address(const at::Tensor& tensor) {
  return tensor.unsafeGetTensorImpl()->data();
}

at::Tensor dense_on(const at::Device& device, const at::Tensor& like) {
  const runtime::DeviceScope scope(device);
  return make_dense(like.sizes(), like.scalar_type());
}

// One block of bytes; both sides dense with equal strides.
void copy_block(
    const at::Tensor& dst,
    const at::Tensor& src,
    const Stream& stream) {
  runtime::copy_async(
      out_address(dst),
      dst.device(),
      in_address(src),
      src.device(),
      src.nbytes(),
      stream);
}

void keep_pinned(const at::Tensor& host, const Stream& stream) {
  allocator::record_event(
      in_address(host),
      host.storage().data_ptr().get_context(),
      stream);
}

void upload(const at::Tensor& dst, const at::Tensor& src, bool non_blocking) {
  const runtime::DeviceScope scope(dst.device());
  const Stream stream = runtime::current_stream();
  const bool casts_here = src.scalar_type() != dst.scalar_type();
  const bool casts_there =
      casts_here && device_converts(dst.scalar_type(), src.scalar_type());
  at::Tensor host =
      casts_here && !casts_there ? src.to(dst.scalar_type()) : src;
  at::Tensor device = dst;
  if (casts_there || !dense_alike(dst, host)) {
    host = host.contiguous();
    if (casts_there || !dst.is_contiguous()) {
      device = make_dense(host.sizes(), host.scalar_type());
    }
  }
  copy_block(device, host, stream);
  if (allocator::is_pinned(in_address(host))) {
    // The device reads pinned memory later; other memory was read before the
    // call returned.
    if (non_blocking) {
      keep_pinned(host, stream);
    } else {
      stream.synchronize();
    }
  }
  if (!device.is_same(dst)) {
    copy_within_device(dst, device);
  }
}

void download(const at::Tensor& dst, const at::Tensor& src, bool non_blocking) {
  const runtime::DeviceScope scope(src.device());
  const Stream stream = runtime::current_stream();
  at::Tensor device = src;
  const bool casts_here = dst.scalar_type() != src.scalar_type() &&
      device_converts(dst.scalar_type(), src.scalar_type());
  if (casts_here || !is_dense(src)) {
    device = make_dense(
        src.sizes(),
        casts_here ? dst.scalar_type() : src.scalar_type());
    copy_within_device(device, src);
  }
  if (device.scalar_type() == dst.scalar_type() && dense_alike(dst, device)) {
    copy_block(dst, device, stream);
    if (non_blocking && allocator::is_pinned(in_address(dst))) {
      keep_pinned(dst, stream);
    } else {
      stream.synchronize();
    }
    return;
  }
  const at::Tensor host = at::detail::empty_strided_cpu(
      device.sizes(),
      device.strides(),
      device.scalar_type());
  copy_block(host, device, stream);
  stream.synchronize();
  dst.copy_(host);
}

// The copy runs on the source's stream, after what the destination's stream
// still does to that memory; the destination's stream waits for it.
void copy_across(const at::Tensor& dst, const at::Tensor& src) {
  const bool converts = dst.scalar_type() != src.scalar_type();
  const bool direct = !converts && dense_alike(dst, src);
  const at::Tensor landing = direct || (!converts && dst.is_contiguous())
      ? dst
      : dense_on(dst.device(), src);
  const runtime::DeviceScope scope(src.device());
  const Stream source = runtime::current_stream();
  const Stream target = runtime::current_stream(dst.device().index());
  at::Tensor block = src;
  if (!direct && !src.is_contiguous()) {
    block = make_dense(src.sizes(), src.scalar_type());
    copy_within_device(block, src);
  }
  {
    const runtime::DeviceScope there(dst.device());
    const runtime::Event free(target);
    free.block(source);
  }
  copy_block(landing, block, source);
  const runtime::Event done(source);
  done.block(target);
  if (!landing.is_same(dst)) {
    const runtime::DeviceScope there(dst.device());
    copy_within_device(dst, landing);
  }
}

void copy_plain(
    const at::Tensor& dst,
    const at::Tensor& src,
    bool non_blocking) {
  if (dst.numel() == 0) {
    return;
  }
  if (src.device().is_cpu()) {
    upload(dst, src, non_blocking);
  } else if (dst.device().is_cpu()) {
    download(dst, src, non_blocking);
  } else if (src.device() != dst.device()) {
    copy_across(dst, src);
  } else {
    const runtime::DeviceScope scope(dst.device());
    if (src.scalar_type() == dst.scalar_type() && dense_alike(dst, src)) {
      if (in_address(src) == in_address(dst)) {
        return;
      }
      at::assert_no_partial_overlap(dst, src);
      copy_block(dst, src, runtime::current_stream());
    } else {
      copy_within_device(dst, src);
    }
  }
}

at::Tensor
copy_from(const at::Tensor& self, const at::Tensor& dst, bool non_blocking) {
  TORCH_CHECK(
      (self.device().is_cpu() || self.device().is_privateuseone()) &&
          (dst.device().is_cpu() || dst.device().is_privateuseone()),
      "flagos copies from and to the CPU only, not from ",
      self.device(),
      " to ",
      dst.device());
  at::Tensor src = self.sizes() == dst.sizes() ? self : self.expand_as(dst);
  at::Tensor out = dst;
  // A bit on the destination moves to the source: conj(d) <- s is d <- conj(s).
  if (C10_UNLIKELY(out.is_conj())) {
    out = out.conj();
    src = src.conj();
  }
  if (C10_UNLIKELY(out.is_neg())) {
    out = out._neg_view();
    src = src._neg_view();
  }
  const bool conj = src.is_conj();
  const bool neg = src.is_neg();
  if (C10_LIKELY(!conj && !neg)) {
    copy_plain(out, src, non_blocking);
    return dst;
  }
  if (src.device().is_cpu()) {
    copy_plain(out, src.resolve_conj().resolve_neg(), non_blocking);
    return dst;
  }
  // The bare values first, then the bits on the side they arrived.
  at::Tensor bare = conj ? src.conj() : src;
  bare = neg ? bare._neg_view() : bare;
  if (out.device().is_cpu()) {
    at::Tensor host = at::detail::empty_cpu(
        bare.sizes(),
        bare.scalar_type(),
        std::nullopt,
        std::nullopt,
        std::nullopt,
        std::nullopt);
    copy_plain(host, bare, false);
    host = conj ? host.conj() : host;
    out.copy_(neg ? host._neg_view() : host);
    return dst;
  }
  const at::Tensor values = dense_on(bare.device(), bare);
  copy_plain(values, bare, false);
  const runtime::DeviceScope scope(values.device());
  if (conj) {
    negate_in_place(at::view_as_real(values).select(-1, 1));
  }
  if (neg) {
    negate_in_place(values);
  }
  copy_plain(out, values, non_blocking);
  return dst;
}

// How the CPU fallback writes results: takes the size, and the layout of what
// the CPU kernel made.
at::Tensor copy_from_and_resize(const at::Tensor& self, const at::Tensor& dst) {
  if (self.sizes() != dst.sizes()) {
    dst.resize_(self.sizes());
    if (self.is_non_overlapping_and_dense() && !self.is_contiguous()) {
      dst.unsafeGetTensorImpl()->set_sizes_and_strides(
          self.sizes(),
          self.strides());
    }
  }
  copy_from(self, dst, false);
  return dst;
}

at::Scalar local_scalar_dense(const at::Tensor& self) {
  const runtime::DeviceScope scope(self.device());
  const at::Tensor host = at::detail::empty_cpu(
      {},
      self.scalar_type(),
      std::nullopt,
      std::nullopt,
      std::nullopt,
      std::nullopt);
  const Stream stream = runtime::current_stream();
  runtime::copy_async(
      out_address(host),
      host.device(),
      in_address(self),
      self.device(),
      static_cast<size_t>(self.element_size()),
      stream);
  stream.synchronize();
  return at::_local_scalar_dense(host);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  routing::Registrar registrar(library);
  registrar.native<&copy_from>("_copy_from");
  registrar.native<&copy_from_and_resize>("_copy_from_and_resize");
  registrar.native<&local_scalar_dense>("_local_scalar_dense");
}

// Copies resolve the bits themselves: torch's fallback for them would clone,
// which copies.
TORCH_LIBRARY_IMPL(aten, Conjugate, library) {
  library.impl("_copy_from", torch::CppFunction::makeFallthrough());
  library.impl("_copy_from_and_resize", torch::CppFunction::makeFallthrough());
}
TORCH_LIBRARY_IMPL(aten, Negative, library) {
  library.impl("_copy_from", torch::CppFunction::makeFallthrough());
  library.impl("_copy_from_and_resize", torch::CppFunction::makeFallthrough());
}

} // namespace

} // namespace torch_fl::ops
