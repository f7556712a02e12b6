// SPDX-License-Identifier: Apache-2.0
// Distributions that muRAND lacks, on kernels of ours. One place in the
// generator's sequence per call; nothing waits.
#include "csrc/ops/kernel_operands.h"
#include "csrc/ops/output.h"
#include "csrc/ops/random.h"
#include "csrc/routing/register.h"
#include "csrc/runtime/device.h"

#include <ATen/ExpandUtils.h>
#include <ATen/native/DistributionTemplates.h>
#include <ATen/native/TensorFactories.h>
#include <ATen/ops/leaky_relu.h>
#include <ATen/ops/sort.h>

#include <optional>
#include <vector>

namespace torch_fl::ops {

namespace {

using at::Generator;
using at::Tensor;
using MaybeGenerator = std::optional<Generator>;

void* memory_of(const Tensor& tensor) {
  return tensor.unsafeGetTensorImpl()->mutable_data();
}

const void* values_of(const Tensor& tensor) {
  return tensor.unsafeGetTensorImpl()->data();
}

// Where a kernel writes n elements in a row: the tensor itself if it can.
class Target {
 public:
  explicit Target(const Tensor& self)
      : self_(self), made_(
                         self.is_non_overlapping_and_dense()
                             ? self
                             : make_dense(self.sizes(), self.scalar_type())) {}
  const Tensor& tensor() const { return made_; }
  void finish() const {
    if (!made_.is_same(self_)) {
      copy_back(self_, made_);
    }
  }

 private:
  const Tensor& self_;
  const Tensor made_;
};

void fill(
    const char* name,
    FlDistribution what,
    const Tensor& self,
    double a,
    double b,
    const MaybeGenerator& generator) {
  check_place(self);
  const at::ScalarType type = self.scalar_type();
  TORCH_CHECK_NOT_IMPLEMENTED(
      has_kernel_type(type) && type != at::kBool &&
          (what == kFlGeometric || c10::isFloatingType(type)),
      "\"",
      name,
      "\" not implemented for '",
      type,
      "'");
  const runtime::DeviceScope scope(self.device());
  const Target target(self);
  const FlKernelType kernel = kernel_type(type);
  const FlSequence sequence =
      reserve_words(generator, fl_draw_words(kernel, self.numel()));
  FL_MUSA_CHECK(fl_draw(
      what,
      kernel,
      memory_of(target.tensor()),
      self.numel(),
      a,
      b,
      &sequence,
      kernel_stream()));
  target.finish();
}

// What upstream's templates call once they have checked the arguments.
template <class Rng>
struct ExponentialKernel {
  void operator()(
      at::TensorIteratorBase& iter,
      double rate,
      const MaybeGenerator& generator) const {
    fill("exponential", kFlExponential, iter.tensor(0), rate, 0, generator);
  }
};

template <class Rng>
struct GeometricKernel {
  void operator()(
      at::TensorIteratorBase& iter,
      double p,
      const MaybeGenerator& generator) const {
    fill("geometric", kFlGeometric, iter.tensor(0), p, 0, generator);
  }
};

template <class Rng>
struct CauchyKernel {
  void operator()(
      at::TensorIteratorBase& iter,
      double median,
      double sigma,
      const MaybeGenerator& generator) const {
    fill("cauchy", kFlCauchy, iter.tensor(0), median, sigma, generator);
  }
};

template <class Rng>
struct LogNormalKernel {
  void operator()(
      at::TensorIteratorBase& iter,
      double mean,
      double deviation,
      const MaybeGenerator& generator) const {
    fill(
        "log_normal",
        kFlLogNormal,
        iter.tensor(0),
        mean,
        deviation,
        generator);
  }
};

namespace checked = at::native::templates;
using Rng = rng::GeneratorImpl;

Tensor& exponential_(Tensor& self, double rate, MaybeGenerator g) {
  return checked::exponential_impl_<ExponentialKernel, Rng>(self, rate, g);
}

Tensor& geometric_(Tensor& self, double p, MaybeGenerator g) {
  return checked::geometric_impl_<GeometricKernel, Rng>(self, p, g);
}

Tensor& cauchy_(Tensor& self, double median, double sigma, MaybeGenerator g) {
  return checked::cauchy_impl_<CauchyKernel, Rng>(self, median, sigma, g);
}

Tensor& log_normal_(Tensor& self, double mean, double std, MaybeGenerator g) {
  return checked::log_normal_impl_<LogNormalKernel, Rng>(self, mean, std, g);
}

// Parameters and result of one dense shape.
Tensor draw_each(
    FlElementDistribution what,
    const Tensor& first,
    const Tensor& second,
    const MaybeGenerator& generator) {
  Tensor out = make_dense(first.sizes(), first.scalar_type());
  if (out.numel() == 0) {
    return out;
  }
  const FlSequence sequence =
      reserve_words(generator, 4 * static_cast<uint64_t>(out.numel()));
  FL_MUSA_CHECK(fl_draw_each(
      what,
      kernel_type(first.scalar_type()),
      memory_of(out),
      values_of(first),
      second.defined() ? values_of(second) : nullptr,
      out.numel(),
      &sequence,
      kernel_stream()));
  return out;
}

void check_floating(const char* name, const Tensor& tensor) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      c10::isFloatingType(tensor.scalar_type()) &&
          has_kernel_type(tensor.scalar_type()),
      "\"",
      name,
      "\" not implemented for '",
      tensor.scalar_type(),
      "'");
}

