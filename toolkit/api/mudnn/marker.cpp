// SPDX-License-Identifier: Apache-2.0
// libmudnn's only symbol of its own; the classes come from libmudnncxx.
#include "toolkit/include/musa_portable.h"

extern "C" MUSART_PUBLIC int mudnnPortableAlias(void);

extern "C" int mudnnPortableAlias(void) {
  return MUSA_PORTABLE_ABI;
}
