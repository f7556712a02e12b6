// SPDX-License-Identifier: Apache-2.0
// Distributions that muRAND makes: uniform, normal, integers, Bernoulli.
// Nothing waits: scratch is reused in stream order.
#include "csrc/ops/random.h"
#include "csrc/mudnn/elementwise.h"
#include "csrc/ops/output.h"
#include "csrc/rng/murand.h"
#include "csrc/rng/range.h"
#include "csrc/routing/register.h"
#include "csrc/runtime/device.h"
#include "csrc/runtime/graph.h"

#include <ATen/ExpandUtils.h>
#include <ATen/native/DistributionTemplates.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/random_ops.h>
#include <ATen/ops/where.h>

#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

namespace torch_fl::ops {

namespace {

using at::Generator;
using at::Tensor;
using mudnn::Number;
using mudnn::Operands;
using mudnn::UnaryMode;
using MaybeGenerator = std::optional<Generator>;

// Where numbers are made: in the tensor itself if it is dense, of the type that
// muRAND writes and long enough, else in scratch that `finish` casts over.
class Numbers {
 public:
  Numbers(const Tensor& self, at::ScalarType type, int64_t count)
      : self_(self), count_(count) {
    const bool direct = self.scalar_type() == type && self.numel() == count &&
        self.is_non_overlapping_and_dense();
    made_ = direct ? self : make_dense({count}, type);
  }

  // Fills the tensor from `count` numbers of the generator.
  void draw(
      const MaybeGenerator& generator,
      uint64_t count,
      const rng::Make& make) const {
    rng::draw(
        generator,
        count,
        made_.unsafeGetTensorImpl()->mutable_data(),
        made_.nbytes(),
        make);
  }
  const Tensor& tensor() const { return made_; }

  // made = mode(made), elementwise.
  void apply(UnaryMode mode, const Number& alpha, const Number& beta = {}) {
    Operands operands;
    operands.put(made_, made_.scalar_type());
    operands.get(made_, made_.scalar_type());
    operands.dense(count_, made_.scalar_type());
    mudnn::unary(operands, mode, alpha, beta);
  }

  void finish() const {
    if (made_.is_same(self_)) {
      return;
    }
    if (self_.is_non_overlapping_and_dense()) {
      Operands operands;
      operands.put(self_, self_.scalar_type());
      operands.get(made_, made_.scalar_type());
      operands.dense(self_.numel(), made_.scalar_type());
      mudnn::cast_operand(operands);
    } else {
      copy_back(self_, made_.narrow(0, 0, self_.numel()).view(self_.sizes()));
    }
  }

