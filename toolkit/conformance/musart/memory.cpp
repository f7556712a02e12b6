// SPDX-License-Identifier: Apache-2.0
// Device memory: allocation, free, zero sizes, double frees.
#include "support/conforms.h"

#include <cstdint>
#include <cstring>
#include <set>
#include <vector>

namespace conformance {

CONFORMS(musaMalloc, success, is_aligned_distinct_and_usable) {
  std::vector<Buffer> buffers;
  std::set<std::uintptr_t> starts;
  for (const std::size_t bytes : {1UL, 3UL, 256UL, 4097UL, 1UL << 20}) {
    buffers.emplace_back(bytes);
    const auto start = reinterpret_cast<std::uintptr_t>(buffers.back().get());
    EXPECT_NE(0U, start);
    EXPECT_EQ(0U, start % 256) << bytes;
    EXPECT_TRUE(starts.insert(start).second);
  }
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    buffers[i].fill(static_cast<int>(i) + 1);
  }
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    for (const unsigned char value : buffers[i].read()) {
      ASSERT_EQ(i + 1, value) << "buffers overlap";
    }
  }
}

CONFORMS(musaMalloc, null, is_invalid_value) {
  EXPECT_FAILS(musaErrorInvalidValue, musaMalloc(nullptr, 16));
}
COVERS(musaMalloc, InvalidValue, musaMalloc, null_is_invalid_value)

CONFORMS(musaMalloc, zero, succeeds_with_null) {
  void* pointer = &pointer;
  EXPECT_OK(musaMalloc(&pointer, 0));
  EXPECT_EQ(nullptr, pointer);
  EXPECT_OK(musaFree(pointer));
}

CONFORMS(musaMalloc, MemoryAllocation, more_than_there_is) {
  void* pointer = nullptr;
  std::size_t free_bytes = 0;
  std::size_t total = 0;
  EXPECT_OK(musaMemGetInfo(&free_bytes, &total));
  EXPECT_FAILS(musaErrorMemoryAllocation, musaMalloc(&pointer, total + 1));
  EXPECT_FAILS(
      musaErrorMemoryAllocation,
      musaMalloc(&pointer, SIZE_MAX - 4096));
  EXPECT_FAILS(musaErrorMemoryAllocation, musaMalloc(&pointer, SIZE_MAX));
}

CONFORMS(musaFree, success, gives_the_bytes_back) {
  std::size_t before = 0;
  std::size_t total = 0;
  EXPECT_OK(musaMemGetInfo(&before, &total));
  for (int round = 0; round < 100; ++round) {
    void* pointer = nullptr;
    ASSERT_MUSA(musaMalloc(&pointer, std::size_t{1} << 20));
    ASSERT_MUSA(musaFree(pointer));
  }
  std::size_t after = 0;
  EXPECT_OK(musaMemGetInfo(&after, &total));
  EXPECT_EQ(before, after);
}

CONFORMS(musaFree, null, is_a_success) {
  EXPECT_OK(musaFree(nullptr));
}

CONFORMS(musaFree, InvalidValue, double_free) {
  void* pointer = nullptr;
  ASSERT_MUSA(musaMalloc(&pointer, 4096));
  EXPECT_OK(musaFree(pointer));
  EXPECT_FAILS(musaErrorInvalidValue, musaFree(pointer));
}

BEHAVES(memory, interior_and_foreign_pointers_cannot_be_freed) {
  const Buffer buffer(4096);
  EXPECT_FAILS(musaErrorInvalidValue, musaFree(buffer.at(1)));
  EXPECT_FAILS(musaErrorInvalidValue, musaFree(buffer.at(256)));
  int local = 0;
  EXPECT_FAILS(musaErrorInvalidValue, musaFree(&local));
  buffer.fill(3);
  EXPECT_EQ(3, buffer.read()[0]);
}

BEHAVES(memory, free_waits_for_queued_work) {
  Stream stream(musaStreamNonBlocking);
  void* pointer = nullptr;
  ASSERT_MUSA(musaMalloc(&pointer, 1U << 20));
  Flag flag;
  EXPECT_OK(musaMemsetAsync(pointer, 1, 1U << 20, stream));
  EXPECT_OK(flag.set_by(stream));
  EXPECT_OK(musaFree(pointer));
  EXPECT_TRUE(flag.done()) << "musaFree returned before the work was done";
}

BEHAVES(memory, recovers_from_exhaustion) {
  std::size_t before = 0;
  std::size_t total = 0;
  EXPECT_OK(musaMemGetInfo(&before, &total));
  std::vector<void*> pointers;
  const std::size_t step = total / 8 + 1;
  for (int i = 0; i < 16; ++i) {
    void* pointer = nullptr;
    if (musaMalloc(&pointer, step) != musaSuccess) {
      break;
    }
    pointers.push_back(pointer);
  }
  EXPECT_GE(pointers.size(), 4U);
  EXPECT_LE(pointers.size(), 8U);
  EXPECT_MUSA(musaErrorMemoryAllocation, musaGetLastError());
  for (void* pointer : pointers) {
    EXPECT_OK(musaFree(pointer));
  }
  std::size_t after = 0;
  EXPECT_OK(musaMemGetInfo(&after, &total));
  EXPECT_EQ(before, after);
}

BEHAVES(memory, each_device_has_its_own) {
  std::vector<void*> pointers;
  for (int device = 0; device < device_count(); ++device) {
    EXPECT_OK(musaSetDevice(device));
    void* pointer = nullptr;
    ASSERT_MUSA(musaMalloc(&pointer, 4096));
    musaPointerAttributes attributes;
    EXPECT_OK(musaPointerGetAttributes(&attributes, pointer));
    EXPECT_EQ(device, attributes.device);
    pointers.push_back(pointer);
  }
  EXPECT_OK(musaSetDevice(0));
  for (void* pointer : pointers) {
    EXPECT_OK(musaFree(pointer)) << "freed while another device is current";
  }
}

CONFORMS(musaMallocManaged, success, is_reachable_from_both_sides) {
  void* pointer = nullptr;
  const musaError_t code =
      musaMallocManaged(&pointer, 4096, musaMemAttachGlobal);
  if (code == musaErrorNotSupported) {
    (void)musaGetLastError();
    int managed = -1;
    EXPECT_OK(musaDeviceGetAttribute(&managed, musaDevAttrManagedMemory, 0));
    EXPECT_EQ(0, managed) << "refused although the attribute promises it";
    return;
  }
  ASSERT_MUSA(code);
  EXPECT_OK(musaMemset(pointer, 5, 4096));
  EXPECT_OK(musaDeviceSynchronize());
  EXPECT_EQ(5, static_cast<unsigned char*>(pointer)[4095]);
  EXPECT_OK(musaFree(pointer));
}

CONFORMS(musaMallocManaged, null, is_invalid_value) {
  EXPECT_FAILS(
      musaErrorInvalidValue,
      musaMallocManaged(nullptr, 16, musaMemAttachGlobal));
}

CONFORMS(musaMallocManaged, InvalidValue, unknown_flags) {
  void* pointer = nullptr;
  EXPECT_FAILS(musaErrorInvalidValue, musaMallocManaged(&pointer, 16, 0x40));
}

} // namespace conformance
