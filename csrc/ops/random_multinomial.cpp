// SPDX-License-Identifier: Apache-2.0
// multinomial: a race of exponential numbers without replacement, a search in
// running sums with it.
#include "csrc/ops/kernel_operands.h"
#include "csrc/ops/output.h"
#include "csrc/ops/random.h"
#include "csrc/routing/register.h"
#include "csrc/runtime/device.h"
#include "csrc/runtime/graph.h"

#include <ATen/ops/argmax.h>
#include <ATen/ops/cumsum.h>
#include <ATen/ops/topk.h>

#include <limits>
#include <optional>

namespace torch_fl::ops {

namespace {

using at::Generator;
using at::Tensor;
using MaybeGenerator = std::optional<Generator>;

constexpr int64_t kMostCategories = int64_t{1} << 24;

void check_arguments(
    const Tensor& self,
    int64_t samples,
    bool replacement,
    const Tensor& out) {
  check_place(self);
  TORCH_CHECK(
      out.device() == self.device(),
      "multinomial arguments must have the same device");
  TORCH_CHECK(
      self.dim() > 0 && self.dim() <= 2,
      "prob_dist must be 1 or 2 dim");
  TORCH_CHECK(
      c10::isFloatingType(self.scalar_type()) &&
          has_kernel_type(self.scalar_type()),
      "multinomial only supports floating-point dtypes for input, got: ",
      self.scalar_type());
  TORCH_CHECK(
      out.scalar_type() == at::kLong,
      "multinomial expects Long tensor out, got: ",
      out.scalar_type());
  TORCH_CHECK(samples > 0, "cannot sample n_sample <= 0 samples");
  const int64_t categories = self.size(-1);
  TORCH_CHECK(
      replacement || samples <= categories,
      "cannot sample n_sample > prob_dist.size(-1) samples without "
      "replacement");
  TORCH_CHECK(
      categories <= kMostCategories,
      "number of categories cannot exceed 2^24");
}

// One read of the device, as torch.cuda makes; none while a graph is captured,
// where what is wrong with the weights cannot be told.
void check_weights(const Tensor& weights) {
  if (runtime::capture_id(runtime::current_stream().handle()) != 0) {
    return;
  }
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr int kNotFinite = 1;
  constexpr int kNothing = 2;
  const Tensor good =
      weights.min().ge(0).logical_and_(weights.max().lt(kInfinity));
  const Tensor empty = weights.sum(-1).le(0).any();
  const Tensor found =
      good.logical_not().to(at::kInt).add_(empty.to(at::kInt), kNothing);
  const int state = found.item<int>();
  TORCH_CHECK(
      (state & kNotFinite) == 0,
      "probability tensor contains either `inf`, `nan` or element < 0");
  TORCH_CHECK(
      (state & kNothing) == 0,
      "invalid multinomial distribution (sum of probabilities <= 0)");
}

// The places of the largest results of a race are drawn without replacement.
Tensor without_replacement(
    const Tensor& weights,
    int64_t samples,
    const MaybeGenerator& generator) {
  const Tensor arrivals = make_dense_like(weights);
  const FlSequence sequence =
      reserve_words(generator, 4 * static_cast<uint64_t>(weights.numel()));
  FL_MUSA_CHECK(fl_draw_each(
      kFlRace,
      kernel_type(weights.scalar_type()),
      arrivals.unsafeGetTensorImpl()->mutable_data(),
      weights.unsafeGetTensorImpl()->data(),
      nullptr,
      weights.numel(),
      &sequence,
      kernel_stream()));
  return samples == 1 ? at::argmax(arrivals, -1, /*keepdim=*/true)
                      : std::get<1>(at::topk(arrivals, samples));
}

Tensor with_replacement(
    const Tensor& weights,
    int64_t samples,
    const MaybeGenerator& generator) {
  const Tensor sums = at::cumsum(weights, -1, at::kDouble).contiguous();
  const int64_t categories = weights.size(-1);
  const int64_t rows = weights.numel() / categories;
  Tensor made = weights.dim() == 1 ? make_dense({samples}, at::kLong)
                                   : make_dense({rows, samples}, at::kLong);
  const FlSequence sequence =
      reserve_words(generator, 4 * static_cast<uint64_t>(made.numel()));
  FL_MUSA_CHECK(fl_pick_by_sums(
      made.unsafeGetTensorImpl()->mutable_data(),
      sums.unsafeGetTensorImpl()->data(),
      rows,
      categories,
      samples,
      &sequence,
      kernel_stream()));
  return made;
}

Tensor& multinomial_out(
    const Tensor& self,
    int64_t samples,
    bool replacement,
    MaybeGenerator generator,
    Tensor& out) {
  check_arguments(self, samples, replacement, out);
  const runtime::DeviceScope scope(self.device());
  if (self.dim() == 1) {
    out.resize_({samples});
  } else {
    out.resize_({self.size(0), samples});
  }
  if (out.numel() == 0) {
    return out;
  }
  TORCH_CHECK(self.numel() > 0, "cannot sample from no categories");
  const Tensor weights =
      (self.scalar_type() == at::kDouble ? self : self.to(at::kFloat))
          .contiguous();
  check_weights(weights);
  const bool race = !replacement || samples == 1;
  copy_back(
      out,
      race ? without_replacement(weights, samples, generator)
           : with_replacement(weights, samples, generator));
  return out;
}

Tensor multinomial(
    const Tensor& self,
    int64_t samples,
    bool replacement,
    MaybeGenerator generator) {
  check_place(self);
  const runtime::DeviceScope scope(self.device());
  Tensor out = make_dense({0}, at::kLong);
  return multinomial_out(self, samples, replacement, std::move(generator), out);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  routing::Registrar r(library);
  r.native<&multinomial>("multinomial");
  r.native<&multinomial_out>("multinomial.out");
}

} // namespace

} // namespace torch_fl::ops
