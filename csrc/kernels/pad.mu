// SPDX-License-Identifier: Apache-2.0
// Kernels that grow borders and cut patches: a thread an element of what is
// written, which gathers what belongs to it.
#include "csrc/kernels/pad.h"

#include "csrc/kernels/pixels.h"

namespace torch_fl::kernels {
namespace {

constexpr int64_t kGrain = 8192;

// One dimension: which input an output shows, and which outputs show an input.
struct Border {
  FlPadKind kind;
  int32_t in;
  int32_t out;
  int32_t before;

  static Border
  of(const FlPadding& p, const FlImage& in, const FlImage& out, int i) {
    return {
        p.kind,
        static_cast<int32_t>(in.sizes[2 + i]),
        static_cast<int32_t>(out.sizes[2 + i]),
        p.before[i]};
  }

  __host__ __device__ int32_t source(int32_t at) const {
    const int32_t x = at - before;
    if (kind == kFlReplicate) {
      return x < 0 ? 0 : x < in ? x : in - 1;
    }
    return x < 0 ? -x : x < in ? x : 2 * (in - 1) - x;
  }

  // Candidates [0, count) of an input; show(k) may be outside, or another's.
  __host__ __device__ int32_t count(int32_t at) const {
    if (kind == kFlReflect) {
      return 3;
    }
    return last(at) - first(at);
  }
  __host__ __device__ int32_t shown(int32_t at, int32_t k) const {
    if (kind == kFlReplicate) {
      return first(at) + k;
    }
    // Itself, and its reflections at both ends, which are not their own.
    switch (k) {
    case 0:
      return at + before;
    case 1:
      return at > 0 ? before - at : -1;
    default:
      return at < in - 1 ? 2 * (in - 1) - at + before : -1;
    }
  }
  __host__ __device__ bool inside(int32_t at) const {
    return at >= 0 && at < out;
  }

 private:
  __host__ __device__ int32_t first(int32_t at) const {
    return at > 0 ? at + before : 0;
  }
  __host__ __device__ int32_t last(int32_t at) const {
    return at < in - 1 ? at + before + 1 : out;
  }
};

template <class T>
struct PadForward {
  Pixels pixels;
  Volume<T> out;
  Volume<T> in;
  Border z;
  Border y;
  Border x;

  __host__ __device__ void at(const Pixel& p) const {
    out[p] =
        in.plane(p)[in.inside(z.source(p.z), y.source(p.y), x.source(p.x))];
  }
};

template <class T>
struct PadBackward {
  Pixels pixels;
  Volume<T> grad_in;
  Volume<T> grad_out;
  Border z;
  Border y;
  Border x;

  __host__ __device__ void at(const Pixel& p) const {
    using C = typename Computed<T>::Type;
    const T* plane = grad_out.plane(p);
    const int32_t layers = z.count(p.z);
    const int32_t rows = y.count(p.y);
    const int32_t columns = x.count(p.x);
    C sum = 0;
    for (int32_t a = 0; a < layers; ++a) {
      const int32_t layer = z.shown(p.z, a);
      if (!z.inside(layer)) {
        continue;
      }
      for (int32_t b = 0; b < rows; ++b) {
        const int32_t row = y.shown(p.y, b);
        if (!y.inside(row)) {
          continue;
        }
        for (int32_t c = 0; c < columns; ++c) {
          const int32_t column = x.shown(p.x, c);
          if (x.inside(column)) {
            sum += static_cast<C>(plane[grad_out.inside(layer, row, column)]);
          }
        }
      }
    }
    grad_in[p] = static_cast<T>(sum);
  }
};

template <class T>
struct Patches {
  Pixels pixels;
  Volume<T> columns;
  Volume<T> image;
  FlPatches patches;
  Divider positions;
  Divider width;
  int32_t rows;
  int32_t row_length;

  __host__ __device__ void at(const Pixel& p) const {
    const auto channel = static_cast<uint32_t>(p.c);
    const uint32_t own = positions.quotient(channel);
    const uint32_t position = channel - own * positions.divisor;
    const uint32_t down = width.quotient(position);
    const uint32_t across = position - down * width.divisor;
    const int32_t y = p.y * patches.stride[0] - patches.padding[0] +
        static_cast<int32_t>(down) * patches.dilation[0];
    const int32_t x = p.x * patches.stride[1] - patches.padding[1] +
        static_cast<int32_t>(across) * patches.dilation[1];
    const bool inside = y >= 0 && y < rows && x >= 0 && x < row_length;
    columns[p] =
        inside ? image[Pixel{p.n, static_cast<int32_t>(own), 0, y, x}] : T(0);
  }
};

template <class T>
struct PatchesSum {
  Pixels pixels;
  Volume<T> image;
  Volume<T> columns;
  FlPatches patches;
  Divider strides[2];
  int32_t rows; // of patches
  int32_t row_length;

