// SPDX-License-Identifier: Apache-2.0
// Kernels of pooling: a thread an output, or an input in the backward passes.
#include "csrc/kernels/pool.h"

#include "csrc/kernels/pixels.h"
#include "csrc/kernels/pool_windows.h"

#include <limits>

namespace torch_fl::kernels {
namespace {

constexpr int64_t kGrain = 2048;

template <class T>
T least() {
  return std::numeric_limits<T>::has_infinity
      ? -std::numeric_limits<T>::infinity()
      : std::numeric_limits<T>::lowest();
}

// Scans a window for the largest element.
template <class T>
struct Maximum {
  using C = typename Computed<T>::Type;
  C value;
  int64_t index;

  __host__ __device__ void see(C candidate, int64_t at) {
    if (candidate > value || candidate != candidate) {
      value = candidate;
      index = at;
    }
  }
};

template <class T>
struct MaxForward {
  Pixels pixels;
  Volume<T> out;
  Volume<int64_t> indices;
  Volume<T> in;
  Axis z;
  Axis y;
  Axis x;
  typename Computed<T>::Type least;

  __host__ __device__ void at(const Pixel& p) const {
    using C = typename Computed<T>::Type;
    const Span depth = z.window(p.z);
    const Span rows = y.window(p.y);
    const Span columns = x.window(p.x);
    const T* plane = in.plane(p);
    Maximum<T> most{
        least,
        (static_cast<int64_t>(depth.begin) * y.in + rows.begin) * x.in +
            columns.begin};
    for (int32_t a = depth.begin; a < depth.end; a += z.dilation) {
      for (int32_t b = rows.begin; b < rows.end; b += y.dilation) {
        const T* row = plane + in.inside(a, b, 0);
        const int64_t at = (static_cast<int64_t>(a) * y.in + b) * x.in;
        for (int32_t c = columns.begin; c < columns.end; c += x.dilation) {
          most.see(static_cast<C>(row[c * in.strides[4]]), at + c);
        }
      }
    }
    out[p] = static_cast<T>(most.value);
    indices[p] = most.index;
  }
};

template <class T>
struct FractionalForward {
  Pixels pixels;
  Volume<T> out;
  Volume<int64_t> indices;
  Volume<T> in;
  const T* samples;
  int32_t spatial;
  int32_t channels;
  typename Computed<T>::Type least;
  Axis axes[3];

  // As upstream computes it, in the type of the sums.
  __host__ __device__ int32_t
  start(const Axis& axis, const T* sample, int32_t at) const {
    using C = typename Computed<T>::Type;
    const int32_t room = axis.in - axis.kernel;
    if (at == axis.out - 1) {
      return room;
    }
    const C ratio = static_cast<C>(room) / static_cast<C>(axis.out - 1);
    const auto from = static_cast<C>(*sample);
    return static_cast<int32_t>((static_cast<C>(at) + from) * ratio) -
        static_cast<int32_t>(from * ratio);
  }

  __host__ __device__ void at(const Pixel& p) const {
    using C = typename Computed<T>::Type;
    // Of two dimensions the first sample is the width's, of three the depth's.
    const T* own =
        samples + (static_cast<int64_t>(p.n) * channels + p.c) * spatial;
    const bool deep = spatial == 3;
    const int32_t z = deep ? start(axes[0], own, p.z) : 0;
    const int32_t y = start(axes[1], own + 1, p.y);
    const int32_t x = start(axes[2], deep ? own + 2 : own, p.x);
    const T* plane = in.plane(p);
    Maximum<T> most{
        least,
        (static_cast<int64_t>(z) * axes[1].in + y) * axes[2].in + x};
    for (int32_t a = z; a < z + axes[0].kernel; ++a) {
      for (int32_t b = y; b < y + axes[1].kernel; ++b) {
        const T* row = plane + in.inside(a, b, 0);
        const int64_t at =
            (static_cast<int64_t>(a) * axes[1].in + b) * axes[2].in;
        for (int32_t c = x; c < x + axes[2].kernel; ++c) {
          most.see(static_cast<C>(row[c * in.strides[4]]), at + c);
        }
      }
    }
    out[p] = static_cast<T>(most.value);
    indices[p] = most.index;
  }
};

template <class T>
struct MaxBackward {
  Pixels pixels;
  Volume<T> grad_in;
  Volume<T> grad_out;
  Volume<int64_t> indices;
  Axis z;
  Axis y;
  Axis x;

