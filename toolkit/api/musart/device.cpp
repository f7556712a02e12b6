// SPDX-License-Identifier: Apache-2.0
// Devices, their properties and settings, peers.
#include "toolkit/api/call.h"

#include "toolkit/include/musa_runtime_api.h"

#include <cstdio>
#include <string>

using namespace musa_standin::api;
namespace engine = musa_standin::engine;
using engine::runtime;

namespace {

std::string bus_id(int device) {
  char text[32];
  std::snprintf(
      text,
      sizeof text,
      "%04x:%02x:%02x.0",
      static_cast<unsigned>(
          runtime().attribute(device, musaDevAttrPciDomainId)),
      static_cast<unsigned>(runtime().attribute(device, musaDevAttrPciBusId)),
      static_cast<unsigned>(
          runtime().attribute(device, musaDevAttrPciDeviceId)));
  return text;
}

void check_flags(unsigned flags) {
  const unsigned schedule = flags & musaDeviceScheduleMask;
  require(
      (flags & ~static_cast<unsigned>(musaDeviceMask)) == 0 &&
          (schedule & (schedule - 1)) == 0,
      "the device flags are not a combination that exists");
}

} // namespace

musaError_t musaGetDeviceCount(int* count) {
  return api_call<Needs::kLifetime>("musaGetDeviceCount", [&] {
    require(count != nullptr, "count is null");
    *count = 0;
    const int devices = runtime().device_count();
    if (devices == 0) {
      throw engine::Error(musaErrorNoDevice, "this machine has no MUSA device");
    }
    *count = devices;
  });
}

musaError_t musaGetDevice(int* device) {
  return api_call<Needs::kLifetime>("musaGetDevice", [&] {
    require(device != nullptr, "device is null");
    *device = current_device();
  });
}

musaError_t musaSetDevice(int device) {
  return api_call<Needs::kLifetime>("musaSetDevice", [&] {
    engine::t_state.device = checked_device(device);
  });
}

musaError_t
musaInitDevice(int device, unsigned int deviceFlags, unsigned int flags) {
  return api_call<Needs::kLifetime>("musaInitDevice", [&] {
    checked_device(device);
    require(flags <= 1, "flags is neither 0 nor 1");
    check_flags(deviceFlags);
    runtime().initialize(device);
    if (flags == 1) {
      runtime().set_device_flags(device, deviceFlags);
    }
  });
}

musaError_t musaSetDeviceFlags(unsigned int flags) {
  return api_call<Needs::kLifetime>("musaSetDeviceFlags", [&] {
    check_flags(flags);
    runtime().set_device_flags(current_device(), flags);
  });
}

musaError_t musaGetDeviceFlags(unsigned int* flags) {
  return api_call<Needs::kLifetime>("musaGetDeviceFlags", [&] {
    require(flags != nullptr, "flags is null");
    *flags = runtime().device_flags(current_device());
  });
}

musaError_t musaDeviceSynchronize(void) {
  return api_call("musaDeviceSynchronize", [&] {
    runtime().synchronize_device(current_device());
  });
}

musaError_t musaDeviceReset(void) {
  return api_call<Needs::kLifetime>("musaDeviceReset", [&] {
    runtime().reset_device(current_device());
    if (engine::is_sticky(engine::t_state.last_error)) {
      engine::t_state.last_error = musaSuccess;
    }
  });
}

musaError_t musaGetDeviceProperties(musaDeviceProp* prop, int device) {
  return api_call<Needs::kLifetime>("musaGetDeviceProperties", [&] {
    require(prop != nullptr, "prop is null");
    runtime().properties(checked_device(device), *prop);
  });
}

musaError_t
musaDeviceGetAttribute(int* value, musaDeviceAttr attr, int device) {
  return api_call<Needs::kLifetime>("musaDeviceGetAttribute", [&] {
    require(value != nullptr, "value is null");
    *value = runtime().attribute(checked_device(device), attr);
  });
}

musaError_t musaDeviceGetPCIBusId(char* pciBusId, int len, int device) {
  return api_call<Needs::kLifetime>("musaDeviceGetPCIBusId", [&] {
    require(pciBusId != nullptr && len > 0, "there is no room for the id");
    const std::string id = bus_id(checked_device(device));
    require(
        id.size() < static_cast<size_t>(len),
        "there is no room for the id");
    id.copy(pciBusId, id.size());
    pciBusId[id.size()] = '\0';
  });
}

