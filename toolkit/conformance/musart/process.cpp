// SPDX-License-Identifier: Apache-2.0
// What needs a process of its own: stray accesses, fork, exit, environment.
#include "support/child.h"
#include "support/conforms.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

namespace conformance {

#if CONFORMANCE_PORTABLE

namespace {

constexpr std::size_t kBytes = 10'000;

// The memory of one allocating call, and its last byte's offset.
unsigned char* allocate(const std::string& call, std::size_t* last) {
  void* pointer = nullptr;
  *last = kBytes - 1;
  musaError_t code = musaErrorUnknown;
  if (call == "musaMalloc") {
    code = musaMalloc(&pointer, kBytes);
  } else if (call == "musaMallocPitch") {
    std::size_t pitch = 0;
    code = musaMallocPitch(&pointer, &pitch, 100, 100);
    *last = pitch * 99 + 99;
  } else if (call == "musaMallocAsync") {
    code = musaMallocAsync(&pointer, kBytes, nullptr);
  } else if (call == "musaMallocFromPoolAsync") {
    musaMemPool_t pool = nullptr;
    musaMemPoolProps properties;
    std::memset(&properties, 0, sizeof properties);
    properties.allocType = musaMemAllocationTypePinned;
    properties.location.type = musaMemLocationTypeDevice;
    if (musaMemPoolCreate(&pool, &properties) == musaSuccess) {
      code = musaMallocFromPoolAsync(&pointer, kBytes, pool, nullptr);
    }
  }
  if (code != musaSuccess || musaDeviceSynchronize() != musaSuccess) {
    std::fprintf(stderr, "%s: %s\n", call.c_str(), musaGetErrorName(code));
    return nullptr;
  }
  return static_cast<unsigned char*>(pointer);
}

class StrayTest : public Fixture {
 public:
  explicit StrayTest(std::string argument) : argument_(std::move(argument)) {}
  void TestBody() override {
    const ChildResult child = run_child("stray", argument_);
    EXPECT_NE(std::string::npos, child.output.find("touching")) << child.errors;
    EXPECT_TRUE(died_of_access(child))
        << argument_ << " ended with " << child.status << "\n"
        << child.errors;
  }

