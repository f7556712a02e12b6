// SPDX-License-Identifier: Apache-2.0
// torch's structured classes and stubs as kernels of an out-of-tree device.
#include "csrc/ops/structured.h"
#include "csrc/runtime/memcpy.h"

#include <ATen/Functions.h>
#include <ATen/native/BinaryOps.h>
#include <ATen/native/DispatchStub.h>
#include <ATen/ops/hypot_native.h>
#include <ATen/ops/nextafter_meta.h>
#include <ATen/ops/topk_meta.h>
#include <c10/core/DeviceType.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace torch_fl::ops {

namespace {

using at::Tensor;

// Python names the device in the product; autograd wants it named.
class Named : public testing::Environment {
 public:
  void SetUp() override { c10::register_privateuse1_backend("flagos"); }
};
const auto* const named = testing::AddGlobalTestEnvironment(new Named);

int stub_calls = 0;
int quick_calls = 0;
int impl_calls = 0;

at::Device flagos(c10::DeviceIndex index = 0) {
  return {at::kPrivateUse1, index};
}

Tensor on_device(const Tensor& tensor, c10::DeviceIndex index = 0) {
  return tensor.to(flagos(index));
}

// Operators of the test compute on the host: what is tested is the way there.
struct NextAfter : at::meta::structured_nextafter {
  static bool quick(at::ScalarType type) { return type == at::kFloat; }
  static void kernel(const mudnn::Operands& v) {
    ++quick_calls;
    ASSERT_TRUE(v.flat);
    const auto bytes = static_cast<size_t>(v.numel) * sizeof(float);
    std::vector<std::vector<float>> host(
        3,
        std::vector<float>(static_cast<size_t>(v.numel)));
    const runtime::Stream stream = runtime::current_stream();
    for (size_t a = 1; a < 3; ++a) {
      runtime::copy_async(
          host[a].data(),
          at::kCPU,
          v.addr[a],
          flagos(),
          bytes,
          stream);
    }
    stream.synchronize();
    for (size_t i = 0; i < host[0].size(); ++i) {
      host[0][i] = std::nextafter(host[1][i], host[2][i]);
    }
    runtime::copy_async(
        v.addr[0],
        flagos(),
        host[0].data(),
        at::kCPU,
        bytes,
        stream);
    stream.synchronize();
  }
  bool accepts(const Tensor& /*self*/, const Tensor& /*other*/) {
    return common_dtype() == at::kFloat;
  }
  void impl(const Tensor& self, const Tensor& other, const Tensor& out) {
    ++impl_calls;
    out.copy_(at::nextafter(self.cpu(), other.cpu()));
  }
};

struct TopK : at::meta::structured_topk {
  void impl(
      const Tensor& self,
      int64_t k,
      int64_t dim,
      bool largest,
      bool sorted,
      const Tensor& values,
      const Tensor& indices) {
    const auto found = at::topk(self.cpu(), k, dim, largest, sorted);
    values.copy_(std::get<0>(found));
    indices.copy_(std::get<1>(found));
  }
};

// Asks for columns, whatever the tensor given looks like.
struct ColumnMajor : at::impl::MetaBase {
  void meta(const Tensor& self) {
    set_output_strided(0, self.sizes(), {1, self.size(0)}, self.options());
  }
  void impl(const Tensor& self, const Tensor& out) {
    EXPECT_EQ(out.strides(), (std::vector<int64_t>{1, self.size(0)}));
    EXPECT_EQ(runtime::current_device(), self.device().index());
    out.copy_(self);
  }
};

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  routing::Registrar registrar(library);
  structured<at::native::structured_hypot_out>(
      registrar,
      "hypot",
      "hypot_",
      "hypot.out");
  structured<NextAfter>(registrar, "nextafter", "nextafter_", "nextafter.out");
}

void expect_same(const Tensor& ours, const Tensor& reference) {
  EXPECT_TRUE(ours.device().is_privateuseone());
  EXPECT_EQ(ours.scalar_type(), reference.scalar_type());
  EXPECT_EQ(ours.sizes(), reference.sizes());
  EXPECT_TRUE(ours.cpu().allclose(reference));
}

} // namespace

} // namespace torch_fl::ops

