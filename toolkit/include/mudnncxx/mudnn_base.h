// SPDX-License-Identifier: Apache-2.0
// muDNN base: status, handle, workspace types, base of the operator classes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>

#include "../driver_types.h"

#define MUDNN_EXPORT __attribute__((visibility("default")))

namespace musa::dnn {
// Another name for the linker than the vendor's classes have: code built for
// one cannot bind to the other's library.
inline namespace portable_1 {

struct Access;

enum class Status {
  SUCCESS,
  INVALID_PARAMETER,
  NOT_INITIALIZED,
  ALLOC_FAILED,
  NOT_SUPPORTED,
  INTERNAL_ERROR,
  ARCH_MISMATCH,
  EXECUTION_FAILED,
};

// MUDNN_VERSION of the loaded library.
MUDNN_EXPORT size_t GetVersion();

// Workspace: the operator asks the maintainer for bytes; the handler's deleter
// runs on the host as soon as the work is enqueued, so the memory must be
// stream-ordered.
using MemoryHandler = std::unique_ptr<void, std::function<void(void*)>>;
using MemoryMaintainer = std::function<MemoryHandler(size_t)>;

enum class ComputeMode {
  SCALAR,
  TENSOR,
};

// A device and a stream to work on. One thread at a time.
class MUDNN_EXPORT Handle {
 public:
  // Of the calling thread's current device.
  Handle();
  explicit Handle(int device);
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() = default;

  Status SetStream(musaStream_t stream) {
    stream_ = stream;
    return Status::SUCCESS;
  }
  musaStream_t GetStream() const { return stream_; }

  // TF32 is allowed in a new handle.
  Status SetAllowTF32(bool allow) {
    allow_tf32_ = allow;
    return Status::SUCCESS;
  }

 private:
  friend struct Access;
  musaStream_t stream_ = nullptr;
  int device_ = -1; // -1: the device asked for does not exist
  bool allow_tf32_ = true;
};

// Operator objects are cheap, reusable and not copyable.
class ImplBase {
 public:
  ImplBase() = default;
  ImplBase(const ImplBase&) = delete;
  ImplBase& operator=(const ImplBase&) = delete;

 protected:
  ~ImplBase() = default;

  // Scalar parameters are kept as the caller's eight bytes and read in the
  // tensor's kind of type: the overload must fit the tensor.
  struct Scalar {
    uint64_t bits = 0;
    void set(double value) { std::memcpy(&bits, &value, sizeof bits); }
    void set(int64_t value) { std::memcpy(&bits, &value, sizeof bits); }
  };
};

} // namespace portable_1
} // namespace musa::dnn