 private:
  std::string argument_;
};

[[maybe_unused]] const bool added_stray = [] {
  for (const char* call :
       {"musaMalloc",
        "musaMallocPitch",
        "musaMallocAsync",
        "musaMallocFromPoolAsync"}) {
    for (const char* way : {"read", "write"}) {
      for (const char* place : {"first", "last"}) {
        const std::string name =
            std::string(call) + "_" + place + "_byte_" + way;
        const std::string argument =
            std::string(call) + " " + place + " " + way;
        add_test("stray", name, __FILE__, __LINE__, [argument]() -> Fixture* {
          return new StrayTest(argument);
        });
      }
    }
  }
  return true;
}();

} // namespace

SCENARIO(stray) {
  const std::string call = argument.substr(0, argument.find(' '));
  std::size_t last = 0;
  volatile unsigned char* memory = allocate(call, &last);
  REQUIRE(memory != nullptr);
  if (argument.find(" last ") != std::string::npos) {
    memory += last;
  }
  const rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  std::puts("touching");
  std::fflush(stdout);
  if (argument.find("read") != std::string::npos) {
    std::printf("read %d\n", *memory);
  } else {
    *memory = 1;
  }
  return 0;
}

SCENARIO(system_call) {
  void* memory = nullptr;
  REQUIRE(musaMalloc(&memory, 4096) == musaSuccess);
  const int file = open("/dev/zero", O_RDONLY | O_CLOEXEC);
  REQUIRE(file >= 0);
  REQUIRE(read(file, memory, 4096) == -1);
  REQUIRE(errno == EFAULT);
  close(file);
  return 0;
}

BEHAVES(stray, system_calls_refuse_device_memory) {
  expect_good(run_child("system_call"));
}

// --- fork --------------------------------------------------------------

namespace {

int child_status(pid_t pid) {
  int status = 0;
  for (int i = 0; i < 1000; ++i) {
    if (waitpid(pid, &status, WNOHANG) == pid) {
      return WIFEXITED(status) ? WEXITSTATUS(status) : 200;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  kill(pid, SIGKILL);
  waitpid(pid, &status, 0);
  return 201; // it hung
}

// What a forked child may expect: every device call fails at once.
int in_forked_child(void* memory, musaStream_t stream) {
  int count = -1;
  const musaError_t counted = musaGetDeviceCount(&count);
  if (counted != musaSuccess && counted != musaErrorInitializationError) {
    return 10;
  }
  void* pointer = nullptr;
  if (musaMalloc(&pointer, 16) != musaErrorInitializationError) {
    return 11;
  }
  if (musaMemset(memory, 1, 16) != musaErrorInitializationError) {
    return 12;
  }
  if (musaStreamSynchronize(stream) != musaErrorInitializationError) {
    return 13;
  }
  if (musaDeviceSynchronize() != musaErrorInitializationError) {
    return 14;
  }
  if (musaLaunchHostFunc(
          stream,
          [](void*) {},
          nullptr) != musaErrorInitializationError) {
    return 15;
  }
  if (musaGetLastError() != musaErrorInitializationError) {
    return 16;
  }
  if (std::strlen(musaGetErrorString(musaErrorInitializationError)) == 0) {
    return 17;
  }
  return 0;
}

} // namespace

SCENARIO(fork_used) {
  void* memory = nullptr;
  musaStream_t stream = nullptr;
  REQUIRE(musaMalloc(&memory, 4096) == musaSuccess);
  REQUIRE(musaStreamCreate(&stream) == musaSuccess);
  REQUIRE(musaMemset(memory, 7, 4096) == musaSuccess);
  REQUIRE(musaDeviceSynchronize() == musaSuccess);
  std::fflush(nullptr);
  const pid_t pid = fork();
  if (pid == 0) {
    // Leaves as Python does, through exit handlers.
    // NOLINTNEXTLINE(concurrency-mt-unsafe): a forked child has one thread
    std::exit(in_forked_child(memory, stream));
  }
  const int status = child_status(pid);
  std::fprintf(stderr, "child: %d\n", status);
  REQUIRE(status == 0);
  unsigned char host[4096];
  REQUIRE(
      musaMemcpy(host, memory, 4096, musaMemcpyDeviceToHost) == musaSuccess);
  REQUIRE(host[4095] == 7);
  return 0;
}

BEHAVES(fork, child_of_a_used_device_fails_at_once_and_exits) {
  expect_good(run_child("fork_used"));
}

SCENARIO(fork_busy) {
  musaStream_t stream = nullptr;
  void* memory = nullptr;
  REQUIRE(musaMalloc(&memory, 1 << 20) == musaSuccess);
  REQUIRE(
      musaStreamCreateWithFlags(&stream, musaStreamNonBlocking) == musaSuccess);
  std::atomic<bool> stop{false};
  std::thread submitter([&] {
    while (!stop) {
      (void)musaMemsetAsync(memory, 1, 1 << 20, stream);
    }
  });
  int worst = 0;
  for (int round = 0; round < 20 && worst == 0; ++round) {
    const pid_t pid = fork();
    if (pid == 0) {
      _exit(in_forked_child(memory, stream));
    }
    worst = child_status(pid);
  }
  stop = true;
  submitter.join();
  std::fprintf(stderr, "child: %d\n", worst);
  REQUIRE(worst == 0);
  REQUIRE(musaDeviceSynchronize() == musaSuccess);
  return 0;
}

BEHAVES(fork, amid_submits_leaves_both_sides_alive) {
  expect_good(run_child("fork_busy"));
}

SCENARIO(fork_unused) {
  const pid_t pid = fork();
  if (pid == 0) {
    // Nobody used the device before: the child owns it as a new process does.
    void* memory = nullptr;
    const bool good = musaMalloc(&memory, 4096) == musaSuccess &&
        musaMemset(memory, 1, 4096) == musaSuccess &&
        musaDeviceSynchronize() == musaSuccess;
    // NOLINTNEXTLINE(concurrency-mt-unsafe): a forked child has one thread
    std::exit(good ? 0 : 1);
  }
  REQUIRE(child_status(pid) == 0);
  return 0;
}

BEHAVES(fork, before_the_first_use_the_child_may_use_the_device) {
#if CONFORMANCE_TSAN
  GTEST_SKIP() << "the sanitizer allows no threads in a forked child";
#endif
  expect_good(run_child("fork_unused"));
}

SCENARIO(fork_memory) {
  // The child cannot reach the device's memory by any address.
  void* memory = nullptr;
  REQUIRE(musaMalloc(&memory, 4096) == musaSuccess);
  REQUIRE(musaMemset(memory, 7, 4096) == musaSuccess);
  REQUIRE(musaDeviceSynchronize() == musaSuccess);
  const pid_t pid = fork();
  if (pid == 0) {
    const rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    *static_cast<volatile unsigned char*>(memory) = 1;
    _exit(0);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  REQUIRE(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
  return 0;
}

BEHAVES(fork, child_cannot_touch_device_memory) {
  expect_good(run_child("fork_memory"));
}

// --- exit ----------------------------------------------------------------

SCENARIO(exit_busy) {
  constexpr std::size_t kOne = CONFORMANCE_TSAN ? 1 << 14 : 1 << 20;
  constexpr int kStreams = 8;
  void* memory = nullptr;
  REQUIRE(musaMalloc(&memory, kStreams * kOne) == musaSuccess);
  for (int s = 0; s < kStreams; ++s) {
    void* mine =
        static_cast<char*>(memory) + static_cast<std::size_t>(s) * kOne;
    musaStream_t stream = nullptr;
    REQUIRE(
        musaStreamCreateWithFlags(&stream, musaStreamNonBlocking) ==
        musaSuccess);
    for (int i = 0; i < 200; ++i) {
      REQUIRE(musaMemsetAsync(mine, i, kOne, stream) == musaSuccess);
    }
  }
  std::this_thread::sleep_for(
      std::chrono::milliseconds(std::strtol(argument.c_str(), nullptr, 10)));
  return 0;
}

BEHAVES(exit, with_work_queued_is_clean) {
  for (const char* delay : {"0", "1", "3"}) {
    const auto start = std::chrono::steady_clock::now();
    const ChildResult child = run_child("exit_busy", delay);
    expect_good(child);
    EXPECT_EQ("", child.errors);
    EXPECT_LT(seconds_since(start), 60.0);
  }
}

SCENARIO(exit_leaky) {
  // Streams, events, memory and pinned memory are still there at the end.
  void* memory = nullptr;
  void* pinned = nullptr;
  musaStream_t stream = nullptr;
  musaEvent_t event = nullptr;
  REQUIRE(musaMalloc(&memory, 4096) == musaSuccess);
  REQUIRE(musaMallocHost(&pinned, 4096) == musaSuccess);
  REQUIRE(musaStreamCreate(&stream) == musaSuccess);
  REQUIRE(musaEventCreate(&event) == musaSuccess);
  REQUIRE(
      musaMemcpyAsync(memory, pinned, 4096, musaMemcpyHostToDevice, stream) ==
      musaSuccess);
  REQUIRE(musaEventRecord(event, stream) == musaSuccess);
  return 0;
}

BEHAVES(exit, with_everything_alive_is_clean) {
  const ChildResult child = run_child("exit_leaky");
  expect_good(child);
  EXPECT_EQ("", child.errors);
}

SCENARIO(exit_stopped) {
  musaStream_t stream = nullptr;
  REQUIRE(musaStreamCreate(&stream) == musaSuccess);
  void* memory = nullptr;
  REQUIRE(musaMalloc(&memory, 4096) == musaSuccess);
  musaPortableStop();
  int count = 0;
  void* other = nullptr;
  REQUIRE(musaMalloc(&other, 16) == musaErrorMusartUnloading);
  REQUIRE(musaFree(memory) == musaErrorMusartUnloading);
  REQUIRE(musaStreamSynchronize(stream) == musaErrorMusartUnloading);
  REQUIRE(musaStreamDestroy(stream) == musaErrorMusartUnloading);
  REQUIRE(musaGetDeviceCount(&count) == musaErrorMusartUnloading);
  musaPortableStop();
  return 0;
}

BEHAVES(exit, a_stopped_engine_says_unloading) {
  expect_good(run_child("exit_stopped"));
}

SCENARIO(exit_thread) {
  // A detached thread goes on calling while the process ends.
  std::thread([] {
    void* memory = nullptr;
    (void)musaMalloc(&memory, 1 << 16);
    for (;;) {
      if (musaMemsetAsync(memory, 1, 1 << 16, nullptr) ==
          musaErrorMusartUnloading) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    }
  }).detach();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  return 0;
}

BEHAVES(exit, while_another_thread_submits_is_clean) {
  expect_good(run_child("exit_thread"));
}

// --- environment -----------------------------------------------------------

SCENARIO(count_devices) {
  int count = -1;
  const musaError_t code = musaGetDeviceCount(&count);
  void* memory = nullptr;
  const musaError_t used = musaMalloc(&memory, 16);
  std::printf(
      "%d %d %d\n",
      static_cast<int>(code),
      count,
      static_cast<int>(used));
  std::printf("%s\n", musaPortableLastMessage());
  return 0;
}

BEHAVES(environment, devices_are_as_many_as_asked) {
  ON_CPU_ENGINE_ONLY();
  const ChildResult child =
      run_child("count_devices", "", {{"MUSA_CPU_DEVICES", "3"}});
  EXPECT_EQ(0U, child.output.find("0 3 0\n")) << child.output << child.errors;
}

BEHAVES(environment, no_device_is_an_error_of_its_own) {
  const ChildResult child =
      run_child("count_devices", "", {{"MUSA_VISIBLE_DEVICES", ""}});
  // NoDevice with a count of 0 for the count, NoDevice for the use.
  EXPECT_EQ(0U, child.output.find("100 0 100\n"))
      << child.output << child.errors;
}

BEHAVES(environment, malformed_values_are_named) {
  ON_CPU_ENGINE_ONLY();
  const Environment cases[] = {
      {{"MUSA_CPU_DEVICES", "many"}},
      {{"MUSA_CPU_DEVICES", "-1"}},
      {{"MUSA_CPU_DEVICES", "2x"}},
      {{"MUSA_CPU_MEMORY", "plenty"}},
      {{"MUSA_CPU_MEMORY", "8 parsecs"}},
      {{"MUSA_CPU_THREADS", "0"}},
      {{"MUSA_CPU_THREADS", "two"}}};
  for (const Environment& variables : cases) {
    const auto& variable = variables.front();
    const ChildResult child = run_child("count_devices", "", variables);
    EXPECT_TRUE(child.exited && child.status == 0) << child.status;
    EXPECT_EQ(0U, child.output.find("3 "))
        << variable.first << "=" << variable.second << "\n"
        << child.output;
    const std::string said = child.output + child.errors;
    EXPECT_NE(std::string::npos, said.find(variable.first)) << said;
    EXPECT_NE(std::string::npos, said.find(variable.second)) << said;
  }
}

SCENARIO(memory_total) {
  std::size_t free_bytes = 0;
  std::size_t total = 0;
  REQUIRE(musaMemGetInfo(&free_bytes, &total) == musaSuccess);
  std::printf("%zu\n", total);
  void* memory = nullptr;
  REQUIRE(musaMalloc(&memory, total + 1) == musaErrorMemoryAllocation);
  REQUIRE(musaMalloc(&memory, total / 2) == musaSuccess);
  REQUIRE(musaMemset(memory, 1, total / 2) == musaSuccess);
  REQUIRE(musaDeviceSynchronize() == musaSuccess);
  return 0;
}

BEHAVES(environment, memory_is_as_large_as_asked) {
  ON_CPU_ENGINE_ONLY();
  const ChildResult child =
      run_child("memory_total", "", {{"MUSA_CPU_MEMORY", "64MiB"}});
  expect_good(child);
  EXPECT_EQ(std::to_string(64 << 20) + "\n", child.output);
}

SCENARIO(little_address_space) {
  const rlimit limit = {1UL << 30, 1UL << 30};
  REQUIRE(setrlimit(RLIMIT_AS, &limit) == 0);
  void* memory = nullptr;
  const musaError_t code = musaMalloc(&memory, 16);
  std::printf("%d %s\n", static_cast<int>(code), musaPortableLastMessage());
  return 0;
}

BEHAVES(environment, refused_reservation_names_its_size) {
  ON_CPU_ENGINE_ONLY();
#if CONFORMANCE_TSAN || CONFORMANCE_ASAN
  GTEST_SKIP() << "the sanitizers reserve more address space than that";
#endif
  const ChildResult child =
      run_child("little_address_space", "", {{"MUSA_CPU_MEMORY", "16GiB"}});
  expect_good(child);
  EXPECT_NE(0U, child.output.find("0 ")) << child.output;
  const std::string said = child.output + child.errors;
  EXPECT_TRUE(
      said.find("GiB") != std::string::npos ||
      said.find("bytes") != std::string::npos)
      << said;
}

// --- threads ---------------------------------------------------------------

namespace {

int threads_of_this_process() {
  int count = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc/self/task")) {
    count += entry.is_directory() ? 1 : 0;
  }
  return count;
}

} // namespace

SCENARIO(threads) {
  musaStream_t streams[256];
  const int before = threads_of_this_process();
  for (musaStream_t& stream : streams) {
    REQUIRE(
        musaStreamCreateWithFlags(&stream, musaStreamNonBlocking) ==
        musaSuccess);
  }
  const int created = threads_of_this_process();
  std::fprintf(stderr, "%d threads, %d with streams\n", before, created);
  REQUIRE(created <= before + 8);
  return 0;
}

BEHAVES(threads, idle_streams_own_none) {
  expect_good(run_child("threads"));
}

SCENARIO(leaks) {
  const auto round = [] {
    void* memory = nullptr;
    musaStream_t stream = nullptr;
    musaEvent_t event = nullptr;
    return musaMalloc(&memory, 1 << 20) == musaSuccess &&
        musaStreamCreateWithFlags(&stream, musaStreamNonBlocking) ==
        musaSuccess &&
        musaEventCreate(&event) == musaSuccess &&
        musaMemsetAsync(memory, 1, 1 << 20, stream) == musaSuccess &&
        musaEventRecord(event, stream) == musaSuccess &&
        musaStreamWaitEvent(nullptr, event, 0) == musaSuccess &&
        musaStreamDestroy(stream) == musaSuccess &&
        musaEventDestroy(event) == musaSuccess &&
        musaFree(memory) == musaSuccess &&
        musaDeviceSynchronize() == musaSuccess;
  };
  const auto files = [] {
    int count = 0;
    for (const auto& entry :
         std::filesystem::directory_iterator("/proc/self/fd")) {
      count += entry.exists() ? 1 : 0;
    }
    return count;
  };
  const auto resident = [] {
    long pages = 0;
    std::FILE* file = std::fopen("/proc/self/statm", "r");
    if (file == nullptr || std::fscanf(file, "%*d %ld", &pages) != 1) {
      pages = -1;
    }
    std::fclose(file);
    return pages * 4096;
  };
  for (int i = 0; i < 100; ++i) {
    REQUIRE(round());
  }
  const int threads_before = threads_of_this_process();
  const int files_before = files();
  const long resident_before = resident();
  std::size_t free_before = 0;
  std::size_t total = 0;
  REQUIRE(musaMemGetInfo(&free_before, &total) == musaSuccess);
  for (int i = 0; i < 900; ++i) {
    REQUIRE(round());
  }
  std::size_t free_after = 0;
  REQUIRE(musaMemGetInfo(&free_after, &total) == musaSuccess);
  const long growth = resident() - resident_before;
  std::fprintf(
      stderr,
      "threads %d %d, files %d %d, growth %ld\n",
      threads_before,
      threads_of_this_process(),
      files_before,
      files(),
      growth);
  REQUIRE(free_before == free_after);
  REQUIRE(threads_of_this_process() == threads_before);
  REQUIRE(files() == files_before);
  REQUIRE(growth < (CONFORMANCE_TSAN || CONFORMANCE_ASAN ? 256L : 2L) << 20);
  return 0;
}

BEHAVES(threads, a_thousand_rounds_leak_nothing) {
  expect_good(run_child("leaks"));
}

#endif

} // namespace conformance
