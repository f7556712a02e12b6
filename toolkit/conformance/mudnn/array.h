// SPDX-License-Identifier: Apache-2.0
// Device tensors with known contents, and comparisons against doubles.
#pragma once

#include "support/conforms.h"

#if __has_include(<mudnncxx/mudnn.h>)
#include <mudnncxx/mudnn.h>
#else
#include <mudnn.h>
#endif

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace conformance {

namespace dnn = ::musa::dnn;
using Type = dnn::Tensor::Type;
using Format = dnn::Tensor::Format;
using dnn::Status;
using Dims = std::vector<int64_t>;
using Values = std::vector<double>;

std::string status_name(Status status);
std::string type_name(Type type);
std::size_t type_bytes(Type type);
bool is_floating(Type type);
// The relative error that one rounding to the type may make.
double type_epsilon(Type type);
// The value after a round trip through the type.
double rounded(Type type, double value);

int64_t count_of(const Dims& dims);
Dims dense_strides(const Dims& dims);

// A tensor in device memory. Values are in row-major order of its dims,
// whatever its strides are.
class Array {
 public:
  Array(Type type, Dims dims);
  Array(Type type, Dims dims, const Values& values);
  // Strides in elements; `offset` elements lie in front of the first one.
  Array(
      Type type,
      Dims dims,
      Dims strides,
      const Values& values,
      int64_t offset = 0);

  dnn::Tensor& tensor() { return tensor_; }
  const dnn::Tensor& tensor() const { return tensor_; }
  // NOLINTBEGIN(google-explicit-constructor): stands for its descriptor
  operator dnn::Tensor&() { return tensor_; }
  operator const dnn::Tensor&() const { return tensor_; }
  // NOLINTEND(google-explicit-constructor)

  Type type() const { return type_; }
  const Dims& dims() const { return dims_; }
  void* address() const;
  int64_t count() const { return count_of(dims_); }

  void write(const Values& values);
  Values read() const;
  // Every element of the storage, those between the strides included.
  Values read_storage() const;

 private:
  std::vector<int64_t> offsets() const;

  Type type_;
  Dims dims_;
  Dims strides_;
  int64_t offset_ = 0;
  int64_t storage_ = 0;
  std::unique_ptr<Buffer> buffer_;
  dnn::Tensor tensor_;
};

// The thread's handle on the null stream with TF32 off.
dnn::Handle& handle();

// Memory for workspaces, freed when the work is done.
dnn::MemoryMaintainer maintainer();

// Values that repeat from run to run, between low and high.
Values numbers(int64_t count, double low, double high, unsigned seed = 1);
// Integers in the same way.
Values integers(int64_t count, int low, int high, unsigned seed = 1);

// |actual − expected| ≤ tolerance · max(1, |expected|), NaN equal to NaN.
void expect_near(
    const Values& expected,
    const Values& actual,
    double tolerance);
// With the tolerance of the type times `slack`.
void expect_near(const Values& expected, const Array& actual, double slack);

// Runs a Run and checks that it says SUCCESS, printing what it said.
#define EXPECT_STATUS(status, call)       \
  EXPECT_EQ(                              \
      ::conformance::status_name(status), \
      ::conformance::status_name(call))
#define EXPECT_SUCCESS(call) EXPECT_STATUS(Status::SUCCESS, call)
// Any status but SUCCESS.
#define EXPECT_REFUSED(call)                       \
  EXPECT_NE(                                       \
      ::conformance::status_name(Status::SUCCESS), \
      ::conformance::status_name(call))

} // namespace conformance
