// SPDX-License-Identifier: Apache-2.0
// Version of the muDNN interface, under the C++ headers' folder.
#pragma once

#include "../mudnn_version.h"
