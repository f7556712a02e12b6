// SPDX-License-Identifier: Apache-2.0
// From a muDNN status to a c10 exception.
#pragma once

#include "csrc/mudnn/mudnn.h"

#include <c10/macros/Macros.h>

namespace torch_fl::mudnn {

// The status' name, such as "NOT_SUPPORTED".
const char* status_name(::musa::dnn::Status status);

// Throws c10::Error (c10::NotImplementedError for NOT_SUPPORTED) with the
// expression, the status and the current device.
[[noreturn]] void raise(::musa::dnn::Status status, const char* expression);

} // namespace torch_fl::mudnn

#define FL_MUDNN_CHECK(expression)                                       \
  do {                                                                   \
    const ::musa::dnn::Status fl_mudnn_status = (expression);            \
    if (C10_UNLIKELY(fl_mudnn_status != ::musa::dnn::Status::SUCCESS)) { \
      ::torch_fl::mudnn::raise(fl_mudnn_status, #expression);            \
    }                                                                    \
  } while (false)
