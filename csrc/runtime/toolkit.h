// SPDX-License-Identifier: Apache-2.0
// What a toolkit may offer beyond the vendor's interface; nothing depends on
// it.
#pragma once

#include "csrc/runtime/export.h"

#include <string>

namespace torch_fl::runtime {

// One sentence about the last failing call of this thread, if the toolkit has
// one, such as the operation whose task failed; may be empty.
std::string toolkit_message();

// Ends the toolkit's work before the process exits, if the toolkit needs that;
// later calls say that it was stopped.
FL_API void stop_toolkit();

} // namespace torch_fl::runtime
