// SPDX-License-Identifier: Apache-2.0
// Starts the executable again for one scenario and collects how it ended.
#include "support/child.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

extern char** environ;

#if defined(__SANITIZE_ADDRESS__)
namespace {
const pid_t kStarted = getpid();
} // namespace

// A forked child has its parent's memory but none of its threads. What only
// their stacks and thread-locals point at, libgomp's part included, is no leak,
// and LeakSanitizer says itself that it cannot tell there.
// NOLINTNEXTLINE(bugprone-reserved-identifier): the sanitizer's name for it
extern "C" [[gnu::visibility("default")]] int __lsan_is_turned_off() {
  return getpid() == kStarted ? 0 : 1;
}
#endif

namespace conformance {
namespace {

constexpr const char* kOption = "--scenario=";
constexpr int kTimeoutMs = 120'000;

std::map<std::string, Scenario>& scenarios() {
  static std::map<std::string, Scenario> all;
  return all;
}

// A sanitizer that is to leave the signals alone.
std::string with_plain_signals(const char* variable) {
  const char* value = std::getenv(variable); // NOLINT(concurrency-mt-unsafe)
  return std::string(value == nullptr ? "" : value) +
      ":handle_segv=0:handle_sigbus=0:handle_sigfpe=0";
}

std::vector<std::string> child_environment(Environment changes) {
  changes.emplace_back("ASAN_OPTIONS", with_plain_signals("ASAN_OPTIONS"));
  changes.emplace_back("TSAN_OPTIONS", with_plain_signals("TSAN_OPTIONS"));
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text(*entry);
    bool replaced = false;
    for (const auto& change : changes) {
      replaced = replaced || text.rfind(change.first + "=", 0) == 0;
    }
    if (!replaced) {
      result.push_back(text);
    }
  }
  for (const auto& change : changes) {
    result.push_back(change.first + "=" + change.second);
  }
  return result;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  for (std::string& text : texts) {
    result.push_back(text.data());
  }
  result.push_back(nullptr);
  return result;
}

// Reads both pipes to their ends; false when the time is over.
bool drain(int out, int err, ChildResult& result) {
  pollfd files[2] = {{out, POLLIN, 0}, {err, POLLIN, 0}};
  std::string* texts[2] = {&result.output, &result.errors};
  int open_files = 2;
  const auto start = std::chrono::steady_clock::now();
  while (open_files > 0) {
    const auto passed = std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::steady_clock::now() - start);
    const int left = kTimeoutMs - static_cast<int>(passed.count());
    if (left <= 0 || poll(files, 2, left) == 0) {
      return false;
    }
    for (int i = 0; i < 2; ++i) {
      if (files[i].fd < 0 || files[i].revents == 0) {
        continue;
      }
      char text[4096];
      const ssize_t got = read(files[i].fd, text, sizeof text);
      if (got > 0) {
        texts[i]->append(text, static_cast<std::size_t>(got));
      } else {
        close(files[i].fd);
        files[i].fd = -1;
        --open_files;
      }
    }
  }
  return true;
}

} // namespace

bool add_scenario(const char* name, Scenario scenario) {
  scenarios()[name] = scenario;
  return true;
}

bool child_requested(int argc, char** argv, int* status) {
  if (argc < 2 || std::strncmp(argv[1], kOption, std::strlen(kOption)) != 0) {
    return false;
  }
  const auto found = scenarios().find(argv[1] + std::strlen(kOption));
  if (found == scenarios().end()) {
    std::fprintf(stderr, "no scenario is called %s\n", argv[1]);
    *status = 99;
    return true;
  }
  *status = found->second(argc > 2 ? argv[2] : "");
  return true;
}

ChildResult run_child(
    const std::string& scenario,
    const std::string& argument,
    const Environment& environment) {
  ChildResult result;
  int out[2];
  int err[2];
  if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0) {
    result.errors = "pipe failed";
    return result;
  }
  std::vector<std::string> arguments = {
      "/proc/self/exe",
      kOption + scenario,
      argument};
  std::vector<std::string> variables = child_environment(environment);
  std::vector<char*> argv = pointers(arguments);
  std::vector<char*> envp = pointers(variables);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err[1], STDERR_FILENO);
  pid_t pid = -1;
  const int failed = posix_spawn(
      &pid,
      "/proc/self/exe",
      &actions,
      nullptr,
      argv.data(),
      envp.data());
  posix_spawn_file_actions_destroy(&actions);
  close(out[1]);
  close(err[1]);
  if (failed != 0) {
    result.errors = std::strerror(failed);
    return result;
  }
  if (!drain(out[0], err[0], result)) {
    result.timed_out = true;
    kill(pid, SIGKILL);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  result.exited = WIFEXITED(status);
  result.status = result.exited ? WEXITSTATUS(status) : WTERMSIG(status);
  return result;
}

void expect_good(const ChildResult& result) {
  EXPECT_TRUE(result.exited && result.status == 0)
      << (result.timed_out    ? "timed out, "
              : result.exited ? "status "
                              : "signal ")
      << result.status << "\n"
      << result.output << result.errors;
}

bool died_of_access(const ChildResult& result) {
  if (result.timed_out) {
    return false;
  }
  return !result.exited &&
      (result.status == SIGSEGV || result.status == SIGBUS);
}

} // namespace conformance