  __host__ __device__ void at(const Pixel& p) const {
    using C = typename Computed<T>::Type;
    const int32_t positions = patches.kernel[0] * patches.kernel[1];
    C sum = 0;
    for (int32_t down = 0; down < patches.kernel[0]; ++down) {
      const int32_t y = p.y + patches.padding[0] - down * patches.dilation[0];
      const auto row =
          static_cast<int32_t>(strides[0].quotient(static_cast<uint32_t>(y)));
      if (y < 0 || row >= rows || row * patches.stride[0] != y) {
        continue;
      }
      for (int32_t across = 0; across < patches.kernel[1]; ++across) {
        const int32_t x =
            p.x + patches.padding[1] - across * patches.dilation[1];
        const auto column =
            static_cast<int32_t>(strides[1].quotient(static_cast<uint32_t>(x)));
        if (x < 0 || column >= row_length || column * patches.stride[1] != x) {
          continue;
        }
        const int32_t channel =
            p.c * positions + down * patches.kernel[1] + across;
        sum += static_cast<C>(columns[Pixel{p.n, channel, 0, row, column}]);
      }
    }
    image[p] = static_cast<T>(sum);
  }
};

template <class T>
musaError_t pad(
    const FlImage& out,
    const FlImage& in,
    const FlPadding& p,
    musaStream_t stream) {
  return for_each_pixel(
      p.kind == kFlReflect ? "reflection_pad" : "replication_pad",
      out,
      kGrain,
      PadForward<T>{
          Pixels::of(out),
          Volume<T>::of(out),
          Volume<T>::of(in),
          Border::of(p, in, out, 0),
          Border::of(p, in, out, 1),
          Border::of(p, in, out, 2)},
      stream);
}

template <class T>
musaError_t pad_backward(
    const FlImage& in,
    const FlImage& out,
    const FlPadding& p,
    musaStream_t stream) {
  return for_each_pixel(
      p.kind == kFlReflect ? "reflection_pad_backward"
                           : "replication_pad_backward",
      in,
      kGrain / 4,
      PadBackward<T>{
          Pixels::of(in),
          Volume<T>::of(in),
          Volume<T>::of(out),
          Border::of(p, in, out, 0),
          Border::of(p, in, out, 1),
          Border::of(p, in, out, 2)},
      stream);
}

template <class T>
musaError_t patches(
    const FlImage& columns,
    const FlImage& image,
    const FlPatches& p,
    musaStream_t stream) {
  return for_each_pixel(
      "im2col",
      columns,
      kGrain,
      Patches<T>{
          Pixels::of(columns),
          Volume<T>::of(columns),
          Volume<T>::of(image),
          p,
          Divider::by(static_cast<uint32_t>(p.kernel[0] * p.kernel[1])),
          Divider::by(static_cast<uint32_t>(p.kernel[1])),
          static_cast<int32_t>(image.sizes[3]),
          static_cast<int32_t>(image.sizes[4])},
      stream);
}

template <class T>
musaError_t patches_sum(
    const FlImage& image,
    const FlImage& columns,
    const FlPatches& p,
    musaStream_t stream) {
  return for_each_pixel(
      "col2im",
      image,
      kGrain / 4,
      PatchesSum<T>{
          Pixels::of(image),
          Volume<T>::of(image),
          Volume<T>::of(columns),
          p,
          {Divider::by(static_cast<uint32_t>(p.stride[0])),
           Divider::by(static_cast<uint32_t>(p.stride[1]))},
          static_cast<int32_t>(columns.sizes[3]),
          static_cast<int32_t>(columns.sizes[4])},
      stream);
}

} // namespace
} // namespace torch_fl::kernels

namespace k = torch_fl::kernels;

musaError_t fl_pad(
    FlKernelType type,
    const FlImage* out,
    const FlImage* in,
    const FlPadding* padding,
    musaStream_t stream) {
  return k::bits_of_type(type, [&](auto of) {
    using T = typename decltype(of)::Type;
    return k::pad<T>(*out, *in, *padding, stream);
  });
}

musaError_t fl_pad_backward(
    FlKernelType type,
    const FlImage* grad_in,
    const FlImage* grad_out,
    const FlPadding* padding,
    musaStream_t stream) {
  return k::floating(type, [&](auto of) {
    using T = typename decltype(of)::Type;
    return k::pad_backward<T>(*grad_in, *grad_out, *padding, stream);
  });
}

musaError_t fl_patches(
    FlKernelType type,
    const FlImage* columns,
    const FlImage* image,
    const FlPatches* patches,
    musaStream_t stream) {
  return k::bits_of_type(type, [&](auto of) {
    using T = typename decltype(of)::Type;
    return k::patches<T>(*columns, *image, *patches, stream);
  });
}

musaError_t fl_patches_sum(
    FlKernelType type,
    const FlImage* image,
    const FlImage* columns,
    const FlPatches* patches,
    musaStream_t stream) {
  return k::floating(type, [&](auto of) {
    using T = typename decltype(of)::Type;
    return k::patches_sum<T>(*image, *columns, *patches, stream);
  });
}
