// SPDX-License-Identifier: Apache-2.0
// Host functions and callbacks.
#include "toolkit/engine/cuda/host_function.h"

#include "toolkit/engine/cuda/device.h"
#include "toolkit/engine/cuda/graph_runtime.h"
#include "toolkit/engine/cuda/host_threads.h"
#include "toolkit/engine/thread_state.h"

#include <cudaTypedefs.h>

#include <memory>
#include <mutex>
#include <thread>

namespace musa_standin::engine::cuda {

struct HostCall {
  musaHostFn_t function = nullptr;
  musaStreamCallback_t callback = nullptr;
  musaStream_t stream = nullptr;
  void* data = nullptr;
  Device* device = nullptr;
  HostWord word;
};

namespace {

using WaitValue = PFN_cuStreamWaitValue32_v11070;

// No call of the runtime is permitted in a caller's function. None begins once
// the process takes apart what it may use, nor behind an error of the device.
void call_function(const HostCall& call) {
  if ((g_gate.load() & kGateStopped) != 0 || call.device->passes_over()) {
    return;
  }
  t_state.in_host_function = true;
  if (call.function != nullptr) {
    call.function(call.data);
  } else {
    call.callback(call.stream, musaSuccess, call.data);
  }
  t_state.in_host_function = false;
}

// --- what CUDA calls ---
void CUDART_CB post(void* argument) {
  auto* call = static_cast<HostCall*>(argument);
  call->device->host_calls().fetch_add(1);
  post_call(call);
}
// In a captured graph, which may run it again.
void CUDART_CB call_again(void* call) {
  call_function(*static_cast<HostCall*>(call));
}
// Where streams cannot wait for memory.
void CUDART_CB call_once(void* argument) {
  const std::unique_ptr<HostCall> call(static_cast<HostCall*>(argument));
  call_function(*call);
}

WaitValue find_wait_value() {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult status = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
  const cudaError_t result = cudaGetDriverEntryPointByVersion(
      "cuStreamWaitValue32",
      &found,
      12000,
      cudaEnableDefault,
      &status);
#else
  const cudaError_t result = cudaGetDriverEntryPoint(
      "cuStreamWaitValue32",
      &found,
      cudaEnableDefault,
      &status);
#endif
  ignore(result);
  return result == cudaSuccess && status == cudaDriverEntryPointSuccess
      ? reinterpret_cast<WaitValue>(found)
      : nullptr;
}

CUresult wait_for(
    WaitValue wait,
    cudaStream_t stream,
    const HostWords& words,
    HostWord word) {
  return wait(
      stream,
      words.address(word),
      word.value,
      CU_STREAM_WAIT_VALUE_GEQ);
}

// Null unless a stream of this device really waits.
WaitValue try_wait_value(const HostWords& words) {
  const WaitValue wait = find_wait_value();
  cudaStream_t stream = nullptr;
  if (wait == nullptr) {
    return nullptr;
  }
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  const bool works = wait_for(wait, stream, words, {0, 0}) == CUDA_SUCCESS;
  check(cudaStreamDestroy(stream));
  return works ? wait : nullptr;
}

// The function's thread writes the word that the stream then waits for. Nobody
// else's function may come between the two.
void enqueue_post(
    Stream& stream,
    cudaStream_t at,
    WaitValue wait,
    std::unique_ptr<HostCall> call) {
  HostWords& words = call->device->host_words();
  const std::lock_guard<std::mutex> lock(stream.host_function_mutex());
  const HostWord word = words.take();
  call->word = word;
  const cudaError_t result = cudaLaunchHostFunc(at, &post, call.get());
  if (result != cudaSuccess) {
    words.give_back(word);
    raise(result);
  }
  (void)call.release(); // NOLINT(bugprone-unused-return-value): post's now
  // The driver's codes have the numbers of the runtime's.
  check(static_cast<cudaError_t>(wait_for(wait, at, words, word)));
}

void enqueue(Stream& stream, const HostCall& what) {
  const cudaStream_t at = native(stream);
  auto call = std::make_unique<HostCall>(what);
  call->device = &device(stream.device());
  if (is_captured(at)) {
    if (what.callback != nullptr) {
      throw Error(
          musaErrorStreamCaptureUnsupported,
          "callbacks cannot be captured; host functions can");
    }
    check(cudaLaunchHostFunc(at, &call_again, call.get()));
    (void)call.release(); // NOLINT(bugprone-unused-return-value): the graph's
    return;
  }
  const auto wait = reinterpret_cast<WaitValue>(
      call->device->wait_value([](HostWords& words) {
        words.open();
        return reinterpret_cast<void*>(try_wait_value(words));
      }));
  if (wait != nullptr) {
    enqueue_post(stream, at, wait, std::move(call));
    return;
  }
  check(cudaLaunchHostFunc(at, &call_once, call.get()));
  (void)call.release(); // NOLINT(bugprone-unused-return-value): call_once's
}

} // namespace

void run_call(HostCall* argument) noexcept {
  const std::unique_ptr<HostCall> call(argument);
  Device& device = *call->device;
  // Whose context a reset has ended comes too late.
  if (device.host_words().holds(call->word)) {
    call_function(*call);
  }
  device.host_words().write(call->word);
  device.host_calls().fetch_sub(1);
}

void launch_host_function(Stream& stream, musaHostFn_t function, void* data) {
  HostCall call;
  call.function = function;
  call.data = data;
  enqueue(stream, call);
}

void add_callback(
    Stream& stream,
    musaStream_t handle,
    musaStreamCallback_t callback,
    void* data) {
  HostCall call;
  call.callback = callback;
  call.stream = handle;
  call.data = data;
  enqueue(stream, call);
}

void wait_for_host_functions(const Device& device, Deadline deadline) noexcept {
  while (!t_state.in_host_function && device.host_calls() != 0 &&
         std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

} // namespace musa_standin::engine::cuda
