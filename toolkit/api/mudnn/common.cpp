// SPDX-License-Identifier: Apache-2.0
// Refusals and errors of muDNN's entry points.
#include "toolkit/api/mudnn/common.h"

#include <cstdarg>
#include <cstdio>

namespace musa_standin::api {

const char* type_name(Dtype type) {
  static constexpr const char* kNames[] = {
      "FLOAT",
      "HALF",
      "BFLOAT16",
      "DOUBLE",
      "INT8",
      "INT16",
      "INT32",
      "INT64",
      "UINT8",
      "UINT16",
      "UINT32",
      "UINT64",
      "BOOL",
      "QINT8",
      "QINT4",
      "FP8_E4M3",
      "FP8_E5M2",
  };
  const auto at = static_cast<size_t>(type);
  return at < sizeof kNames / sizeof *kNames ? kNames[at] : "UNKNOWN";
}

Status refuse(Status status, const char* format, ...) {
  char line[320];
  va_list args;
  va_start(args, format);
  std::vsnprintf(line, sizeof line, format, args);
  va_end(args);
  std::fprintf(stderr, "muDNN error: %s\n", line);
  return status;
}

namespace {

Status status_of(musaError_t code) {
  switch (code) {
  case musaErrorInvalidValue:
  case musaErrorInvalidResourceHandle:
    return Status::INVALID_PARAMETER;
  case musaErrorMemoryAllocation:
    return Status::ALLOC_FAILED;
  case musaErrorNotSupported:
    return Status::NOT_SUPPORTED;
  case musaErrorInitializationError:
  case musaErrorMusartUnloading:
  case musaErrorNoDevice:
  case musaErrorInvalidDevice:
    return Status::NOT_INITIALIZED;
  default:
    return Status::EXECUTION_FAILED;
  }
}

} // namespace

Status failed(const char* name, musaError_t code, const char* what) {
  return refuse(
      status_of(code),
      "%s: %s (%s)",
      name,
      *what != '\0' ? what : engine::error_text(code),
      engine::error_name(code));
}

Status hang(engine::Stream& stream, const char* name) {
  engine::dnn().fail(stream, musaErrorLaunchFailure, name);
  return Status::SUCCESS;
}

} // namespace musa_standin::api
