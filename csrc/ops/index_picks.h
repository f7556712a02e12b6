// SPDX-License-Identifier: Apache-2.0
// What index tensors pick out of a tensor, for the indexing operators that run
// on kernels of ours.
#pragma once

#include "csrc/kernels/index.h"

#include "csrc/kernels/segment.h"
#include "csrc/ops/sort.h"

#include <ATen/TensorIterator.h>
#include <ATen/core/IListRef.h>
#include <ATen/core/Tensor.h>

#include <array>
#include <vector>

namespace torch_fl::ops {

// 16 bytes: a number of any dtype, again and again.
using NumberBits = std::array<uint64_t, 2>;
NumberBits number_bits(const at::Scalar& number, at::ScalarType type);

// Index tensors of equal sizes; the range of each, and what a step of it is
// worth in elements.
struct Indexers {
  const char* name;                // of the operator; a literal
  bool from_end;                   // negative indices count from the end
  std::vector<at::Tensor> tensors; // INT64
  at::DimVector extents;
  at::DimVector steps;
};

// A tensor and what is picked of it: the indexed dimensions stand side by side
// after `before` others.
struct Picks {
  Indexers by;
  at::Tensor base;
  int64_t before;
  at::DimVector shape; // of the index tensors
};

// x[indices], as torch reads it: masks, gaps, broadcasting, transposition.
// Waits for the device if there is a mask.
Picks picks_of(
    const char* name,
    const at::Tensor& self,
    const at::IOptTensorListRef& indices);

// Of one dimension; index has at most one dimension.
Picks picks_along(
    const char* name,
    const at::Tensor& self,
    int64_t dim,
    const at::Tensor& index,
    bool from_end);

// base with `shape` in place of the indexed dimensions, with stride 0.
at::Tensor restrided(const Picks& picks);

// Where picks lie in memory, in elements: one number for each place of the
// index tensors, of dtype int32 or int64.
at::Tensor places_of(const Indexers& by, at::ScalarType type);

// The iterator's output = what its first input, which is restrided, has where
// its other inputs, one or more index tensors, point. by.tensors is not used.
void get_picks(at::TensorIteratorBase& iter, Indexers by);
// picked = dense, broadcast to its sizes; or picked = number.
void put_picks(const Picks& picks, const at::Tensor& dense);
void put_picks(const Picks& picks, const NumberBits& number);
// The same, and of equal indices the last one wins.
void put_last(const Picks& picks, const at::Tensor& dense);

// How the values of equal indices meet.
struct Fold {
  FlFold how = kFlSum;
  bool keep = true; // the element that was there takes part
  bool mean = false;
  int64_t skipped = -1; // this place is left out
  at::Scalar alpha = 1;
};
// picked = fold(picked, dense), the same at every run.
void fold_picks(const Picks& picks, const at::Tensor& dense, const Fold& fold);

// Of rows that are dense: keys of one dimension (int32 or int64, in range) name
// rows of target. Fields other than keys, order, target, source, n, scratch
// and alpha are taken from `v`.
void fold_rows(
    FlSegments v,
    const at::Tensor& target,
    const Sorted& sorted,
    const at::Tensor& source);

} // namespace torch_fl::ops
