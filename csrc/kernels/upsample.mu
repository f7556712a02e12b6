// SPDX-License-Identifier: Apache-2.0
// Kernels that resize images: a thread an output, or an input in the backward
// passes.
#include "csrc/kernels/upsample.h"

#include "csrc/kernels/pixels.h"
#include "csrc/kernels/upsample_axis.h"

namespace torch_fl::kernels {
namespace {

constexpr int64_t kGrain = 4096;

template <class C>
SampleAxis<C>
axis_of(const FlSampling& s, const FlImage& in, const FlImage& out, int i) {
  return {
      static_cast<int32_t>(in.sizes[2 + i]),
      static_cast<int32_t>(out.sizes[2 + i]),
      static_cast<C>(s.scale[i]),
      s.align_corners != 0};
}

template <class C>
struct Axes {
  SampleAxis<C> z;
  SampleAxis<C> y;
  SampleAxis<C> x;

  static Axes of(const FlSampling& s, const FlImage& in, const FlImage& out) {
    return {
        axis_of<C>(s, in, out, 0),
        axis_of<C>(s, in, out, 1),
        axis_of<C>(s, in, out, 2)};
  }
};

// The input that an output copies.
template <class C, bool kExact>
struct Nearest {
  __host__ __device__ static int32_t at(
      const SampleAxis<C>& axis,
      int32_t out) {
    const C x = static_cast<C>(out) + (kExact ? C(0.5) : C(0));
    return clamp_to(static_cast<int64_t>(floor_of(x * axis.scale)), axis.in);
  }
};

template <class T, class C, bool kExact>
struct NearestForward {
  using N = Nearest<C, kExact>;
  Pixels pixels;
  Volume<T> out;
  Volume<T> in;
  Axes<C> axes;

  __host__ __device__ void at(const Pixel& p) const {
    out[p] = in.plane(p)[in.inside(
        N::at(axes.z, p.z),
        N::at(axes.y, p.y),
        N::at(axes.x, p.x))];
  }
};

template <class T, bool kExact>
struct NearestBackward {
  using C = typename Computed<T>::Type;
  using N = Nearest<C, kExact>;
  Pixels pixels;
  Volume<T> grad_in;
  Volume<T> grad_out;
  Axes<C> axes;

  __host__ __device__ void at(const Pixel& p) const {
    int32_t first[3];
    int32_t last[3];
    axes.z.readers(p.z, 0, first[0], last[0]);
    axes.y.readers(p.y, 0, first[1], last[1]);
    axes.x.readers(p.x, 0, first[2], last[2]);
    const T* plane = grad_out.plane(p);
    C sum = 0;
    for (int32_t a = first[0]; a < last[0]; ++a) {
      if (N::at(axes.z, a) != p.z) {
        continue;
      }
      for (int32_t b = first[1]; b < last[1]; ++b) {
        if (N::at(axes.y, b) != p.y) {
          continue;
        }
        for (int32_t c = first[2]; c < last[2]; ++c) {
          if (N::at(axes.x, c) == p.x) {
            sum += static_cast<C>(plane[grad_out.inside(a, b, c)]);
          }
        }
      }
    }
    grad_in[p] = static_cast<T>(sum);
  }
};

// W: Linear or Cubic. An axis that keeps its size has one tap of Linear.
template <class T, template <class> class W>
struct WeightedForward {
  using C = typename Computed<T>::Type;
  Pixels pixels;
  Volume<T> out;
  Volume<T> in;
  Axes<C> axes;
  int32_t depth_taps;
  int32_t height_taps;
  int32_t width_taps;

  __host__ __device__ void at(const Pixel& p) const {
    const auto deep = Linear<C>::at(axes.z, p.z);
    const auto high = W<C>::at(axes.y, p.y);
    const auto wide = W<C>::at(axes.x, p.x);
    const T* plane = in.plane(p);
    C sum = 0;
    for (int a = 0; a < depth_taps; ++a) {
      const int32_t z = clamp_to(deep.first + a, axes.z.in);
      C layer = 0;
      for (int b = 0; b < height_taps; ++b) {
        const int32_t y = clamp_to(high.first + b, axes.y.in);
        const T* row = plane + in.inside(z, y, 0);
        C line = 0;
        for (int c = 0; c < width_taps; ++c) {
          const int32_t x = clamp_to(wide.first + c, axes.x.in);
          line += wide.weights[c] * static_cast<C>(row[x * in.strides[4]]);
        }
        layer += high.weights[b] * line;
      }
      sum += deep.weights[a] * layer;
    }
    out[p] = static_cast<T>(sum);
  }
};

// What an output takes from one input along an axis.
template <class C, class W>
__host__ __device__ C
share(const SampleAxis<C>& axis, int32_t out, int32_t in, int taps) {
  const auto t = W::at(axis, out);
  C sum = 0;
  for (int k = 0; k < taps; ++k) {
    sum += clamp_to(t.first + k, axis.in) == in ? t.weights[k] : C(0);
  }
  return sum;
}

template <class T, template <class> class W>
struct WeightedBackward {
  using C = typename Computed<T>::Type;
  Pixels pixels;
  Volume<T> grad_in;
  Volume<T> grad_out;
  Axes<C> axes;
  int32_t depth_taps;
  int32_t height_taps;
  int32_t width_taps;

