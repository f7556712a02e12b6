// SPDX-License-Identifier: Apache-2.0
// Which operators run natively, and the log of native calls.
#include "csrc/routing/route_table.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace torch_fl::routing {

bool is_native(const char* /*op*/) {
  // The default table: whatever has a native kernel uses it.
  return true;
}

bool logs_dispatch() {
  // Read while the library loads, where nothing may throw: check_environment()
  // refuses what is neither 0 nor 1.
  static const bool on = [] {
    const char* const value = std::getenv("FLAGOS_LOG_DISPATCH");
    return value != nullptr && std::strcmp(value, "1") == 0;
  }();
  return on;
}

void log_dispatch(const char* op) {
  std::fprintf(stderr, "[flagos dispatch] %s -> musa\n", op);
}

c10::OperatorHandle operator_named(const char* op) {
  const std::string text(op);
  const size_t dot = text.find('.');
  const std::string name = "aten::" + text.substr(0, dot);
  const std::string overload =
      dot == std::string::npos ? std::string() : text.substr(dot + 1);
  return c10::Dispatcher::singleton().findSchemaOrThrow(
      name.c_str(),
      overload.c_str());
}

} // namespace torch_fl::routing
