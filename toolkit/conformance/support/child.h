// SPDX-License-Identifier: Apache-2.0
// Scenarios that need a process of their own: a crash, a fork, an exit, an
// environment, a device that a sticky error has spoiled.
#pragma once

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace conformance {

struct ChildResult {
  bool exited = false; // by exit or return, `status` is the exit status
  int status = -1;     // else the signal's number
  bool timed_out = false;
  std::string output; // stdout
  std::string errors; // stderr
};

using Environment = std::vector<std::pair<std::string, std::string>>;

// Starts this executable again (fork and exec) to run the named scenario.
ChildResult run_child(
    const std::string& scenario,
    const std::string& argument = "",
    const Environment& environment = {});

using Scenario = int (*)(const std::string& argument);
bool add_scenario(const char* name, Scenario scenario);

// Runs the scenario named on the command line, if there is one.
bool child_requested(int argc, char** argv, int* status);

// Did the child die from a read or write that the memory refuses? The
// sanitizers turn the signal into their own exit codes.
bool died_of_access(const ChildResult& result);

// The scenario ended well.
void expect_good(const ChildResult& result);

} // namespace conformance

// SCENARIO(name) { ... return 0; } with `argument` in scope.
#define SCENARIO(name)                                           \
  namespace {                                                    \
  struct Scenario_##name {                                       \
    static int run(const std::string& argument);                 \
  };                                                             \
  [[maybe_unused]] const bool added_scenario_##name =            \
      ::conformance::add_scenario(#name, &Scenario_##name::run); \
  }                                                              \
  int Scenario_##name::run([[maybe_unused]] const std::string& argument)

// Ends a scenario as failed, with the line and text of what did not hold.
#define REQUIRE(condition)                                         \
  do {                                                             \
    if (!(condition)) {                                            \
      std::fprintf(stderr, "line %d: %s\n", __LINE__, #condition); \
      return 1;                                                    \
    }                                                              \
  } while (false)
