// SPDX-License-Identifier: Apache-2.0
// Two-dimensional convolution and its gradients through muDNN.
#include "csrc/mudnn/convolution.h"

#include "csrc/mudnn/handle.h"
#include "csrc/mudnn/image.h"
#include "csrc/mudnn/workspace.h"
#include "csrc/runtime/device.h"

#include <array>
#include <cstring>
#include <mutex>
#include <unordered_map>

namespace torch_fl::mudnn {

namespace {

namespace dnn = ::musa::dnn;
using dnn::Status;
using Conv = dnn::Convolution;

enum class Pass { Forward, BackwardData, BackwardFilter };

// Everything that an algorithm may be accepted or refused for.
struct Key {
  std::array<int64_t, 12> sizes; // image, filter, result
  std::array<int, 12> rest;

  bool operator==(const Key& other) const {
    return sizes == other.sizes && rest == other.rest;
  }
};

struct KeyHash {
  size_t operator()(const Key& key) const {
    uint64_t hash = 14695981039346656037ULL;
    const auto mix = [&hash](uint64_t value) {
      hash = (hash ^ value) * 1099511628211ULL;
      hash ^= hash >> 29;
    };
    for (const int64_t size : key.sizes) {
      mix(static_cast<uint64_t>(size));
    }
    for (const int value : key.rest) {
      mix(static_cast<uint64_t>(value));
    }
    return static_cast<size_t>(hash);
  }
};

Key make_key(
    Pass pass,
    const at::Tensor& image,
    const at::Tensor& filter,
    const at::Tensor& result,
    const ConvGeometry& g,
    at::MemoryFormat layout) {
  Key key;
  for (size_t i = 0; i < 4; ++i) {
    const auto dim = static_cast<int64_t>(i);
    key.sizes[i] = image.size(dim);
    key.sizes[4 + i] = filter.size(dim);
    key.sizes[8 + i] = result.size(dim);
  }
  key.rest = {
      static_cast<int>(pass),
      static_cast<int>(image.scalar_type()),
      static_cast<int>(layout),
      static_cast<int>(runtime::current_device()),
      g.padding[0],
      g.padding[1],
      g.stride[0],
      g.stride[1],
      g.dilation[0],
      g.dilation[1],
      g.groups,
      0};
  return key;
}

// Accepted algorithms by configuration. A refused one prints a line on stderr
// inside muDNN (quirk 7), so each configuration is tried once per process, by
// one thread.
struct Cache {
  std::mutex mutex;
  std::unordered_map<Key, int, KeyHash> accepted;
  std::mutex trial;
};

Cache& cache() {
  static auto* const instance = new Cache;
  return *instance;
}

int find_accepted(const Key& key) {
  Cache& known = cache();
  const std::lock_guard<std::mutex> lock(known.mutex);
  const auto found = known.accepted.find(key);
  return found == known.accepted.end() ? -1 : found->second;
}

// Runs with the accepted algorithm, or finds one: what muDNN recommends may be
// refused by Run (quirk 55), then the others get their turn.
template <class Algorithm, class Recommend, class Run>
void run_with_algorithm(const Key& key, Recommend recommend, Run run) {
  int known = find_accepted(key);
  if (C10_LIKELY(known >= 0)) {
    FL_MUDNN_CHECK(run(static_cast<Algorithm>(known)));
    return;
  }
  const std::lock_guard<std::mutex> trial(cache().trial);
  known = find_accepted(key); // by the thread that had the lock before us
  if (known >= 0) {
    FL_MUDNN_CHECK(run(static_cast<Algorithm>(known)));
    return;
  }
  Algorithm first = Algorithm::IMPLICIT_GEMM;
  if (recommend(first) != Status::SUCCESS) {
    first = Algorithm::IMPLICIT_GEMM;
  }
  const Algorithm order[] = {
      first,
      Algorithm::IMPLICIT_GEMM,
      Algorithm::GEMM,
      Algorithm::DIRECT,
      Algorithm::WINOGRAD_NONFUSED};
  Status status = Status::NOT_SUPPORTED;
  for (size_t i = 0; i < std::size(order); ++i) {
    if (i > 0 && order[i] == first) {
      continue;
    }
    status = run(order[i]);
    if (status == Status::SUCCESS) {
      Cache& store = cache();
      const std::lock_guard<std::mutex> lock(store.mutex);
      store.accepted.emplace(key, static_cast<int>(order[i]));
      return;
    }
  }
  raise(status, "Convolution::Run with every algorithm");
}

void configure(Conv& op, const ConvGeometry& g) {
  FL_MUDNN_CHECK(
      op.SetNdInfo(2, g.padding.data(), g.stride.data(), g.dilation.data()));
  if (g.groups != 1) {
    FL_MUDNN_CHECK(op.SetGroups(g.groups));
  }
}

} // namespace

bool can_convolve(at::ScalarType type) {
  return type == at::kFloat || type == at::kHalf || type == at::kBFloat16;
}

void convolve(
    const at::Tensor& out,
    const at::Tensor& in,
    const at::Tensor& filter,
    const ConvGeometry& geometry,
    at::MemoryFormat layout) {
  dnn::Tensor result;
  dnn::Tensor image;
  dnn::Tensor weight;
  describe_image_output(result, out, layout);
  describe_image(image, in, layout);
  describe_image(weight, filter, layout);
  Conv op;
  configure(op, geometry);
  dnn::Handle& h = handle();
  run_with_algorithm<Conv::Algorithm>(
      make_key(Pass::Forward, in, filter, out, geometry, layout),
      [&](Conv::Algorithm& algorithm) {
        return op
            .GetRecommendForwardAlgorithm(h, algorithm, result, image, weight);
      },
      [&](Conv::Algorithm algorithm) {
        return op.Run(h, result, image, weight, algorithm, workspace());
      });
}

void convolve_backward_data(
    const at::Tensor& grad_in,
    const at::Tensor& grad_out,
    const at::Tensor& filter,
    const ConvGeometry& geometry,
    at::MemoryFormat layout) {
  dnn::Tensor result;
  dnn::Tensor gradient;
  dnn::Tensor weight;
  describe_image_output(result, grad_in, layout);
  describe_image(gradient, grad_out, layout);
  describe_image(weight, filter, layout);
  Conv op;
  configure(op, geometry);
  dnn::Handle& h = handle();
  run_with_algorithm<Conv::AlgorithmBwdData>(
      make_key(Pass::BackwardData, grad_in, filter, grad_out, geometry, layout),
      [&](Conv::AlgorithmBwdData& algorithm) {
        return op.GetRecommendBackwardDataAlgorithm(
            h,
            algorithm,
            result,
            gradient,
            weight);
      },
      [&](Conv::AlgorithmBwdData algorithm) {
        return op
            .RunBwdData(h, result, gradient, weight, algorithm, workspace());
      });
}

void convolve_backward_filter(
    const at::Tensor& grad_filter,
    const at::Tensor& in,
    const at::Tensor& grad_out,
    const ConvGeometry& geometry,
    at::MemoryFormat layout) {
  dnn::Tensor result;
  dnn::Tensor image;
  dnn::Tensor gradient;
  describe_image_output(result, grad_filter, layout);
  describe_image(image, in, layout);
  describe_image(gradient, grad_out, layout);
  Conv op;
  configure(op, geometry);
  dnn::Handle& h = handle();
  run_with_algorithm<Conv::AlgorithmBwdFilter>(
      make_key(
          Pass::BackwardFilter,
          in,
          grad_filter,
          grad_out,
          geometry,
          layout),
      [&](Conv::AlgorithmBwdFilter& algorithm) {
        return op.GetRecommendBackwardFilterAlgorithm(
            h,
            algorithm,
            result,
            image,
            gradient);
      },
      [&](Conv::AlgorithmBwdFilter algorithm) {
        return op
            .RunBwdFilter(h, result, image, gradient, algorithm, workspace());
      });
}

// RunFusion refuses a bias where H is 1 or with groups (quirk 56), so the bias
// is a broadcast sum of its own.
void add_channel_bias(const at::Tensor& out, const at::Tensor& bias) {
  dnn::Tensor result = writable(out);
  dnn::Tensor row;
  const int64_t strides[4] = {0, bias.stride(0), 0, 0};
  FL_MUDNN_CHECK(row.SetType(required_dnn_type(bias.scalar_type())));
  FL_MUDNN_CHECK(row.SetAddr(bias.unsafeGetTensorImpl()->data()));
  FL_MUDNN_CHECK(row.SetNdInfo(4, out.sizes().data(), strides));
  dnn::Binary op;
  FL_MUDNN_CHECK(op.SetMode(dnn::Binary::Mode::ADD));
  FL_MUDNN_CHECK(op.Run(plain_handle(), result, result, row));
}

// Reduce over several axes reads its input as dense and crashes on a broadcast
// one (quirks 26 and 28), and a keep-dim output is trusted for dense inputs
// only (29): the caller passes a dense gradient, the output has rank 1.
void sum_to_channels(
    const at::Tensor& grad_bias,
    const at::Tensor& grad_out,
    at::MemoryFormat layout) {
  dnn::Tensor result = writable(grad_bias);
  dnn::Tensor gradient;
  dnn::Reduce op;
  FL_MUDNN_CHECK(op.SetMode(dnn::Reduce::Mode::ADD));
  const auto sizes = grad_out.sizes();
  FL_MUDNN_CHECK(gradient.SetType(required_dnn_type(grad_out.scalar_type())));
  FL_MUDNN_CHECK(gradient.SetAddr(grad_out.unsafeGetTensorImpl()->data()));
  if (layout == at::MemoryFormat::ChannelsLast) {
    FL_MUDNN_CHECK(
        gradient.SetNdInfo({sizes[0] * sizes[2] * sizes[3], sizes[1]}));
    FL_MUDNN_CHECK(op.SetDim({0}));
  } else {
    FL_MUDNN_CHECK(
        gradient.SetNdInfo({sizes[0], sizes[1], sizes[2] * sizes[3]}));
    FL_MUDNN_CHECK(op.SetDim({0, 2}));
  }
  FL_MUDNN_CHECK(op.Run(plain_handle(), result, gradient, workspace()));
}

size_t convolution_cache_size() {
  Cache& known = cache();
  const std::lock_guard<std::mutex> lock(known.mutex);
  return known.accepted.size();
}

} // namespace torch_fl::mudnn
