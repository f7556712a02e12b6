// SPDX-License-Identifier: Apache-2.0
// How an operator gets registered, and how a native kernel gives up a call.
#pragma once

#include "csrc/routing/cpu_fallback.h"
#include "csrc/routing/route_table.h"

#include <ATen/core/boxing/BoxedKernel.h>
#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <ATen/native/CPUFallback.h>
#include <torch/library.h>

#include <utility>

namespace torch_fl::routing {

// The boxed CPU fallback: counts the call, names it if asked, raises under
// FLAGOS_STRICT=1, else runs the CPU kernel on copies.
FL_API void cpu_fallback(
    const c10::OperatorHandle& op,
    torch::jit::Stack* stack);

// A native kernel hands over what muDNN refuses:
//   return routing::to_cpu<ATEN_OP2(add, Tensor)>::call(self, other, alpha);
template <class Op>
using to_cpu = at::native::call_fallback_fn<&cpu_fallback, Op>;

// The same by name, such as "add.Tensor", with the kernel's own signature.
template <class Signature>
struct ToCpuByName;
template <class R, class... Args>
struct ToCpuByName<R(Args...)> {
  static R call(const char* op, Args... args) {
    return c10::impl::BoxedKernelWrapper<R(Args...)>::call(
        c10::BoxedKernel::makeFromFunction<&cpu_fallback>(),
        operator_named(op),
        c10::DispatchKeySet(),
        args...);
  }
};

// Registers kernels of one TORCH_LIBRARY_IMPL block. Decides once, while the
// library loads; nothing is looked up when an operator is called.
class Registrar {
 public:
  explicit Registrar(torch::Library& library) : library_(library) {}

  // `op` without "aten::", such as "add.out". Fn has the schema's signature.
  template <auto* Fn>
  void native(const char* op) {
    if (!is_native(op)) {
      return;
    }
    if (logs_dispatch()) {
      library_.impl(op, Logged<decltype(Fn), Fn>::wrap(op));
    } else {
      library_.impl(op, TORCH_FN(Fn));
    }
  }

 private:
  template <class Pointer, Pointer Fn>
  struct Logged;
  template <class R, class... Args, R (*Fn)(Args...)>
  struct Logged<R (*)(Args...), Fn> {
    static auto wrap(const char* op) {
      return [op](Args... args) -> R {
        log_dispatch(op);
        return Fn(std::forward<Args>(args)...);
      };
    }
  };

  torch::Library& library_;
};

} // namespace torch_fl::routing
