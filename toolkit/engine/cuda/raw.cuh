// SPDX-License-Identifier: Apache-2.0
// Loads and stores of up to 32 bytes at once, and the elements in them.
#pragma once

#include "toolkit/kernels/scalar_types.h"

#include <cstdint>

namespace musa_standin::engine::cuda {
namespace {

// The bits of a few elements, in registers.
template <int Bytes>
struct Raw {
  uint32_t words[(Bytes + 3) / 4];
};

// The address is aligned to the size, or to 16.
template <int Bytes>
__device__ Raw<Bytes> load_raw(const void* from) {
  Raw<Bytes> raw;
  if constexpr (Bytes >= 16) {
    for (int i = 0; i < Bytes / 16; ++i) {
      const uint4 v = static_cast<const uint4*>(from)[i];
      raw.words[4 * i] = v.x;
      raw.words[4 * i + 1] = v.y;
      raw.words[4 * i + 2] = v.z;
      raw.words[4 * i + 3] = v.w;
    }
  } else if constexpr (Bytes == 8) {
    const uint2 v = *static_cast<const uint2*>(from);
    raw.words[0] = v.x;
    raw.words[1] = v.y;
  } else if constexpr (Bytes == 4) {
    raw.words[0] = *static_cast<const uint32_t*>(from);
  } else if constexpr (Bytes == 2) {
    raw.words[0] = *static_cast<const uint16_t*>(from);
  } else {
    raw.words[0] = *static_cast<const uint8_t*>(from);
  }
  return raw;
}

template <int Bytes>
__device__ void store_raw(void* to, const Raw<Bytes>& raw) {
  if constexpr (Bytes >= 16) {
    for (int i = 0; i < Bytes / 16; ++i) {
      static_cast<uint4*>(to)[i] = make_uint4(
          raw.words[4 * i],
          raw.words[4 * i + 1],
          raw.words[4 * i + 2],
          raw.words[4 * i + 3]);
    }
  } else if constexpr (Bytes == 8) {
    *static_cast<uint2*>(to) = make_uint2(raw.words[0], raw.words[1]);
  } else if constexpr (Bytes == 4) {
    *static_cast<uint32_t*>(to) = raw.words[0];
  } else if constexpr (Bytes == 2) {
    *static_cast<uint16_t*>(to) = static_cast<uint16_t>(raw.words[0]);
  } else {
    *static_cast<uint8_t*>(to) = static_cast<uint8_t>(raw.words[0]);
  }
}

// Element k of what has been loaded.
template <class E, int Bytes>
__device__ E element(const Raw<Bytes>& raw, int k) {
  if constexpr (sizeof(E) == 8) {
    return kernels::bits_as<E>(
        static_cast<uint64_t>(raw.words[2 * k + 1]) << 32 | raw.words[2 * k]);
  } else if constexpr (sizeof(E) == 4) {
    return kernels::bits_as<E>(raw.words[k]);
  } else if constexpr (sizeof(E) == 2) {
    return kernels::bits_as<E>(
        static_cast<uint16_t>(raw.words[k / 2] >> (k % 2 * 16)));
  } else {
    return kernels::bits_as<E>(
        static_cast<uint8_t>(raw.words[k / 4] >> (k % 4 * 8)));
  }
}

// Puts element k where zeros were.
template <class E, int Bytes>
__device__ void set_element(Raw<Bytes>& raw, int k, E e) {
  if constexpr (sizeof(E) == 8) {
    const auto bits = kernels::bits_as<uint64_t>(e);
    raw.words[2 * k] = static_cast<uint32_t>(bits);
    raw.words[2 * k + 1] = static_cast<uint32_t>(bits >> 32);
  } else if constexpr (sizeof(E) == 4) {
    raw.words[k] = kernels::bits_as<uint32_t>(e);
  } else if constexpr (sizeof(E) == 2) {
    const uint32_t bits = kernels::bits_as<uint16_t>(e);
    raw.words[k / 2] |= bits << (k % 2 * 16);
  } else {
    const uint32_t bits = kernels::bits_as<uint8_t>(e);
    raw.words[k / 4] |= bits << (k % 4 * 8);
  }
}

template <class E>
__device__ E load_element(const void* from) {
  return element<E>(load_raw<sizeof(E)>(from), 0);
}
template <class E>
__device__ void store_element(void* to, E e) {
  Raw<sizeof(E)> raw{};
  set_element(raw, 0, e);
  store_raw(to, raw);
}

} // namespace
} // namespace musa_standin::engine::cuda
