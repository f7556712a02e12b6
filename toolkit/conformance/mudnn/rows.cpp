// SPDX-License-Identifier: Apache-2.0
// The rows of muDNN's matrix, the zero column and the sticky column, whose
// tests are alike for every operator.
#include "mudnn/array.h"
#include "support/child.h"
#include "support/poison.h"

#include <algorithm>
#include <map>
#include <regex>
#include <sstream>

namespace conformance {
namespace {

constexpr const char* kHost = "works on descriptors on the host alone";
constexpr const char* kNoPointer = "takes no operand that could be absent";
constexpr const char* kZeroSeen =
    "what empty operands do is no contract (facts, 4); defect_4 holds samples";
#if CONFORMANCE_PORTABLE
constexpr const char* kSticky = nullptr;
#else
constexpr const char* kSticky =
    "a sticky error can be provoked on the portable engines only";
#endif

Row op(const char* function, const char* errors = "") {
  return {function, errors, nullptr, nullptr, kZeroSeen, kSticky};
}

Row query(const char* function) {
  return {
      function,
      "",
      nullptr,
      "its operands are descriptors, needed as in Run",
      kZeroSeen,
      "asks about sizes, not about the device"};
}

} // namespace

const std::vector<Row>& rows() {
  static const std::vector<Row> all = {
      {"GetVersion", "", nullptr, kNoPointer, kHost, kHost},
      {"Handle_Handle", "NOT_INITIALIZED", nullptr, kNoPointer, kHost, kHost},
      op("Unary_Run", "INVALID_PARAMETER NOT_SUPPORTED"),
      op("Binary_Run", "INVALID_PARAMETER NOT_SUPPORTED"),
      op("Ternary_Run", "INVALID_PARAMETER NOT_SUPPORTED"),
      op("Reduce_Run", "INVALID_PARAMETER NOT_SUPPORTED"),
      op("Reduce_RunWithIndices"),
      op("Reduce_RunIndices"),
      op("Fill_Run"),
      op("Permute_Run", "INVALID_PARAMETER"),
      {"Permute_ConfigDimStride", "", nullptr, kHost, kHost, kHost},
      {"Permute_ConfigDimStrideForSlice", "", nullptr, kHost, kHost, kHost},
      op("Concat_Run", "INVALID_PARAMETER"),
      op("Cum_Run", "INVALID_PARAMETER"),
      op("GatherX_Run", "NOT_SUPPORTED"),
      op("Scatter_Run", "INVALID_PARAMETER"),
      op("Sort_Run"),
      op("TopK_Run", "NOT_SUPPORTED"),
      op("Nonzero_Run"),
      op("MaskedSelect_Run"),
      op("MatMul_Run", "INVALID_PARAMETER"),
      op("MatMul_RunWithBiasAdd", "INVALID_PARAMETER"),
      op("BatchMatMul_Run"),
      op("BatchMatMul_RunWithBiasAdd"),
      op("Dot_Run", "INVALID_PARAMETER"),
      op("Softmax_Run", "INVALID_PARAMETER NOT_SUPPORTED"),
      op("Softmax_RunBwd"),
      op("ScaledDotProductAttention_RunFlash",
         "INVALID_PARAMETER NOT_SUPPORTED"),
      op("ScaledDotProductAttention_RunFlashBwd", "INVALID_PARAMETER"),
      op("Convolution_Run", "INVALID_PARAMETER"),
      op("Convolution_RunFusion"),
      op("Convolution_RunBwdData"),
      op("Convolution_RunBwdFilter"),
      query("Convolution_GetRecommendForwardAlgorithm"),
      query("Convolution_GetRecommendBackwardDataAlgorithm"),
      query("Convolution_GetRecommendBackwardFilterAlgorithm"),
      query("Convolution_GetForwardWorkspaceSize"),
      query("Convolution_GetBackwardDataWorkspaceSize"),
      query("Convolution_GetBackwardFilterWorkspaceSize"),
      op("Pooling_Run", "INVALID_PARAMETER"),
      op("Pooling_RunBwd"),
      op("BatchNorm_RunPure"),
      op("BatchNorm_RunComposite"),
      op("BatchNorm_RunBwd"),
      op("LayerNorm_Run", "INVALID_PARAMETER"),
      op("LayerNorm_RunBwd"),
      op("NLLLoss_Run", "NOT_SUPPORTED"),
      op("NLLLoss_RunBwd"),
      op("Dropout_RunDropout"),
      op("Dropout_RunDropoutBwd"),
  };
  return all;
}

std::vector<std::string> header_functions() {
  std::vector<std::string> result;
  const std::regex token(
      R"(\bclass\s+(?:MUDNN_EXPORT\s+)?(\w+)[^;{(]*\{|\bStatus\s+((?:Run|Config|GetRecommend|GetForward|GetBackward)\w*)\s*\()");
  for (const char* header :
       {"mudnncxx/mudnn_attention.h",
        "mudnncxx/mudnn_tensor.h",
        "mudnncxx/mudnn_nn.h",
        "mudnncxx/mudnn_ops.h"}) {
    // An enumeration is no class of operators.
    const std::string text = std::regex_replace(
        strip_comments(read_header(header)),
        std::regex("enum class"),
        "enum");
    std::string name;
    for (std::sregex_iterator match(text.begin(), text.end(), token), end;
         match != end;
         ++match) {
      if ((*match)[1].matched) {
        const std::string found = (*match)[1];
        name = found == "FusedActivationDesc" ? name : found;
      } else {
        result.push_back(name + "_" + std::string((*match)[2]));
      }
    }
  }
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

#if CONFORMANCE_PORTABLE

namespace {

struct Call {
  const char* function;
  Status (*run)(dnn::Handle& h, dnn::Tensor& t);
};

#define CALL(Class, Method, ...)                            \
  {#Class "_" #Method, [](dnn::Handle& h, dnn::Tensor& t) { \
     dnn::Class op;                                         \
     return op.Method(h, __VA_ARGS__);                      \
   }}

using Conv = dnn::Convolution;

const Call kCalls[] = {
    CALL(Unary, Run, t, t),
    CALL(Binary, Run, t, t, t),
    CALL(Ternary, Run, t, t, t, t),
    CALL(Reduce, Run, t, t, nullptr),
    CALL(Reduce, RunWithIndices, t, t, t, nullptr),
    CALL(Reduce, RunIndices, t, t, nullptr),
    CALL(Fill, Run, t),
    CALL(Permute, Run, t, t),
    CALL(Concat, Run, t, 1, &t),
    CALL(Cum, Run, t, t, nullptr),
    CALL(GatherX, Run, t, t, t),
    CALL(Scatter, Run, t, t, t, 0, nullptr),
    CALL(Sort, Run, t, t, t, nullptr),
    CALL(TopK, Run, t, t, t, nullptr),
    CALL(Nonzero, Run, t, t, nullptr),
    CALL(MaskedSelect, Run, t, t, t, nullptr),
    CALL(MatMul, Run, t, t, t),
    CALL(MatMul, RunWithBiasAdd, t, t, t, t),
    CALL(BatchMatMul, Run, t, t, t),
    CALL(BatchMatMul, RunWithBiasAdd, t, t, t, t),
    CALL(Dot, Run, t, t, t, nullptr),
    CALL(Softmax, Run, t, t),
    CALL(Softmax, RunBwd, t, t, t),
    CALL(ScaledDotProductAttention, RunFlash, t, t, t, t, t, t, t),
    CALL(
        ScaledDotProductAttention,
        RunFlashBwd,
        t,
        t,
        t,
        t,
        t,
        t,
        t,
        t,
        t,
        t,
        t,
        nullptr),
    CALL(Convolution, Run, t, t, t, Conv::Algorithm::GEMM, nullptr),
    CALL(
        Convolution,
        RunFusion,
        t,
        t,
        t,
        t,
        t,
        {},
        Conv::Algorithm::GEMM,
        nullptr),
    CALL(
        Convolution,
        RunBwdData,
        t,
        t,
        t,
        Conv::AlgorithmBwdData::GEMM,
        nullptr),
    CALL(
        Convolution,
        RunBwdFilter,
        t,
        t,
        t,
        Conv::AlgorithmBwdFilter::GEMM,
        nullptr),
    CALL(Pooling, Run, t, t, t),
    CALL(Pooling, RunBwd, t, t, t),
    CALL(BatchNorm, RunPure, t, t, t, t, t, t),
    CALL(BatchNorm, RunComposite, t, t, t, t, t, t, t, t, 0.1, nullptr),
    CALL(BatchNorm, RunBwd, t, t, t, t, t, t, t, t, t, t, nullptr),
    CALL(LayerNorm, Run, t, t, t, t, t, t, nullptr),
    CALL(LayerNorm, RunBwd, t, t, t, t, t, t, t, t, nullptr),
    CALL(NLLLoss, Run, t, t, t, t, t, nullptr),
    CALL(NLLLoss, RunBwd, t, t, t, t, t, nullptr),
    CALL(Dropout, RunDropout, t, t, t),
    CALL(Dropout, RunDropoutBwd, t, t, t),
};

#undef CALL

const std::map<std::string, int>& answers() {
  static const std::map<std::string, int> result = [] {
    std::map<std::string, int> numbers_by_name;
    const ChildResult child = run_child("dnn_sticky_calls");
    expect_good(child);
    std::istringstream lines(child.output);
    std::string function;
    for (int number = 0; lines >> function >> number;) {
      numbers_by_name[function] = number;
    }
    return numbers_by_name;
  }();
  return result;
}

class StickyTest : public Fixture {
 public:
  explicit StickyTest(const char* function) : function_(function) {}
  void TestBody() override {
    const auto found = answers().find(function_);
    ASSERT_NE(answers().end(), found) << "the child never made the call";
    EXPECT_STATUS(Status::EXECUTION_FAILED, static_cast<Status>(found->second));
  }

 private:
  const char* function_;
};

[[maybe_unused]] const bool added_sticky = [] {
  for (const Call& call : kCalls) {
    add_conforming(
        call.function,
        "sticky",
        "execution_failed",
        __FILE__,
        __LINE__,
        [&call]() -> Fixture* { return new StickyTest(call.function); });
  }
  return true;
}();

} // namespace

SCENARIO(dnn_sticky_calls) {
  void* memory = nullptr;
  REQUIRE(musaMalloc(&memory, 64) == musaSuccess);
  dnn::Handle handle;
  dnn::Tensor tensor;
  tensor.SetType(Type::FLOAT);
  tensor.SetAddr(memory);
  tensor.SetNdInfo({4});
  musaStream_t stream = nullptr;
  REQUIRE(musaStreamCreate(&stream) == musaSuccess);
  poison(stream);
  REQUIRE(musaStreamSynchronize(stream) == musaErrorLaunchFailure);
  for (const Call& call : kCalls) {
    const Status status = call.run(handle, tensor);
    std::printf("%s %d\n", call.function, static_cast<int>(status));
  }
  return 0;
}

#endif

} // namespace conformance
