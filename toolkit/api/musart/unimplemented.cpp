// SPDX-License-Identifier: Apache-2.0
// What is exported and answers musaErrorNotSupported: one row a function.  A
// row leaves in the change that implements its function.
#include "toolkit/api/call.h"

#include "toolkit/include/musa_portable.h"
#include "toolkit/include/musa_runtime_api.h"

#include <iterator>

namespace {

using Needs = musa_standin::api::Needs;

// Memory and events of other processes.
#define MUSART_UNIMPLEMENTED_IPC(ROW)                                   \
  ROW(musaIpcGetMemHandle, (musaIpcMemHandle_t*, void*))                \
  ROW(musaIpcOpenMemHandle, (void**, musaIpcMemHandle_t, unsigned int)) \
  ROW(musaIpcCloseMemHandle, (void*))                                   \
  ROW(musaIpcGetEventHandle, (musaIpcEventHandle_t*, musaEvent_t))      \
  ROW(musaIpcOpenEventHandle, (musaEvent_t*, musaIpcEventHandle_t))

// Functions of device code.
#define MUSART_UNIMPLEMENTED_CODE(ROW)                             \
  ROW(musaFuncSetAttribute, (const void*, musaFuncAttribute, int)) \
  ROW(musaFuncGetAttributes, (musaFuncAttributes*, const void*))   \
  ROW(musaGetFuncBySymbol, (musaFunction_t*, const void*))         \
  ROW(musaOccupancyMaxActiveBlocksPerMultiprocessor,               \
      (int*, const void*, int, size_t))                            \
  ROW(musaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,      \
      (int*, const void*, int, size_t, unsigned int))

#define MUSART_UNIMPLEMENTED(ROW) \
  MUSART_UNIMPLEMENTED_IPC(ROW)   \
  MUSART_UNIMPLEMENTED_CODE(ROW)

#define MUSART_NAME(name, parameters) #name,
constexpr const char* kNames[] = {MUSART_UNIMPLEMENTED(MUSART_NAME)};

musaError_t not_supported(const char* name) {
  return musa_standin::api::api_call<Needs::kLifetime>(name, [] {
    return musaErrorNotSupported;
  });
}

} // namespace

#define MUSART_BODY(name, parameters)      \
  extern "C" musaError_t name parameters { \
    return not_supported(#name);           \
  }
MUSART_UNIMPLEMENTED(MUSART_BODY)

const char* musaPortableUnimplemented(int index) {
  return index >= 0 && index < static_cast<int>(std::size(kNames))
      ? kNames[index]
      : nullptr;
}
