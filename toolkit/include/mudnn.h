// SPDX-License-Identifier: Apache-2.0
// muDNN under its older header name: the C++ classes.
#pragma once

#include "mudnncxx/mudnn.h"
