// SPDX-License-Identifier: Apache-2.0
// Visibility of what the engine library gives to the API libraries.
#pragma once

#define MUSA_ENGINE_API __attribute__((visibility("default")))
