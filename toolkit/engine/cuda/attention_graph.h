// SPDX-License-Identifier: Apache-2.0
// Graphs of several operations for cuDNN, node by node.
#pragma once

#include "toolkit/engine/cuda/conv_problem.h"

#include <cudnn.h>

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

namespace musa_standin::engine::cuda {

using GraphDims = std::array<int64_t, 4>;

struct GraphTensor {
  CudnnDescriptor descriptor;
  GraphDims dims;
};

// Every tensor has four dimensions; pointwise operations and sums are made in
// float unless their result is a BOOLEAN or an index. Results of nodes are
// virtual but for those that are given.
class GraphBuilder {
 public:
  // The type of inner results that a product reads.
  explicit GraphBuilder(cudnnDataType_t narrow) : narrow_(narrow) {}

  // In memory, by the address that the variant pack has for the id.
  GraphTensor& operand(
      int64_t id,
      cudnnDataType_t type,
      const GraphDims& dims,
      const GraphDims& strides);
  // A float that the variant pack points at on the host.
  GraphTensor& number(int64_t id);

  GraphTensor& product(GraphTensor& a, GraphTensor& b, const GraphDims& dims);
  void product_into(GraphTensor& a, GraphTensor& b, GraphTensor& out);
  GraphTensor& map(cudnnPointwiseMode_t mode, GraphTensor& x);
  void map_into(cudnnPointwiseMode_t mode, GraphTensor& x, GraphTensor& out);
  GraphTensor& map(cudnnPointwiseMode_t mode, GraphTensor& x, GraphTensor& b);
  void map_into(
      cudnnPointwiseMode_t mode,
      GraphTensor& x,
      GraphTensor& b,
      GraphTensor& out);
  // The same with a result of the narrow type.
  GraphTensor&
  map_narrow(cudnnPointwiseMode_t mode, GraphTensor& x, GraphTensor& b);
  // Scores [N, H, L, S] up to each row's own position, `hidden` beyond it.
  GraphTensor& up_to_diagonal(GraphTensor& scores, GraphTensor& hidden);
  // Over the last dimension.
  GraphTensor& reduce(cudnnReduceTensorOp_t mode, GraphTensor& x);
  void
  reduce_into(cudnnReduceTensorOp_t mode, GraphTensor& x, GraphTensor& out);
  // The last two dimensions change places: another view of the same.
  GraphTensor& transposed_narrow(GraphTensor& x);
  // A view by dims and strides of an operand.
  GraphTensor&
  viewed(GraphTensor& x, const GraphDims& dims, const GraphDims& strides);
  // A result of the narrow type that a following reduction reads.
  GraphTensor&
  product_narrow(GraphTensor& a, GraphTensor& b, const GraphDims& dims);

  // Of all nodes so far.
  CudnnDescriptor graph(cudnnHandle_t handle) const;

 private:
  GraphTensor& inner(cudnnDataType_t type, const GraphDims& dims);
  GraphTensor&
  inner(cudnnDataType_t type, const GraphDims& dims, const GraphDims& strides);
  GraphTensor& make(
      int64_t id,
      cudnnDataType_t type,
      const GraphDims& dims,
      const GraphDims& strides,
      bool is_virtual,
      bool by_value);
  void pointwise(
      cudnnPointwiseMode_t mode,
      cudnnDataType_t precision,
      int64_t axis,
      GraphTensor& x,
      GraphTensor* b,
      GraphTensor* t,
      GraphTensor& out);

  cudnnDataType_t narrow_;
  int64_t next_id_ = 1000; // of virtual tensors
  std::deque<GraphTensor> tensors_;
  std::vector<CudnnDescriptor> operations_;
};

} // namespace musa_standin::engine::cuda
