// SPDX-License-Identifier: Apache-2.0
// Fill, Permute, Concat, gathers, scatters, scans, sorting and selecting.
#include "mudnn/array.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace conformance {
namespace {

const Type kAllTypes[] = {
    Type::FLOAT,
    Type::DOUBLE,
    Type::HALF,
    Type::BFLOAT16,
    Type::INT8,
    Type::INT16,
    Type::INT32,
    Type::INT64,
    Type::UINT8,
    Type::BOOL};

dnn::Tensor absent() {
  return dnn::Tensor();
}

} // namespace

CONFORMS(Fill_Run, success, every_type_and_stride) {
  for (const Type type : kAllTypes) {
    SCOPED_TRACE(type_name(type));
    Array out(type, {3, 4}, {10, 2}, Values(12, 0));
    const Values before = out.read_storage();
    dnn::Fill fill;
    if (is_floating(type)) {
      EXPECT_SUCCESS(fill.SetValue(1.0));
    } else {
      EXPECT_SUCCESS(fill.SetValue(int64_t{1}));
    }
    EXPECT_SUCCESS(fill.Run(handle(), out));
    expect_near(Values(12, 1), out, 0);
    const Values after = out.read_storage();
    for (std::size_t i = 0; i < after.size(); ++i) {
      if (i % 10 % 2 == 1 || i % 10 > 6) {
        EXPECT_EQ(before[i], after[i]) << "wrote between the strides, " << i;
      }
    }
  }
}

CONFORMS(Fill_Run, null, absent_output_is_refused) {
  dnn::Fill fill;
  EXPECT_SUCCESS(fill.SetValue(1.0));
  dnn::Tensor nothing = absent();
  EXPECT_REFUSED(fill.Run(handle(), nothing));
}

BEHAVES(Fill, mask_chooses_what_is_written) {
  Array out(Type::FLOAT, {2, 3}, {1, 2, 3, 4, 5, 6});
  const Array mask(Type::BOOL, {2, 3}, {1, 0, 1, 0, 0, 1});
  dnn::Fill fill;
  EXPECT_SUCCESS(fill.SetValue(9.0));
  EXPECT_SUCCESS(fill.Run(handle(), out, mask));
  expect_near({9, 2, 9, 4, 5, 9}, out, 0);
}

CONFORMS(Permute_Run, success, transposes_every_type) {
  for (const Type type : kAllTypes) {
    SCOPED_TRACE(type_name(type));
    const Values values = integers(24, 0, 1);
    Array in(type, {2, 3, 4}, values);
    Array out(type, {4, 2, 3});
    dnn::Tensor from = in.tensor();
    dnn::Tensor to = out.tensor();
    const int64_t order[] = {2, 0, 1};
    dnn::Permute permute;
    EXPECT_SUCCESS(permute.ConfigDimStride(to, from, 3, order));
    EXPECT_SUCCESS(permute.Run(handle(), to, from));
    Values expected(24);
    for (std::size_t i = 0; i < 2; ++i) {
      for (std::size_t j = 0; j < 3; ++j) {
        for (std::size_t k = 0; k < 4; ++k) {
          expected[k * 6 + i * 3 + j] = values[i * 12 + j * 4 + k];
        }
      }
    }
    expect_near(expected, out, 0);
  }
}
COVERS(
    Permute_ConfigDimStride,
    success,
    Permute_Run,
    success_transposes_every_type)

CONFORMS(Permute_Run, null, absent_operands_are_refused) {
  Array out(Type::FLOAT, {4});
  dnn::Permute permute;
  EXPECT_REFUSED(permute.Run(handle(), out, absent()));
}

CONFORMS(Permute_Run, INVALID_PARAMETER, sizes_differ) {
  Array out(Type::FLOAT, {4});
  const Array in(Type::FLOAT, {5}, {1, 2, 3, 4, 5});
  dnn::Permute permute;
  EXPECT_STATUS(Status::INVALID_PARAMETER, permute.Run(handle(), out, in));
}

CONFORMS(Permute_ConfigDimStrideForSlice, success, copies_a_slice) {
  Values values(24);
  std::iota(values.begin(), values.end(), 0);
  Array in(Type::FLOAT, {4, 6}, values);
  Array out(Type::FLOAT, {2, 2});
  dnn::Tensor from = in.tensor();
  dnn::Tensor to = out.tensor();
  const int64_t starts[] = {1, 1};
  const int64_t steps[] = {2, 3};
  dnn::Permute permute;
  EXPECT_SUCCESS(permute.ConfigDimStrideForSlice(to, from, starts, steps));
  EXPECT_SUCCESS(permute.Run(handle(), to, from));
  expect_near({7, 10, 19, 22}, out, 0);
}

