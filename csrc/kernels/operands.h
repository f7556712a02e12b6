// SPDX-License-Identifier: Apache-2.0
// The arguments of an elementwise kernel, as plain data: filled in by the
// operators, read by .mu files of every compiler.
#pragma once

#include <cstdint>

#define FL_KERNEL_API extern "C" __attribute__((visibility("default")))

// The order is part of the interface between the two libraries.
enum FlKernelType : int32_t {
  kFlUint8,
  kFlInt8,
  kFlInt16,
  kFlInt32,
  kFlInt64,
  kFlBool,
  kFlHalf,
  kFlBfloat16,
  kFlFloat,
  kFlDouble,
};

constexpr int kFlMaxRank = 8;
constexpr int kFlMaxOperands = 4;

// Operands of equal sizes, the output first. Strides are in elements and may
// be 0 for inputs; rank 0: all are dense and numel says how many elements.
// number_at > 0: that operand is a number and has no address: `number` for
// integers, `real` for floats.
struct FlOperands {
  void* address[kFlMaxOperands];
  int64_t number;
  double real;
  int32_t number_at;
  int64_t numel;
  int32_t rank;
  int32_t count;
  int64_t dims[kFlMaxRank]; // innermost first
  int64_t strides[kFlMaxOperands][kFlMaxRank];
};

constexpr int kFlListTensors = 15;
constexpr int kFlLists = 5;

// Lists of tensors, of equal sizes at equal places; all dense, so that element
// i of one belongs to element i of the others.
struct FlTensors {
  int32_t count;
  int64_t numel[kFlListTensors];
  void* address[kFlLists][kFlListTensors];
};
