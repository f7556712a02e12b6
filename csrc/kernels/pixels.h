// SPDX-License-Identifier: Apache-2.0
// From the number of an element to its place in a batch of images.
#pragma once

#include "csrc/kernels/image.h"
#include "csrc/kernels/launch.h"
#include "csrc/kernels/nest.h"
#include "csrc/kernels/scalar.h"

namespace torch_fl::kernels {

// What elements of T are summed and weighted in.
template <class T>
struct Computed {
  using Type = T;
};
template <>
struct Computed<Half> {
  using Type = float;
};
template <>
struct Computed<Bfloat16> {
  using Type = float;
};

// A type as a value: body(Of<T>()) in the two below.
template <class T>
struct Of {
  using Type = T;
};

// For a floating type; what others get is `other()`.
template <class Body, class Other>
musaError_t floating(FlKernelType type, Body body, Other other) {
  switch (type) {
  case kFlHalf:
    return body(Of<Half>());
  case kFlBfloat16:
    return body(Of<Bfloat16>());
  case kFlFloat:
    return body(Of<float>());
  case kFlDouble:
    return body(Of<double>());
  default:
    return other();
  }
}
template <class Body>
musaError_t floating(FlKernelType type, Body body) {
  return floating(type, body, [] { return musaErrorInvalidValue; });
}

// With an unsigned type of as many bits: for what only moves elements.
template <class Body>
musaError_t bits_of_type(FlKernelType type, Body body) {
  switch (type) {
  case kFlUint8:
  case kFlInt8:
  case kFlBool:
    return body(Of<uint8_t>());
  case kFlInt16:
  case kFlHalf:
  case kFlBfloat16:
    return body(Of<uint16_t>());
  case kFlInt32:
  case kFlFloat:
    return body(Of<uint32_t>());
  case kFlInt64:
  case kFlDouble:
    return body(Of<uint64_t>());
  default:
    return musaErrorInvalidValue;
  }
}

struct Pixel {
  int32_t n;
  int32_t c;
  int32_t z;
  int32_t y;
  int32_t x;
};

// Numbers pixels in the order of an image's memory, so that neighbouring
// threads meet neighbouring elements. No division below 2^31 elements.
struct Pixels {
  Divider by[4];
  int32_t sizes[4];
  bool channels_last;
  bool wide;

  static int64_t count(const FlImage& image) {
    int64_t numel = 1;
    for (const int64_t size : image.sizes) {
      numel *= size;
    }
    return numel;
  }

  static Pixels of(const FlImage& image) {
    Pixels pixels{};
    pixels.channels_last = image.sizes[1] > 1 && image.strides[1] == 1 &&
        image.sizes[2] * image.sizes[3] * image.sizes[4] > 1;
    pixels.wide = count(image) > INT32_MAX;
    const int plain[4] = {4, 3, 2, 1};
    const int last[4] = {1, 4, 3, 2};
    for (int i = 0; i < 4; ++i) {
      const int64_t size =
          image.sizes[pixels.channels_last ? last[i] : plain[i]];
      pixels.sizes[i] = static_cast<int32_t>(size);
      pixels.by[i] = Divider::by(size > 0 ? static_cast<uint32_t>(size) : 1);
    }
    return pixels;
  }

  __host__ __device__ Pixel locate(int64_t i) const {
    int32_t at[5];
    if (wide) {
      for (int d = 0; d < 4; ++d) {
        const int64_t rest = i / sizes[d];
        at[d] = static_cast<int32_t>(i - rest * sizes[d]);
        i = rest;
      }
      at[4] = static_cast<int32_t>(i);
    } else {
      auto n = static_cast<uint32_t>(i);
      for (int d = 0; d < 4; ++d) {
        const uint32_t rest = by[d].quotient(n);
        at[d] = static_cast<int32_t>(n - rest * by[d].divisor);
        n = rest;
      }
      at[4] = static_cast<int32_t>(n);
    }
    if (channels_last) {
      return {at[4], at[0], at[3], at[2], at[1]};
    }
    return {at[4], at[3], at[2], at[1], at[0]};
  }

  // The pixel after p.
  __host__ __device__ void advance(Pixel& p) const {
    int32_t* const plain[5] = {&p.x, &p.y, &p.z, &p.c, &p.n};
    int32_t* const last[5] = {&p.c, &p.x, &p.y, &p.z, &p.n};
    int32_t* const* const order = channels_last ? last : plain;
    for (int d = 0; d < 4; ++d) {
      if (++*order[d] < sizes[d]) {
        return;
      }
      *order[d] = 0;
    }
    ++*order[4];
  }
};

// A functor of elements out of one of pixels, F::at(p). On a host, where one
// thread does a run of them, only the first is located.
template <class F>
struct EachPixel {
  F f;

  __host__ __device__ void operator()(int64_t i) const {
    f.at(f.pixels.locate(i));
  }
  void range(int64_t begin, int64_t end) const {
    Pixel p = f.pixels.locate(begin);
    for (int64_t i = begin; i < end; ++i) {
      f.at(p);
      f.pixels.advance(p);
    }
  }
};

template <class F>
musaError_t for_each_pixel(
    const char* name,
    const FlImage& image,
    int64_t grain,
    const F& f,
    musaStream_t stream) {
  return for_each(name, Pixels::count(image), grain, EachPixel<F>{f}, stream);
}

// An image's memory as a kernel reaches it.
template <class T>
struct Volume {
  T* data;
  int64_t strides[5];

  static Volume of(const FlImage& image) {
    Volume volume{reachable<T>(image.address), {}};
    for (int i = 0; i < 5; ++i) {
      volume.strides[i] = image.strides[i];
    }
    return volume;
  }
  __host__ __device__ T* plane(const Pixel& p) const {
    return data + p.n * strides[0] + p.c * strides[1];
  }
  __host__ __device__ int64_t inside(int64_t z, int64_t y, int64_t x) const {
    return z * strides[2] + y * strides[3] + x * strides[4];
  }
  __host__ __device__ T& operator[](const Pixel& p) const {
    return plane(p)[inside(p.z, p.y, p.x)];
  }
};

} // namespace torch_fl::kernels
