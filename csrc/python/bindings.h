// SPDX-License-Identifier: Apache-2.0
// The parts of the binding module.
#pragma once

#include <pybind11/pybind11.h>

namespace torch_fl::python {

// Statistics, limits and caches of device and pinned memory.
void bind_memory(pybind11::module_& module);

} // namespace torch_fl::python
