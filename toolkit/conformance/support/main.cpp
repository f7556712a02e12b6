// SPDX-License-Identifier: Apache-2.0
// Runs a conformance executable: --matrix=FILE writes the report matrix,
// --expected=DIR names the folder of expected failures, --quiet hides the
// table.
#include "support/child.h"
#include "support/conforms.h"
#include "support/expected.h"
#include "support/matrix.h"

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>

namespace {

using conformance::Outcome;
using conformance::Outcomes;

struct Options {
  std::string matrix;
  std::string expected = CONFORMANCE_EXPECTED_DIR;
  bool quiet = false;
};

bool parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string argument(argv[i]);
    if (argument.rfind("--matrix=", 0) == 0) {
      options.matrix = argument.substr(9);
    } else if (argument.rfind("--expected=", 0) == 0) {
      options.expected = argument.substr(11);
    } else if (argument == "--quiet") {
      options.quiet = true;
    } else {
      std::fprintf(stderr, "unknown option %s\n", argv[i]);
      return false;
    }
  }
  return true;
}

Outcomes collect() {
  Outcomes outcomes;
  const testing::UnitTest& unit = *testing::UnitTest::GetInstance();
  for (int s = 0; s < unit.total_test_suite_count(); ++s) {
    const testing::TestSuite& suite = *unit.GetTestSuite(s);
    for (int t = 0; t < suite.total_test_count(); ++t) {
      const testing::TestInfo& info = *suite.GetTestInfo(t);
      // A test cut off by fail-fast was to run, but never started.
      if (!info.should_run() || info.result()->start_timestamp() == 0) {
        continue;
      }
      const std::string name = std::string(suite.name()) + "." + info.name();
      outcomes[name] = info.result()->Skipped() ? Outcome::Skipped
          : info.result()->Passed()             ? Outcome::Passed
                                                : Outcome::Failed;
    }
  }
  return outcomes;
}

// Applies the list of expected failures; returns the number of complaints.
int judge(Outcomes& outcomes, const conformance::Expected& expected) {
  int complaints = 0;
  for (auto& outcome : outcomes) {
    const auto found = expected.reasons.find(outcome.first);
    const bool listed = found != expected.reasons.end();
    if (outcome.second == Outcome::Failed && listed) {
      outcome.second = Outcome::ExpectedFailure;
      std::cout << "[expected] " << outcome.first << ": " << found->second
                << "\n";
    } else if (outcome.second == Outcome::Failed) {
      std::cout << "[ FAILED ] " << outcome.first << "\n";
      ++complaints;
    } else if (outcome.second == Outcome::Passed && listed) {
      std::cout << "[ PASSED ] " << outcome.first
                << " but is listed as an expected failure\n";
      ++complaints;
    }
  }
  const bool whole = testing::GTEST_FLAG(filter) == "*";
  for (const auto& reason : expected.reasons) {
    if (whole && outcomes.count(reason.first) == 0) {
      std::cout << "[ UNKNOWN] " << reason.first
                << " is listed as an expected failure, but is no test\n";
      ++complaints;
    }
  }
  return complaints;
}

bool any_failed(const Outcomes& outcomes) {
  for (const auto& outcome : outcomes) {
    if (outcome.second == Outcome::Failed ||
        outcome.second == Outcome::ExpectedFailure) {
      return true;
    }
  }
  return false;
}

} // namespace

int main(int argc, char** argv) {
  int status = 0;
  if (conformance::child_requested(argc, argv, &status)) {
    return status;
  }
  testing::InitGoogleTest(&argc, argv);
  Options options;
  if (!parse(argc, argv, options)) {
    return 2;
  }
  const std::string list =
      options.expected + "/" + conformance::engine_name() + ".txt";
  const conformance::Expected expected =
      conformance::read_expected(list, CONFORMANCE_LIBRARY);
  if (!expected.error.empty()) {
    std::fprintf(stderr, "%s\n", expected.error.c_str());
    return 2;
  }
  conformance::add_matrix_tests();
  const bool clean = RUN_ALL_TESTS() == 0;
  Outcomes outcomes = collect();
  int complaints = judge(outcomes, expected);
  if (!clean && !any_failed(outcomes)) {
    std::cout << "a failure belongs to no test\n";
    ++complaints;
  }
  const std::string table = conformance::matrix_markdown(outcomes);
  if (!options.quiet) {
    std::cout << "\n" << table;
  }
  if (!options.matrix.empty()) {
    std::ofstream file(options.matrix);
    file << "# " CONFORMANCE_LIBRARY " on the " << conformance::engine_name()
         << " toolkit\n\n"
         << table;
    file.close();
    if (!file) {
      std::fprintf(stderr, "cannot write %s\n", options.matrix.c_str());
      return 2;
    }
  }
  std::cout << outcomes.size() << " tests, " << complaints
            << " unexpected results\n";
  return complaints == 0 ? 0 : 1;
}
