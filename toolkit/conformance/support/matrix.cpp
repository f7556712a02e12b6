// SPDX-License-Identifier: Apache-2.0
// Prints the report matrix, and fails when a function or a cell is missing.
#include "support/matrix.h"

#include "support/conforms.h"

#include <algorithm>
#include <set>
#include <sstream>

namespace conformance {
namespace {

std::vector<std::string> words(const char* text) {
  std::istringstream stream(text == nullptr ? "" : text);
  std::vector<std::string> result;
  for (std::string word; stream >> word;) {
    result.push_back(word);
  }
  return result;
}

struct Column {
  const char* name;
  const char* Row::* reason;
};

constexpr Column kColumns[] = {
    {"success", &Row::no_success},
    {"null", &Row::no_null},
    {"zero", &Row::no_zero},
    {"sticky", &Row::no_sticky}};

bool has_cell(const std::string& function, const std::string& column) {
  return std::any_of(cells().begin(), cells().end(), [&](const Cell& cell) {
    return cell.function == function && cell.column == column;
  });
}

// One word for all the tests of a cell.
std::string verdict(
    const std::string& function,
    const std::string& column,
    const Outcomes& outcomes) {
  int passed = 0;
  int failed = 0;
  int expected = 0;
  for (const Cell& cell : cells()) {
    if (cell.function != function || cell.column != column) {
      continue;
    }
    const auto found = outcomes.find(cell.test);
    if (found == outcomes.end() || found->second == Outcome::Skipped) {
      continue;
    }
    passed += found->second == Outcome::Passed ? 1 : 0;
    failed += found->second == Outcome::Failed ? 1 : 0;
    expected += found->second == Outcome::ExpectedFailure ? 1 : 0;
  }
  if (failed > 0) {
    return "FAILED";
  }
  if (expected > 0) {
    return "expected failure";
  }
  return passed > 0 ? "ok" : "not run";
}

class Footnotes {
 public:
  std::string mark(const std::string& reason) {
    for (std::size_t i = 0; i < reasons_.size(); ++i) {
      if (reasons_[i] == reason) {
        return "[" + std::to_string(i + 1) + "]";
      }
    }
    reasons_.push_back(reason);
    return "[" + std::to_string(reasons_.size()) + "]";
  }
  void print(std::ostream& out) const {
    for (std::size_t i = 0; i < reasons_.size(); ++i) {
      out << "[" << i + 1 << "] " << reasons_[i] << "\n";
    }
  }

 private:
  std::vector<std::string> reasons_;
};

std::vector<std::string> missing_rows() {
  std::set<std::string> known;
  for (const Row& row : rows()) {
    known.insert(row.function);
  }
  std::vector<std::string> result;
  for (const std::string& name : header_functions()) {
    if (known.count(name) == 0) {
      result.push_back(name);
    }
  }
  return result;
}

std::vector<std::string> missing_cells() {
  std::vector<std::string> result;
  for (const Row& row : rows()) {
    for (const Column& column : kColumns) {
      const bool tested = has_cell(row.function, column.name);
      const bool excused = row.*column.reason != nullptr;
      if (!tested && !excused) {
        result.push_back(
            std::string(row.function) + " lacks a test or a reason for " +
            column.name);
      }
      if (tested && excused) {
        result.push_back(
            std::string(row.function) + " has a test and a reason for " +
            column.name);
      }
    }
    for (const std::string& error : words(row.errors)) {
      if (!has_cell(row.function, error)) {
        result.push_back(
            std::string(row.function) + " lacks a test for " + error);
      }
    }
  }
  return result;
}

// Cells that belong to no row or column: typing errors in a test's name.
std::vector<std::string> stray_cells() {
  std::vector<std::string> result;
  for (const Cell& cell : cells()) {
    bool known = false;
    for (const Row& row : rows()) {
      if (cell.function != row.function) {
        continue;
      }
      const std::vector<std::string> errors = words(row.errors);
      known =
          std::find(errors.begin(), errors.end(), cell.column) != errors.end();
      for (const Column& column : kColumns) {
        known = known || cell.column == column.name;
      }
    }
    if (!known) {
      result.push_back(cell.test + " names no cell of the matrix");
    }
  }
  return result;
}

std::string lines(const std::vector<std::string>& texts) {
  std::string result;
  for (const std::string& text : texts) {
    result += "\n  " + text;
  }
  return result;
}

class RowsTest : public Fixture {
 public:
  void TestBody() override {
    EXPECT_FALSE(header_functions().empty()) << "no header was read";
    const std::vector<std::string> missing = missing_rows();
    EXPECT_TRUE(missing.empty())
        << "functions of the headers without a row:" << lines(missing);
  }
};

class CellsTest : public Fixture {
 public:
  void TestBody() override {
    const std::vector<std::string> missing = missing_cells();
    EXPECT_TRUE(missing.empty()) << lines(missing);
    const std::vector<std::string> stray = stray_cells();
    EXPECT_TRUE(stray.empty()) << lines(stray);
  }
};

} // namespace

std::string matrix_markdown(const Outcomes& outcomes) {
  std::ostringstream out;
  Footnotes notes;
  out << "| function | success | errors | null | zero | sticky |\n"
      << "|---|---|---|---|---|---|\n";
  for (const Row& row : rows()) {
    const auto cell = [&](const Column& column) {
      return row.*column.reason != nullptr
          ? notes.mark(row.*column.reason)
          : verdict(row.function, column.name, outcomes);
    };
    std::string name = row.function;
    const std::size_t split = name.find('_');
    if (split != std::string::npos) {
      name.replace(split, 1, "::");
    }
    out << "| " << name << " | " << cell(kColumns[0]) << " | ";
    const char* separator = "";
    for (const std::string& error : words(row.errors)) {
      out << separator << error << " "
          << verdict(row.function, error, outcomes);
      separator = ", ";
    }
    for (int i = 1; i < 4; ++i) {
      out << " | " << cell(kColumns[i]);
    }
    out << " |\n";
  }
  out << "\n";
  notes.print(out);
  return out.str();
}

void add_matrix_tests() {
  add_test(
      "matrix",
      "every_header_function_has_a_row",
      __FILE__,
      __LINE__,
      []() -> Fixture* { return new RowsTest; });
  add_test(
      "matrix",
      "every_cell_has_a_test_or_a_reason",
      __FILE__,
      __LINE__,
      []() -> Fixture* { return new CellsTest; });
}

} // namespace conformance
