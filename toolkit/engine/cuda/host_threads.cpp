// SPDX-License-Identifier: Apache-2.0
// The threads of host functions.
#include "toolkit/engine/cuda/host_threads.h"

#include <pthread.h>

#include <condition_variable>
#include <csignal>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>

namespace musa_standin::engine::cuda {
namespace {

// Idle threads beyond these end.
constexpr int kKeep = 4;

// Never destroyed: its threads outlive the process's handlers.
class Threads {
 public:
  // False if there is no thread and none could be made.
  bool post(HostCall* call) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (static_cast<size_t>(idle_) <= queue_.size() && !start()) {
      return false;
    }
    queue_.push_back(call);
    work_.notify_one();
    return true;
  }

 private:
  // Under the lock. Signals are for the threads of the program.
  bool start() {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool made = true;
    try {
      std::thread([this] { loop(); }).detach();
      ++idle_;
    } catch (const std::system_error&) {
      made = false;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return made;
  }

  void loop() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      work_.wait(lock, [this] { return !queue_.empty(); });
      HostCall* call = queue_.front();
      queue_.pop_front();
      --idle_;
      lock.unlock();
      run_call(call);
      lock.lock();
      if (queue_.empty() && idle_ >= kKeep) {
        return;
      }
      ++idle_;
    }
  }

  std::mutex mutex_;
  std::condition_variable work_;
  std::deque<HostCall*> queue_;
  int idle_ = 0; // threads that wait for work, or are about to
};

} // namespace

void post_call(HostCall* call) noexcept {
  static auto* const threads = new Threads;
  if (!threads->post(call)) {
    run_call(call); // on CUDA's thread: late is better than never
  }
}

} // namespace musa_standin::engine::cuda
