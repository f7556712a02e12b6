// SPDX-License-Identifier: Apache-2.0
// Version of the muDNN interface that these headers describe.
#pragma once

#define MUDNN_VERSION_MAJOR 3
#define MUDNN_VERSION_MINOR 3
#define MUDNN_VERSION_PATCH 0
#define MUDNN_VERSION \
  (MUDNN_VERSION_MAJOR * 1000 + MUDNN_VERSION_MINOR * 100 + MUDNN_VERSION_PATCH)
