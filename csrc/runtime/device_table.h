// SPDX-License-Identifier: Apache-2.0
// Places in tables that have one entry for each device.
#pragma once

#include <c10/core/Device.h>

#include <cstddef>

namespace torch_fl::runtime {

constexpr size_t table_place(c10::DeviceIndex index) {
  return static_cast<size_t>(static_cast<unsigned char>(index));
}

} // namespace torch_fl::runtime