  __host__ __device__ void at(const Pixel& p) const {
    int32_t first[3];
    int32_t last[3];
    axes.z.readers(p.z, 1, first[0], last[0]);
    axes.y.readers(p.y, W<C>::kReach, first[1], last[1]);
    axes.x.readers(p.x, W<C>::kReach, first[2], last[2]);
    const T* plane = grad_out.plane(p);
    C sum = 0;
    for (int32_t a = first[0]; a < last[0]; ++a) {
      const C deep = share<C, Linear<C>>(axes.z, a, p.z, depth_taps);
      if (deep == C(0)) {
        continue;
      }
      for (int32_t b = first[1]; b < last[1]; ++b) {
        const C high = deep * share<C, W<C>>(axes.y, b, p.y, height_taps);
        if (high == C(0)) {
          continue;
        }
        for (int32_t c = first[2]; c < last[2]; ++c) {
          const C wide = share<C, W<C>>(axes.x, c, p.x, width_taps);
          if (wide != C(0)) {
            sum +=
                high * wide * static_cast<C>(plane[grad_out.inside(a, b, c)]);
          }
        }
      }
    }
    grad_in[p] = static_cast<T>(sum);
  }
};

__host__ __device__ inline int32_t along(const Pixel& p, int axis) {
  return axis == 0 ? p.z : axis == 1 ? p.y : p.x;
}
__host__ __device__ inline Pixel moved(Pixel p, int axis, int32_t to) {
  (axis == 0 ? p.z : axis == 1 ? p.y : p.x) = to;
  return p;
}

template <class T>
struct FilterForward {
  using C = typename Computed<T>::Type;
  Pixels pixels;
  Volume<T> out;
  Volume<T> in;
  FilterAxis<C> filter;
  int32_t axis;

  __host__ __device__ void at(const Pixel& p) const {
    const C center = filter.center(along(p, axis));
    int32_t first = 0;
    int32_t last = 0;
    filter.window(center, first, last);
    const T* line = &in[moved(p, axis, 0)];
    const int64_t step = in.strides[2 + axis];
    C sum = 0;
    C total = 0;
    for (int32_t k = first; k < last; ++k) {
      const C weight = filter.weight(center, k);
      total += weight;
      sum += weight * static_cast<C>(line[k * step]);
    }
    out[p] = static_cast<T>(total != C(0) ? sum / total : sum);
  }
};

template <class T>
struct FilterBackward {
  using C = typename Computed<T>::Type;
  Pixels pixels;
  Volume<T> grad_in;
  Volume<T> grad_out;
  FilterAxis<C> filter;
  int32_t axis;

  __host__ __device__ void at(const Pixel& p) const {
    const int32_t own = along(p, axis);
    int32_t first = 0;
    int32_t last = 0;
    filter.readers(own, first, last);
    const T* line = &grad_out[moved(p, axis, 0)];
    const int64_t step = grad_out.strides[2 + axis];
    C sum = 0;
    for (int32_t o = first; o < last; ++o) {
      const C center = filter.center(o);
      int32_t begin = 0;
      int32_t end = 0;
      filter.window(center, begin, end);
      if (own < begin || own >= end) {
        continue;
      }
      C total = 0;
      for (int32_t k = begin; k < end; ++k) {
        total += filter.weight(center, k);
      }
      const C weight = filter.weight(center, own);
      sum += (total != C(0) ? weight / total : weight) *
          static_cast<C>(line[o * step]);
    }
    grad_in[p] = static_cast<T>(sum);
  }
};

// An operator with its images.
struct Task {
  const FlImage& result; // what the threads write
  const FlImage& in;
  const FlImage& out;
  musaStream_t stream;

