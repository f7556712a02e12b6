// SPDX-License-Identifier: Apache-2.0
// Convolution in two and three dimensions and its gradients through muDNN.
#include "csrc/mudnn/convolution.h"

#include "csrc/mudnn/handle.h"
#include "csrc/mudnn/image.h"
#include "csrc/mudnn/workspace.h"
#include "csrc/runtime/device.h"
#include "csrc/runtime/event.h"
#include "csrc/runtime/graph.h"

#include <ATen/Context.h>
#include <c10/util/Exception.h>
#include <c10/util/SmallVector.h>

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
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
  std::array<int64_t, 15> sizes; // image, filter, result
  std::array<int, 16> rest;

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

// The last of Key::rest: what chooses besides the operands.
constexpr int kTf32 = 1;
constexpr int kDeterministic = 2;
constexpr int kTrial = 4;

// Behind handle(), which reads the TF32 flag.
int choice_flags() {
  const at::Context& torch = at::globalContext();
  const int tf32 = handle_slot.tf32 ? kTf32 : 0;
  if (torch.deterministicAlgorithms() || torch.deterministicCuDNN()) {
    return tf32 | kDeterministic;
  }
  return tf32 | (torch.benchmarkCuDNN() ? kTrial : 0);
}

Key make_key(
    Pass pass,
    const at::Tensor& image,
    const at::Tensor& filter,
    const at::Tensor& result,
    const ConvGeometry& g,
    at::MemoryFormat layout) {
  Key key{};
  for (size_t i = 0; i < static_cast<size_t>(g.spatial) + 2; ++i) {
    const auto dim = static_cast<int64_t>(i);
    key.sizes[i] = image.size(dim);
    key.sizes[5 + i] = filter.size(dim);
    key.sizes[10 + i] = result.size(dim);
  }
  key.rest = {
      static_cast<int>(pass),
      static_cast<int>(image.scalar_type()),
      static_cast<int>(layout),
      static_cast<int>(runtime::current_device()),
      g.spatial,
      g.padding[0],
      g.padding[1],
      g.padding[2],
      g.stride[0],
      g.stride[1],
      g.stride[2],
      g.dilation[0],
      g.dilation[1],
      g.dilation[2],
      g.groups,
      choice_flags()};
  return key;
}

// Chosen algorithms by configuration. A refused one prints a line on stderr
// inside muDNN (quirk 7), so each configuration is tried once per process, by
// one thread; trials of several would also disturb each other's times.
struct Cache {
  std::mutex mutex;
  std::unordered_map<Key, int, KeyHash> chosen;
  std::mutex trial;
};

Cache& cache() {
  static auto* const instance = new Cache;
  return *instance;
}

int find_chosen(const Key& key) {
  Cache& known = cache();
  const std::lock_guard<std::mutex> lock(known.mutex);
  const auto found = known.chosen.find(key);
  return found == known.chosen.end() ? -1 : found->second;
}

template <class Algorithm>
void choose(const Key& key, Algorithm algorithm) {
  Cache& known = cache();
  const std::lock_guard<std::mutex> lock(known.mutex);
  known.chosen.emplace(key, static_cast<int>(algorithm));
}

// What may be tried, best first. What muDNN recommends may be refused by Run
// (quirk 55), or be unstable where IMPLICIT_GEMM is not (57): the vendor calls
// no algorithm deterministic, this is the one that clients trust.
template <class Algorithm, class Recommend>
c10::SmallVector<Algorithm, 4> candidates(const Key& key, Recommend recommend) {
  Algorithm first = Algorithm::IMPLICIT_GEMM;
  if ((key.rest.back() & kDeterministic) != 0) {
    return {first};
  }
  if (recommend(first) != Status::SUCCESS) {
    first = Algorithm::IMPLICIT_GEMM;
  }
  c10::SmallVector<Algorithm, 4> order = {first};
  for (const Algorithm other :
       {Algorithm::IMPLICIT_GEMM,
        Algorithm::GEMM,
        Algorithm::DIRECT,
        Algorithm::WINOGRAD_NONFUSED}) {
    if (other != first) {
      order.push_back(other);
    }
  }
  return order;
}

// Events around the runs of a trial, on the current stream.
class TrialClock {
 public:
  static constexpr size_t kRuns = 3;

  TrialClock() : stream_(runtime::current_stream()) {
    for (auto& event : events_) {
      event.reset(runtime::take_event(stream_.device(), true));
    }
  }

  void mark(size_t run) { runtime::record_event(*events_[run], stream_); }

  // Waits for the last; the least is the one that nothing disturbed.
  [[nodiscard]] double least_ms() const {
    runtime::synchronize_event(*events_[kRuns]);
    double least = std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < kRuns; ++i) {
      least =
          std::min(least, runtime::elapsed_ms(*events_[i], *events_[i + 1]));
    }
    return least;
  }

 private:
  struct GiveBack {
    void operator()(runtime::PooledEvent* event) const noexcept {
      runtime::give_event(event);
    }
  };
  runtime::Stream stream_;
  std::array<std::unique_ptr<runtime::PooledEvent, GiveBack>, kRuns + 1>
      events_;
};

