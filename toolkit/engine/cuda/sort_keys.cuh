// SPDX-License-Identifier: Apache-2.0
// Keys of elements, and where the lines of a sort lie.
#pragma once

#include "toolkit/engine/cuda/sort_job.h"

#include <cstdint>

namespace musa_standin::engine::cuda {
namespace {

// Keys of 8 bytes for elements of 8, of 4 for all smaller ones.
template <class K>
__device__ K load_bits(const void* in, int32_t bytes, int64_t at) {
  if constexpr (sizeof(K) == 8) {
    return static_cast<const uint64_t*>(in)[at];
  } else {
    if (bytes == 4)
      return static_cast<const uint32_t*>(in)[at];
    if (bytes == 2)
      return static_cast<const uint16_t*>(in)[at];
    return static_cast<const uint8_t*>(in)[at];
  }
}

template <class K>
__device__ void store_bits(void* out, int32_t bytes, int64_t at, K bits) {
  if constexpr (sizeof(K) == 8) {
    static_cast<uint64_t*>(out)[at] = bits;
  } else {
    if (bytes == 4)
      static_cast<uint32_t*>(out)[at] = bits;
    else if (bytes == 2)
      static_cast<uint16_t*>(out)[at] = static_cast<uint16_t>(bits);
    else
      static_cast<uint8_t*>(out)[at] = static_cast<uint8_t>(bits);
  }
}

template <class K>
struct Codec {
  K infinity;
  K mask; // all bits of a key
  K sign;
  KeyCodec::Kind kind;
  bool descending;

  __device__ explicit Codec(const KeyCodec& codec)
      : infinity(static_cast<K>(codec.infinity)),
        mask(
            static_cast<K>(~K(0)) >>
            (8 * (static_cast<int>(sizeof(K)) - codec.bytes))),
        sign((mask >> 1) + 1), kind(codec.kind), descending(codec.descending) {}

  __device__ K encode(K bits) const {
    K key = bits;
    if (kind == KeyCodec::Kind::kSigned) {
      key ^= sign;
    } else if (kind == KeyCodec::Kind::kFloating) {
      const K magnitude = bits & (sign - 1);
      key = (bits & sign) != 0 ? ~bits & mask : bits | sign;
      key = magnitude == 0 ? sign : key; // zeros are equal
      key = magnitude > infinity ? mask : key;
    }
    return descending ? ~key & mask : key;
  }

  // The element's bits; false if several have this key.
  __device__ bool decode(K key, K& bits) const {
    key = descending ? ~key & mask : key;
    bits = key;
    if (kind == KeyCodec::Kind::kSigned) {
      bits ^= sign;
    } else if (kind == KeyCodec::Kind::kFloating) {
      if (key == sign || key == mask)
        return false;
      bits = (key & sign) != 0 ? key ^ sign : ~key & mask;
    }
    return true;
  }
};

// Offset of a line's first element where lines have `extent` elements.
__device__ inline int64_t
line_start(const SortJob& job, int64_t line, int64_t extent) {
  if (job.inner == 1)
    return line * extent;
  const int64_t outer = job.lines < (int64_t{1} << 31)
      ? job.by_inner.quotient(static_cast<uint32_t>(line))
      : line / job.inner;
  return line + outer * (extent - 1) * job.inner;
}

// Position in the line of an item.
__device__ inline int64_t
position_of(const SortJob& job, int64_t line, int64_t item) {
  return job.positions != nullptr ? job.positions[line * job.items + item]
                                  : item;
}

} // namespace
} // namespace musa_standin::engine::cuda
