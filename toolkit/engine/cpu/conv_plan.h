// SPDX-License-Identifier: Apache-2.0
// oneDNN primitives of a convolution pass, made once for its sizes and kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace musa_standin::engine::cpu {

enum class ConvPass : int32_t { kForward, kBackwardData, kBackwardFilter };
enum class ImageOrder : int32_t { kNchw, kNhwc };
enum class FilterOrder : int32_t { kOihw, kOhwi, kHwio };

// Sizes of a pass over n images; compared byte by byte, so without padding.
struct ConvShape {
  ConvPass pass;
  ImageOrder images;
  FilterOrder filter;
  int32_t groups;
  int64_t n;
  int64_t ic;
  int64_t ih;
  int64_t iw;
  int64_t oc;
  int64_t oh;
  int64_t ow;
  int64_t kh;
  int64_t kw;
  int32_t pad[2];
  int32_t stride[2];
  int32_t dilation[2];

  int64_t in_image() const { return ic * ih * iw; }
  int64_t out_image() const { return oc * oh * ow; }
  int64_t filter_size() const { return oc * (ic / groups) * kh * kw; }
  double flops_per_image() const {
    return 2.0 * static_cast<double>(oh * ow) *
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
