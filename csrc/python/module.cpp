// SPDX-License-Identifier: Apache-2.0
// torch_fl._C: everything that the Python package asks the core.
#include "csrc/python/bindings.h"

#include "csrc/rng/generator.h"
#include "csrc/routing/cpu_fallback.h"
#include "csrc/runtime/environment.h"
#include "csrc/runtime/event.h"
#include "csrc/runtime/fork.h"
#include "csrc/runtime/stream.h"
#include "csrc/runtime/toolkit.h"

#include <torch/csrc/utils/pybind.h>

#include <string>
#include <tuple>

namespace torch_fl::python {
namespace {

namespace py = pybind11;
using NoGil = py::call_guard<py::gil_scoped_release>;
using runtime::DeviceProperties;

// What torch.Stream is rebuilt from: id, device index, device type.
using StreamNumbers = std::tuple<int64_t, int64_t, int64_t>;

StreamNumbers numbers_of(const runtime::Stream& stream) {
  const c10::StreamData3 data = stream.unwrap().pack3();
  return {
      data.stream_id,
      data.device_index,
      static_cast<int64_t>(data.device_type)};
}

runtime::Stream stream_of(c10::StreamId id, int64_t device) {
  return runtime::Stream(c10::Stream(
      c10::Stream::UNSAFE,
      c10::Device(c10::DeviceType::PrivateUse1, index_of(device)),
      id));
}

std::string describe(const DeviceProperties& properties) {
  return "_FlagosDeviceProperties(name='" + properties.name +
      "', major=" + std::to_string(properties.major) +
      ", minor=" + std::to_string(properties.minor) +
      ", total_memory=" + std::to_string(properties.total_memory >> 20) +
      "MB, multi_processor_count=" +
      std::to_string(properties.multi_processor_count) + ")";
}

void bind_properties(py::module_& module) {
  using P = DeviceProperties;
  py::class_<P>(module, "_FlagosDeviceProperties")
      .def_readonly("name", &P::name)
      .def_readonly("major", &P::major)
      .def_readonly("minor", &P::minor)
      .def_readonly("total_memory", &P::total_memory)
      .def_readonly("multi_processor_count", &P::multi_processor_count)
      .def_readonly("warp_size", &P::warp_size)
      .def_readonly("max_threads_per_block", &P::max_threads_per_block)
      .def_readonly(
          "max_threads_per_multi_processor",
          &P::max_threads_per_multi_processor)
      .def_readonly("regs_per_multiprocessor", &P::regs_per_multiprocessor)
      .def_readonly("shared_memory_per_block", &P::shared_memory_per_block)
      .def_readonly(
          "shared_memory_per_block_optin",
          &P::shared_memory_per_block_optin)
      .def_readonly(
          "shared_memory_per_multiprocessor",
          &P::shared_memory_per_multiprocessor)
      .def_readonly("L2_cache_size", &P::l2_cache_size)
      .def_readonly("is_integrated", &P::is_integrated)
      .def_readonly("clock_rate", &P::clock_rate)
      .def_readonly("memory_clock_rate", &P::memory_clock_rate)
      .def_readonly("memory_bus_width", &P::memory_bus_width)
      .def_readonly("pci_bus_id", &P::pci_bus_id)
      .def_readonly("pci_device_id", &P::pci_device_id)
      .def_readonly("pci_domain_id", &P::pci_domain_id)
      .def("__repr__", &describe);
}

void bind_devices(py::module_& module) {
  bind_properties(module);
  module.def("device_count", &runtime::device_count, NoGil());
  module.def("device_count_error", &runtime::device_count_error, NoGil());
  module.def("current_device", &runtime::current_device);
  module.def(
      "set_device",
      [](int64_t index) { runtime::set_device(index_of(index)); },
      NoGil());
  // Returns the old device; a negative index changes nothing.
  module.def(
      "exchange_device",
      [](int64_t index) {
        const c10::DeviceIndex old = runtime::current_device();
        if (index >= 0) {
          runtime::set_device(index_of(index));
        }
        return old;
      },
      NoGil());
  module.def("initialize", &runtime::initialize, NoGil());
  module.def("is_initialized", [] {
    return runtime::is_initialized() && !runtime::is_in_bad_fork();
  });
  module.def("is_in_bad_fork", &runtime::is_in_bad_fork);
  module.def("has_primary_context", [](int64_t index) {
    return runtime::has_primary_context(index_of(index));
  });
  module.def(
      "device_properties",
      [](int64_t index) { return runtime::device_properties(index_of(index)); },
      NoGil());
  module.def(
      "synchronize",
      [](int64_t index) { runtime::synchronize_device(index_of(index)); },
      NoGil());
  module.def("stop", &runtime::stop_toolkit, NoGil());
  module.def("check_environment", [] {
    routing::check_environment();
    static_cast<void>(runtime::environment_flag("FLAGOS_BLOCKING_STREAMS"));
  });
}

void bind_streams(py::module_& module) {
  module.def("current_stream", [](int64_t device) {
    return numbers_of(runtime::current_stream(index_of(device)));
  });
  module.def("default_stream", [](int64_t device) {
    return numbers_of(runtime::default_stream(index_of(device)));
  });
  module.def(
      "set_stream",
      [](c10::StreamId id, int64_t device) {
        runtime::set_current_stream(stream_of(id, device));
      },
      NoGil());
  module.def("external_stream", [](uintptr_t handle, int64_t device) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): Python's handles
    auto* stream = reinterpret_cast<musaStream_t>(handle);
    return numbers_of(runtime::external_stream(stream, index_of(device)));
  });
  module.def(
      "stream_handle",
      [](c10::StreamId id, int64_t device) {
        return reinterpret_cast<uintptr_t>(stream_of(id, device).handle());
      },
      NoGil());
  module.def(
      "stream_priority",
      [](c10::StreamId id, int64_t device) {
        return stream_of(id, device).priority();
      },
      NoGil());
  // torch.Event's event_id is the address of what the guard made.
  module.def(
      "elapsed_time",
      [](uintptr_t start, uintptr_t end) {
        TORCH_CHECK(
            start != 0 && end != 0,
            "elapsed time needs two events that were recorded.");
        // NOLINTBEGIN(performance-no-int-to-ptr)
        return runtime::elapsed_ms(
            *reinterpret_cast<const runtime::PooledEvent*>(start),
            *reinterpret_cast<const runtime::PooledEvent*>(end));
        // NOLINTEND(performance-no-int-to-ptr)
      },
      NoGil());
  module.def("priority_range", &runtime::priority_range, NoGil());
}

