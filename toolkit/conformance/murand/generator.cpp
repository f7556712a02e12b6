// SPDX-License-Identifier: Apache-2.0
// muRAND: limits, statistics and determinism of the Philox generator.
#include "support/conforms.h"

#include <murand.h>

#include <cmath>
#include <cstdint>
#include <set>
#include <vector>

namespace conformance {
namespace {

std::string status_name(murandStatus_t status) {
  switch (status) {
  case MURAND_STATUS_SUCCESS:
    return "SUCCESS";
  case MURAND_STATUS_NOT_INITIALIZED:
    return "NOT_INITIALIZED";
  case MURAND_STATUS_ALLOCATION_FAILED:
    return "ALLOCATION_FAILED";
  case MURAND_STATUS_TYPE_ERROR:
    return "TYPE_ERROR";
  case MURAND_STATUS_OUT_OF_RANGE:
    return "OUT_OF_RANGE";
  case MURAND_STATUS_LENGTH_NOT_MULTIPLE:
    return "LENGTH_NOT_MULTIPLE";
  case MURAND_STATUS_LAUNCH_FAILURE:
    return "LAUNCH_FAILURE";
  case MURAND_STATUS_PREEXISTING_FAILURE:
    return "PREEXISTING_FAILURE";
  case MURAND_STATUS_NOT_IMPLEMENTED:
    return "NOT_IMPLEMENTED";
  default:
    return "status " + std::to_string(static_cast<int>(status));
  }
}

#define EXPECT_RAND(status, call) \
  EXPECT_EQ(status_name(status), status_name(call))
#define EXPECT_GOOD(call) EXPECT_RAND(MURAND_STATUS_SUCCESS, call)

class Generator {
 public:
  explicit Generator(unsigned long long seed = 7) {
    EXPECT_GOOD(
        murandCreateGenerator(&handle_, MURAND_RNG_PSEUDO_PHILOX4_32_10));
    EXPECT_GOOD(murandSetPseudoRandomGeneratorSeed(handle_, seed));
    EXPECT_GOOD(murandSetGeneratorOffset(handle_, 0));
  }
  ~Generator() { EXPECT_GOOD(murandDestroyGenerator(handle_)); }
  Generator(const Generator&) = delete;
  Generator& operator=(const Generator&) = delete;
  // NOLINTNEXTLINE(google-explicit-constructor): stands for its handle
  operator murandGenerator_t() const { return handle_; }

 private:
  murandGenerator_t handle_ = nullptr;
};

murandGenerator_t freed() {
  murandGenerator_t generator = nullptr;
  EXPECT_GOOD(
      murandCreateGenerator(&generator, MURAND_RNG_PSEUDO_PHILOX4_32_10));
  EXPECT_GOOD(murandDestroyGenerator(generator));
  return generator;
}

template <class T>
class Numbers {
 public:
  explicit Numbers(std::size_t count)
      : count_(count), buffer_(count * sizeof(T)) {
    buffer_.fill(0xFF);
  }
  T* get() { return static_cast<T*>(buffer_.get()); }
  std::vector<T> read() const {
    std::vector<T> host(count_);
    EXPECT_OK(musaDeviceSynchronize());
    EXPECT_OK(musaMemcpy(
        host.data(),
        buffer_.get(),
        count_ * sizeof(T),
        musaMemcpyDeviceToHost));
    return host;
  }

