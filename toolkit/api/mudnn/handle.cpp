// SPDX-License-Identifier: Apache-2.0
// muDNN's handle, version and tensor descriptor.
#include "toolkit/api/mudnn/common.h"

#include "toolkit/include/mudnn_version.h"

namespace musa::dnn {
inline namespace portable_1 {

namespace engine = musa_standin::engine;
namespace api = musa_standin::api;

namespace {

// A constructor has no status: a device that does not exist, or cannot be
// used, leaves -1, and every Run says NOT_INITIALIZED.
int usable_device(int device) {
  try {
    const musaError_t gate = engine::admit_lifetime();
    if (gate != musaSuccess) {
      api::failed("Handle", gate, "");
      return -1;
    }
    if (device < 0 || device >= engine::runtime().device_count()) {
      api::failed("Handle", musaErrorInvalidDevice, "");
      return -1;
    }
    engine::runtime().initialize(device);
    return device;
  } catch (const engine::Error& error) {
    api::failed("Handle", error.code(), error.what());
    return -1;
  }
}

} // namespace

size_t GetVersion() {
  return MUDNN_VERSION;
}

Handle::Handle() : device_(usable_device(engine::t_state.device)) {}

Handle::Handle(int device) : device_(usable_device(device)) {}

Status Tensor::BadRank(int n) {
  return api::refuse(
      Status::INVALID_PARAMETER,
      "Tensor of rank %d, not of 1 to 8",
      n);
}

} // namespace portable_1
} // namespace musa::dnn
