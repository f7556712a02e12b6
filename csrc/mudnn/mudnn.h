// SPDX-License-Identifier: Apache-2.0
// The one place that includes muDNN's C++ header (SDK 5.1 moved it).
#pragma once

#if __has_include(<mudnncxx/mudnn.h>)
#include <mudnncxx/mudnn.h>
#else
#include <mudnn.h>
#endif
