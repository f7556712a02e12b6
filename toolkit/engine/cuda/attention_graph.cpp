// SPDX-License-Identifier: Apache-2.0
// Graphs of several operations for cuDNN, node by node.
#include "toolkit/engine/cuda/attention_graph.h"

namespace musa_standin::engine::cuda {
namespace {

constexpr int64_t kAlignment = 16; // bytes, of every operand
constexpr int kRowAxis = 2;
constexpr int kKeyAxis = 3;

GraphDims dense(const GraphDims& dims) {
  return {dims[1] * dims[2] * dims[3], dims[2] * dims[3], dims[3], 1};
}

void set_bool(
    CudnnDescriptor& descriptor,
    cudnnBackendAttributeName_t name,
    bool value) {
  descriptor.set(name, CUDNN_TYPE_BOOLEAN, 1, &value);
}

} // namespace

GraphTensor& GraphBuilder::make(
    int64_t id,
    cudnnDataType_t type,
    const GraphDims& dims,
    const GraphDims& strides,
    bool is_virtual,
    bool by_value) {
  CudnnDescriptor d(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  d.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
  d.set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, dims.data());
  d.set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, strides.data());
  d.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, id);
  d.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, kAlignment);
  if (is_virtual)
    set_bool(d, CUDNN_ATTR_TENSOR_IS_VIRTUAL, true);
  if (by_value)
    set_bool(d, CUDNN_ATTR_TENSOR_IS_BY_VALUE, true);
  d.finalize();
  tensors_.push_back({std::move(d), dims});
  return tensors_.back();
}

GraphTensor& GraphBuilder::operand(
    int64_t id,
    cudnnDataType_t type,
    const GraphDims& dims,
    const GraphDims& strides) {
  return make(id, type, dims, strides, false, false);
}

GraphTensor& GraphBuilder::number(int64_t id) {
  const GraphDims one = {1, 1, 1, 1};
  return make(id, CUDNN_DATA_FLOAT, one, one, false, true);
}

GraphTensor& GraphBuilder::inner(cudnnDataType_t type, const GraphDims& dims) {
  return inner(type, dims, dense(dims));
}

GraphTensor& GraphBuilder::inner(
    cudnnDataType_t type,
    const GraphDims& dims,
    const GraphDims& strides) {
  return make(next_id_++, type, dims, strides, true, false);
}

void GraphBuilder::product_into(
    GraphTensor& a,
    GraphTensor& b,
    GraphTensor& out) {
  const cudnnDataType_t compute = CUDNN_DATA_FLOAT;
  CudnnDescriptor kind(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
  kind.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &compute);
  kind.finalize();
  CudnnDescriptor operation(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, a.descriptor);
  operation.set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, b.descriptor);
  operation.set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, out.descriptor);
  operation.set(CUDNN_ATTR_OPERATION_MATMUL_DESC, kind);
  operation.finalize();
  operations_.push_back(std::move(operation));
}

GraphTensor&
GraphBuilder::product(GraphTensor& a, GraphTensor& b, const GraphDims& dims) {
  GraphTensor& out = inner(CUDNN_DATA_FLOAT, dims);
  product_into(a, b, out);
  return out;
}

GraphTensor& GraphBuilder::product_narrow(
    GraphTensor& a,
    GraphTensor& b,
    const GraphDims& dims) {
  GraphTensor& out = inner(narrow_, dims);
  product_into(a, b, out);
  return out;
}

void GraphBuilder::pointwise(
    cudnnPointwiseMode_t mode,
    cudnnDataType_t precision,
    int64_t axis,
    GraphTensor& x,
    GraphTensor* b,
    GraphTensor* t,
    GraphTensor& out) {
  CudnnDescriptor kind(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  kind.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode);
  kind.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &precision);
  if (axis >= 0)
    kind.set(CUDNN_ATTR_POINTWISE_AXIS, axis);
  kind.finalize();
  CudnnDescriptor operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, kind);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x.descriptor);
  if (b != nullptr)
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, b->descriptor);
  if (t != nullptr)
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_TDESC, t->descriptor);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, out.descriptor);
  operation.finalize();
  operations_.push_back(std::move(operation));
}

void GraphBuilder::map_into(
    cudnnPointwiseMode_t mode,
    GraphTensor& x,
    GraphTensor& out) {
  pointwise(mode, CUDNN_DATA_FLOAT, -1, x, nullptr, nullptr, out);
}

GraphTensor& GraphBuilder::map(cudnnPointwiseMode_t mode, GraphTensor& x) {
  GraphTensor& out = inner(CUDNN_DATA_FLOAT, x.dims);
  map_into(mode, x, out);
  return out;
}

