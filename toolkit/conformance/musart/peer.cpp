// SPDX-License-Identifier: Apache-2.0
// Access between devices.
#include "support/conforms.h"

namespace conformance {

CONFORMS(musaDeviceCanAccessPeer, success, not_itself) {
  for (int device = 0; device < device_count(); ++device) {
    for (int peer = 0; peer < device_count(); ++peer) {
      int can = -1;
      EXPECT_OK(musaDeviceCanAccessPeer(&can, device, peer));
      EXPECT_TRUE(can == 0 || can == 1);
      if (device == peer) {
        EXPECT_EQ(0, can);
      }
    }
  }
}

CONFORMS(musaDeviceCanAccessPeer, null, is_invalid_value) {
  EXPECT_FAILS(musaErrorInvalidValue, musaDeviceCanAccessPeer(nullptr, 0, 0));
}
COVERS(
    musaDeviceCanAccessPeer,
    InvalidValue,
    musaDeviceCanAccessPeer,
    null_is_invalid_value)

CONFORMS(musaDeviceCanAccessPeer, InvalidDevice, out_of_range) {
  int can = 0;
  EXPECT_FAILS(
      musaErrorInvalidDevice,
      musaDeviceCanAccessPeer(&can, 0, device_count()));
  EXPECT_FAILS(musaErrorInvalidDevice, musaDeviceCanAccessPeer(&can, -1, 0));
}

CONFORMS(musaDeviceEnablePeerAccess, success, once_and_again_after_disable) {
  if (device_count() < 2) {
    GTEST_SKIP() << "needs two devices";
  }
  int can = 0;
  EXPECT_OK(musaDeviceCanAccessPeer(&can, 0, 1));
  if (can == 0) {
    GTEST_SKIP() << "the devices do not reach each other";
  }
  EXPECT_OK(musaDeviceEnablePeerAccess(1));
  EXPECT_FAILS(
      musaErrorPeerAccessAlreadyEnabled,
      musaDeviceEnablePeerAccess(1, 0));
  EXPECT_OK(musaDeviceDisablePeerAccess(1));
  EXPECT_FAILS(musaErrorPeerAccessNotEnabled, musaDeviceDisablePeerAccess(1));
  EXPECT_OK(musaDeviceEnablePeerAccess(1));
  EXPECT_OK(musaDeviceDisablePeerAccess(1));
}
COVERS(
    musaDeviceEnablePeerAccess,
    PeerAccessAlreadyEnabled,
    musaDeviceEnablePeerAccess,
    success_once_and_again_after_disable)
COVERS(
    musaDeviceDisablePeerAccess,
    success,
    musaDeviceEnablePeerAccess,
    success_once_and_again_after_disable)
COVERS(
    musaDeviceDisablePeerAccess,
    PeerAccessNotEnabled,
    musaDeviceEnablePeerAccess,
    success_once_and_again_after_disable)

CONFORMS(musaDeviceEnablePeerAccess, InvalidDevice, out_of_range_or_itself) {
  EXPECT_FAILS(
      musaErrorInvalidDevice,
      musaDeviceEnablePeerAccess(device_count(), 0));
  EXPECT_FAILS(musaErrorInvalidDevice, musaDeviceEnablePeerAccess(0, 0));
}

CONFORMS(musaDeviceEnablePeerAccess, InvalidValue, unknown_flags) {
  if (device_count() < 2) {
    GTEST_SKIP() << "needs two devices";
  }
  EXPECT_FAILS(musaErrorInvalidValue, musaDeviceEnablePeerAccess(1, 7));
}

CONFORMS(musaDeviceDisablePeerAccess, InvalidDevice, out_of_range) {
  EXPECT_FAILS(
      musaErrorInvalidDevice,
      musaDeviceDisablePeerAccess(device_count()));
}

} // namespace conformance
