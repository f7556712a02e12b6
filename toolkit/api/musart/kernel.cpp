// SPDX-License-Identifier: Apache-2.0
// What kernels that the toolkit's mcc compiled call underneath.
#include "toolkit/engine/kernel.h"

#include "toolkit/api/call.h"

#include "toolkit/include/musa_portable.h"

using namespace musa_standin::api;
namespace engine = musa_standin::engine;

musaError_t musaPortableForEach(
    const musaPortableLoop* loop,
    musaStream_t stream) {
  return api_call("musaPortableForEach", [&] {
    require(loop != nullptr && loop->body != nullptr, "the loop is null");
    require(
        loop->closure != nullptr || loop->bytes == 0,
        "the loop's closure is null");
    engine::kernel_engine().for_each(
        stream_of(stream),
        {loop->name,
         loop->body,
         loop->closure,
         loop->bytes,
         loop->n,
         loop->grain});
  });
}

void* musaPortableAddress(void* pointer) {
  return engine::kernel_engine().address(pointer);
}

void musaPortableFail(musaError_t code, const char* message) {
  engine::kernel_engine().fail(code, message);
}

musaError_t musaPortableErrorWord(void** word, musaStream_t stream) {
  return api_call("musaPortableErrorWord", [&] {
    require(word != nullptr, "word is null");
    *word = engine::kernel_engine().error_word(stream_of(stream));
  });
}

musaError_t musaPortableNativeStream(void** native, musaStream_t stream) {
  return api_call("musaPortableNativeStream", [&] {
    require(native != nullptr, "native is null");
    *native = engine::kernel_engine().native_stream(stream_of(stream));
  });
}
