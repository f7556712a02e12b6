// SPDX-License-Identifier: Apache-2.0
// Kernels that sample images at points.
#include "csrc/kernels/grid.h"

#include "csrc/kernels/grid_axis.h"
#include "csrc/kernels/pixels.h"

namespace torch_fl::kernels {
namespace {

constexpr int64_t kGrain = 2048;

// The points of a grid and the axes of the image. W: the rule of height and
// width, D: that of the depth.
template <class T, template <class> class W, template <class> class D>
struct Points {
  using C = typename Computed<T>::Type;
  static constexpr int kWide = W<C>::kTaps;
  static constexpr int kDeep = D<C>::kTaps;
  static constexpr int kTaps = kDeep * kWide * kWide;
  T* data;
  int64_t strides[5];
  bool deep;
  GridAxis<C> z;
  GridAxis<C> y;
  GridAxis<C> x;

  struct Taps {
    GridTaps<C, kDeep> z;
    GridTaps<C, kWide> y;
    GridTaps<C, kWide> x;
  };

  static Points of(const FlGrid& grid, const FlImage& in) {
    const auto axis = [&](int i) {
      return GridAxis<C>{
          static_cast<int32_t>(in.sizes[2 + i]),
          grid.padding,
          grid.align_corners != 0};
    };
    Points points{
        reachable<T>(grid.address),
        {},
        grid.rank == 3,
        axis(0),
        axis(1),
        axis(2)};
    for (int i = 0; i < 5; ++i) {
      points.strides[i] = grid.strides[i];
    }
    return points;
  }
  __host__ __device__ T* at(const Pixel& p) const {
    return data + p.n * strides[0] + p.z * strides[1] + p.y * strides[2] +
        p.x * strides[3];
  }
  __host__ __device__ Taps taps(const Pixel& p) const {
    const T* point = at(p);
    const auto own_x = static_cast<C>(point[0]);
    const auto own_y = static_cast<C>(point[strides[4]]);
    const C own_z = deep ? static_cast<C>(point[2 * strides[4]]) : C(0);
    return {D<C>::at(z, own_z), W<C>::at(y, own_y), W<C>::at(x, own_x)};
  }
};

template <class T, template <class> class W, template <class> class D>
struct Sample {
  using P = Points<T, W, D>;
  using C = typename P::C;
  Pixels pixels;
  Volume<T> out;
  Volume<T> in;
  P points;

  __host__ __device__ void at(const Pixel& p) const {
    const auto taps = points.taps(p);
    const T* plane = in.plane(p);
    C sum = 0;
    for (int a = 0; a < P::kDeep; ++a) {
      for (int b = 0; b < P::kWide; ++b) {
        if (taps.z.at[a] < 0 || taps.y.at[b] < 0) {
          continue;
        }
        const C weight = taps.z.weights[a] * taps.y.weights[b];
        const T* row = plane + in.inside(taps.z.at[a], taps.y.at[b], 0);
        for (int c = 0; c < P::kWide; ++c) {
          if (taps.x.at[c] >= 0) {
            sum += weight * taps.x.weights[c] *
                static_cast<C>(row[taps.x.at[c] * in.strides[4]]);
          }
        }
      }
    }
    out[p] = static_cast<T>(sum);
  }
};

// A thread a point, over all channels.
template <class T, template <class> class W, template <class> class D>
struct Gradient {
  using P = Points<T, W, D>;
  using C = typename P::C;
  Pixels pixels; // of one channel
  Volume<T> grad_out;
  Volume<T> in;
  P points;
  P gradient;
  int32_t channels;

  __host__ __device__ void at(const Pixel& p) const {
    const auto taps = points.taps(p);
    C z = 0;
    C y = 0;
    C x = 0;
    for (int a = 0; a < P::kDeep; ++a) {
      for (int b = 0; b < P::kWide; ++b) {
        for (int c = 0; c < P::kWide; ++c) {
          if (taps.z.at[a] < 0 || taps.y.at[b] < 0 || taps.x.at[c] < 0) {
            continue;
          }
          const T* value =
              in.plane(p) + in.inside(taps.z.at[a], taps.y.at[b], taps.x.at[c]);
          const T* grad = &grad_out[p];
          C sum = 0;
          for (int32_t k = 0; k < channels; ++k) {
            sum += static_cast<C>(value[k * in.strides[1]]) *
                static_cast<C>(grad[k * grad_out.strides[1]]);
          }
          const C wz = taps.z.weights[a];
          const C wy = taps.y.weights[b];
          const C wx = taps.x.weights[c];
          z += taps.z.slopes[a] * wy * wx * sum;
          y += wz * taps.y.slopes[b] * wx * sum;
          x += wz * wy * taps.x.slopes[c] * sum;
        }
      }
    }
    T* result = gradient.at(p);
    const int64_t step = gradient.strides[4];
    result[0] = static_cast<T>(x);
    result[step] = static_cast<T>(y);
    if (gradient.deep) {
      result[2 * step] = static_cast<T>(z);
    }
  }
};

template <class T, template <class> class W, template <class> class D>
struct TapList {
  using P = Points<T, W, D>;
  using C = typename P::C;
  Pixels pixels; // of one channel, dense
  P points;
  int64_t* keys;
  C* weights;
  int64_t outside;