  __host__ __device__ void at(const Pixel& p) const {
    using C = typename Computed<T>::Type;
    const int64_t own = (static_cast<int64_t>(p.z) * y.in + p.y) * x.in + p.x;
    int32_t first[3];
    int32_t last[3];
    z.covering(p.z, first[0], last[0]);
    y.covering(p.y, first[1], last[1]);
    x.covering(p.x, first[2], last[2]);
    const int64_t* chosen = indices.plane(p);
    const T* gradient = grad_out.plane(p);
    C sum = 0;
    for (int32_t a = first[0]; a < last[0]; ++a) {
      for (int32_t b = first[1]; b < last[1]; ++b) {
        for (int32_t c = first[2]; c < last[2]; ++c) {
          if (chosen[indices.inside(a, b, c)] == own) {
            sum += static_cast<C>(gradient[grad_out.inside(a, b, c)]);
          }
        }
      }
    }
    grad_in[p] = static_cast<T>(sum);
  }
};

// What the sum over a window is divided by.
struct Count {
  bool padding;
  int64_t divisor;

  __host__ __device__ int64_t
  of(const Span& z, const Span& y, const Span& x) const {
    if (divisor != 0) {
      return divisor;
    }
    return padding ? static_cast<int64_t>(z.padded) * y.padded * x.padded
                   : static_cast<int64_t>(z.length()) * y.length() * x.length();
  }
};

template <class T>
struct AverageForward {
  Pixels pixels;
  Volume<T> out;
  Volume<T> in;
  Axis z;
  Axis y;
  Axis x;
  Count count;

  __host__ __device__ void at(const Pixel& p) const {
    using C = typename Computed<T>::Type;
    const Span depth = z.window(p.z);
    const Span rows = y.window(p.y);
    const Span columns = x.window(p.x);
    const T* plane = in.plane(p);
    C sum = 0;
    for (int32_t a = depth.begin; a < depth.end; ++a) {
      for (int32_t b = rows.begin; b < rows.end; ++b) {
        const T* row = plane + in.inside(a, b, 0);
        for (int32_t c = columns.begin; c < columns.end; ++c) {
          sum += static_cast<C>(row[c * in.strides[4]]);
        }
      }
    }
    const bool empty =
        depth.length() == 0 || rows.length() == 0 || columns.length() == 0;
    out[p] = static_cast<T>(
        empty ? C(0) : sum / static_cast<C>(count.of(depth, rows, columns)));
  }
};

template <class T>
struct AverageBackward {
  Pixels pixels;
  Volume<T> grad_in;
  Volume<T> grad_out;
  Axis z;
  Axis y;
  Axis x;
  Count count;

  __host__ __device__ void at(const Pixel& p) const {
    using C = typename Computed<T>::Type;
    int32_t first[3];
    int32_t last[3];
    z.covering(p.z, first[0], last[0]);
    y.covering(p.y, first[1], last[1]);
    x.covering(p.x, first[2], last[2]);
    const T* gradient = grad_out.plane(p);
    C sum = 0;
    for (int32_t a = first[0]; a < last[0]; ++a) {
      const Span depth = z.window(a);
      for (int32_t b = first[1]; b < last[1]; ++b) {
        const Span rows = y.window(b);
        for (int32_t c = first[2]; c < last[2]; ++c) {
          const Span columns = x.window(c);
          sum += static_cast<C>(gradient[grad_out.inside(a, b, c)]) /
              static_cast<C>(count.of(depth, rows, columns));
        }
      }
    }
    grad_in[p] = static_cast<T>(sum);
  }
};

// A pooling operator with the images that it works on.
struct Task {
  const FlImage& result; // what the threads write
  const FlImage& in;
  const FlImage& out;
  const FlWindows& windows;
  musaStream_t stream;

