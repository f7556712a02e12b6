// SPDX-License-Identifier: Apache-2.0
// muDNN C++ interface: handle, tensors and operator classes.
#pragma once

#include "mudnn_attention.h"
#include "mudnn_base.h"
#include "mudnn_ops.h"
#include "mudnn_tensor.h"
#include "mudnn_version.h"