  __host__ __device__ void operator()(int64_t i) const {
    const Pixel p = pixels.locate(i);
    const auto taps = points.taps(p);
    int64_t to = i * P::kTaps;
    for (int a = 0; a < P::kDeep; ++a) {
      for (int b = 0; b < P::kWide; ++b) {
        for (int c = 0; c < P::kWide; ++c) {
          const bool inside =
              taps.z.at[a] >= 0 && taps.y.at[b] >= 0 && taps.x.at[c] >= 0;
          const int64_t layer =
              static_cast<int64_t>(p.n) * points.z.size + taps.z.at[a];
          const int64_t row = layer * points.y.size + taps.y.at[b];
          keys[to] = inside ? row * points.x.size + taps.x.at[c] : outside;
          weights[to] =
              taps.z.weights[a] * taps.y.weights[b] * taps.x.weights[c];
          ++to;
        }
      }
    }
  }
};

struct Starts {
  int64_t* starts;
  const int64_t* sorted;
  int64_t n;

  __host__ __device__ void operator()(int64_t i) const {
    int64_t low = 0;
    int64_t high = n;
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      if (sorted[middle] < i) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    starts[i] = low;
  }
};

template <class T>
struct TapSum {
  using C = typename Computed<T>::Type;
  Pixels pixels;
  Volume<T> grad_in;
  Volume<T> grad_out;
  const int64_t* starts;
  const int64_t* order;
  const C* weights;
  Pixels points;    // of one channel of grad_out, dense
  int32_t shift;    // of the number of taps, a power of two
  int32_t sizes[3]; // of the image

  __host__ __device__ void at(const Pixel& p) const {
    const int64_t own =
        ((static_cast<int64_t>(p.n) * sizes[0] + p.z) * sizes[1] + p.y) *
            sizes[2] +
        p.x;
    const int64_t last = starts[own + 1];
    C sum = 0;
    for (int64_t e = starts[own]; e < last; ++e) {
      const int64_t tap = order[e];
      Pixel from = points.locate(tap >> shift);
      from.c = p.c;
      sum += weights[tap] * static_cast<C>(grad_out[from]);
    }
    grad_in[p] = static_cast<T>(sum);
  }
};

// An image's pixels without its channels, in the order of dense memory.
FlImage one_channel(const FlImage& image) {
  FlImage single = image;
  single.sizes[1] = 1;
  int64_t step = 1;
  for (int i = 4; i >= 0; --i) {
    single.strides[i] = step;
    step *= single.sizes[i];
  }
  return single;
}

// run<T, W, D>() for the types and the rules of a call.
template <class T, template <class> class W, template <class> class D>
struct Rules {
  using Type = T;
  using Sampler = Sample<T, W, D>;
  using Differ = Gradient<T, W, D>;
  using Lister = TapList<T, W, D>;
  using Reads = Points<T, W, D>;
};

template <class T, class Body>
musaError_t with_rules(const FlGrid& grid, const Body& body) {
  if (grid.rank == 3) {
    return grid.mode == kFlGridNearest
        ? body(Rules<T, GridNearest, GridNearest>())
        : body(Rules<T, GridLinear, GridLinear>());
  }
  switch (grid.mode) {
  case kFlGridNearest:
    return body(Rules<T, GridNearest, GridNone>());
  case kFlGridCubic:
    return body(Rules<T, GridCubic, GridNone>());
  default:
    return body(Rules<T, GridLinear, GridNone>());
  }
}

template <class Body>
musaError_t dispatch(FlKernelType type, const FlGrid& grid, const Body& body) {
  if (grid.rank == 3 && grid.mode == kFlGridCubic) {
    return musaErrorInvalidValue;
  }
  return floating(type, [&](auto of) {
    return with_rules<typename decltype(of)::Type>(grid, body);
  });
}

template <class T>
musaError_t tap_sum(
    const FlImage& grad_in,
    const FlImage& grad_out,
    const int64_t* starts,
    const int64_t* order,
    const void* weights,
    int32_t taps,
    musaStream_t stream) {
  using C = typename Computed<T>::Type;
  int32_t shift = 0;
  while ((1 << shift) < taps) {
    ++shift;
  }
  return for_each_pixel(
      "grid_sampler_backward",
      grad_in,
      kGrain,
      TapSum<T>{
          Pixels::of(grad_in),
          Volume<T>::of(grad_in),
          Volume<T>::of(grad_out),
          reachable<int64_t>(starts),
          reachable<int64_t>(order),
          reachable<C>(weights),
          Pixels::of(one_channel(grad_out)),
          shift,
          {static_cast<int32_t>(grad_in.sizes[2]),
           static_cast<int32_t>(grad_in.sizes[3]),
           static_cast<int32_t>(grad_in.sizes[4])}},
      stream);
}

} // namespace
} // namespace torch_fl::kernels

