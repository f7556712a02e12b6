// SPDX-License-Identifier: Apache-2.0
// Autocast: every operator falls through until it has a policy.
#include <torch/library.h>

namespace {
TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, library) {
  library.fallback(torch::CppFunction::makeFallthrough());
}
} // namespace
