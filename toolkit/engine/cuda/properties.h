// SPDX-License-Identifier: Apache-2.0
// What a device says about itself; asked once.
#pragma once

#include "toolkit/include/driver_types.h"

namespace musa_standin::engine::cuda {

const musaDeviceProp& properties(int device);
// Throws InvalidValue for an attribute that does not exist.
int attribute(int device, musaDeviceAttr attribute);

} // namespace musa_standin::engine::cuda
