// SPDX-License-Identifier: Apache-2.0
// Marks what libtorch_flagos.so exports (everything else is hidden).
#pragma once

#define FL_API __attribute__((visibility("default")))
