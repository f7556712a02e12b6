// SPDX-License-Identifier: Apache-2.0
// Calls what the toolkit at hand has beyond the vendor's interface.
#include "csrc/runtime/toolkit.h"

#include "csrc/runtime/fork.h"

// Null where the toolkit has none.
extern "C" {
__attribute__((weak)) const char* musaPortableLastMessage(void);
__attribute__((weak)) void musaPortableStop(void);
}

namespace torch_fl::runtime {

std::string toolkit_message() {
  if (musaPortableLastMessage == nullptr) {
    return {};
  }
  const char* message = musaPortableLastMessage();
  return message == nullptr ? std::string() : std::string(message);
}

void stop_toolkit() {
  if (musaPortableStop != nullptr && !is_in_bad_fork()) {
    musaPortableStop();
  }
}

} // namespace torch_fl::runtime
