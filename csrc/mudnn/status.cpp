// SPDX-License-Identifier: Apache-2.0
// Names of muDNN's statuses; the exception they become.
#include "csrc/mudnn/status.h"

#include "csrc/runtime/device.h"

#include <c10/util/Exception.h>

namespace torch_fl::mudnn {

const char* status_name(::musa::dnn::Status status) {
  // By name: the vendor's numbering is not documented.
  switch (status) {
  case ::musa::dnn::Status::SUCCESS:
    return "SUCCESS";
  case ::musa::dnn::Status::INVALID_PARAMETER:
    return "INVALID_PARAMETER";
  case ::musa::dnn::Status::NOT_INITIALIZED:
    return "NOT_INITIALIZED";
  case ::musa::dnn::Status::ALLOC_FAILED:
    return "ALLOC_FAILED";
  case ::musa::dnn::Status::NOT_SUPPORTED:
    return "NOT_SUPPORTED";
  case ::musa::dnn::Status::INTERNAL_ERROR:
    return "INTERNAL_ERROR";
  case ::musa::dnn::Status::ARCH_MISMATCH:
    return "ARCH_MISMATCH";
  case ::musa::dnn::Status::EXECUTION_FAILED:
    return "EXECUTION_FAILED";
  default:
    return "unknown status";
  }
}

void raise(::musa::dnn::Status status, const char* expression) {
  const auto device = static_cast<int>(runtime::current_device());
  TORCH_CHECK_NOT_IMPLEMENTED(
      status != ::musa::dnn::Status::NOT_SUPPORTED,
      "muDNN does not support this call on flagos:",
      device,
      ": ",
      expression,
      " returned NOT_SUPPORTED");
  TORCH_CHECK(
      false,
      "muDNN failed on flagos:",
      device,
      ": ",
      expression,
      " returned ",
      status_name(status),
      " (",
      static_cast<int>(status),
      ")");
}

} // namespace torch_fl::mudnn
