// SPDX-License-Identifier: Apache-2.0
// The one boxed CPU fallback: counted, named on request, refused if strict.
#include "csrc/routing/cpu_fallback.h"

#include "csrc/rng/generator.h"
#include "csrc/routing/register.h"
#include "csrc/runtime/environment.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <sstream>

namespace torch_fl::routing {

namespace {

struct Ledger {
  std::mutex mutex;
  std::map<std::string, uint64_t> calls;
  std::set<std::string> named;
};

// Leaked on purpose: autograd's threads may count while the process ends.
Ledger& ledger() {
  static auto* const instance = new Ledger;
  return *instance;
}

bool flag_is_on(const char* name) {
  // check_environment() has refused anything but 0 and 1.
  const char* const value = std::getenv(name);
  return value != nullptr && std::strcmp(value, "1") == 0;
}

std::atomic<bool>& strict() {
  static std::atomic<bool> on{flag_is_on("FLAGOS_STRICT")};
  return on;
}

bool logs_fallback() {
  static const bool on = flag_is_on("FLAGOS_LOG_FALLBACK");
  return on;
}

// "aten::add.out" is what an unregistered add reaches the backend as.
std::string functional_name(const std::string& raw) {
  const size_t dot = raw.find('.');
  if (dot == std::string::npos) {
    return raw;
  }
  const std::string overload = raw.substr(dot + 1);
  const bool out = overload.find("out") != std::string::npos ||
      overload == "grad_input" || overload == "values" ||
      overload == "values_stable" || overload == "output";
  return out ? raw.substr(0, dot) : raw;
}

template <class F>
void each_tensor(const c10::IValue& value, F&& visit) {
  if (value.isTensor()) {
    if (value.toTensor().defined()) {
      visit(value.toTensor());
    }
  } else if (value.isTensorList()) {
    for (const at::Tensor& tensor : value.toTensorVector()) {
      if (tensor.defined()) {
        visit(tensor);
      }
    }
  } else if (value.isOptionalTensorList()) {
    for (const std::optional<at::Tensor>& tensor :
         value.toOptionalTensorList()) {
      if (tensor.has_value() && tensor->defined()) {
        visit(*tensor);
      }
    }
  }
}

std::string describe(c10::ArrayRef<c10::IValue> arguments) {
  std::ostringstream text;
  const char* separator = "";
  for (const c10::IValue& argument : arguments) {
    each_tensor(argument, [&](const at::Tensor& tensor) {
      text << separator << tensor.scalar_type() << tensor.sizes();
      separator = ", ";
    });
  }
  return text.str();
}

// Index operators take CPU indices beside a device tensor; optimizers keep
// their step counters on the CPU; packing takes its lengths there.
bool may_mix_devices(const std::string& name) {
  return name.rfind("aten::index", 0) == 0 ||
      name.rfind("aten::_index_put_impl_", 0) == 0 ||
      name.rfind("aten::_fused_", 0) == 0 ||
      name.rfind("aten::_foreach_", 0) == 0 ||
      name == "aten::_pack_padded_sequence" || name == "aten::_copy_from" ||
      name == "aten::_copy_from_and_resize";
}

void check_devices(
    const std::string& name,
    c10::ArrayRef<c10::IValue> arguments) {
  std::optional<c10::Device> device;
  std::optional<c10::Device> other;
  const bool mixes = may_mix_devices(name);
  for (const c10::IValue& argument : arguments) {
    each_tensor(argument, [&](const at::Tensor& tensor) {
      const bool number = tensor.dim() == 0 && tensor.device().is_cpu();
      if (number || (mixes && tensor.device().is_cpu())) {
        return;
      }
      if (!device.has_value()) {
        device = tensor.device();
      } else if (*device != tensor.device()) {
        other = tensor.device();
      }
    });
  }
  TORCH_CHECK(
      !other.has_value(),
      "Expected all tensors to be on the same device, but found at least two "
      "devices, ",
      *device,
      " and ",
      *other,
      "! (",
      name,
      ")");
}

// A CPU kernel wants a CPU generator: it gets one that starts from the numbers
// reserved from the device's, so that the device's seed decides.
void swap_generators(
    const c10::OperatorHandle& op,
    torch::jit::Stack* stack,
    size_t begin) {
  const auto& schema = op.schema().arguments();
  for (size_t i = 0; i < schema.size(); ++i) {
    c10::IValue& value = (*stack)[begin + i];
    const c10::TypePtr type = schema[i].type();
    const bool takes_generator = type->str().find("Generator") == 0;
    if (!takes_generator) {
      continue;
    }
    std::optional<at::Generator> generator;
    if (value.isGenerator()) {
      generator = value.toGenerator();
      if (!generator->device().is_privateuseone()) {
        continue;
      }
    }
    const rng::Philox philox = rng::reserve(generator, 4);
    constexpr uint64_t kGolden = 0x9E3779B97F4A7C15ULL;
    value = c10::IValue(at::Generator(at::detail::createCPUGenerator(
        philox.seed ^ (philox.offset * kGolden))));
  }
}

} // namespace

std::vector<FallbackCount> fallbacks() {
  Ledger& all = ledger();
  const std::lock_guard<std::mutex> lock(all.mutex);
  std::vector<FallbackCount> counts;
  counts.reserve(all.calls.size());
  for (const auto& [raw, calls] : all.calls) {
    counts.push_back({functional_name(raw), raw, calls});
  }
  return counts;
}

void reset_fallbacks() {
  Ledger& all = ledger();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.calls.clear();
}

bool is_strict() {
  return strict().load(std::memory_order_relaxed);
}

void set_strict(bool on) {
  strict().store(on, std::memory_order_relaxed);
}

void check_environment() {
  for (const char* name :
       {"FLAGOS_STRICT", "FLAGOS_LOG_FALLBACK", "FLAGOS_LOG_DISPATCH"}) {
    static_cast<void>(runtime::environment_flag(name));
  }
}

void count_cpu_route(const std::string& raw, const std::string& operands) {
  TORCH_CHECK(
      !is_strict(),
      "FLAGOS_STRICT=1 forbids the CPU fallback of ",
      functional_name(raw),
      "(",
      operands,
      ") [",
      raw,
      "]");
  Ledger& all = ledger();
  bool first = false;
  {
    const std::lock_guard<std::mutex> lock(all.mutex);
    ++all.calls[raw];
    first = logs_fallback() && all.named.insert(raw).second;
  }
  if (first) {
    std::fprintf(
        stderr,
        "[flagos fallback] %s runs on the CPU (%s)\n",
        functional_name(raw).c_str(),
        operands.c_str());
  }
}

void cpu_fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const auto& schema = op.schema();
  const std::string& name = schema.name();
  const std::string raw = schema.overload_name().empty()
      ? name
      : name + "." + schema.overload_name();
  const size_t count = schema.arguments().size();
  const size_t begin = stack->size() - count;
  const c10::ArrayRef<c10::IValue> arguments(stack->data() + begin, count);

  check_devices(name, arguments);
  TORCH_CHECK_NOT_IMPLEMENTED(
      op.hasComputedKernelForDispatchKey(c10::DispatchKey::CPU),
      "no CPU kernel exists for ",
      raw,
      ", and flagos has none of its own");
  count_cpu_route(raw, describe(arguments));
  swap_generators(op, stack, begin);
  // A view computed on the CPU would be a copy: torch raises for those.
  at::native::cpu_fallback(op, stack, /*error_on_views=*/true);
}

} // namespace torch_fl::routing

namespace {
TORCH_LIBRARY_IMPL(_, PrivateUse1, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<
                   &torch_fl::routing::cpu_fallback>());
}
} // namespace
