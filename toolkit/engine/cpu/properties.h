// SPDX-License-Identifier: Apache-2.0
// What a device says about itself.
#pragma once

#include "toolkit/include/driver_types.h"

namespace musa_standin::engine::cpu {

class Device;

void describe(int device, musaDeviceProp& out);
int attribute(int device, musaDeviceAttr attribute);

} // namespace musa_standin::engine::cpu
