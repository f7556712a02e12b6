// SPDX-License-Identifier: Apache-2.0
// The one gate for differences between torch versions.
#pragma once

#include <torch/headeronly/version.h>

#define FL_TORCH_GE(major, minor)   \
  (TORCH_VERSION_MAJOR > (major) || \
   (TORCH_VERSION_MAJOR == (major) && TORCH_VERSION_MINOR >= (minor)))