 private:
  const Tensor& self_;
  Tensor made_;
  int64_t count_;
};

// Doubles are drawn as doubles, all narrower types as floats.
at::ScalarType drawn_type(const Tensor& self) {
  return self.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

// muRAND's uniform numbers lie in (0, 1]; a double takes two words.
void draw_uniform(Numbers& numbers, const MaybeGenerator& generator) {
  const auto count = static_cast<size_t>(numbers.tensor().numel());
  if (numbers.tensor().scalar_type() == at::kDouble) {
    numbers.draw(generator, 2 * count, [count](auto* murand, void* out) {
      rng::check(
          murandGenerateUniformDouble(murand, static_cast<double*>(out), count),
          "murandGenerateUniformDouble");
    });
  } else {
    numbers.draw(generator, count, [count](auto* murand, void* out) {
      rng::check(
          murandGenerateUniform(murand, static_cast<float*>(out), count),
          "murandGenerateUniform");
    });
  }
}

void fill_uniform(
    const Tensor& self,
    double from,
    double to,
    const MaybeGenerator& generator) {
  check_place(self);
  const runtime::DeviceScope scope(self.device());
  Numbers numbers(self, drawn_type(self), self.numel());
  draw_uniform(numbers, generator);
  // (0, 1] becomes [0, 1): 1 mod 1 is 0, everything else stays (quirk 86).
  numbers.apply(UnaryMode::FLOORMOD, Number(1.0));
  const bool unit = from == 0 && to == 1;
  if (!unit) {
    numbers.apply(UnaryMode::MUL, Number(to - from));
    numbers.apply(UnaryMode::ADD, Number(from));
  }
  // Rounding may reach `to`, which does not belong to the range.
  const bool rounds =
      !unit || numbers.tensor().scalar_type() != self.scalar_type();
  if (rounds && from < to) {
    const double last = rng::largest_below(to, self.scalar_type());
    numbers.apply(UnaryMode::CLIP, Number(from), Number(std::max(from, last)));
  }
  numbers.finish();
}

// muRAND makes normal numbers in pairs: an odd count is rounded up (quirk 86).
void fill_normal(
    const Tensor& self,
    double mean,
    double deviation,
    const MaybeGenerator& generator) {
  check_place(self);
  const runtime::DeviceScope scope(self.device());
  const int64_t even = self.numel() + self.numel() % 2;
  const Numbers numbers(self, drawn_type(self), even);
  const auto count = static_cast<size_t>(even);
  if (numbers.tensor().scalar_type() == at::kDouble) {
    numbers.draw(generator, 2 * count, [=](auto* murand, void* out) {
      rng::check(
          murandGenerateNormalDouble(
              murand,
              static_cast<double*>(out),
              count,
              mean,
              deviation),
          "murandGenerateNormalDouble");
    });
  } else {
    numbers.draw(generator, count, [=](auto* murand, void* out) {
      rng::check(
          murandGenerateNormal(
              murand,
              static_cast<float*>(out),
              count,
              static_cast<float>(mean),
              static_cast<float>(deviation)),
          "murandGenerateNormal");
    });
  }
  numbers.finish();
}

// base + one of `range` integers; a range of 0 means all 2^64. muRAND refuses
// 64-bit words with Philox, so a number is two 32-bit words (quirk 86).
void fill_integers(
    const Tensor& self,
    uint64_t range,
    int64_t base,
    const MaybeGenerator& generator) {
  check_place(self);
  const runtime::DeviceScope scope(self.device());
  Numbers numbers(self, at::kLong, self.numel());
  const auto words = 2 * static_cast<size_t>(self.numel());
  numbers.draw(generator, words, [words](auto* murand, void* out) {
    rng::check(
        murandGenerate(murand, static_cast<unsigned int*>(out), words),
        "murandGenerate");
  });
  constexpr auto kMax =
      static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  if (range > kMax) {
    // As unsigned numbers: those not below the range have it taken off once,
    // because it is more than half of all. Seen as signed ones, they are
    // negative and not below the range's signed value.
    const auto limit = static_cast<int64_t>(range);
    const Tensor& words_made = numbers.tensor();
    const Tensor beyond = words_made.lt(0).logical_and_(words_made.ge(limit));
    words_made.copy_(at::where(beyond, words_made.sub(limit), words_made));
  } else if (range != 0) {
    numbers.apply(UnaryMode::FLOORMOD, Number(static_cast<int64_t>(range)));
  }
  if (base != 0) {
    numbers.apply(UnaryMode::ADD, Number(base));
  }
  numbers.finish();
}

// All non-negative integers that the dtype holds exactly.
uint64_t whole_range(at::ScalarType type) {
  switch (type) {
  case at::kBool:
    return 2;
  case at::kByte:
    return uint64_t{1} << 8;
  case at::kChar:
    return uint64_t{1} << 7;
  case at::kShort:
    return uint64_t{1} << 15;
  case at::kInt:
    return uint64_t{1} << 31;
  case at::kLong:
    return uint64_t{1} << 63;
  case at::kHalf:
    return (uint64_t{1} << 11) + 1;
  case at::kBFloat16:
    return (uint64_t{1} << 8) + 1;
  case at::kFloat:
    return (uint64_t{1} << 24) + 1;
  case at::kDouble:
    return (uint64_t{1} << 53) + 1;
  default:
    TORCH_CHECK_NOT_IMPLEMENTED(
        false,
        "\"random_\" not implemented for '",
        type,
        "'");
  }
}

// True with probability p: numbers in (0, 1] are not greater than p.
void fill_bernoulli(
    const Tensor& self,
    double p,
    const MaybeGenerator& generator) {
  check_place(self);
  const runtime::DeviceScope scope(self.device());
  const Tensor drawn = make_dense({self.numel()}, drawn_type(self));
  Numbers numbers(drawn, drawn.scalar_type(), self.numel());
  draw_uniform(numbers, generator);
  const Numbers hits(self, at::kBool, self.numel());
  Operands operands;
  operands.put(hits.tensor(), at::kBool);
  operands.get(drawn, drawn.scalar_type());
  operands.dense(self.numel(), drawn.scalar_type());
  mudnn::unary_to_bool(operands, UnaryMode::LE, Number(p));
  hits.finish();
}

void fill_bernoulli(
    const Tensor& self,
    const Tensor& p,
    const MaybeGenerator& generator) {
  check_place(self);
  const runtime::DeviceScope scope(self.device());
  const at::ScalarType type =
      p.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const Tensor drawn = make_dense(self.sizes(), type);
  Numbers numbers(drawn, type, self.numel());
  draw_uniform(numbers, generator);
  const Tensor limits = p.to(self.device(), type);
  self.copy_(drawn.le(limits.expand(self.sizes())));
}

// What upstream's templates call once they have checked the arguments.
template <class Rng>
struct UniformKernel {
  void operator()(
      at::TensorIteratorBase& iter,
      double from,
      double to,
      const MaybeGenerator& generator) const {
    fill_uniform(iter.tensor(0), from, to, generator);
  }
};

template <class Rng>
struct NormalKernel {
  void operator()(
      const Tensor& self,
      double mean,
      double deviation,
      const MaybeGenerator& generator) const {
    fill_normal(self, mean, deviation, generator);
  }
};

template <class Rng>
struct IntegerKernel {
  void operator()(
      at::TensorIteratorBase& iter,
      uint64_t range,
      int64_t base,
      const MaybeGenerator& generator) const {
    fill_integers(iter.tensor(0), range, base, generator);
  }
  void operator()(at::TensorIteratorBase& iter, const MaybeGenerator& generator)
      const {
    fill_integers(iter.tensor(0), 0, 0, generator);
  }
};

template <class Rng>
struct WholeRangeKernel {
  void operator()(at::TensorIteratorBase& iter, const MaybeGenerator& generator)
      const {
    const Tensor& self = iter.tensor(0);
    fill_integers(self, whole_range(self.scalar_type()), 0, generator);
  }
};

template <class Rng>
struct BernoulliKernel {
  template <class P>
  void operator()(
      const Tensor& self,
      const P& p,
      const MaybeGenerator& generator) const {
    fill_bernoulli(self, p, generator);
  }
};

namespace checked = at::native::templates;
using Rng = rng::GeneratorImpl;

Tensor& uniform_(Tensor& self, double from, double to, MaybeGenerator g) {
  return checked::uniform_impl_<UniformKernel, Rng>(self, from, to, g);
}

Tensor& normal_(Tensor& self, double mean, double std, MaybeGenerator g) {
  return checked::normal_impl_<NormalKernel, Rng>(self, mean, std, g);
}

// muDNN's casts do not know the wider unsigned types.
bool is_foreign(const Tensor& self) {
  return self.device().is_privateuseone() &&
      !mudnn::has_dnn_type(self.scalar_type());
}

Tensor& random_(Tensor& self, MaybeGenerator g) {
  if (is_foreign(self)) {
    return routing::to_cpu<at::_ops::random_>::call(self, g);
  }
  return checked::random_impl<WholeRangeKernel, Rng>(self, g);
}

Tensor& random_to(Tensor& self, int64_t to, MaybeGenerator g) {
  if (is_foreign(self)) {
    return routing::to_cpu<at::_ops::random__to>::call(self, to, g);
  }
  return checked::random_from_to_impl<IntegerKernel, Rng>(self, 0, to, g);
}

Tensor& random_from(
    Tensor& self,
    int64_t from,
    std::optional<int64_t> to,
    MaybeGenerator g) {
  if (is_foreign(self)) {
    return routing::to_cpu<at::_ops::random__from>::call(self, from, to, g);
  }
  return checked::random_from_to_impl<IntegerKernel, Rng>(self, from, to, g);
}

Tensor& bernoulli_scalar(Tensor& self, double p, MaybeGenerator g) {
  return checked::bernoulli_impl_<BernoulliKernel, Rng>(self, p, g);
}

Tensor& bernoulli_tensor(Tensor& self, const Tensor& p, MaybeGenerator g) {
  return checked::bernoulli_impl_<BernoulliKernel, Rng>(self, p, g);
}

Tensor& bernoulli_out(const Tensor& p, MaybeGenerator g, Tensor& out) {
  return checked::bernoulli_out_impl<BernoulliKernel, Rng>(out, p, g);
}

// A read of the device, as upstream makes it; none while a graph is captured.
void check_deviation(const Tensor& std) {
  TORCH_CHECK(
      !std.is_complex(),
      "normal expects standard deviation to be non-complex");
  if (std.numel() != 0 &&
      runtime::capture_id(runtime::current_stream().handle()) == 0) {
    TORCH_CHECK(
        std.min().ge(0).item<bool>(),
        "normal expects all elements of std >= 0.0");
  }
}

// normal(mean, std) with a tensor on either side.
template <class Mean>
Tensor&
normal_out(Mean mean, const Tensor& std, MaybeGenerator g, Tensor& out) {
  check_place(out);
  check_same_device(out, std);
  const runtime::DeviceScope scope(out.device());
  check_deviation(std);
  if constexpr (std::is_same_v<Mean, double>) {
    at::native::resize_output(out, std.sizes());
  } else {
    at::native::resize_output(out, at::infer_size(mean.sizes(), std.sizes()));
  }
  return normal_(out, 0, 1, std::move(g)).mul_(std).add_(mean);
}

template <class Mean>
Tensor normal_made(Mean mean, const Tensor& std, MaybeGenerator g) {
  check_place(std);
  const runtime::DeviceScope scope(std.device());
  Tensor out;
  if constexpr (std::is_same_v<Mean, double>) {
    out = make_strided({0}, {}, std.options());
  } else {
    out = make_strided({0}, {}, mean.options());
  }
  return normal_out<Mean>(mean, std, std::move(g), out);
}

Tensor normal_of_mean(const Tensor& mean, double std, MaybeGenerator g) {
  return checked::normal_impl<NormalKernel, Rng>(mean, std, std::move(g));
}

Tensor& normal_of_mean_out(
    const Tensor& mean,
    double std,
    MaybeGenerator g,
    Tensor& out) {
  return checked::normal_out_impl<NormalKernel, Rng>(
      out,
      mean,
      std,
      std::move(g));
}

} // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  routing::Registrar registrar(library);
  registrar.native<&uniform_>("uniform_");
  registrar.native<&normal_>("normal_");
  registrar.native<&random_>("random_");
  registrar.native<&random_to>("random_.to");
  registrar.native<&random_from>("random_.from");
  registrar.native<&bernoulli_scalar>("bernoulli_.float");
  registrar.native<&bernoulli_tensor>("bernoulli_.Tensor");
  registrar.native<&bernoulli_out>("bernoulli.out");
  using T = const Tensor&;
  registrar.native<&normal_of_mean>("normal.Tensor_float");
  registrar.native<&normal_made<double>>("normal.float_Tensor");
  registrar.native<&normal_made<T>>("normal.Tensor_Tensor");
  registrar.native<&normal_of_mean_out>("normal.Tensor_float_out");
  registrar.native<&normal_out<double>>("normal.float_Tensor_out");
  registrar.native<&normal_out<T>>("normal.Tensor_Tensor_out");
}

} // namespace torch_fl::ops
