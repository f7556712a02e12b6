// SPDX-License-Identifier: Apache-2.0
// Which operators run natively; read while libraries load, never in a call.
#pragma once

#include "csrc/runtime/export.h"

#include <ATen/core/dispatch/Dispatcher.h>

namespace torch_fl::routing {

// Whether `op` ("add.out") gets its native kernel.
FL_API bool is_native(const char* op);

// FLAGOS_LOG_DISPATCH=1: kernels are wrapped so that each call is named.
FL_API bool logs_dispatch();

// Prints "[flagos dispatch] <op> -> musa" on stderr.
FL_API void log_dispatch(const char* op);

// The dispatcher's handle of "add.out"; throws if there is none.
FL_API c10::OperatorHandle operator_named(const char* op);

} // namespace torch_fl::routing