musaError_t musaDeviceGetByPCIBusId(int* device, const char* pciBusId) {
  return api_call<Needs::kLifetime>("musaDeviceGetByPCIBusId", [&] {
    require(device != nullptr && pciBusId != nullptr, "an argument is null");
    unsigned domain = 0;
    unsigned bus = 0;
    unsigned slot = 0;
    const bool full =
        std::sscanf(pciBusId, "%x:%x:%x", &domain, &bus, &slot) == 3;
    if (!full) {
      domain = 0;
      require(
          std::sscanf(pciBusId, "%x:%x", &bus, &slot) == 2,
          "the id is not of the form domain:bus:device");
    }
    const int count = runtime().device_count();
    for (int i = 0; i < count; ++i) {
      if (runtime().attribute(i, musaDevAttrPciDomainId) ==
              static_cast<int>(domain) &&
          runtime().attribute(i, musaDevAttrPciBusId) ==
              static_cast<int>(bus) &&
          runtime().attribute(i, musaDevAttrPciDeviceId) ==
              static_cast<int>(slot)) {
        *device = i;
        return;
      }
    }
    throw engine::Error(
        musaErrorInvalidDevice,
        "no device has this PCI bus id");
  });
}

musaError_t musaDeviceGetStreamPriorityRange(
    int* leastPriority,
    int* greatestPriority) {
  return api_call<Needs::kLifetime>("musaDeviceGetStreamPriorityRange", [&] {
    current_device();
    int least = 0;
    int greatest = 0;
    runtime().priority_range(least, greatest);
    if (leastPriority != nullptr) {
      *leastPriority = least;
    }
    if (greatestPriority != nullptr) {
      *greatestPriority = greatest;
    }
  });
}

musaError_t musaDeviceSetLimit(musaLimit limit, size_t value) {
  return api_call("musaDeviceSetLimit", [&] {
    runtime().set_limit(current_device(), limit, value);
  });
}

musaError_t musaDeviceGetLimit(size_t* value, musaLimit limit) {
  return api_call("musaDeviceGetLimit", [&] {
    require(value != nullptr, "value is null");
    *value = runtime().limit(current_device(), limit);
  });
}

// Banks are the device's own business; only the values are checked.
musaError_t musaDeviceSetSharedMemConfig(musaSharedMemConfig config) {
  return api_call("musaDeviceSetSharedMemConfig", [&] {
    current_device();
    require(
        config >= musaSharedMemBankSizeDefault &&
            config <= musaSharedMemBankSizeEightByte,
        "there is no such shared memory configuration");
  });
}

musaError_t musaDeviceGetSharedMemConfig(musaSharedMemConfig* config) {
  return api_call("musaDeviceGetSharedMemConfig", [&] {
    require(config != nullptr, "config is null");
    current_device();
    *config = musaSharedMemBankSizeFourByte;
  });
}

musaError_t musaCtxResetPersistingL2Cache(void) {
  return api_call("musaCtxResetPersistingL2Cache", [&] { current_device(); });
}

musaError_t
musaDeviceCanAccessPeer(int* canAccessPeer, int device, int peerDevice) {
  return api_call<Needs::kLifetime>("musaDeviceCanAccessPeer", [&] {
    require(canAccessPeer != nullptr, "canAccessPeer is null");
    checked_device(device);
    *canAccessPeer =
        runtime().can_access_peer(device, checked_device(peerDevice)) ? 1 : 0;
  });
}

musaError_t musaDeviceEnablePeerAccess(int peerDevice, unsigned int flags) {
  return api_call("musaDeviceEnablePeerAccess", [&] {
    require(flags == 0, "flags must be 0");
    const int device = current_device();
    checked_device(peerDevice);
    if (peerDevice == device) {
      throw engine::Error(
          musaErrorInvalidDevice,
          "a device is not its own peer");
    }
    runtime().enable_peer_access(device, peerDevice);
  });
}

musaError_t musaDeviceDisablePeerAccess(int peerDevice) {
  return api_call("musaDeviceDisablePeerAccess", [&] {
    runtime().disable_peer_access(current_device(), checked_device(peerDevice));
  });
}

musaError_t musaDriverGetVersion(int* version) {
  return api_call<Needs::kLifetime>("musaDriverGetVersion", [&] {
    require(version != nullptr, "version is null");
    *version = runtime().driver_version();
  });
}

musaError_t musaRuntimeGetVersion(int* version) {
  return api_call<Needs::kLifetime>("musaRuntimeGetVersion", [&] {
    require(version != nullptr, "version is null");
    *version = MUSART_VERSION;
  });
}

// Nothing here records a profile; the range is the profiler's business.
musaError_t musaProfilerStart(void) {
  return api_call<Needs::kLifetime>("musaProfilerStart", [&] {
    current_device();
  });
}

musaError_t musaProfilerStop(void) {
  return api_call<Needs::kLifetime>("musaProfilerStop", [&] {
    current_device();
  });
}
