// SPDX-License-Identifier: Apache-2.0
// The parts of the binding module.
#pragma once

#include <c10/core/Device.h>
#include <pybind11/pybind11.h>

#include <cstdint>

namespace torch_fl::python {

// Python's index of a device: -1 is the current one; throws for one that does
// not exist, however large.
c10::DeviceIndex index_of(int64_t device);

// Statistics, limits and caches of device and pinned memory.
void bind_memory(pybind11::module_& module);

// Capture and replay.
void bind_graphs(pybind11::module_& module);

} // namespace torch_fl::python
