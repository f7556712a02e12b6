// SPDX-License-Identifier: Apache-2.0
// A Permute with a negative stride, which no device survives.
#include "support/poison.h"

#if CONFORMANCE_PORTABLE

#include <mudnncxx/mudnn.h>

#include <cstdio>

namespace conformance {

void poison(musaStream_t stream) {
  namespace dnn = ::musa::dnn;
  static void* memory = nullptr;
  if (memory == nullptr && musaMalloc(&memory, 64) != musaSuccess) {
    std::fprintf(stderr, "no memory to poison the device with\n");
    return;
  }
  auto* bytes = static_cast<unsigned char*>(memory);
  dnn::Handle handle;
  handle.SetStream(stream);
  dnn::Tensor in;
  in.SetType(dnn::Tensor::Type::FLOAT);
  in.SetAddr(bytes + 20);
  in.SetNdInfo({6}, {-1});
  dnn::Tensor out;
  out.SetType(dnn::Tensor::Type::FLOAT);
  out.SetAddr(bytes + 32);
  out.SetNdInfo({6}, {1});
  dnn::Permute permute;
  (void)permute.Run(handle, out, in);
}

} // namespace conformance

#endif
