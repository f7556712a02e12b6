// SPDX-License-Identifier: Apache-2.0
// The rows of muRAND's matrix, and the calls whose answers are all alike.
#include "support/child.h"
#include "support/conforms.h"
#include "support/poison.h"

#include <murand.h>

#include <algorithm>
#include <map>
#include <regex>
#include <sstream>

namespace conformance {
namespace {

constexpr const char* kNoSize = "takes no count";
constexpr const char* kNeverWorks = "Philox has no 64-bit output (facts, 86)";
constexpr const char* kRefused =
    "refused on the portable engines: no public client calls it";
#if CONFORMANCE_PORTABLE
constexpr const char* kSticky = nullptr;
#else
constexpr const char* kSticky =
    "a sticky error can be provoked on the portable engines only";
#endif

Row row(const char* function, const char* errors, const char* no_zero) {
  return {function, errors, nullptr, nullptr, no_zero, kSticky};
}

#if CONFORMANCE_PORTABLE
Row refused(const char* function) {
  return {function, "NOT_IMPLEMENTED", kRefused, kRefused, kRefused, kRefused};
}
#endif

int number(murandStatus_t status) {
  return static_cast<int>(status);
}

} // namespace

const std::vector<Row>& rows() {
  static const std::vector<Row> all = {
      {"murandGetVersion",
       "",
       nullptr,
       nullptr,
       kNoSize,
       "does not touch a device"},
      row("murandCreateGenerator", "TYPE_ERROR", kNoSize),
      row("murandDestroyGenerator", "NOT_INITIALIZED", kNoSize),
      row("murandSetStream", "", kNoSize),
      row("murandSetPseudoRandomGeneratorSeed", "", kNoSize),
      row("murandSetGeneratorOffset", "", kNoSize),
      row("murandSetGeneratorOrdering", "OUT_OF_RANGE TYPE_ERROR", kNoSize),
      {"murandSetQuasiRandomGeneratorDimensions",
       "TYPE_ERROR",
       "a Philox generator has no dimensions",
       nullptr,
       kNoSize,
       kSticky},
      row("murandGenerateSeeds", "", kNoSize),
      row("murandGenerate", "NOT_INITIALIZED", nullptr),
      {"murandGenerateLongLong",
       "TYPE_ERROR",
       kNeverWorks,
       nullptr,
       kNeverWorks,
       kSticky},
      row("murandGenerateUniform", "", nullptr),
      row("murandGenerateUniformDouble", "", nullptr),
      row("murandGenerateNormal", "LENGTH_NOT_MULTIPLE", nullptr),
      row("murandGenerateNormalDouble", "LENGTH_NOT_MULTIPLE", nullptr),
#if CONFORMANCE_PORTABLE
      refused("murandCreateGeneratorHost"),
      refused("murandGenerateLogNormal"),
      refused("murandGenerateLogNormalDouble"),
      refused("murandGeneratePoisson"),
#endif
  };
  return all;
}

std::vector<std::string> header_functions() {
  const std::string text = strip_comments(read_header("murand.h"));
  const std::regex declaration(R"(murandStatus_t\s+(murand[A-Z]\w*)\s*\()");
  std::vector<std::string> result;
  for (std::sregex_iterator match(text.begin(), text.end(), declaration), end;
       match != end;
       ++match) {
    result.push_back((*match)[1]);
  }
  return result;
}

namespace {

murandGenerator_t new_generator() {
  murandGenerator_t generator = nullptr;
  EXPECT_EQ(
      number(MURAND_STATUS_SUCCESS),
      number(
          murandCreateGenerator(&generator, MURAND_RNG_PSEUDO_PHILOX4_32_10)));
  return generator;
}

void drop(murandGenerator_t generator) {
  EXPECT_EQ(
      number(MURAND_STATUS_SUCCESS),
      number(murandDestroyGenerator(generator)));
}

} // namespace

CONFORMS(murandSetGeneratorOrdering, success, philox_has_one_order) {
  const murandGenerator_t generator = new_generator();
  for (const murandOrdering_t order :
       {MURAND_ORDERING_PSEUDO_DEFAULT, MURAND_ORDERING_PSEUDO_BEST}) {
    EXPECT_EQ(
        number(MURAND_STATUS_SUCCESS),
        number(murandSetGeneratorOrdering(generator, order)));
  }
  drop(generator);
}

CONFORMS(murandSetGeneratorOrdering, OUT_OF_RANGE, unknown_order) {
  const murandGenerator_t generator = new_generator();
  EXPECT_EQ(
      number(MURAND_STATUS_OUT_OF_RANGE),
      number(murandSetGeneratorOrdering(
          generator,
          static_cast<murandOrdering_t>(1))));
  drop(generator);
}

CONFORMS(murandSetGeneratorOrdering, TYPE_ERROR, order_of_another_kind) {
  const murandGenerator_t generator = new_generator();
  EXPECT_EQ(
      number(MURAND_STATUS_TYPE_ERROR),
      number(murandSetGeneratorOrdering(
          generator,
          MURAND_ORDERING_QUASI_DEFAULT)));
  drop(generator);
}

CONFORMS(murandSetGeneratorOrdering, null, is_not_initialized) {
  EXPECT_EQ(
      number(MURAND_STATUS_NOT_INITIALIZED),
      number(murandSetGeneratorOrdering(nullptr, MURAND_ORDERING_PSEUDO_BEST)));
}

CONFORMS(murandSetQuasiRandomGeneratorDimensions, TYPE_ERROR, of_philox) {
  const murandGenerator_t generator = new_generator();
  EXPECT_EQ(
      number(MURAND_STATUS_TYPE_ERROR),
      number(murandSetQuasiRandomGeneratorDimensions(generator, 2)));
  drop(generator);
}

CONFORMS(murandSetQuasiRandomGeneratorDimensions, null, is_not_initialized) {
  EXPECT_EQ(
      number(MURAND_STATUS_NOT_INITIALIZED),
      number(murandSetQuasiRandomGeneratorDimensions(nullptr, 2)));
}

CONFORMS(murandGenerateSeeds, success, changes_no_numbers) {
  const murandGenerator_t generator = new_generator();
  EXPECT_EQ(
      number(MURAND_STATUS_SUCCESS),
      number(murandGenerateSeeds(generator)));
  drop(generator);
}

CONFORMS(murandGenerateSeeds, null, is_not_initialized) {
  EXPECT_EQ(
      number(MURAND_STATUS_NOT_INITIALIZED),
      number(murandGenerateSeeds(nullptr)));
}

CONFORMS(murandGenerateLongLong, null, is_not_initialized) {
  EXPECT_EQ(
      number(MURAND_STATUS_NOT_INITIALIZED),
      number(murandGenerateLongLong(nullptr, nullptr, 4)));
}

#if CONFORMANCE_PORTABLE

namespace {

struct Call {
  const char* function;
  murandStatus_t (*run)(murandGenerator_t g, void* memory);
};

const Call kRefusedCalls[] = {
    {"murandCreateGeneratorHost",
     [](murandGenerator_t g, void*) {
       return murandCreateGeneratorHost(&g, MURAND_RNG_PSEUDO_DEFAULT);
     }},
    {"murandGenerateLogNormal",
     [](murandGenerator_t g, void* p) {
       return murandGenerateLogNormal(g, static_cast<float*>(p), 2, 0, 1);
     }},
    {"murandGenerateLogNormalDouble",
     [](murandGenerator_t g, void* p) {
       return murandGenerateLogNormalDouble(
           g,
           static_cast<double*>(p),
           2,
           0,
           1);
     }},
    {"murandGeneratePoisson",
     [](murandGenerator_t g, void* p) {
       return murandGeneratePoisson(g, static_cast<unsigned*>(p), 2, 1);
     }},
};

const Call kStickyCalls[] = {
    {"murandCreateGenerator",
     [](murandGenerator_t g, void*) {
       return murandCreateGenerator(&g, MURAND_RNG_PSEUDO_DEFAULT);
     }},
    {"murandSetStream",
     [](murandGenerator_t g, void*) { return murandSetStream(g, nullptr); }},
    {"murandSetPseudoRandomGeneratorSeed",
     [](murandGenerator_t g, void*) {
       return murandSetPseudoRandomGeneratorSeed(g, 1);
     }},
    {"murandSetGeneratorOffset",
     [](murandGenerator_t g, void*) { return murandSetGeneratorOffset(g, 1); }},
    {"murandSetGeneratorOrdering",
     [](murandGenerator_t g, void*) {
       return murandSetGeneratorOrdering(g, MURAND_ORDERING_PSEUDO_BEST);
     }},
    {"murandSetQuasiRandomGeneratorDimensions",
     [](murandGenerator_t g, void*) {
       return murandSetQuasiRandomGeneratorDimensions(g, 1);
     }},
    {"murandGenerateSeeds",
     [](murandGenerator_t g, void*) { return murandGenerateSeeds(g); }},
    {"murandGenerate",
     [](murandGenerator_t g, void* p) {
       return murandGenerate(g, static_cast<unsigned*>(p), 2);
     }},
    {"murandGenerateLongLong",
     [](murandGenerator_t g, void* p) {
       return murandGenerateLongLong(g, static_cast<unsigned long long*>(p), 2);
     }},
    {"murandGenerateUniform",
     [](murandGenerator_t g, void* p) {
       return murandGenerateUniform(g, static_cast<float*>(p), 2);
     }},
    {"murandGenerateUniformDouble",
     [](murandGenerator_t g, void* p) {
       return murandGenerateUniformDouble(g, static_cast<double*>(p), 2);
     }},
    {"murandGenerateNormal",
     [](murandGenerator_t g, void* p) {
       return murandGenerateNormal(g, static_cast<float*>(p), 2, 0, 1);
     }},
    {"murandGenerateNormalDouble",
     [](murandGenerator_t g, void* p) {
       return murandGenerateNormalDouble(g, static_cast<double*>(p), 2, 0, 1);
     }},
    {"murandDestroyGenerator",
     [](murandGenerator_t g, void*) { return murandDestroyGenerator(g); }},
};

class RefusedTest : public Fixture {
 public:
  explicit RefusedTest(const Call& call) : call_(call) {}
  void TestBody() override {
    const Buffer buffer(64);
    const murandGenerator_t generator = new_generator();
    EXPECT_EQ(
        number(MURAND_STATUS_NOT_IMPLEMENTED),
        number(call_.run(generator, buffer.get())));
    drop(generator);
  }

