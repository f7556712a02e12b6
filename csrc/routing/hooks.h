// SPDX-License-Identifier: Apache-2.0
// What torch asks of an accelerator through at::PrivateUse1HooksInterface.
#pragma once

#include "csrc/runtime/export.h"

#include <ATen/detail/PrivateUse1HooksInterface.h>

namespace torch_fl::routing {

// The object that was registered with torch; never destroyed.
FL_API const at::PrivateUse1HooksInterface& hooks();

} // namespace torch_fl::routing
