// SPDX-License-Identifier: Apache-2.0
// Reads switches from the environment.
#include "csrc/runtime/environment.h"

#include <c10/util/Exception.h>

#include <cstdlib>
#include <string_view>

namespace torch_fl::runtime {

bool environment_flag(const char* name, bool otherwise) {
  const char* value = std::getenv(name); // NOLINT(concurrency-mt-unsafe): read
  if (value == nullptr || *value == '\0') {
    return otherwise;
  }
  const std::string_view text(value);
  TORCH_CHECK_VALUE(
      text == "0" || text == "1",
      name,
      "=",
      text,
      " is not a switch: 0 or 1 is allowed.");
  return text == "1";
}

} // namespace torch_fl::runtime