CONFORMS(Concat_Run, success, along_each_axis) {
  const Array first(Type::FLOAT, {2, 2}, {1, 2, 3, 4});
  const Array second(Type::FLOAT, {2, 2}, {5, 6, 7, 8});
  const dnn::Tensor inputs[] = {first.tensor(), second.tensor()};
  dnn::Concat concat;
  Array rows(Type::FLOAT, {4, 2});
  EXPECT_SUCCESS(concat.SetAxis(0));
  EXPECT_SUCCESS(concat.Run(handle(), rows, 2, inputs));
  expect_near({1, 2, 3, 4, 5, 6, 7, 8}, rows, 0);
  Array columns(Type::FLOAT, {2, 4});
  EXPECT_SUCCESS(concat.SetAxis(1));
  EXPECT_SUCCESS(concat.Run(handle(), columns, 2, inputs));
  expect_near({1, 2, 5, 6, 3, 4, 7, 8}, columns, 0);
}

CONFORMS(Concat_Run, null, no_inputs_are_refused) {
  Array out(Type::FLOAT, {4});
  dnn::Concat concat;
  EXPECT_SUCCESS(concat.SetAxis(0));
  EXPECT_REFUSED(concat.Run(handle(), out, 1, nullptr));
}

CONFORMS(Concat_Run, INVALID_PARAMETER, sizes_do_not_add_up) {
  const Array first(Type::FLOAT, {2, 2}, {1, 2, 3, 4});
  const dnn::Tensor inputs[] = {first.tensor(), first.tensor()};
  Array out(Type::FLOAT, {5, 2});
  dnn::Concat concat;
  EXPECT_SUCCESS(concat.SetAxis(0));
  EXPECT_STATUS(
      Status::INVALID_PARAMETER,
      concat.Run(handle(), out, 2, inputs));
}

CONFORMS(Cum_Run, success, sums_and_products_along_dims) {
  for (const Type type :
       {Type::FLOAT, Type::DOUBLE, Type::INT32, Type::INT64}) {
    SCOPED_TRACE(type_name(type));
    const Array in(type, {2, 3}, {1, 2, 3, 4, 5, 6});
    Array out(type, {2, 3});
    dnn::Cum cum;
    EXPECT_SUCCESS(cum.SetMode(dnn::Cum::Mode::ADD));
    EXPECT_SUCCESS(cum.SetDim(1));
    EXPECT_SUCCESS(cum.Run(handle(), out, in, maintainer()));
    expect_near({1, 3, 6, 4, 9, 15}, out, 4);
    EXPECT_SUCCESS(cum.SetDim(0));
    EXPECT_SUCCESS(cum.Run(handle(), out, in, maintainer()));
    expect_near({1, 2, 3, 5, 7, 9}, out, 4);
    EXPECT_SUCCESS(cum.SetMode(dnn::Cum::Mode::MUL));
    EXPECT_SUCCESS(cum.Run(handle(), out, in, maintainer()));
    expect_near({1, 2, 3, 4, 10, 18}, out, 4);
  }
}

CONFORMS(Cum_Run, null, absent_operands_are_refused) {
  Array out(Type::FLOAT, {4});
  dnn::Cum cum;
  EXPECT_REFUSED(cum.Run(handle(), out, absent(), maintainer()));
}

CONFORMS(Cum_Run, INVALID_PARAMETER, dim_out_of_range) {
  const Array in(Type::FLOAT, {2}, {1, 2});
  Array out(Type::FLOAT, {2});
  dnn::Cum cum;
  EXPECT_SUCCESS(cum.SetDim(1));
  EXPECT_STATUS(
      Status::INVALID_PARAMETER,
      cum.Run(handle(), out, in, maintainer()));
}

CONFORMS(GatherX_Run, success, elements_and_slices) {
  const Array in(Type::FLOAT, {3, 2}, {1, 2, 3, 4, 5, 6});
  for (const Type index_type : {Type::INT32, Type::INT64}) {
    SCOPED_TRACE(type_name(index_type));
    dnn::GatherX gather;
    EXPECT_SUCCESS(gather.SetMode(dnn::GatherX::Mode::GATHER_ELEMENTS));
    EXPECT_SUCCESS(gather.SetAxis(0));
    const Array index(index_type, {2, 2}, {2, 0, 1, 1});
    Array out(Type::FLOAT, {2, 2});
    EXPECT_SUCCESS(gather.Run(handle(), out, index, in));
    expect_near({5, 2, 3, 4}, out, 0);
    EXPECT_SUCCESS(gather.SetMode(dnn::GatherX::Mode::GATHER));
    const Array rows(index_type, {4}, {2, 0, 0, 1});
    Array slices(Type::FLOAT, {4, 2});
    EXPECT_SUCCESS(gather.Run(handle(), slices, rows, in));
    expect_near({5, 6, 1, 2, 1, 2, 3, 4}, slices, 0);
  }
}