namespace at::native {

namespace {

void hypot_on_host(TensorIteratorBase& iter) {
  ++torch_fl::ops::stub_calls;
  const Tensor result = at::hypot(iter.tensor(1).cpu(), iter.tensor(2).cpu());
  iter.tensor(0).copy_(result);
}

} // namespace

REGISTER_PRIVATEUSE1_DISPATCH(hypot_stub, &hypot_on_host);

} // namespace at::native

namespace torch_fl::ops {

namespace {

TEST(Structured, an_upstream_class_reaches_our_stub) {
  const Tensor x = at::randn({3, 4});
  const Tensor y = at::randn({3, 4});
  stub_calls = 0;
  expect_same(at::hypot(on_device(x), on_device(y)), at::hypot(x, y));
  EXPECT_EQ(stub_calls, 1);
}

TEST(Structured, broadcasts_promotes_and_takes_any_strides) {
  const Tensor x = at::randn({3, 4});
  const Tensor row = at::randn({4});
  const Tensor wide = at::randn({4, 3}).to(at::kDouble).t();
  expect_same(at::hypot(on_device(x), on_device(row)), at::hypot(x, row));
  expect_same(at::hypot(on_device(x), on_device(wide)), at::hypot(x, wide));
}

TEST(Structured, differentiates) {
  const Tensor x = at::randn({3, 4});
  const Tensor y = at::randn({4});
  const auto gradient = [&](bool here) {
    Tensor leaf = (here ? on_device(x) : x.clone()).requires_grad_(true);
    const Tensor other = here ? on_device(y) : y;
    at::hypot(leaf, other).sum().backward();
    return leaf.grad();
  };
  expect_same(gradient(true), gradient(false));
}

TEST(Structured, in_place_writes_itself) {
  const Tensor x = at::randn({3, 4});
  const Tensor y = at::randn({3, 4});
  Tensor ours = on_device(x);
  const void* const address = ours.data_ptr();
  EXPECT_TRUE(ours.hypot_(on_device(y)).is_same(ours));
  EXPECT_EQ(ours.data_ptr(), address);
  expect_same(ours, at::hypot(x, y));
}

TEST(Structured, out_is_resized_kept_or_written_through_its_strides) {
  const Tensor x = on_device(at::randn({3, 4}));
  const Tensor y = on_device(at::randn({3, 4}));
  const Tensor reference = at::hypot(x.cpu(), y.cpu());
  Tensor empty = at::empty({0}, x.options());
  EXPECT_TRUE(at::hypot_out(empty, x, y).is_same(empty));
  expect_same(empty, reference);
  Tensor columns = at::empty({4, 3}, x.options()).t();
  at::hypot_out(columns, x, y);
  EXPECT_EQ(columns.strides(), (std::vector<int64_t>{1, 3}));
  expect_same(columns, reference);
}

TEST(Structured, says_what_torch_says) {
  const Tensor x = on_device(at::randn({3, 4}));
  Tensor whole = at::empty({3, 4}, x.options().dtype(at::kLong));
  EXPECT_THROW(at::hypot_out(whole, x, x), c10::Error);
  EXPECT_THROW(at::hypot(x, x.cpu()), c10::Error);
  EXPECT_THROW(at::hypot(x, at::randn({5}).to(flagos())), c10::Error);
  Tensor flat = x.view({-1});
  EXPECT_THROW(flat.slice(0, 1).hypot_(flat.slice(0, 0, 11)), c10::Error);
  EXPECT_THROW(x.clone().hypot_(at::randn({2, 3, 4}).to(flagos())), c10::Error);
}

TEST(Structured, equal_dense_operands_take_the_quick_road) {
  const Tensor x = on_device(at::randn({3, 4}));
  const Tensor y = on_device(at::randn({3, 4}));
  const auto quick = [](auto&& call) {
    quick_calls = 0;
    impl_calls = 0;
    const Tensor result = call();
    EXPECT_EQ(quick_calls + impl_calls, 1);
    return quick_calls == 1;
  };
  const Tensor reference = at::nextafter(x.cpu(), y.cpu());
  expect_same(at::nextafter(x, y), reference);
  EXPECT_TRUE(quick([&] { return at::nextafter(x, y); }));
  EXPECT_TRUE(quick([&] { return x.clone().nextafter_(y); }));
  Tensor out = at::empty({3, 4}, x.options());
  EXPECT_TRUE(quick([&] { return at::nextafter_out(out, x, y); }));
  expect_same(out, reference);
  EXPECT_TRUE(quick([&] { return at::nextafter_out(out, out, y); }));
  EXPECT_FALSE(quick([&] { return at::nextafter(x, y.slice(0, 0, 1)); }));
  EXPECT_FALSE(quick([&] { return at::nextafter(x.t(), y.t()); }));
  Tensor strided = at::empty({4, 3}, x.options()).t();
  EXPECT_FALSE(quick([&] { return at::nextafter_out(strided, x, y); }));
  expect_same(strided, reference);
  Tensor large = at::empty({3, 5}, x.options());
  EXPECT_FALSE(quick([&] { return at::nextafter_out(large, x, y); }));
  EXPECT_EQ(large.sizes(), x.sizes());
}

TEST(Structured, a_refused_dtype_goes_to_the_counted_fallback) {
  const Tensor x = on_device(at::randn({3}).to(at::kDouble));
  const Tensor y = at::add(x, 1);
  routing::reset_fallbacks();
  routing::set_strict(false);
  expect_same(at::nextafter(x, y), at::nextafter(x.cpu(), y.cpu()));
  Tensor in_place = x.clone();
  in_place.nextafter_(y);
  Tensor out = at::empty({0}, x.options());
  at::nextafter_out(out, x, y);
  const auto counts = routing::fallbacks();
  ASSERT_EQ(counts.size(), 3U);
  EXPECT_EQ(counts[0].raw, "aten::nextafter");
  EXPECT_EQ(counts[1].raw, "aten::nextafter.out");
  EXPECT_EQ(counts[2].raw, "aten::nextafter_");
  routing::set_strict(true);
  EXPECT_THROW(at::nextafter(x, x), c10::Error);
  routing::set_strict(false);
  routing::reset_fallbacks();
}

TEST(Structured, several_outputs) {
  const Tensor x = at::randn({3, 8});
  const auto reference = at::topk(x, 2, 1);
  const auto ours = FormsOf<TopK>::functional(on_device(x), 2, 1, true, true);
  expect_same(std::get<0>(ours), std::get<0>(reference));
  expect_same(std::get<1>(ours), std::get<1>(reference));
  Tensor values = at::empty({0}, on_device(x).options());
  Tensor indices = at::empty({0}, values.options().dtype(at::kLong));
  FormsOf<TopK>::out(on_device(x), 2, 1, true, true, values, indices);
  expect_same(values, std::get<0>(reference));
  expect_same(indices, std::get<1>(reference));
}

TEST(Structured, strict_strides_get_a_proxy_and_are_copied_back) {
  const Tensor x = on_device(at::randn({3, 4}));
  const Tensor made = FormsOf<ColumnMajor>::functional(x);
  EXPECT_EQ(made.strides(), (std::vector<int64_t>{1, 3}));
  Tensor rows = at::empty({3, 4}, x.options());
  FormsOf<ColumnMajor>::out(x, rows);
  EXPECT_EQ(rows.strides(), (std::vector<int64_t>{4, 1}));
  expect_same(rows, x.cpu());
  Tensor fresh = at::empty({0}, x.options());
  FormsOf<ColumnMajor>::out(x, fresh);
  EXPECT_EQ(fresh.strides(), (std::vector<int64_t>{1, 3}));
  Tensor half = at::empty({3, 4}, x.options().dtype(at::kHalf));
  EXPECT_THROW(FormsOf<ColumnMajor>::out(x, half), c10::Error);
  Tensor host = at::empty({3, 4});
  EXPECT_THROW(FormsOf<ColumnMajor>::out(x, host), c10::Error);
}

TEST(Structured, works_on_the_operands_device_and_comes_back) {
  if (runtime::device_count() < 2) {
    GTEST_SKIP() << "needs two devices";
  }
  const Tensor x = on_device(at::randn({3, 4}), 1);
  ASSERT_EQ(runtime::current_device(), 0);
  const Tensor made = FormsOf<ColumnMajor>::functional(x);
  EXPECT_EQ(made.device().index(), 1);
  EXPECT_EQ(at::hypot(x, x).device().index(), 1);
  EXPECT_EQ(runtime::current_device(), 0);
  EXPECT_THROW(at::hypot(x, on_device(at::randn({3, 4}))), c10::Error);
}

} // namespace

} // namespace torch_fl::ops
