// SPDX-License-Identifier: Apache-2.0
// Pinned, mapped and registered host memory, and what pointers are.
#include "support/conforms.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

namespace conformance {

namespace {

musaMemoryType type_of(const void* pointer) {
  musaPointerAttributes attributes;
  std::memset(&attributes, 0, sizeof attributes);
  EXPECT_OK(musaPointerGetAttributes(&attributes, pointer));
  return attributes.type;
}

struct Pages {
  explicit Pages(std::size_t bytes)
      : memory(std::aligned_alloc(4096, bytes), &std::free) {}
  std::unique_ptr<void, void (*)(void*)> memory;
};

} // namespace

CONFORMS(musaMallocHost, success, is_pinned_and_writable) {
  void* pointer = nullptr;
  ASSERT_MUSA(musaMallocHost(&pointer, 5000));
  std::memset(pointer, 3, 5000);
  EXPECT_EQ(musaMemoryTypeHost, type_of(pointer));
  EXPECT_EQ(musaMemoryTypeHost, type_of(static_cast<char*>(pointer) + 4999));
  EXPECT_OK(musaFreeHost(pointer));
}

CONFORMS(musaMallocHost, null, is_invalid_value) {
  EXPECT_FAILS(
      musaErrorInvalidValue,
      musaMallocHost(static_cast<void**>(nullptr), 16));
}
COVERS(musaMallocHost, InvalidValue, musaMallocHost, null_is_invalid_value)

CONFORMS(musaMallocHost, zero, succeeds_with_null) {
  void* pointer = &pointer;
  EXPECT_OK(musaMallocHost(&pointer, 0));
  EXPECT_EQ(nullptr, pointer);
  EXPECT_OK(musaFreeHost(pointer));
}

CONFORMS(musaMallocHost, MemoryAllocation, more_than_there_is) {
  void* pointer = nullptr;
  EXPECT_FAILS(
      musaErrorMemoryAllocation,
      musaMallocHost(&pointer, std::size_t{1} << 60));
}

CONFORMS(musaHostAlloc, success, in_every_documented_flavour) {
  for (const unsigned flags :
       {unsigned{musaHostAllocDefault},
        unsigned{musaHostAllocPortable},
        unsigned{musaHostAllocMapped},
        unsigned{musaHostAllocPortable | musaHostAllocMapped}}) {
    void* pointer = nullptr;
    ASSERT_MUSA(musaHostAlloc(&pointer, 4096, flags));
    EXPECT_EQ(0U, reinterpret_cast<std::uintptr_t>(pointer) % 16);
    std::memset(pointer, 1, 4096);
    EXPECT_EQ(musaMemoryTypeHost, type_of(pointer));
    EXPECT_OK(musaFreeHost(pointer));
  }
}

CONFORMS(musaHostAlloc, null, is_invalid_value) {
  EXPECT_FAILS(
      musaErrorInvalidValue,
      musaHostAlloc(static_cast<void**>(nullptr), 16, musaHostAllocDefault));
}

CONFORMS(musaHostAlloc, InvalidValue, unknown_flags) {
  void* pointer = nullptr;
  EXPECT_FAILS(musaErrorInvalidValue, musaHostAlloc(&pointer, 16, 0x1000));
}

CONFORMS(musaHostAlloc, zero, succeeds_with_null) {
  void* pointer = &pointer;
  EXPECT_OK(musaHostAlloc(&pointer, 0, musaHostAllocDefault));
  EXPECT_EQ(nullptr, pointer);
}

CONFORMS(musaHostAlloc, MemoryAllocation, more_than_there_is) {
  void* pointer = nullptr;
  EXPECT_FAILS(
      musaErrorMemoryAllocation,
      musaHostAlloc(&pointer, std::size_t{1} << 60, musaHostAllocDefault));
}

CONFORMS(musaFreeHost, success, forgets_the_range) {
  void* pointer = nullptr;
  ASSERT_MUSA(musaMallocHost(&pointer, 1 << 20));
  EXPECT_OK(musaFreeHost(pointer));
  musaPointerAttributes attributes;
  const musaError_t code = musaPointerGetAttributes(&attributes, pointer);
  (void)musaGetLastError();
  EXPECT_TRUE(
      code == musaErrorInvalidValue ||
      attributes.type == musaMemoryTypeUnregistered);
}

CONFORMS(musaFreeHost, null, is_a_success) {
  EXPECT_OK(musaFreeHost(nullptr));
}

CONFORMS(musaFreeHost, InvalidValue, double_free_and_device_memory) {
  void* pointer = nullptr;
  ASSERT_MUSA(musaMallocHost(&pointer, 4096));
  EXPECT_OK(musaFreeHost(pointer));
  EXPECT_FAILS(musaErrorInvalidValue, musaFreeHost(pointer));
  const Buffer buffer(64);
  EXPECT_FAILS(musaErrorInvalidValue, musaFreeHost(buffer.get()));
  int local = 0;
  EXPECT_FAILS(musaErrorInvalidValue, musaFreeHost(&local));
}

CONFORMS(musaHostRegister, success, makes_a_range_pinned) {
  const Pages pages(16384);
  void* start = pages.memory.get();
  ASSERT_MUSA(musaHostRegister(start, 16384, musaHostRegisterDefault));
  EXPECT_EQ(musaMemoryTypeHost, type_of(start));
  EXPECT_EQ(musaMemoryTypeHost, type_of(static_cast<char*>(start) + 16383));
  EXPECT_OK(musaHostUnregister(start));
  EXPECT_OK(musaHostRegister(start, 16384, musaHostRegisterPortable))
      << "a range may be registered again";
  EXPECT_OK(musaHostUnregister(start));
}
COVERS(
    musaHostUnregister,
    success,
    musaHostRegister,
    success_makes_a_range_pinned)

CONFORMS(musaHostRegister, null, is_invalid_value) {
  EXPECT_FAILS(
      musaErrorInvalidValue,
      musaHostRegister(nullptr, 4096, musaHostRegisterDefault));
}

CONFORMS(musaHostRegister, zero, is_invalid_value) {
  const Pages pages(4096);
  EXPECT_FAILS(
      musaErrorInvalidValue,
      musaHostRegister(pages.memory.get(), 0, musaHostRegisterDefault));
}

CONFORMS(musaHostRegister, InvalidValue, unknown_flags) {
  const Pages pages(4096);
  EXPECT_FAILS(
      musaErrorInvalidValue,
      musaHostRegister(pages.memory.get(), 4096, 0x4000));
}

CONFORMS(musaHostRegister, HostMemoryAlreadyRegistered, twice) {
  const Pages pages(8192);
  ASSERT_MUSA(
      musaHostRegister(pages.memory.get(), 8192, musaHostRegisterDefault));
  EXPECT_FAILS(
      musaErrorHostMemoryAlreadyRegistered,
      musaHostRegister(pages.memory.get(), 8192, musaHostRegisterDefault));
  EXPECT_OK(musaHostUnregister(pages.memory.get()));
}

CONFORMS(musaHostUnregister, null, is_invalid_value) {
  EXPECT_FAILS(musaErrorInvalidValue, musaHostUnregister(nullptr));
}
COVERS(
    musaHostUnregister,
    InvalidValue,
    musaHostUnregister,
    null_is_invalid_value)

CONFORMS(musaHostUnregister, HostMemoryNotRegistered, unknown_range) {
  const Pages pages(4096);
  EXPECT_FAILS(
      musaErrorHostMemoryNotRegistered,
      musaHostUnregister(pages.memory.get()));
}

CONFORMS(musaHostGetDevicePointer, success, device_reads_what_host_wrote) {
  void* pointer = nullptr;
  ASSERT_MUSA(musaHostAlloc(&pointer, 4096, musaHostAllocMapped));
  std::memset(pointer, 0x3C, 4096);
  void* device = nullptr;
  ASSERT_MUSA(musaHostGetDevicePointer(&device, pointer, 0));
  const Buffer buffer(4096);
  EXPECT_OK(musaMemcpy(buffer.get(), device, 4096, musaMemcpyDeviceToDevice));
  EXPECT_EQ(0x3C, buffer.read()[4095]);
  EXPECT_OK(musaFreeHost(pointer));
}

CONFORMS(musaHostGetDevicePointer, null, is_invalid_value) {
  void* device = nullptr;
  EXPECT_FAILS(
      musaErrorInvalidValue,
      musaHostGetDevicePointer(
          static_cast<void**>(nullptr),
          static_cast<void*>(&device),
          0));
  EXPECT_FAILS(
      musaErrorInvalidValue,
      musaHostGetDevicePointer(&device, nullptr, 0));
}

CONFORMS(musaHostGetDevicePointer, InvalidValue, pageable_or_flags) {
  void* device = nullptr;
  int local = 0;
  EXPECT_FAILS(
      musaErrorInvalidValue,
      musaHostGetDevicePointer(&device, static_cast<void*>(&local), 0));
}

CONFORMS(musaPointerGetAttributes, success, for_device_host_and_pageable) {
  const Buffer buffer(4096);
  musaPointerAttributes attributes;
  EXPECT_OK(musaPointerGetAttributes(&attributes, buffer.get()));
  EXPECT_EQ(musaMemoryTypeDevice, attributes.type);
  EXPECT_EQ(0, attributes.device);
  EXPECT_EQ(buffer.get(), attributes.devicePointer);
  EXPECT_EQ(nullptr, attributes.hostPointer);
  void* pinned = nullptr;
  ASSERT_MUSA(musaMallocHost(&pinned, 64));
  EXPECT_OK(musaPointerGetAttributes(&attributes, pinned));
  EXPECT_EQ(musaMemoryTypeHost, attributes.type);
  EXPECT_EQ(pinned, attributes.hostPointer);
  EXPECT_OK(musaFreeHost(pinned));
  // Both answers are on record for a pageable pointer.
  int local = 0;
  const musaError_t code = musaPointerGetAttributes(&attributes, &local);
  (void)musaGetLastError();
  EXPECT_TRUE(
      code == musaErrorInvalidValue ||
      (code == musaSuccess && attributes.type == musaMemoryTypeUnregistered));
}

CONFORMS(musaPointerGetAttributes, null, is_invalid_value) {
  const Buffer buffer(16);
  EXPECT_FAILS(
      musaErrorInvalidValue,
      musaPointerGetAttributes(nullptr, buffer.get()));
}
COVERS(
    musaPointerGetAttributes,
    InvalidValue,
    musaPointerGetAttributes,
    null_is_invalid_value)

BEHAVES(pointer, interior_pointers_have_the_attributes_of_their_range) {
  const Buffer buffer(10'000);
  for (const std::size_t offset : {1UL, 4096UL, 9'999UL}) {
    musaPointerAttributes attributes;
    EXPECT_OK(musaPointerGetAttributes(&attributes, buffer.at(offset)));
    EXPECT_EQ(musaMemoryTypeDevice, attributes.type);
    EXPECT_EQ(0, attributes.device);
    EXPECT_EQ(buffer.at(offset), attributes.devicePointer);
  }
}

BEHAVES(pointer, freed_memory_is_no_longer_device_memory) {
  void* pointer = nullptr;
  ASSERT_MUSA(musaMalloc(&pointer, std::size_t{4} << 20));
  ASSERT_MUSA(musaFree(pointer));
  musaPointerAttributes attributes;
  const musaError_t code = musaPointerGetAttributes(&attributes, pointer);
  (void)musaGetLastError();
  EXPECT_TRUE(
      code == musaErrorInvalidValue ||
      attributes.type == musaMemoryTypeUnregistered);
}

} // namespace conformance
