// SPDX-License-Identifier: Apache-2.0
// The report: each function x {success, errors, null, zero, sticky}.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace conformance {

enum class Outcome { Passed, Failed, ExpectedFailure, Skipped };

using Outcomes = std::map<std::string, Outcome>; // by suite.name

// The matrix as a markdown table with its footnotes.
std::string matrix_markdown(const Outcomes& outcomes);

// Registers the tests that keep the matrix complete.
void add_matrix_tests();

} // namespace conformance
