// SPDX-License-Identifier: Apache-2.0
// Engine interface of kernels that a client compiled with the toolkit's mcc.
#pragma once

#include "toolkit/engine/export.h"

#include "toolkit/include/driver_types.h"

#include <cstddef>
#include <cstdint>

namespace musa_standin::engine {

class Stream;

// A loop over [0, n) whose body runs [begin, end) of it.
struct ElementTask {
  const char* name; // lives as long as the process
  void (*body)(const void* closure, int64_t begin, int64_t end);
  const void* closure; // trivially copyable; copied before the call returns
  size_t bytes;
  int64_t n;
  int64_t grain; // elements that are not worth a second thread
};

class KernelEngine {
 public:
  // For engines whose kernels are functions of the host: enqueues and returns.
  // Throws InvalidValue for a closure that is too large.
  virtual void for_each(Stream& stream, const ElementTask& task);
  // Where a kernel reaches the memory behind an address that callers see.
  virtual void* address(void* pointer) { return pointer; }
  // Called by a body: ends its task with this error.
  [[noreturn]] virtual void fail(musaError_t code, const char* message);
  // For engines with a device compiler: its own handle of the stream.
  virtual void* native_stream(Stream& stream);
  // The same: where kernels leave an error (musaPortableErrorWord).
  virtual void* error_word(Stream& stream);

 protected:
  KernelEngine() = default;
  KernelEngine(const KernelEngine&) = default;
  KernelEngine& operator=(const KernelEngine&) = default;
  ~KernelEngine() = default;
};

// The loaded engine's.
MUSA_ENGINE_API KernelEngine& kernel_engine();

} // namespace musa_standin::engine