 private:
  std::size_t count_;
  Buffer buffer_;
};

constexpr std::size_t kCount = 200'000;

struct Moments {
  double mean = 0;
  double variance = 0;
};

template <class T>
Moments moments(const std::vector<T>& values) {
  Moments m;
  const auto count = static_cast<double>(values.size());
  for (const T value : values) {
    m.mean += static_cast<double>(value) / count;
  }
  for (const T value : values) {
    const double d = static_cast<double>(value) - m.mean;
    m.variance += d * d / count;
  }
  return m;
}

// Six standard errors of the mean and of the variance.
template <class T>
void expect_moments(
    const std::vector<T>& values,
    double mean,
    double variance,
    double kurtosis) {
  const Moments m = moments(values);
  const auto count = static_cast<double>(values.size());
  EXPECT_NEAR(mean, m.mean, 6 * std::sqrt(variance / count));
  EXPECT_NEAR(
      variance,
      m.variance,
      6 * variance * std::sqrt((kurtosis - 1) / count));
}

} // namespace

CONFORMS(murandGetVersion, success, needs_no_generator) {
  int version = 0;
  EXPECT_GOOD(murandGetVersion(&version));
  EXPECT_GT(version, 0);
}

CONFORMS(murandGetVersion, null, is_refused) {
  EXPECT_NE(
      status_name(MURAND_STATUS_SUCCESS),
      status_name(murandGetVersion(nullptr)));
}

CONFORMS(murandCreateGenerator, success, default_and_philox) {
  for (const murandRngType_t type :
       {MURAND_RNG_PSEUDO_DEFAULT, MURAND_RNG_PSEUDO_PHILOX4_32_10}) {
    murandGenerator_t generator = nullptr;
    EXPECT_GOOD(murandCreateGenerator(&generator, type));
    EXPECT_NE(nullptr, generator);
    EXPECT_GOOD(murandDestroyGenerator(generator));
  }
}
COVERS(
    murandDestroyGenerator,
    success,
    murandCreateGenerator,
    success_default_and_philox)

CONFORMS(murandCreateGenerator, null, is_refused) {
  EXPECT_NE(
      status_name(MURAND_STATUS_SUCCESS),
      status_name(murandCreateGenerator(nullptr, MURAND_RNG_PSEUDO_DEFAULT)));
}

CONFORMS(murandCreateGenerator, TYPE_ERROR, unknown_type) {
  murandGenerator_t generator = nullptr;
  EXPECT_RAND(
      MURAND_STATUS_TYPE_ERROR,
      murandCreateGenerator(&generator, static_cast<murandRngType_t>(7)));
}

CONFORMS(murandDestroyGenerator, null, is_not_initialized) {
  EXPECT_RAND(MURAND_STATUS_NOT_INITIALIZED, murandDestroyGenerator(nullptr));
}

CONFORMS(murandDestroyGenerator, NOT_INITIALIZED, twice) {
  EXPECT_RAND(MURAND_STATUS_NOT_INITIALIZED, murandDestroyGenerator(freed()));
}

CONFORMS(murandSetStream, success, work_runs_on_it) {
  const Stream stream(musaStreamNonBlocking);
  const Generator generator;
  EXPECT_GOOD(murandSetStream(generator, stream));
  Numbers<float> numbers(1000);
  EXPECT_OK(musaDeviceSynchronize());
  // The first use of a kernel may wait: its code is loaded.
  EXPECT_GOOD(murandGenerateUniform(generator, numbers.get(), 1000));
  EXPECT_OK(musaDeviceSynchronize());
  Gate gate;
  ASSERT_MUSA(gate.hold(stream));
  EXPECT_GOOD(murandGenerateUniform(generator, numbers.get(), 1000));
  EXPECT_MUSA(musaErrorNotReady, musaStreamQuery(stream));
  EXPECT_FALSE(gate.expired());
  gate.open();
  EXPECT_OK(musaStreamSynchronize(stream));
  for (const float value : numbers.read()) {
    ASSERT_GT(value, 0.0F);
  }
}

CONFORMS(murandSetStream, null, generator_is_not_initialized) {
  EXPECT_RAND(MURAND_STATUS_NOT_INITIALIZED, murandSetStream(nullptr, nullptr));
}

CONFORMS(murandSetPseudoRandomGeneratorSeed, success, decides_the_numbers) {
  std::vector<std::uint32_t> runs[3];
  const unsigned long long seeds[] = {1, 1, 2};
  for (std::size_t i = 0; i < 3; ++i) {
    const Generator generator(seeds[i]);
    Numbers<unsigned> numbers(1000);
    EXPECT_GOOD(murandGenerate(generator, numbers.get(), 1000));
    runs[i] = numbers.read();
  }
  EXPECT_EQ(runs[0], runs[1]);
  EXPECT_NE(runs[0], runs[2]);
}

CONFORMS(murandSetPseudoRandomGeneratorSeed, null, is_not_initialized) {
  EXPECT_RAND(
      MURAND_STATUS_NOT_INITIALIZED,
      murandSetPseudoRandomGeneratorSeed(nullptr, 1));
}

CONFORMS(murandSetGeneratorOffset, success, starts_elsewhere_and_repeats) {
  const Generator generator;
  const auto at = [&](unsigned long long offset) {
    EXPECT_GOOD(murandSetPseudoRandomGeneratorSeed(generator, 7));
    EXPECT_GOOD(murandSetGeneratorOffset(generator, offset));
    Numbers<unsigned> numbers(64);
    EXPECT_GOOD(murandGenerate(generator, numbers.get(), 64));
    return numbers.read();
  };
  EXPECT_EQ(at(0), at(0));
  EXPECT_EQ(at(1000), at(1000));
  EXPECT_NE(at(0), at(1000));
}

CONFORMS(murandSetGeneratorOffset, null, is_not_initialized) {
  EXPECT_RAND(
      MURAND_STATUS_NOT_INITIALIZED,
      murandSetGeneratorOffset(nullptr, 0));
}

CONFORMS(murandGenerate, success, words_are_even_and_distinct) {
  const Generator generator;
  Numbers<unsigned> numbers(kCount);
  EXPECT_GOOD(murandGenerate(generator, numbers.get(), kCount));
  const std::vector<unsigned> words = numbers.read();
  std::vector<double> scaled;
  scaled.reserve(words.size());
  for (const unsigned word : words) {
    scaled.push_back(word / 4294967296.0);
  }
  expect_moments(scaled, 0.5, 1.0 / 12, 1.8);
  const std::set<unsigned> different(words.begin(), words.end());
  EXPECT_GT(different.size(), kCount - 40);
  for (unsigned bit = 0; bit < 32; ++bit) {
    int ones = 0;
    for (const unsigned word : words) {
      ones += static_cast<int>(word >> bit & 1U);
    }
    EXPECT_NEAR(kCount / 2.0, ones, 6 * std::sqrt(kCount / 4.0)) << bit;
  }
}

CONFORMS(murandGenerate, null, is_refused) {
  const Generator generator;
  EXPECT_RAND(
      MURAND_STATUS_NOT_INITIALIZED,
      murandGenerate(nullptr, nullptr, 4));
  EXPECT_NE(
      status_name(MURAND_STATUS_SUCCESS),
      status_name(murandGenerate(generator, nullptr, 4)));
}

CONFORMS(murandGenerate, NOT_INITIALIZED, freed_generator) {
  Numbers<unsigned> numbers(4);
  EXPECT_RAND(
      MURAND_STATUS_NOT_INITIALIZED,
      murandGenerate(freed(), numbers.get(), 4));
}

CONFORMS(murandGenerate, zero, is_a_success) {
  const Generator generator;
  Numbers<unsigned> numbers(1);
  EXPECT_GOOD(murandGenerate(generator, numbers.get(), 0));
  EXPECT_EQ(0xFFFFFFFFU, numbers.read()[0]);
}

CONFORMS(murandGenerateLongLong, TYPE_ERROR, with_philox) {
  // muDNN facts, 86.
  const Generator generator;
  Numbers<unsigned long long> numbers(4);
  EXPECT_RAND(
      MURAND_STATUS_TYPE_ERROR,
      murandGenerateLongLong(generator, numbers.get(), 4));
}

CONFORMS(murandGenerateUniform, success, open_at_zero_closed_at_one) {
  const Generator generator;
  constexpr std::size_t kMany = 4'000'000;
  Numbers<float> numbers(kMany);
  EXPECT_GOOD(murandGenerateUniform(generator, numbers.get(), kMany));
  const std::vector<float> values = numbers.read();
  float least = 2;
  float most = -1;
  for (const float value : values) {
    least = std::fmin(least, value);
    most = std::fmax(most, value);
  }
  EXPECT_GT(least, 0.0F);
  EXPECT_LT(least, 1e-5F);
  EXPECT_LE(most, 1.0F);
  EXPECT_GT(most, 0.99999F);
  expect_moments(values, 0.5, 1.0 / 12, 1.8);
}

BEHAVES(uniform, reaches_one) {
  // muDNN facts, 86: (0, 1]. Words near the top round up to 1.
  const Generator generator(3);
  constexpr std::size_t kMany = std::size_t{1} << 23;
  Numbers<float> numbers(kMany);
  int ones = 0;
  for (int round = 0; round < 8 && ones == 0; ++round) {
    EXPECT_GOOD(murandGenerateUniform(generator, numbers.get(), kMany));
    for (const float value : numbers.read()) {
      ones += value == 1.0F ? 1 : 0;
    }
  }
  EXPECT_GT(ones, 0);
}

CONFORMS(murandGenerateUniform, null, is_refused) {
  const Generator generator;
  EXPECT_RAND(
      MURAND_STATUS_NOT_INITIALIZED,
      murandGenerateUniform(nullptr, nullptr, 4));
  EXPECT_NE(
      status_name(MURAND_STATUS_SUCCESS),
      status_name(murandGenerateUniform(generator, nullptr, 4)));
}

CONFORMS(murandGenerateUniform, zero, is_a_success) {
  const Generator generator;
  Numbers<float> numbers(1);
  EXPECT_GOOD(murandGenerateUniform(generator, numbers.get(), 0));
}

BEHAVES(uniform, odd_lengths_write_exactly_the_range) {
  const Generator generator;
  for (const std::size_t length : {1UL, 3UL, 5UL, 1001UL}) {
    Numbers<float> numbers(length + 1);
    EXPECT_GOOD(murandGenerateUniform(generator, numbers.get(), length));
    const std::vector<float> values = numbers.read();
    for (std::size_t i = 0; i < length; ++i) {
      EXPECT_TRUE(values[i] > 0 && values[i] <= 1) << i;
    }
    EXPECT_TRUE(std::isnan(values[length])) << "wrote behind the end";
  }
}

CONFORMS(murandGenerateUniformDouble, success, in_range) {
  const Generator generator;
  Numbers<double> numbers(kCount);
  EXPECT_GOOD(murandGenerateUniformDouble(generator, numbers.get(), kCount));
  const std::vector<double> values = numbers.read();
  for (const double value : values) {
    ASSERT_TRUE(value > 0 && value <= 1);
  }
  expect_moments(values, 0.5, 1.0 / 12, 1.8);
}

CONFORMS(murandGenerateUniformDouble, null, is_refused) {
  EXPECT_RAND(
      MURAND_STATUS_NOT_INITIALIZED,
      murandGenerateUniformDouble(nullptr, nullptr, 4));
}

CONFORMS(murandGenerateUniformDouble, zero, is_a_success) {
  const Generator generator;
  Numbers<double> numbers(1);
  EXPECT_GOOD(murandGenerateUniformDouble(generator, numbers.get(), 0));
}

CONFORMS(murandGenerateNormal, success, has_mean_and_deviation) {
  const Generator generator;
  Numbers<float> numbers(kCount);
  EXPECT_GOOD(
      murandGenerateNormal(generator, numbers.get(), kCount, 1.5F, 2.0F));
  const std::vector<float> values = numbers.read();
  expect_moments(values, 1.5, 4, 3);
  int tail = 0;
  for (const float value : values) {
    ASSERT_TRUE(std::isfinite(value));
    tail += std::fabs(value - 1.5F) > 4 ? 1 : 0;
  }
  // 4.55 % lie beyond two deviations.
  EXPECT_NEAR(0.0455 * kCount, tail, 6 * std::sqrt(0.0455 * kCount));
}

CONFORMS(murandGenerateNormal, LENGTH_NOT_MULTIPLE, odd_count) {
  // muDNN facts, 86.
  const Generator generator;
  Numbers<float> numbers(3);
  EXPECT_RAND(
      MURAND_STATUS_LENGTH_NOT_MULTIPLE,
      murandGenerateNormal(generator, numbers.get(), 3, 0, 1));
}

CONFORMS(murandGenerateNormal, null, is_refused) {
  EXPECT_RAND(
      MURAND_STATUS_NOT_INITIALIZED,
      murandGenerateNormal(nullptr, nullptr, 4, 0, 1));
}

CONFORMS(murandGenerateNormal, zero, is_a_success) {
  const Generator generator;
  Numbers<float> numbers(1);
  EXPECT_GOOD(murandGenerateNormal(generator, numbers.get(), 0, 0, 1));
}

CONFORMS(murandGenerateNormalDouble, success, has_mean_and_deviation) {
  const Generator generator;
  Numbers<double> numbers(kCount);
  EXPECT_GOOD(
      murandGenerateNormalDouble(generator, numbers.get(), kCount, -1, 0.5));
  expect_moments(numbers.read(), -1, 0.25, 3);
}

CONFORMS(murandGenerateNormalDouble, LENGTH_NOT_MULTIPLE, odd_count) {
  const Generator generator;
  Numbers<double> numbers(3);
  EXPECT_RAND(
      MURAND_STATUS_LENGTH_NOT_MULTIPLE,
      murandGenerateNormalDouble(generator, numbers.get(), 3, 0, 1));
}

CONFORMS(murandGenerateNormalDouble, null, is_refused) {
  EXPECT_RAND(
      MURAND_STATUS_NOT_INITIALIZED,
      murandGenerateNormalDouble(nullptr, nullptr, 4, 0, 1));
}

CONFORMS(murandGenerateNormalDouble, zero, is_a_success) {
  const Generator generator;
  Numbers<double> numbers(1);
  EXPECT_GOOD(murandGenerateNormalDouble(generator, numbers.get(), 0, 0, 1));
}

BEHAVES(sequence, a_call_goes_on_where_the_last_one_ended) {
  Numbers<unsigned> together(200);
  {
    const Generator generator;
    EXPECT_GOOD(murandGenerate(generator, together.get(), 200));
  }
  Numbers<unsigned> apart(200);
  {
    const Generator generator;
    EXPECT_GOOD(murandGenerate(generator, apart.get(), 100));
    EXPECT_GOOD(murandGenerate(generator, apart.get() + 100, 100));
  }
  const auto first = together.read();
  EXPECT_EQ(first, apart.read());
  const std::set<unsigned> different(first.begin(), first.end());
  EXPECT_EQ(200U, different.size());
}

BEHAVES(sequence, large_and_small_calls_agree) {
  // However the work is split, element i is the same.
  const auto first = [](std::size_t count) {
    const Generator generator(99);
    Numbers<float> numbers(count);
    EXPECT_GOOD(murandGenerateUniform(generator, numbers.get(), count));
    auto values = numbers.read();
    values.resize(1000);
    return values;
  };
  EXPECT_EQ(first(1000), first(1'000'000));
}

#if CONFORMANCE_PORTABLE
BEHAVES(sequence, is_philox4x32_10) {
  // Salmon and others, 2011: counter 0, key 0 gives 6627e8d5 e169c58d
  // bc57ac4c 9b00dbd8. Which counter a seed and offset start at is the
  // vendor's; a generator with seed 0 and offset 0 starts at 0.
  const Generator generator(0);
  Numbers<unsigned> numbers(4);
  EXPECT_GOOD(murandGenerate(generator, numbers.get(), 4));
  EXPECT_EQ(
      (std::vector<unsigned>{
          0x6627e8d5U,
          0xe169c58dU,
          0xbc57ac4cU,
          0x9b00dbd8U}),
      numbers.read());
}
#endif

} // namespace conformance
