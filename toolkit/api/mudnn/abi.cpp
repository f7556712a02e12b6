// SPDX-License-Identifier: Apache-2.0
// The marker by which a loader knows the portable muDNN.
#include "toolkit/include/musa_portable.h"

extern "C" MUSART_PUBLIC int mudnnPortableAbi(void);

extern "C" int mudnnPortableAbi(void) {
  return MUSA_PORTABLE_ABI;
}
