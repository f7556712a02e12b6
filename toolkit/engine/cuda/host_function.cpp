// SPDX-License-Identifier: Apache-2.0
// Host functions and callbacks.
#include "toolkit/engine/cuda/host_function.h"

#include "toolkit/engine/fault.h"
#include "toolkit/engine/thread_state.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

namespace musa_standin::engine::cuda {
namespace {

std::atomic<int> g_running{0};

// What CUDA hands back to `run`; deleted there, or when the enqueue fails.
struct Call {
  musaHostFn_t function = nullptr;
  musaStreamCallback_t callback = nullptr;
  musaStream_t stream = nullptr;
  void* data = nullptr;
};

// No call of the runtime is permitted in a caller's function; none begins once
// the process has started to take apart what it may use.
void CUDART_CB run(void* argument) {
  const std::unique_ptr<Call> call(static_cast<Call*>(argument));
  g_running.fetch_add(1);
  if ((g_gate.load() & kGateStopped) == 0) {
    t_state.in_host_function = !planted("host_function_may_call");
    if (call->function != nullptr) {
      call->function(call->data);
    } else {
      call->callback(call->stream, musaSuccess, call->data);
    }
    t_state.in_host_function = false;
  }
  g_running.fetch_sub(1);
}

void enqueue(Stream& stream, const Call& what) {
  auto call = std::make_unique<Call>(what);
  check(cudaLaunchHostFunc(cuda::native(stream), &run, call.get()));
  (void)call.release(); // NOLINT(bugprone-unused-return-value): run's now
}

} // namespace

void launch_host_function(Stream& stream, musaHostFn_t function, void* data) {
  enqueue(stream, {function, nullptr, nullptr, data});
}

void add_callback(
    Stream& stream,
    musaStream_t handle,
    musaStreamCallback_t callback,
    void* data) {
  enqueue(stream, {nullptr, callback, handle, data});
}

void wait_for_host_functions() noexcept {
  if (t_state.in_host_function) {
    return; // the process ends from within one
  }
  while (g_running.load() != 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

} // namespace musa_standin::engine::cuda
