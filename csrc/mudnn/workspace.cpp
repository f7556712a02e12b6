// SPDX-License-Identifier: Apache-2.0
// Workspace for muDNN out of the caching allocator, in stream order.
#include "csrc/mudnn/workspace.h"

#include "csrc/allocator/device_allocator.h"

namespace torch_fl::mudnn {

namespace {

::musa::dnn::MemoryHandler reserve(size_t bytes) {
  if (bytes == 0) {
    return {nullptr, [](void*) {}};
  }
  c10::DataPtr data = allocator::allocate(bytes, runtime::current_stream());
  void* const address = data.get();
  const c10::DeleterFnPtr release = data.get_deleter();
  void* const context = data.release_context();
  // Two words: std::function keeps them without allocating.
  return {address, [release, context](void*) { release(context); }};
}

} // namespace

::musa::dnn::MemoryMaintainer workspace() {
  return &reserve;
}

} // namespace torch_fl::mudnn