Tensor poisson(const Tensor& rate, MaybeGenerator generator) {
  check_place(rate);
  check_floating("poisson", rate);
  const runtime::DeviceScope scope(rate.device());
  return draw_each(kFlPoisson, rate.contiguous(), Tensor(), generator);
}

Tensor
binomial(const Tensor& count, const Tensor& prob, MaybeGenerator generator) {
  check_place(count);
  check_same_device(count, prob);
  check_floating("binomial", count);
  TORCH_CHECK(
      count.scalar_type() == prob.scalar_type(),
      "binomial: count and prob must have one dtype, got ",
      count.scalar_type(),
      " and ",
      prob.scalar_type());
  const runtime::DeviceScope scope(count.device());
  const std::vector<int64_t> sizes =
      at::infer_size(count.sizes(), prob.sizes());
  return draw_each(
      kFlBinomial,
      count.expand(sizes).contiguous(),
      prob.expand(sizes).contiguous(),
      generator);
}

// Sorting 64-bit numbers: two of them are equal in one of 2^64 / n^2 / 2 calls.
Tensor& randperm(int64_t n, MaybeGenerator generator, Tensor& out) {
  TORCH_CHECK(n >= 0, "n must be non-negative, got ", n);
  if (generator.has_value()) {
    TORCH_CHECK(
        generator->device().type() == out.device().type(),
        "Expected a '",
        out.device().type(),
        "' generator device but found '",
        generator->device().type(),
        "'");
  }
  at::native::check_supported_max_int_with_precision(n, out);
  const runtime::DeviceScope scope(out.device());
  out.resize_({n});
  if (n == 0) {
    return out;
  }
  const Tensor keys = make_dense({n}, at::kLong);
  const FlSequence sequence =
      reserve_words(generator, 2 * static_cast<uint64_t>(n));
  FL_MUSA_CHECK(fl_draw_bits(memory_of(keys), n, &sequence, kernel_stream()));
  out.copy_(std::get<1>(keys.sort()));
  return out;
}

Tensor row_major(const Tensor& given) {
  return given.is_contiguous() ? given : make_dense_like(given);
}

void run_rrelu(
    const Tensor& out,
    const Tensor& noise,
    const Tensor& self,
    double lower,
    double upper,
    const MaybeGenerator& generator) {
  const Tensor from = self.contiguous();
  const Tensor result = row_major(out);
  const Tensor slopes = row_major(noise);
  const FlKernelType kernel = kernel_type(self.scalar_type());
  const FlSequence sequence =
      reserve_words(generator, fl_draw_words(kernel, self.numel()));
  FL_MUSA_CHECK(fl_rrelu(
      kernel,
      memory_of(result),
      memory_of(slopes),
      values_of(from),
      self.numel(),
      lower,
      upper,
      &sequence,
      kernel_stream()));
  if (!result.is_same(out)) {
    copy_back(out, result);
  }
  if (!slopes.is_same(noise)) {
    copy_back(noise, slopes);
  }
}

Tensor& rrelu_out(
    const Tensor& self,
    Tensor& noise,
    const at::Scalar& lower,
    const at::Scalar& upper,
    bool training,
    MaybeGenerator generator,
    Tensor& out) {
  check_place(self);
  TORCH_CHECK(
      self.sym_sizes() == noise.sym_sizes(),
      "noise tensor shape must match self tensor shape. Got self.shape = ",
      self.sym_sizes(),
      " noise.shape = ",
      noise.sym_sizes());
  check_floating("rrelu_with_noise_out", self);
  check_same_device(self, noise);
  check_same_device(self, out);
  TORCH_CHECK(
      self.scalar_type() == noise.scalar_type() &&
          self.scalar_type() == out.scalar_type(),
      "rrelu_with_noise: self, noise and out must have one dtype, got ",
      self.scalar_type(),
      ", ",
      noise.scalar_type(),
      " and ",
      out.scalar_type());
  const runtime::DeviceScope scope(self.device());
  const double low = lower.toDouble();
  const double high = upper.toDouble();
  if (!training) {
    return at::leaky_relu_out(out, self, (low + high) / 2);
  }
  TORCH_CHECK(
      low <= high,
      "Lower bound should be less than or equal to the upper bound");
  if (!out.is_same(self)) {
    out.resize_as_(self);
  }
  if (self.numel() != 0) {
    run_rrelu(out, noise, self, low, high, generator);
  }
  return out;
}

Tensor rrelu(
    const Tensor& self,
    Tensor& noise,
    const at::Scalar& lower,
    const at::Scalar& upper,
    bool training,
    MaybeGenerator generator) {
  check_place(self);
  const runtime::DeviceScope scope(self.device());
  Tensor out = make_strided({0}, {}, self.options());
  return rrelu_out(self, noise, lower, upper, training, generator, out);
}

Tensor& rrelu_inplace(
    Tensor& self,
    Tensor& noise,
    const at::Scalar& lower,
    const at::Scalar& upper,
    bool training,
    MaybeGenerator generator) {
  return rrelu_out(self, noise, lower, upper, training, generator, self);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  routing::Registrar r(library);
  r.native<&exponential_>("exponential_");
  r.native<&geometric_>("geometric_");
  r.native<&cauchy_>("cauchy_");
  r.native<&log_normal_>("log_normal_");
  r.native<&poisson>("poisson");
  r.native<&binomial>("binomial");
  r.native<&randperm>("randperm.generator_out");
  r.native<&rrelu>("rrelu_with_noise");
  r.native<&rrelu_inplace>("rrelu_with_noise_");
  r.native<&rrelu_out>("rrelu_with_noise.out");
}

} // namespace

} // namespace torch_fl::ops