void GraphBuilder::map_into(
    cudnnPointwiseMode_t mode,
    GraphTensor& x,
    GraphTensor& b,
    GraphTensor& out) {
  pointwise(mode, CUDNN_DATA_FLOAT, -1, x, &b, nullptr, out);
}

GraphTensor&
GraphBuilder::map(cudnnPointwiseMode_t mode, GraphTensor& x, GraphTensor& b) {
  GraphTensor& out = inner(CUDNN_DATA_FLOAT, x.dims);
  map_into(mode, x, b, out);
  return out;
}

GraphTensor& GraphBuilder::map_narrow(
    cudnnPointwiseMode_t mode,
    GraphTensor& x,
    GraphTensor& b) {
  GraphTensor& out = inner(narrow_, x.dims);
  map_into(mode, x, b, out);
  return out;
}

GraphTensor& GraphBuilder::up_to_diagonal(
    GraphTensor& scores,
    GraphTensor& hidden) {
  GraphTensor& row = inner(CUDNN_DATA_INT32, scores.dims);
  GraphTensor& key = inner(CUDNN_DATA_INT32, scores.dims);
  GraphTensor& seen = inner(CUDNN_DATA_BOOLEAN, scores.dims);
  GraphTensor& out = inner(CUDNN_DATA_FLOAT, scores.dims);
  pointwise(
      CUDNN_POINTWISE_GEN_INDEX,
      CUDNN_DATA_FLOAT,
      kRowAxis,
      scores,
      nullptr,
      nullptr,
      row);
  pointwise(
      CUDNN_POINTWISE_GEN_INDEX,
      CUDNN_DATA_FLOAT,
      kKeyAxis,
      scores,
      nullptr,
      nullptr,
      key);
  pointwise(
      CUDNN_POINTWISE_CMP_GE,
      CUDNN_DATA_BOOLEAN,
      -1,
      row,
      &key,
      nullptr,
      seen);
  pointwise(
      CUDNN_POINTWISE_BINARY_SELECT,
      CUDNN_DATA_FLOAT,
      -1,
      scores,
      &hidden,
      &seen,
      out);
  return out;
}

void GraphBuilder::reduce_into(
    cudnnReduceTensorOp_t mode,
    GraphTensor& x,
    GraphTensor& out) {
  const cudnnDataType_t compute = CUDNN_DATA_FLOAT;
  CudnnDescriptor kind(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
  kind.set(
      CUDNN_ATTR_REDUCTION_OPERATOR,
      CUDNN_TYPE_REDUCTION_OPERATOR_TYPE,
      1,
      &mode);
  kind.set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &compute);
  kind.finalize();
  CudnnDescriptor operation(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, kind);
  operation.set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x.descriptor);
  operation.set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, out.descriptor);
  operation.finalize();
  operations_.push_back(std::move(operation));
}

GraphTensor& GraphBuilder::reduce(cudnnReduceTensorOp_t mode, GraphTensor& x) {
  GraphTensor& out =
      inner(CUDNN_DATA_FLOAT, {x.dims[0], x.dims[1], x.dims[2], 1});
  reduce_into(mode, x, out);
  return out;
}

GraphTensor& GraphBuilder::viewed(
    GraphTensor& x,
    const GraphDims& dims,
    const GraphDims& strides) {
  GraphTensor& out = inner(narrow_, dims, strides);
  CudnnDescriptor operation(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_RESHAPE_XDESC, x.descriptor);
  operation.set(CUDNN_ATTR_OPERATION_RESHAPE_YDESC, out.descriptor);
  operation.finalize();
  operations_.push_back(std::move(operation));
  return out;
}

GraphTensor& GraphBuilder::transposed_narrow(GraphTensor& x) {
  const GraphDims from = dense(x.dims);
  return viewed(
      x,
      {x.dims[0], x.dims[1], x.dims[3], x.dims[2]},
      {from[0], from[1], 1, x.dims[3]});
}

CudnnDescriptor GraphBuilder::graph(cudnnHandle_t handle) const {
  std::vector<cudnnBackendDescriptor_t> operations;
  operations.reserve(operations_.size());
  for (const CudnnDescriptor& operation : operations_)
    operations.push_back(operation.get());
  CudnnDescriptor made(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  made.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
  made.set(
      CUDNN_ATTR_OPERATIONGRAPH_OPS,
      CUDNN_TYPE_BACKEND_DESCRIPTOR,
      static_cast<int64_t>(operations.size()),
      operations.data());
  made.finalize();
  return made;
}

} // namespace musa_standin::engine::cuda
