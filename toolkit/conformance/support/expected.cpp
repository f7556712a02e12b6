// SPDX-License-Identifier: Apache-2.0
// Reads expected/<toolkit>.txt.
#include "support/expected.h"

#include <cctype>
#include <fstream>

namespace conformance {

Expected read_expected(const std::string& path, const std::string& library) {
  Expected result;
  std::ifstream file(path);
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.empty() || line[0] == '#') {
      continue;
    }
    const std::string place = path + ":" + std::to_string(number) + ": ";
    const std::size_t slash = line.find('/');
    const std::size_t colon = line.find(": ");
    if (colon == std::string::npos || colon + 2 >= line.size() ||
        slash > colon) {
      result.error = place + "a line reads `library/suite.test: reason`";
      return result;
    }
    std::string reason = line.substr(colon + 2);
    std::string lower;
    for (const char c : reason) {
      lower.push_back(
          static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
    }
    if (lower.find("not implemented") != std::string::npos) {
      result.error = place + "\"not implemented\" is no reason";
      return result;
    }
    if (line.compare(0, slash, library) == 0) {
      const std::string test = line.substr(slash + 1, colon - slash - 1);
      result.reasons[test] = std::move(reason);
    }
  }
  return result;
}

} // namespace conformance
