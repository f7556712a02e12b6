// SPDX-License-Identifier: Apache-2.0
// Host functions and callbacks.
#include "toolkit/engine/cpu/host_function.h"

#include "toolkit/engine/cpu/capture.h"
#include "toolkit/engine/fault.h"

namespace musa_standin::engine::cpu {
namespace {

// Runs a caller's function; no call of the runtime is permitted in there.
class HostFunctionScope {
 public:
  HostFunctionScope() {
    t_state.in_host_function = !planted("host_function_may_call");
  }
  ~HostFunctionScope() { t_state.in_host_function = false; }
  HostFunctionScope(const HostFunctionScope&) = delete;
  HostFunctionScope& operator=(const HostFunctionScope&) = delete;

 private:
  BlockingScope blocking_;
};

struct HostFunctionTask {
  static constexpr musaGraphNodeType kNode = musaGraphNodeTypeHost;
  musaHostFn_t function;
  void* data;

  void operator()() const {
    const HostFunctionScope scope;
    function(data);
  }
};

struct CallbackTask {
  musaStream_t stream;
  musaStreamCallback_t callback;
  void* data;

  void operator()() const {
    const HostFunctionScope scope;
    callback(stream, musaSuccess, data);
  }
};

} // namespace

void launch_host_function(Stream& stream, musaHostFn_t function, void* data) {
  stream.submit("host function", HostFunctionTask{function, data});
}

void add_callback(
    Stream& stream,
    musaStream_t handle,
    musaStreamCallback_t callback,
    void* data) {
  refuse_capture(stream, "callbacks cannot be captured; host functions can");
  stream.submit("callback", CallbackTask{handle, callback, data});
}

} // namespace musa_standin::engine::cpu