void bind_random(py::module_& module) {
  module.def("default_generator", [](int64_t device) {
    return rng::default_generator(index_of(device));
  });
  module.def("manual_seed_all", &rng::manual_seed_all, NoGil());
}

py::list fallbacks() {
  py::list result;
  for (const routing::FallbackCount& entry : routing::fallbacks()) {
    result.append(py::make_tuple(entry.op, entry.raw, entry.calls));
  }
  return result;
}

void bind_routing(py::module_& module) {
  module.def("fallbacks", &fallbacks);
  module.def("reset_fallbacks", &routing::reset_fallbacks);
  module.def("is_strict", &routing::is_strict);
  module.def("set_strict", &routing::set_strict);
}

} // namespace

c10::DeviceIndex index_of(int64_t device) {
  const auto index = static_cast<c10::DeviceIndex>(device);
  if (index == device) {
    return runtime::checked_index(index);
  }
  TORCH_CHECK(
      false,
      "flagos:",
      device,
      " does not exist: this machine has ",
      static_cast<int>(runtime::device_count()),
      " flagos device(s), numbered from 0.");
}

} // namespace torch_fl::python

PYBIND11_MODULE(_C, module) {
  module.doc() = "The binding between torch_fl and its C++ core.";
  torch_fl::python::bind_devices(module);
  torch_fl::python::bind_streams(module);
  torch_fl::python::bind_memory(module);
  torch_fl::python::bind_graphs(module);
  torch_fl::python::bind_random(module);
  torch_fl::python::bind_routing(module);
}
