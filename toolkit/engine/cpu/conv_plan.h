// SPDX-License-Identifier: Apache-2.0
// oneDNN primitives of a convolution pass, made once for its sizes and kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace musa_standin::engine::cpu {

enum class ConvPass : int32_t { kForward, kBackwardData, kBackwardFilter };
// Channels before or after the spatial dimensions.
enum class ImageOrder : int32_t { kChannelsFirst, kChannelsLast };
// Output channels first, input channels before or after the spatial
// dimensions; or both after them.
enum class FilterOrder : int32_t {
  kChannelsFirst,
  kChannelsLast,
  kSpatialFirst
};

constexpr int kMaxSpatial = 3;

// Sizes of a pass over n images; compared byte by byte, so without padding.
// What depth has is 1 where there are two spatial dimensions.
struct ConvShape {
  ConvPass pass;
  ImageOrder images;
  FilterOrder filter;
  int32_t groups;
  int64_t spatial; // 2 or 3
  int64_t n;
  int64_t ic;
  int64_t oc;
  // Channels of the caller's memory: more than the above for a slice of them.
  int64_t in_channels;
  int64_t out_channels;
  int64_t in[kMaxSpatial]; // depth, height, width
  int64_t out[kMaxSpatial];
  int64_t kernel[kMaxSpatial];
  int64_t pad[kMaxSpatial];
  int64_t stride[kMaxSpatial];
  int64_t dilation[kMaxSpatial];

  [[nodiscard]] int64_t in_plane() const { return in[0] * in[1] * in[2]; }
  [[nodiscard]] int64_t out_plane() const { return out[0] * out[1] * out[2]; }
  [[nodiscard]] int64_t taps() const {
    return kernel[0] * kernel[1] * kernel[2];
  }
  [[nodiscard]] int64_t in_image() const { return ic * in_plane(); }
  [[nodiscard]] int64_t out_image() const { return oc * out_plane(); }
  [[nodiscard]] int64_t filter_size() const {
    return oc * (ic / groups) * taps();
  }
  [[nodiscard]] double flops_per_image() const {
    return 2.0 * static_cast<double>(out_plane()) *
        static_cast<double>(filter_size());
  }
};

// FLOAT operands, as the caller lays them out; one of them is the result.
struct ConvPointers {
  float* in;
  float* filter;
  float* out;
};

// A pass by one thread. Filters are brought into oneDNN's order apart, since
// all threads share them; images are brought there and back as it goes.
class ConvPlan {
 public:
  virtual ~ConvPlan() = default;
  ConvPlan(const ConvPlan&) = delete;
  ConvPlan& operator=(const ConvPlan&) = delete;

  // Floats of a filter in oneDNN's order; 0: the caller's order serves.
  [[nodiscard]] int64_t filter_floats() const { return filter_floats_; }
  // One filter into oneDNN's order (store: back).
  virtual void load_filter(const float* from, float* to) = 0;
  virtual void store_filter(const float* from, float* to) = 0;
  // `filter` is in oneDNN's order where filter_floats() is not 0.
  virtual void run(const ConvPointers& p) = 0;

 protected:
  ConvPlan() = default;
  int64_t filter_floats_ = 0;
};

// From the process's cache of the plans used last; made when there is none.
// Only engine threads call it: a plan is for one thread because theirs do not
// use OpenMP.
std::shared_ptr<ConvPlan> conv_plan(const ConvShape& shape);

// What filter_floats() of a plan for the shape, whatever its n, hardly ever
// exceeds.
int64_t filter_floats_bound(const ConvShape& shape);

} // namespace musa_standin::engine::cpu