  Axis axis(int i) const { return Axis::of(windows, in, out, i); }
  Count count() const { return {windows.count_padding != 0, windows.divisor}; }
  template <class F>
  musaError_t run(const char* name, const F& f) const {
    return for_each_pixel(name, result, kGrain, f, stream);
  }
};

template <class T>
musaError_t max_forward(
    const Task& t,
    const FlImage& indices,
    const void* samples,
    int32_t spatial) {
  const auto pixels = Pixels::of(t.out);
  const auto out = Volume<T>::of(t.out);
  const auto chosen = Volume<int64_t>::of(indices);
  const auto in = Volume<T>::of(t.in);
  if (samples != nullptr) {
    return t.run(
        "fractional_max_pool",
        FractionalForward<T>{
            pixels,
            out,
            chosen,
            in,
            reachable<T>(samples),
            spatial,
            static_cast<int32_t>(t.in.sizes[1]),
            least<typename Computed<T>::Type>(),
            {t.axis(0), t.axis(1), t.axis(2)}});
  }
  return t.run(
      "max_pool",
      MaxForward<T>{
          pixels,
          out,
          chosen,
          in,
          t.axis(0),
          t.axis(1),
          t.axis(2),
          least<typename Computed<T>::Type>()});
}

template <class T>
musaError_t max_backward(const Task& t, const FlImage& indices) {
  return t.run(
      "max_pool_backward",
      MaxBackward<T>{
          Pixels::of(t.in),
          Volume<T>::of(t.in),
          Volume<T>::of(t.out),
          Volume<int64_t>::of(indices),
          t.axis(0),
          t.axis(1),
          t.axis(2)});
}

template <class T>
musaError_t average_forward(const Task& t) {
  return t.run(
      "avg_pool",
      AverageForward<T>{
          Pixels::of(t.out),
          Volume<T>::of(t.out),
          Volume<T>::of(t.in),
          t.axis(0),
          t.axis(1),
          t.axis(2),
          t.count()});
}

template <class T>
musaError_t average_backward(const Task& t) {
  return t.run(
      "avg_pool_backward",
      AverageBackward<T>{
          Pixels::of(t.in),
          Volume<T>::of(t.in),
          Volume<T>::of(t.out),
          t.axis(0),
          t.axis(1),
          t.axis(2),
          t.count()});
}

} // namespace
} // namespace torch_fl::kernels

namespace k = torch_fl::kernels;

musaError_t fl_max_pool(
    FlKernelType type,
    const FlImage* out,
    const FlImage* indices,
    const FlImage* in,
    const FlWindows* windows,
    musaStream_t stream) {
  const k::Task task{*out, *in, *out, *windows, stream};
  const auto run = [&](auto of) {
    return k::max_forward<typename decltype(of)::Type>(
        task,
        *indices,
        nullptr,
        0);
  };
  return k::floating(type, run, [&] {
    switch (type) {
    case kFlUint8:
      return run(k::Of<uint8_t>());
    case kFlInt8:
      return run(k::Of<int8_t>());
    case kFlInt16:
      return run(k::Of<int16_t>());
    case kFlInt32:
      return run(k::Of<int32_t>());
    case kFlInt64:
      return run(k::Of<int64_t>());
    default:
      return musaErrorInvalidValue;
    }
  });
}

musaError_t fl_fractional_max_pool(
    FlKernelType type,
    const FlImage* out,
    const FlImage* indices,
    const FlImage* in,
    const void* samples,
    int32_t spatial,
    const FlWindows* windows,
    musaStream_t stream) {
  const k::Task task{*out, *in, *out, *windows, stream};
  return k::floating(type, [&](auto of) {
    return k::max_forward<typename decltype(of)::Type>(
        task,
        *indices,
        samples,
        spatial);
  });
}

musaError_t fl_max_pool_backward(
    FlKernelType type,
    const FlImage* grad_in,
    const FlImage* grad_out,
    const FlImage* indices,
    const FlWindows* windows,
    musaStream_t stream) {
  const k::Task task{*grad_in, *grad_in, *grad_out, *windows, stream};
  return k::floating(type, [&](auto of) {
    return k::max_backward<typename decltype(of)::Type>(task, *indices);
  });
}

musaError_t fl_average_pool(
    FlKernelType type,
    const FlImage* out,
    const FlImage* in,
    const FlWindows* windows,
    musaStream_t stream) {
  const k::Task task{*out, *in, *out, *windows, stream};
  return k::floating(
      type,
      [&](auto of) {
        return k::average_forward<typename decltype(of)::Type>(task);
      },
      [&] {
        return type == kFlInt64 ? k::average_forward<int64_t>(task)
                                : musaErrorInvalidValue;
      });
}

musaError_t fl_average_pool_backward(
    FlKernelType type,
    const FlImage* grad_in,
    const FlImage* grad_out,
    const FlWindows* windows,
    musaStream_t stream) {
  const k::Task task{*grad_in, *grad_in, *grad_out, *windows, stream};
  return k::floating(type, [&](auto of) {
    return k::average_backward<typename decltype(of)::Type>(task);
  });
}