CONFORMS(GatherX_Run, null, absent_operands_are_refused) {
  const Array in(Type::FLOAT, {3, 2}, {1, 2, 3, 4, 5, 6});
  Array out(Type::FLOAT, {2, 2});
  dnn::GatherX gather;
  EXPECT_REFUSED(gather.Run(handle(), out, absent(), in));
}

CONFORMS(GatherX_Run, NOT_SUPPORTED, index_of_another_type) {
  const Array in(Type::FLOAT, {3, 2}, {1, 2, 3, 4, 5, 6});
  const Array index(Type::FLOAT, {1}, {0});
  Array out(Type::FLOAT, {1, 2});
  dnn::GatherX gather;
  EXPECT_SUCCESS(gather.SetMode(dnn::GatherX::Mode::GATHER));
  EXPECT_REFUSED(gather.Run(handle(), out, index, in));
}

CONFORMS(Scatter_Run, success, updates_and_adds) {
  const Array index(Type::INT64, {2, 2}, {0, 1, 2, 0});
  const Array update(Type::FLOAT, {2, 2}, {10, 20, 30, 40});
  dnn::Scatter scatter;
  Array self(Type::FLOAT, {3, 2}, {1, 2, 3, 4, 5, 6});
  EXPECT_SUCCESS(scatter.SetMode(dnn::Scatter::Mode::UPDATE_ONLY));
  EXPECT_SUCCESS(scatter.Run(handle(), self, index, update, 0, nullptr));
  expect_near({10, 40, 3, 20, 30, 6}, self, 0);
  Array sums(Type::FLOAT, {3, 2}, {1, 2, 3, 4, 5, 6});
  EXPECT_SUCCESS(scatter.SetMode(dnn::Scatter::Mode::ADD));
  EXPECT_SUCCESS(scatter.Run(handle(), sums, index, update, 0, maintainer()));
  expect_near({11, 42, 3, 24, 35, 6}, sums, 0);
  // Duplicates add up.
  const Array same(Type::INT64, {4}, {1, 1, 1, 0});
  const Array ones(Type::FLOAT, {4}, {1, 1, 1, 1});
  Array line(Type::FLOAT, {2}, {0, 0});
  EXPECT_SUCCESS(scatter.Run(handle(), line, same, ones, 0, maintainer()));
  expect_near({1, 3}, line, 0);
}

CONFORMS(Scatter_Run, null, absent_operands_are_refused) {
  const Array update(Type::FLOAT, {2}, {1, 2});
  Array self(Type::FLOAT, {3}, {1, 2, 3});
  dnn::Scatter scatter;
  EXPECT_REFUSED(
      scatter.Run(handle(), self, absent(), update, 0, maintainer()));
}

CONFORMS(Scatter_Run, INVALID_PARAMETER, dim_out_of_range) {
  const Array index(Type::INT64, {2}, {0, 1});
  const Array update(Type::FLOAT, {2}, {1, 2});
  Array self(Type::FLOAT, {3}, {1, 2, 3});
  dnn::Scatter scatter;
  EXPECT_STATUS(
      Status::INVALID_PARAMETER,
      scatter.Run(handle(), self, index, update, 1, maintainer()));
}

CONFORMS(Sort_Run, success, stable_in_both_directions) {
  for (const Type type :
       {Type::FLOAT,
        Type::DOUBLE,
        Type::HALF,
        Type::INT8,
        Type::INT16,
        Type::INT32,
        Type::INT64,
        Type::UINT8}) {
    SCOPED_TRACE(type_name(type));
    const Array in(type, {2, 5}, {3, 1, 3, 2, 1, 5, 5, 4, 0, 5});
    Array values(type, {2, 5});
    Array places(Type::INT64, {2, 5});
    dnn::Sort sort;
    EXPECT_SUCCESS(sort.SetDim(1));
    EXPECT_SUCCESS(sort.SetStable(true));
    EXPECT_SUCCESS(sort.Run(handle(), values, places, in, maintainer()));
    expect_near({1, 1, 2, 3, 3, 0, 4, 5, 5, 5}, values, 0);
    expect_near({1, 4, 3, 0, 2, 3, 2, 0, 1, 4}, places, 0);
    EXPECT_SUCCESS(sort.SetDescending(true));
    EXPECT_SUCCESS(sort.Run(handle(), values, places, in, maintainer()));
    expect_near({3, 3, 2, 1, 1, 5, 5, 5, 4, 0}, values, 0);
    expect_near({0, 2, 3, 1, 4, 0, 1, 4, 2, 3}, places, 0);
  }
}

