// SPDX-License-Identifier: Apache-2.0
// Expected failures of one toolkit: `library/suite.test: reason` lines.
#pragma once

#include <map>
#include <string>

namespace conformance {

struct Expected {
  std::map<std::string, std::string> reasons; // by suite.name
  std::string error;                          // why the file cannot be used
};

// The lines of one library. A missing file is an empty list. A line without a
// reason, or with "not implemented" as its reason, is an error.
Expected read_expected(const std::string& path, const std::string& library);

} // namespace conformance
