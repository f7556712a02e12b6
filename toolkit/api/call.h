// SPDX-License-Identifier: Apache-2.0
// The frame of every runtime function: admission, errors, trace.
#pragma once

#include "toolkit/engine/runtime.h"

#include <new>
#include <type_traits>

namespace musa_standin::api {

// What a call needs to be let in.
enum class Needs : uint8_t {
  kDevice,   // a device in working order
  kLifetime, // an engine that runs, in this process, outside host functions
};

// Runs the body, which throws engine::Error or returns an error code (or
// nothing), and keeps the thread's last error.  Functions of the API never call
// each other: each would count and trace twice.
template <Needs needs = Needs::kDevice, class F>
musaError_t api_call(const char* name, F&& body) noexcept {
  musaError_t code =
      needs == Needs::kDevice ? engine::admit() : engine::admit_lifetime();
  if (__builtin_expect(code == musaSuccess, 1)) {
    try {
      if constexpr (std::is_void_v<decltype(body())>) {
        body();
      } else {
        code = body();
        if (code != musaSuccess) {
          engine::set_failure(code);
        }
      }
    } catch (const engine::Error& error) {
      code = error.code();
      engine::set_failure(error);
    } catch (const std::bad_alloc&) {
      code = musaErrorMemoryAllocation;
      engine::set_failure(code);
    }
  } else {
    engine::set_failure(code);
  }
  if (__builtin_expect(
          (engine::g_gate.load(std::memory_order_relaxed) &
           engine::kGateTrace) != 0,
          0)) {
    engine::trace_call(name, code);
  }
  return code;
}

// InvalidValue unless the condition holds.
inline void require(bool condition, const char* sentence) {
  if (__builtin_expect(!condition, 0)) {
    throw engine::Error(musaErrorInvalidValue, sentence);
  }
}

// A device of this machine: NoDevice or InvalidDevice otherwise.
inline int checked_device(int device) {
  const int count = engine::runtime().device_count();
  if (count == 0) {
    throw engine::Error(musaErrorNoDevice, "this machine has no MUSA device");
  }
  if (device < 0 || device >= count) {
    throw engine::Error(
        musaErrorInvalidDevice,
        "there is no device of this number");
  }
  return device;
}

inline int current_device() {
  return checked_device(engine::t_state.device);
}

// The stream behind a handle, for the current device where that is a default
// stream.
inline engine::Stream& stream_of(musaStream_t handle) {
  return engine::resolve_stream(handle, engine::t_state.device);
}

} // namespace musa_standin::api
