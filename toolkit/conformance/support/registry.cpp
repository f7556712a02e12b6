// SPDX-License-Identifier: Apache-2.0
// The registered tests and cells, and what every test checks around its body.
#include "support/conforms.h"

#include <fstream>
#include <regex>
#include <sstream>

namespace conformance {

void Fixture::SetUp() {
  EXPECT_OK(musaSetDevice(0));
  (void)musaGetLastError();
}

void Fixture::TearDown() {
  EXPECT_OK(musaSetDevice(0));
  EXPECT_OK(musaDeviceSynchronize()) << "the test left device 0 broken";
  (void)musaGetLastError();
}

std::vector<Cell>& cells() {
  static std::vector<Cell> all;
  return all;
}

bool add_test(
    const char* suite,
    const std::string& name,
    const char* file,
    int line,
    const Factory& factory) {
  testing::RegisterTest(
      suite,
      name.c_str(),
      nullptr,
      nullptr,
      file,
      line,
      factory);
  return true;
}

bool add_conforming(
    const char* function,
    const char* column,
    const std::string& behaviour,
    const char* file,
    int line,
    const Factory& factory) {
  const std::string name = std::string(column) + "_" + behaviour;
  cells().push_back({function, column, std::string(function) + "." + name});
  return add_test(function, name, file, line, factory);
}

bool add_cell(
    const char* function,
    const char* column,
    const char* suite,
    const char* name) {
  cells().push_back({function, column, std::string(suite) + "." + name});
  return true;
}

std::string read_header(const std::string& relative) {
  std::ifstream file(std::string(CONFORMANCE_INCLUDE_DIR) + "/" + relative);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string strip_comments(const std::string& text) {
  std::string result;
  result.reserve(text.size());
  std::size_t i = 0;
  bool line_start = true;
  const auto skip_line = [&] {
    while (i < text.size() && text[i] != '\n') {
      i += text[i] == '\\' ? 2U : 1U;
    }
  };
  while (i < text.size()) {
    if (text.compare(i, 2, "/*") == 0) {
      const std::size_t end = text.find("*/", i + 2);
      i = end == std::string::npos ? text.size() : end + 2;
    } else if (
        text.compare(i, 2, "//") == 0 || (line_start && text[i] == '#')) {
      skip_line();
    } else {
      const char c = text[i++];
      line_start = c == '\n' || (line_start && (c == ' ' || c == '\t'));
      result.push_back(c);
    }
  }
  return result;
}

} // namespace conformance
