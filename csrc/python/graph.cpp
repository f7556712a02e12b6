// SPDX-License-Identifier: Apache-2.0
// Graphs, as torch.flagos.Graph sees them.
#include "csrc/routing/graph.h"

#include "csrc/allocator/device_allocator.h"
#include "csrc/python/bindings.h"

#include <torch/csrc/utils/pybind.h>

#include <optional>
#include <string>

namespace torch_fl::python {
namespace {

namespace py = pybind11;
using NoGil = py::call_guard<py::gil_scoped_release>;
using routing::Graph;

runtime::CaptureMode mode_of(const std::string& name) {
  if (name == "thread_local") {
    return runtime::CaptureMode::kThreadLocal;
  }
  if (name == "relaxed") {
    return runtime::CaptureMode::kRelaxed;
  }
  TORCH_CHECK_VALUE(
      name == "global",
      "capture_error_mode is global, thread_local or relaxed, not ",
      name,
      ".");
  return runtime::CaptureMode::kGlobal;
}

void begin(
    Graph& graph,
    const std::optional<c10::MempoolId_t>& pool,
    const std::string& mode) {
  graph.capture_begin(pool.value_or(c10::MempoolId_t{0, 0}), mode_of(mode));
}

} // namespace

void bind_graphs(py::module_& module) {
  py::class_<Graph>(module, "_Graph")
      .def(py::init<bool>())
      .def("capture_begin", &begin, NoGil())
      .def("capture_end", &Graph::capture_end, NoGil())
      .def("instantiate", &Graph::instantiate, NoGil())
      .def("replay", &Graph::replay, NoGil())
      .def("reset", &Graph::reset, NoGil())
      .def("pool", &Graph::pool)
      .def("debug_dump", &Graph::debug_dump, NoGil());
  module.def("graph_pool_handle", [] {
    return allocator::new_pool_id(/*shared=*/true);
  });
  module.def("is_current_stream_capturing", [] {
    return runtime::capture_id(runtime::current_stream().handle()) != 0;
  });
}

} // namespace torch_fl::python
