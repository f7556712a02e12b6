// SPDX-License-Identifier: Apache-2.0
// The marker by which a loader knows the portable muRAND.
#include "toolkit/include/musa_portable.h"

extern "C" MUSART_PUBLIC int murandPortableAbi(void);

extern "C" int murandPortableAbi(void) {
  return MUSA_PORTABLE_ABI;
}