namespace k = torch_fl::kernels;

musaError_t fl_grid_sample(
    FlKernelType type,
    const FlImage* out,
    const FlImage* in,
    const FlGrid* grid,
    musaStream_t stream) {
  return k::dispatch(type, *grid, [&](auto rules) {
    using R = decltype(rules);
    using T = typename R::Type;
    return k::for_each_pixel(
        "grid_sampler",
        *out,
        k::kGrain,
        typename R::Sampler{
            k::Pixels::of(*out),
            k::Volume<T>::of(*out),
            k::Volume<T>::of(*in),
            R::Reads::of(*grid, *in)},
        stream);
  });
}

musaError_t fl_grid_gradient(
    FlKernelType type,
    const FlGrid* gradient,
    const FlImage* grad_out,
    const FlImage* in,
    const FlGrid* grid,
    musaStream_t stream) {
  return k::dispatch(type, *grid, [&](auto rules) {
    using R = decltype(rules);
    using T = typename R::Type;
    const FlImage points = k::one_channel(*grad_out);
    return k::for_each_pixel(
        "grid_sampler_gradient",
        points,
        k::kGrain / 8,
        typename R::Differ{
            k::Pixels::of(points),
            k::Volume<T>::of(*grad_out),
            k::Volume<T>::of(*in),
            R::Reads::of(*grid, *in),
            R::Reads::of(*gradient, *in),
            static_cast<int32_t>(in->sizes[1])},
        stream);
  });
}

int32_t fl_grid_tap_count(const FlGrid* grid) {
  if (grid->mode == kFlGridNearest) {
    return 1;
  }
  return grid->mode == kFlGridCubic ? 16 : grid->rank == 3 ? 8 : 4;
}

musaError_t fl_grid_taps(
    FlKernelType type,
    int64_t* keys,
    void* weights,
    const FlImage* grad_out,
    const FlImage* in,
    const FlGrid* grid,
    musaStream_t stream) {
  return k::dispatch(type, *grid, [&](auto rules) {
    using R = decltype(rules);
    const FlImage points = k::one_channel(*grad_out);
    return k::for_each(
        "grid_sampler_taps",
        k::Pixels::count(points),
        k::kGrain,
        typename R::Lister{
            k::Pixels::of(points),
            R::Reads::of(*grid, *in),
            k::reachable<int64_t>(keys),
            k::reachable<typename R::Reads::C>(weights),
            k::Pixels::count(k::one_channel(*in))},
        stream);
  });
}

musaError_t fl_grid_starts(
    int64_t* starts,
    int64_t pixels,
    const int64_t* sorted,
    int64_t n,
    musaStream_t stream) {
  return k::for_each(
      "grid_sampler_starts",
      pixels + 1,
      k::kGrain,
      k::Starts{
          k::reachable<int64_t>(starts),
          k::reachable<int64_t>(sorted),
          n},
      stream);
}

musaError_t fl_grid_sum(
    FlKernelType type,
    const FlImage* grad_in,
    const FlImage* grad_out,
    const int64_t* starts,
    const int64_t* order,
    const void* weights,
    int32_t taps,
    musaStream_t stream) {
  return k::floating(type, [&](auto of) {
    return k::tap_sum<typename decltype(of)::Type>(
        *grad_in,
        *grad_out,
        starts,
        order,
        weights,
        taps,
        stream);
  });
}