 private:
  const Call& call_;
};

const std::map<std::string, int>& answers() {
  static const std::map<std::string, int> result = [] {
    std::map<std::string, int> numbers;
    const ChildResult child = run_child("rand_sticky_calls");
    expect_good(child);
    std::istringstream lines(child.output);
    std::string function;
    for (int status = 0; lines >> function >> status;) {
      numbers[function] = status;
    }
    return numbers;
  }();
  return result;
}

class StickyTest : public Fixture {
 public:
  explicit StickyTest(const Call& call) : call_(call) {}
  void TestBody() override {
    const auto found = answers().find(call_.function);
    ASSERT_NE(answers().end(), found) << "the child never made the call";
    EXPECT_EQ(number(MURAND_STATUS_PREEXISTING_FAILURE), found->second);
  }

 private:
  const Call& call_;
};

[[maybe_unused]] const bool added = [] {
  for (const Call& call : kRefusedCalls) {
    add_conforming(
        call.function,
        "NOT_IMPLEMENTED",
        "is_the_answer",
        __FILE__,
        __LINE__,
        [&call]() -> Fixture* { return new RefusedTest(call); });
  }
  for (const Call& call : kStickyCalls) {
    add_conforming(
        call.function,
        "sticky",
        "is_a_preexisting_failure",
        __FILE__,
        __LINE__,
        [&call]() -> Fixture* { return new StickyTest(call); });
  }
  return true;
}();

} // namespace

SCENARIO(rand_sticky_calls) {
  void* memory = nullptr;
  REQUIRE(musaMalloc(&memory, 64) == musaSuccess);
  const murandGenerator_t generator = new_generator();
  musaStream_t stream = nullptr;
  REQUIRE(musaStreamCreate(&stream) == musaSuccess);
  poison(stream);
  REQUIRE(musaStreamSynchronize(stream) == musaErrorLaunchFailure);
  for (const Call& call : kStickyCalls) {
    std::printf("%s %d\n", call.function, number(call.run(generator, memory)));
  }
  return 0;
}

#endif

} // namespace conformance
