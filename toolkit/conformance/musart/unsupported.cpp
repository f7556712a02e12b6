// SPDX-License-Identifier: Apache-2.0
// Functions that the portable toolkit exports and refuses: each answers
// musaErrorNotSupported whatever its arguments, and changes nothing.
#include "support/conforms.h"

namespace conformance {

#if CONFORMANCE_PORTABLE

namespace {

struct Refused {
  const char* function;
  musaError_t (*call)();
};

// NOLINTBEGIN(readability-identifier-naming)
#define REFUSED(function, ...) {#function, [] { return function(__VA_ARGS__); }}
// NOLINTEND(readability-identifier-naming)

const Refused kRefused[] = {
    REFUSED(musaIpcGetMemHandle, nullptr, nullptr),
    REFUSED(musaIpcOpenMemHandle, nullptr, {}, 0U),
    REFUSED(musaIpcCloseMemHandle, nullptr),
    REFUSED(musaIpcGetEventHandle, nullptr, nullptr),
    REFUSED(musaIpcOpenEventHandle, nullptr, {}),
    REFUSED(
        musaFuncSetAttribute,
        nullptr,
        musaFuncAttributeMaxDynamicSharedMemorySize,
        0),
    REFUSED(musaFuncGetAttributes, nullptr, nullptr),
    REFUSED(musaGetFuncBySymbol, nullptr, nullptr),
    REFUSED(
        musaOccupancyMaxActiveBlocksPerMultiprocessor,
        nullptr,
        nullptr,
        0,
        0U),
    REFUSED(
        musaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
        nullptr,
        nullptr,
        0,
        0U,
        0U),
};

class RefusedTest : public Fixture {
 public:
  explicit RefusedTest(musaError_t (*call)()) : call_(call) {}
  void TestBody() override { EXPECT_FAILS(musaErrorNotSupported, call_()); }

 private:
  musaError_t (*call_)();
};

[[maybe_unused]] const bool added_refused = [] {
  for (const Refused& refused : kRefused) {
    add_conforming(
        refused.function,
        "NotSupported",
        "is_the_answer",
        __FILE__,
        __LINE__,
        [&refused]() -> Fixture* { return new RefusedTest(refused.call); });
  }
  return true;
}();

} // namespace

BEHAVES(unsupported, each_refused_function_says_so) {
  for (int i = 0; musaPortableUnimplemented(i) != nullptr; ++i) {
    const std::string name = musaPortableUnimplemented(i);
    bool tested = false;
    for (const Refused& refused : kRefused) {
      tested = tested || name == refused.function;
    }
    EXPECT_TRUE(tested) << name << " is refused, but no test says so";
  }
}

#endif

} // namespace conformance