  template <class F>
  musaError_t run(const char* name, const F& f) const {
    return for_each_pixel(name, result, kGrain, f, stream);
  }
};

template <class T, class C>
musaError_t nearest(const Task& t, const FlSampling& s) {
  const auto pixels = Pixels::of(t.out);
  const auto out = Volume<T>::of(t.out);
  const auto in = Volume<T>::of(t.in);
  const auto axes = Axes<C>::of(s, t.in, t.out);
  if (s.kind == kFlNearest) {
    return t.run(
        "upsample_nearest",
        NearestForward<T, C, false>{pixels, out, in, axes});
  }
  return t.run(
      "upsample_nearest_exact",
      NearestForward<T, C, true>{pixels, out, in, axes});
}

template <
    template <class, template <class> class> class F,
    class T,
    template <class> class W>
F<T, W> weighted(const Task& t, const FlSampling& s) {
  using C = typename Computed<T>::Type;
  const auto axes = Axes<C>::of(s, t.in, t.out);
  const auto taps = [](const SampleAxis<C>& axis) {
    return W<C>::kTaps == 2 && axis.same() ? 1 : W<C>::kTaps;
  };
  return F<T, W>{
      Pixels::of(t.result),
      Volume<T>::of(t.result),
      Volume<T>::of(&t.result == &t.in ? t.out : t.in),
      axes,
      axes.z.same() ? 1 : 2,
      taps(axes.y),
      taps(axes.x)};
}

template <class T>
musaError_t forward(const Task& t, const FlSampling& s) {
  if (s.kind == kFlLinear) {
    return t.run("upsample_linear", weighted<WeightedForward, T, Linear>(t, s));
  }
  return t.run("upsample_cubic", weighted<WeightedForward, T, Cubic>(t, s));
}

template <class T>
musaError_t backward(const Task& t, const FlSampling& s) {
  using C = typename Computed<T>::Type;
  if (s.kind == kFlLinear) {
    return t.run(
        "upsample_linear_backward",
        weighted<WeightedBackward, T, Linear>(t, s));
  }
  if (s.kind == kFlCubic) {
    return t.run(
        "upsample_cubic_backward",
        weighted<WeightedBackward, T, Cubic>(t, s));
  }
  const auto pixels = Pixels::of(t.in);
  const auto grad_in = Volume<T>::of(t.in);
  const auto grad_out = Volume<T>::of(t.out);
  const auto axes = Axes<C>::of(s, t.in, t.out);
  if (s.kind == kFlNearest) {
    return t.run(
        "upsample_nearest_backward",
        NearestBackward<T, false>{pixels, grad_in, grad_out, axes});
  }
  return t.run(
      "upsample_nearest_exact_backward",
      NearestBackward<T, true>{pixels, grad_in, grad_out, axes});
}

template <template <class> class F, class T>
musaError_t filtered(const char* name, const Task& t, const FlFilter& filter) {
  using C = typename Computed<T>::Type;
  const int axis = 2 + filter.axis;
  return t.run(
      name,
      F<T>{
          Pixels::of(t.result),
          Volume<T>::of(t.result),
          Volume<T>::of(&t.result == &t.in ? t.out : t.in),
          FilterAxis<C>::of(filter, t.in.sizes[axis], t.out.sizes[axis]),
          filter.axis});
}

// Copies bits; positions are in double for doubles.
musaError_t nearest(FlKernelType type, const Task& t, const FlSampling& s) {
  if (type == kFlDouble) {
    return nearest<uint64_t, double>(t, s);
  }
  return bits_of_type(type, [&](auto of) {
    return nearest<typename decltype(of)::Type, float>(t, s);
  });
}

} // namespace
} // namespace torch_fl::kernels

namespace k = torch_fl::kernels;

musaError_t fl_upsample(
    FlKernelType type,
    const FlImage* out,
    const FlImage* in,
    const FlSampling* sampling,
    musaStream_t stream) {
  const k::Task task{*out, *in, *out, stream};
  if (sampling->kind == kFlNearest || sampling->kind == kFlNearestExact) {
    return k::nearest(type, task, *sampling);
  }
  return k::floating(type, [&](auto of) {
    return k::forward<typename decltype(of)::Type>(task, *sampling);
  });
}

musaError_t fl_upsample_backward(
    FlKernelType type,
    const FlImage* grad_in,
    const FlImage* grad_out,
    const FlSampling* sampling,
    musaStream_t stream) {
  const k::Task task{*grad_in, *grad_in, *grad_out, stream};
  return k::floating(type, [&](auto of) {
    return k::backward<typename decltype(of)::Type>(task, *sampling);
  });
}

musaError_t fl_filter(
    FlKernelType type,
    const FlImage* out,
    const FlImage* in,
    const FlFilter* filter,
    musaStream_t stream) {
  const k::Task task{*out, *in, *out, stream};
  return k::floating(type, [&](auto of) {
    using T = typename decltype(of)::Type;
    return k::filtered<k::FilterForward, T>("upsample_filter", task, *filter);
  });
}

musaError_t fl_filter_backward(
    FlKernelType type,
    const FlImage* grad_in,
    const FlImage* grad_out,
    const FlFilter* filter,
    musaStream_t stream) {
  const k::Task task{*grad_in, *grad_in, *grad_out, stream};
  return k::floating(type, [&](auto of) {
    using T = typename decltype(of)::Type;
    return k::filtered<k::FilterBackward, T>(
        "upsample_filter_backward",
        task,
        *filter);
  });
}
