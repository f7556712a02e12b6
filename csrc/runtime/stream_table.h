// SPDX-License-Identifier: Apache-2.0
// A thread's current streams on the devices that are not current.
#pragma once

#include <c10/core/Device.h>

namespace torch_fl::runtime {

// Puts the current device's stream away and fetches the next device's one.
void switch_streams(c10::DeviceIndex next);

} // namespace torch_fl::runtime