// Infinite for what is refused, or wants more workspace than there is. The
// first run prepares.
template <class Algorithm, class Run>
double trial_ms(Algorithm algorithm, Run run, TrialClock& clock) {
  try {
    for (size_t i = 0; i <= TrialClock::kRuns; ++i) {
      if (run(algorithm) != Status::SUCCESS) {
        return std::numeric_limits<double>::infinity();
      }
      clock.mark(i);
    }
  } catch (const c10::OutOfMemoryError&) {
    return std::numeric_limits<double>::infinity();
  }
  return clock.least_ms();
}

// Chooses the fastest; each run writes the caller's result. False if none ran.
template <class Algorithm, class Recommend, class Run>
bool try_all(const Key& key, Recommend recommend, Run run) {
  TrialClock clock;
  double least = std::numeric_limits<double>::infinity();
  Algorithm fastest{};
  for (const Algorithm algorithm : candidates<Algorithm>(key, recommend)) {
    const double ms = trial_ms(algorithm, run, clock);
    if (ms < least) {
      least = ms;
      fastest = algorithm;
    }
  }
  if (least == std::numeric_limits<double>::infinity()) {
    return false;
  }
  choose(key, fastest);
  return true;
}

// Runs the first that is accepted, and chooses it.
template <class Algorithm, class Recommend, class Run>
void run_first(const Key& key, Recommend recommend, Run run) {
  Status status = Status::NOT_SUPPORTED;
  for (const Algorithm algorithm : candidates<Algorithm>(key, recommend)) {
    status = run(algorithm);
    if (status == Status::SUCCESS) {
      choose(key, algorithm);
      return;
    }
  }
  raise(
      status,
      (key.rest.back() & kDeterministic) != 0
          ? "Convolution::Run with the deterministic algorithm"
          : "Convolution::Run with every algorithm");
}

// Runs with the chosen algorithm, or chooses one. With
// torch.backends.cudnn.benchmark that is by a trial, which waits for the device
// once per algorithm; a capture cannot wait, so that it takes what has been
// chosen, or what would be without the flag.
template <class Algorithm, class Recommend, class Run>
void run_with_algorithm(Key key, Recommend recommend, Run run) {
  int known = find_chosen(key);
  if (C10_UNLIKELY(known < 0)) {
    const std::lock_guard<std::mutex> lock(cache().trial);
    known = find_chosen(key); // by the thread that had the lock before us
    if (known < 0 && (key.rest.back() & kTrial) != 0) {
      const bool tried = !runtime::captures_underway() &&
          try_all<Algorithm>(key, recommend, run);
      if (!tried) {
        key.rest.back() &= ~kTrial;
      }
      known = find_chosen(key);
    }
    if (known < 0) {
      run_first<Algorithm>(key, recommend, run);
      return;
    }
  }
  FL_MUDNN_CHECK(run(static_cast<Algorithm>(known)));
}

void configure(Conv& op, const ConvGeometry& g) {
  FL_MUDNN_CHECK(op.SetNdInfo(
      g.spatial,
      g.padding.data(),
      g.stride.data(),
      g.dilation.data()));
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
  const int64_t strides[5] = {0, bias.stride(0), 0, 0, 0};
  FL_MUDNN_CHECK(row.SetType(required_dnn_type(bias.scalar_type())));
  FL_MUDNN_CHECK(row.SetAddr(bias.unsafeGetTensorImpl()->data()));
  FL_MUDNN_CHECK(
      row.SetNdInfo(static_cast<int>(out.dim()), out.sizes().data(), strides));
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
  const int64_t batch = grad_out.size(0);
  const int64_t channels = grad_out.size(1);
  const int64_t area = grad_out.numel() / (batch * channels);
  FL_MUDNN_CHECK(gradient.SetType(required_dnn_type(grad_out.scalar_type())));
  FL_MUDNN_CHECK(gradient.SetAddr(grad_out.unsafeGetTensorImpl()->data()));
  if (is_channels_last(layout)) {
    FL_MUDNN_CHECK(gradient.SetNdInfo({batch * area, channels}));
    FL_MUDNN_CHECK(op.SetDim({0}));
  } else {
    FL_MUDNN_CHECK(gradient.SetNdInfo({batch, channels, area}));
    FL_MUDNN_CHECK(op.SetDim({0, 2}));
  }
  FL_MUDNN_CHECK(op.Run(plain_handle(), result, gradient, workspace()));
}

size_t convolution_cache_size() {
  Cache& known = cache();
  const std::lock_guard<std::mutex> lock(known.mutex);
  return known.chosen.size();
}

} // namespace torch_fl::mudnn