CONFORMS(Sort_Run, null, absent_operands_are_refused) {
  Array values(Type::FLOAT, {5});
  Array places(Type::INT64, {5});
  dnn::Sort sort;
  EXPECT_REFUSED(sort.Run(handle(), values, places, absent(), maintainer()));
}

CONFORMS(TopK_Run, success, largest_and_smallest) {
  for (const Type type :
       {Type::FLOAT, Type::HALF, Type::BFLOAT16, Type::INT32, Type::DOUBLE}) {
    SCOPED_TRACE(type_name(type));
    const Array in(type, {2, 5}, {3, 1, 4, 2, 0, -1, 5, 9, 7, 8});
    Array values(type, {2, 2});
    Array places(Type::INT64, {2, 2});
    dnn::TopK topk;
    EXPECT_SUCCESS(topk.SetK(2));
    EXPECT_SUCCESS(topk.SetDim(1));
    EXPECT_SUCCESS(topk.SetLargest(true));
    EXPECT_SUCCESS(topk.SetSorted(true));
    EXPECT_SUCCESS(topk.Run(handle(), values, places, in, maintainer()));
    expect_near({4, 3, 9, 8}, values, 0);
    expect_near({2, 0, 2, 4}, places, 0);
    EXPECT_SUCCESS(topk.SetLargest(false));
    EXPECT_SUCCESS(topk.Run(handle(), values, places, in, maintainer()));
    expect_near({0, 1, -1, 5}, values, 0);
    expect_near({4, 1, 0, 1}, places, 0);
  }
}

CONFORMS(TopK_Run, null, absent_operands_are_refused) {
  Array values(Type::FLOAT, {2});
  Array places(Type::INT64, {2});
  dnn::TopK topk;
  EXPECT_SUCCESS(topk.SetK(2));
  EXPECT_REFUSED(topk.Run(handle(), values, places, absent(), maintainer()));
}

CONFORMS(TopK_Run, NOT_SUPPORTED, other_integers) {
  // Facts, 38.
  for (const Type type : {Type::INT64, Type::INT16, Type::INT8, Type::UINT8}) {
    SCOPED_TRACE(type_name(type));
    const Array in(type, {3}, {1, 2, 3});
    Array values(type, {1});
    Array places(Type::INT64, {1});
    dnn::TopK topk;
    EXPECT_SUCCESS(topk.SetK(1));
    EXPECT_SUCCESS(topk.SetDim(0));
    EXPECT_STATUS(
        Status::NOT_SUPPORTED,
        topk.Run(handle(), values, places, in, maintainer()));
  }
}

CONFORMS(Nonzero_Run, success, finds_and_counts) {
  for (const Type type : {Type::FLOAT, Type::BOOL, Type::UINT8}) {
    SCOPED_TRACE(type_name(type));
    const Array in(type, {2, 3}, {0, 1, 0, 1, 1, 0});
    Array out(Type::INT64, {6, 2});
    dnn::Nonzero nonzero;
    EXPECT_SUCCESS(nonzero.Run(handle(), out, in, maintainer()));
    Dims dims;
    EXPECT_SUCCESS(out.tensor().GetNdInfo(dims));
    EXPECT_EQ((Dims{3, 2}), dims);
    const Values found = out.read();
    EXPECT_EQ(
        (Values{0, 1, 1, 0, 1, 1}),
        Values(found.begin(), found.begin() + 6));
  }
}

CONFORMS(Nonzero_Run, null, absent_operands_are_refused) {
  Array out(Type::INT64, {6, 2});
  dnn::Nonzero nonzero;
  EXPECT_REFUSED(nonzero.Run(handle(), out, absent(), maintainer()));
}

CONFORMS(MaskedSelect_Run, success, selects_and_counts) {
  const Array in(Type::FLOAT, {2, 3}, {1, 2, 3, 4, 5, 6});
  const Array mask(Type::BOOL, {2, 3}, {1, 0, 0, 1, 0, 1});
  Array out(Type::FLOAT, {6});
  dnn::MaskedSelect select;
  EXPECT_SUCCESS(select.Run(handle(), out, in, mask, maintainer()));
  Dims dims;
  EXPECT_SUCCESS(out.tensor().GetNdInfo(dims));
  EXPECT_EQ((Dims{3}), dims);
  const Values found = out.read();
  EXPECT_EQ((Values{1, 4, 6}), Values(found.begin(), found.begin() + 3));
}

CONFORMS(MaskedSelect_Run, null, absent_operands_are_refused) {
  const Array in(Type::FLOAT, {2}, {1, 2});
  Array out(Type::FLOAT, {2});
  dnn::MaskedSelect select;
  EXPECT_REFUSED(select.Run(handle(), out, in, absent(), maintainer()));
}

} // namespace conformance
