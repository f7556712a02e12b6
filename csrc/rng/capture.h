// SPDX-License-Identifier: Apache-2.0
// Random numbers of a captured graph: every replay draws new ones.
#pragma once

#include "csrc/rng/generator.h"

#include <c10/core/Allocator.h>

#include <functional>
#include <utility>
#include <vector>

namespace torch_fl::rng {

// What the operators of one capture draw. Operators that take seed and offset
// by address read them from memory of the graph. Others cannot be captured:
// their numbers are drawn into memory of the graph before each replay, and the
// graph copies them from there. Made before the capture, kept with the graph.
class FL_API CapturedDraws {
 public:
  // Memory of the current device for a capture, which nothing else in its graph
  // uses: it is written before the graph runs.
  using Allocate = std::function<c10::DataPtr(size_t bytes, uint64_t capture)>;

  explicit CapturedDraws(Allocate allocate) : allocate_(std::move(allocate)) {}
  CapturedDraws(const CapturedDraws&) = delete;
  CapturedDraws& operator=(const CapturedDraws&) = delete;
  CapturedDraws(CapturedDraws&&) = delete;
  CapturedDraws& operator=(CapturedDraws&&) = delete;
  ~CapturedDraws();

  // From here to end() the capture of this number reserves numbers here.
  void begin(uint64_t capture);
  void end() noexcept;

  // Before each launch, on the current stream: writes where the generators
  // stand, draws what is drawn outside, and moves the generators on.
  void prepare();

 private:
  friend class CaptureAccess;
  struct Draw {
    uint64_t offset;
    std::function<void(const Philox&)> run;
  };
  struct Source {
    at::Generator generator;
    uint64_t numbers = 0;
    c10::DataPtr words; // seed and offset, if an operator reads them
    std::vector<Draw> draws;
  };
  Source& source(const at::Generator& generator);

  const Allocate allocate_;
  uint64_t capture_ = 0;
  std::vector<Source> sources_;
  std::vector<c10::DataPtr> buffers_;
};

// The draws of the capture that the current stream is part of, or null.
CapturedDraws* current_draws();

// For a generator in a capture: `count` numbers to be read through
// Philox::words, with an offset that counts from theirs.
Philox reserve_captured(
    CapturedDraws& draws,
    const at::Generator& generator,
    uint64_t count);

// For a function that takes seed and offset by value: `run` will be called
// before each replay with the place of `count` numbers, to fill `bytes` of
// memory, which is the result.
void* draw_outside(
    CapturedDraws& draws,
    const at::Generator& generator,
    uint64_t count,
    size_t bytes,
    const std::function<void(void* out, const Philox& place)>& run);

// Throws if the current stream is captured: a graph cannot seed a generator.
void forbid_seeding();

} // namespace torch_fl::rng
