// SPDX-License-Identifier: Apache-2.0
// Conversions between doubles and the tensor types, and device tensors.
#include "mudnn/array.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

namespace conformance {
namespace {

// Rounds to nearest even with the given number of fraction bits; values below
// the smallest normal keep its unit.
double round_to(double value, int fraction_bits, int smallest_exponent) {
  if (value == 0 || !std::isfinite(value)) {
    return value;
  }
  int exponent = 0;
  std::frexp(value, &exponent);
  const int unit = std::max(exponent - 1, smallest_exponent) - fraction_bits;
  return std::ldexp(std::nearbyint(std::ldexp(value, -unit)), unit);
}

std::uint16_t half_bits(double value) {
  const double r = round_to(value, 10, -14);
  const auto sign =
      static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
  if (std::isnan(r)) {
    return 0x7E00;
  }
  const double size = std::fabs(r);
  if (size > 65504) {
    return static_cast<std::uint16_t>(sign | 0x7C00);
  }
  if (size < std::ldexp(1.0, -14)) {
    return static_cast<std::uint16_t>(
        sign | static_cast<int>(std::ldexp(size, 24)));
  }
  int exponent = 0;
  const double fraction = std::frexp(size, &exponent);
  const int mantissa = static_cast<int>(std::ldexp(fraction, 11)) & 0x3FF;
  return static_cast<std::uint16_t>(sign | ((exponent + 14) << 10) | mantissa);
}

double half_value(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const int mantissa = bits & 0x3FF;
  double value = 0;
  if (exponent == 31) {
    value = mantissa == 0 ? std::numeric_limits<double>::infinity()
                          : std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == 0) {
    value = std::ldexp(mantissa, -24);
  } else {
    value = std::ldexp(mantissa + 1024, exponent - 25);
  }
  return (bits & 0x8000) != 0 ? -value : value;
}

std::uint16_t bfloat_bits(double value) {
  const auto single = static_cast<float>(round_to(value, 7, -126));
  std::uint32_t bits = 0;
  std::memcpy(&bits, &single, sizeof bits);
  return std::isnan(value) ? std::uint16_t{0x7FC0}
                           : static_cast<std::uint16_t>(bits >> 16);
}

double bfloat_value(std::uint16_t bits) {
  const std::uint32_t wide = std::uint32_t{bits} << 16;
  float value = 0;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

template <class T>
void put(unsigned char* place, T value) {
  std::memcpy(place, &value, sizeof value);
}

template <class T>
T get(const unsigned char* place) {
  T value;
  std::memcpy(&value, place, sizeof value);
  return value;
}

void encode(Type type, double value, unsigned char* place) {
  switch (type) {
  case Type::FLOAT:
    return put(place, static_cast<float>(value));
  case Type::DOUBLE:
    return put(place, value);
  case Type::HALF:
    return put(place, half_bits(value));
  case Type::BFLOAT16:
    return put(place, bfloat_bits(value));
  case Type::INT8:
    return put(place, static_cast<std::int8_t>(value));
  case Type::INT16:
    return put(place, static_cast<std::int16_t>(value));
  case Type::INT32:
    return put(place, static_cast<std::int32_t>(value));
  case Type::INT64:
    return put(place, static_cast<std::int64_t>(value));
  case Type::UINT8:
    return put(place, static_cast<std::uint8_t>(value));
  case Type::BOOL:
    return put(place, static_cast<std::uint8_t>(value != 0));
  default:
    ADD_FAILURE() << "no encoding for " << type_name(type);
  }
}

double decode(Type type, const unsigned char* place) {
  switch (type) {
  case Type::FLOAT:
    return get<float>(place);
  case Type::DOUBLE:
    return get<double>(place);
  case Type::HALF:
    return half_value(get<std::uint16_t>(place));
  case Type::BFLOAT16:
    return bfloat_value(get<std::uint16_t>(place));
  case Type::INT8:
    return get<std::int8_t>(place);
  case Type::INT16:
    return get<std::int16_t>(place);
  case Type::INT32:
    return get<std::int32_t>(place);
  case Type::INT64:
    return static_cast<double>(get<std::int64_t>(place));
  case Type::UINT8:
  case Type::BOOL:
    return get<std::uint8_t>(place);
  default:
    ADD_FAILURE() << "no decoding for " << type_name(type);
    return 0;
  }
}

// Leaves holes visible: an unwritten byte of a fresh tensor.
constexpr int kUnwritten = 0x35;

} // namespace

std::string status_name(Status status) {
  switch (status) {
  case Status::SUCCESS:
    return "SUCCESS";
  case Status::INVALID_PARAMETER:
    return "INVALID_PARAMETER";
  case Status::NOT_INITIALIZED:
    return "NOT_INITIALIZED";
  case Status::ALLOC_FAILED:
    return "ALLOC_FAILED";
  case Status::NOT_SUPPORTED:
    return "NOT_SUPPORTED";
  case Status::INTERNAL_ERROR:
    return "INTERNAL_ERROR";
  case Status::ARCH_MISMATCH:
    return "ARCH_MISMATCH";
  case Status::EXECUTION_FAILED:
    return "EXECUTION_FAILED";
  }
  return "an unknown status";
}

std::string type_name(Type type) {
  switch (type) {
  case Type::FLOAT:
    return "FLOAT";
  case Type::DOUBLE:
    return "DOUBLE";
  case Type::HALF:
    return "HALF";
  case Type::BFLOAT16:
    return "BFLOAT16";
  case Type::INT8:
    return "INT8";
  case Type::INT16:
    return "INT16";
  case Type::INT32:
    return "INT32";
  case Type::INT64:
    return "INT64";
  case Type::UINT8:
    return "UINT8";
  case Type::BOOL:
    return "BOOL";
  default:
    return "type" + std::to_string(static_cast<int>(type));
  }
}

std::size_t type_bytes(Type type) {
  switch (type) {
  case Type::DOUBLE:
  case Type::INT64:
    return 8;
  case Type::FLOAT:
  case Type::INT32:
    return 4;
  case Type::HALF:
  case Type::BFLOAT16:
  case Type::INT16:
    return 2;
  default:
    return 1;
  }
}

bool is_floating(Type type) {
  return type == Type::FLOAT || type == Type::DOUBLE || type == Type::HALF ||
      type == Type::BFLOAT16;
}

double type_epsilon(Type type) {
  switch (type) {
  case Type::DOUBLE:
    return 1e-15;
  case Type::FLOAT:
    return 1.2e-7;
  case Type::HALF:
    return 9.8e-4;
  case Type::BFLOAT16:
    return 7.9e-3;
  default:
    return 0;
  }
}

double rounded(Type type, double value) {
  unsigned char bytes[8];
  encode(type, value, bytes);
  return decode(type, bytes);
}

int64_t count_of(const Dims& dims) {
  int64_t count = 1;
  for (const int64_t dim : dims) {
    count *= dim;
  }
  return count;
}

Dims dense_strides(const Dims& dims) {
  Dims strides(dims.size());
  int64_t stride = 1;
  for (std::size_t i = dims.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= dims[i];
  }
  return strides;
}

Array::Array(Type type, Dims dims)
    : Array(type, dims, dense_strides(dims), {}) {}

Array::Array(Type type, Dims dims, const Values& values)
    : Array(type, dims, dense_strides(dims), values) {}

Array::Array(
    Type type,
    Dims dims,
    Dims strides,
    const Values& values,
    int64_t offset)
    : type_(type), dims_(std::move(dims)), strides_(std::move(strides)),
      offset_(offset) {
  int64_t last = 0;
  for (std::size_t i = 0; i < dims_.size(); ++i) {
    last += std::max<int64_t>(dims_[i] - 1, 0) * strides_[i];
  }
  storage_ = offset_ + last + 1;
  buffer_ = std::make_unique<Buffer>(
      static_cast<std::size_t>(storage_) * type_bytes(type_));
  buffer_->fill(kUnwritten);
  if (!values.empty()) {
    write(values);
  }
  EXPECT_SUCCESS(tensor_.SetType(type_));
  EXPECT_SUCCESS(tensor_.SetAddr(address()));
  const int rank = static_cast<int>(dims_.size());
  if (strides_ == dense_strides(dims_)) {
    EXPECT_SUCCESS(tensor_.SetNdInfo(rank, dims_.data()));
  } else {
    EXPECT_SUCCESS(tensor_.SetNdInfo(rank, dims_.data(), strides_.data()));
  }
}

void* Array::address() const {
  return buffer_->at(static_cast<std::size_t>(offset_) * type_bytes(type_));
}

std::vector<int64_t> Array::offsets() const {
  std::vector<int64_t> result;
  const int64_t count = count_of(dims_);
  result.reserve(static_cast<std::size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i;
    int64_t at = offset_;
    for (std::size_t d = dims_.size(); d-- > 0;) {
      at += rest % dims_[d] * strides_[d];
      rest /= dims_[d];
    }
    result.push_back(at);
  }
  return result;
}

void Array::write(const Values& values) {
  const std::size_t bytes = type_bytes(type_);
  std::vector<unsigned char> host = buffer_->read();
  const std::vector<int64_t> places = offsets();
  ASSERT_EQ(places.size(), values.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    encode(
        type_,
        values[i],
        host.data() + static_cast<std::size_t>(places[i]) * bytes);
  }
  EXPECT_OK(musaMemcpy(
      buffer_->get(),
      host.data(),
      host.size(),
      musaMemcpyHostToDevice));
}

Values Array::read() const {
  const std::vector<unsigned char> host = buffer_->read();
  const std::vector<int64_t> places = offsets();
  Values result;
  result.reserve(places.size());
  for (const int64_t place : places) {
    result.push_back(decode(
        type_,
        host.data() + static_cast<std::size_t>(place) * type_bytes(type_)));
  }
  return result;
}

Values Array::read_storage() const {
  const std::vector<unsigned char> host = buffer_->read();
  Values result;
  for (std::size_t at = 0; at < host.size(); at += type_bytes(type_)) {
    result.push_back(decode(type_, host.data() + at));
  }
  return result;
}

dnn::Handle& handle() {
  thread_local auto* instance = [] {
    auto* made = new dnn::Handle(0); // outlives the device's end
    EXPECT_SUCCESS(made->SetAllowTF32(false));
    return made;
  }();
  return *instance;
}

dnn::MemoryMaintainer maintainer() {
  return [](std::size_t bytes) {
    void* memory = nullptr;
    EXPECT_OK(musaMalloc(&memory, bytes));
    return dnn::MemoryHandler(memory, [](void* pointer) {
      EXPECT_OK(musaFree(pointer));
    });
  };
}

Values numbers(int64_t count, double low, double high, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> between(low, high);
  Values result(static_cast<std::size_t>(count));
  for (double& value : result) {
    value = between(random);
  }
  return result;
}

Values integers(int64_t count, int low, int high, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> between(low, high);
  Values result(static_cast<std::size_t>(count));
  for (double& value : result) {
    value = between(random);
  }
  return result;
}

void expect_near(
    const Values& expected,
    const Values& actual,
    double tolerance) {
  ASSERT_EQ(expected.size(), actual.size());
  int shown = 0;
  for (std::size_t i = 0; i < expected.size() && shown < 3; ++i) {
    const double want = expected[i];
    const double got = actual[i];
    const bool same = want == got || (std::isnan(want) && std::isnan(got));
    const double room = tolerance * std::max(1.0, std::fabs(want));
    if (!same && !(std::fabs(want - got) <= room)) {
      ++shown;
      ADD_FAILURE() << "element " << i << ": expected " << want << ", got "
                    << got << " (allowed ±" << room << ")";
    }
  }
}

void expect_near(const Values& expected, const Array& actual, double slack) {
  expect_near(expected, actual.read(), type_epsilon(actual.type()) * slack);
}

} // namespace conformance
