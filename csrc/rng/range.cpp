// SPDX-License-Identifier: Apache-2.0
// The end of a half-open range in the numbers of a narrow dtype.
#include "csrc/rng/range.h"

#include <c10/util/BFloat16.h>
#include <c10/util/Exception.h>
#include <c10/util/Half.h>

#include <cmath>
#include <limits>

namespace torch_fl::rng {

namespace {

// The next value down of a 16-bit floating type: sign and magnitude.
template <class T>
T next_down(T value) {
  constexpr uint16_t kSign = 0x8000;
  if ((value.x & ~kSign) == 0) {
    value.x = kSign | 1;
  } else if ((value.x & kSign) != 0) {
    ++value.x;
  } else {
    --value.x;
  }
  return value;
}

template <class T>
double below(double limit) {
  const T nearest(static_cast<float>(limit));
  const auto value = static_cast<double>(static_cast<float>(nearest));
  return value < limit
      ? value
      : static_cast<double>(static_cast<float>(next_down(nearest)));
}

} // namespace

double largest_below(double limit, c10::ScalarType type) {
  switch (type) {
  case c10::ScalarType::Double:
    return std::nextafter(limit, -std::numeric_limits<double>::infinity());
  case c10::ScalarType::Float: {
    const auto nearest = static_cast<float>(limit);
    return static_cast<double>(nearest) < limit
        ? static_cast<double>(nearest)
        : static_cast<double>(
              std::nextafter(nearest, -std::numeric_limits<float>::infinity()));
  }
  case c10::ScalarType::Half:
    return below<c10::Half>(limit);
  case c10::ScalarType::BFloat16:
    return below<c10::BFloat16>(limit);
  default:
    TORCH_CHECK(false, "uniform_ needs a floating dtype, got ", type);
  }
}

} // namespace torch_fl::rng
