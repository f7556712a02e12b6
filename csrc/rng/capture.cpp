// SPDX-License-Identifier: Apache-2.0
// Random numbers of a captured graph.
#include "csrc/rng/capture.h"

#include "csrc/runtime/graph.h"
#include "csrc/runtime/memcpy.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace torch_fl::rng {
namespace {

struct Captures {
  std::mutex mutex;
  std::unordered_map<uint64_t, CapturedDraws*> draws;
};

// Never destroyed: graphs may be destroyed as late as the exit.
Captures& all() {
  static auto* const instance = new Captures();
  return *instance;
}

GeneratorImpl& impl_of(const at::Generator& generator) {
  return *at::check_generator<GeneratorImpl>(generator);
}

} // namespace

CapturedDraws::~CapturedDraws() {
  end();
}

void CapturedDraws::begin(uint64_t capture) {
  capture_ = capture;
  const std::lock_guard<std::mutex> lock(all().mutex);
  all().draws[capture] = this;
}

void CapturedDraws::end() noexcept {
  const std::lock_guard<std::mutex> lock(all().mutex);
  all().draws.erase(capture_);
  capture_ = 0;
}

CapturedDraws::Source& CapturedDraws::source(const at::Generator& generator) {
  const auto found =
      std::find_if(sources_.begin(), sources_.end(), [&](const Source& other) {
        return other.generator == generator;
      });
  if (found != sources_.end()) {
    return *found;
  }
  sources_.push_back({generator, 0, {}, {}});
  return sources_.back();
}

// Words that were given to the copy are read before it returns.
void CapturedDraws::prepare() {
  for (const Source& source : sources_) {
    GeneratorImpl& generator = impl_of(source.generator);
    Philox place;
    {
      const std::lock_guard<std::mutex> lock(generator.mutex_);
      place = generator.reserve(source.numbers);
    }
    if (source.words.get() != nullptr) {
      const std::array<uint64_t, 2> words = {place.seed, place.offset};
      runtime::copy_async(
          source.words.get(),
          source.words.device(),
          words.data(),
          c10::Device(c10::DeviceType::CPU),
          sizeof words,
          runtime::current_stream());
    }
    for (const Draw& draw : source.draws) {
      draw.run({place.seed, place.offset + draw.offset, nullptr});
    }
  }
}

CapturedDraws* current_draws() {
  const uint64_t capture =
      runtime::capture_id(runtime::current_stream().handle());
  if (C10_LIKELY(capture == 0)) {
    return nullptr;
  }
  const std::lock_guard<std::mutex> lock(all().mutex);
  const auto found = all().draws.find(capture);
  TORCH_CHECK(
      found != all().draws.end(),
      "random numbers can be captured by torch.flagos.graph only: this stream "
      "is captured by somebody else.");
  return found->second;
}

// Reaches into a capture's draws; operators of one capture may run in several
// threads.
class CaptureAccess {
 public:
  static Philox reserve(
      CapturedDraws& draws,
      const at::Generator& generator,
      uint64_t count) {
    {
      const std::lock_guard<std::mutex> lock(all().mutex);
      CapturedDraws::Source& source = draws.source(generator);
      if (source.words.get() != nullptr) {
        return take(source, count);
      }
    }
    c10::DataPtr fresh = allocate(draws, 2 * sizeof(uint64_t));
    const std::lock_guard<std::mutex> lock(all().mutex);
    CapturedDraws::Source& source = draws.source(generator);
    if (source.words.get() == nullptr) {
      source.words = std::move(fresh);
    }
    return take(source, count);
  }

  static void* draw(
      CapturedDraws& draws,
      const at::Generator& generator,
      uint64_t count,
      size_t bytes,
      const std::function<void(void*, const Philox&)>& run) {
    c10::DataPtr buffer = allocate(draws, bytes);
    void* const out = buffer.get();
    const std::lock_guard<std::mutex> lock(all().mutex);
    CapturedDraws::Source& source = draws.source(generator);
    const uint64_t offset = take(source, count).offset;
    draws.buffers_.push_back(std::move(buffer));
    source.draws.push_back(
        {offset, [run, out](const Philox& place) { run(out, place); }});
    return out;
  }

 private:
  static c10::DataPtr allocate(const CapturedDraws& draws, size_t bytes) {
    return draws.allocate_(bytes, draws.capture_);
  }

  static Philox take(CapturedDraws::Source& source, uint64_t count) {
    const Philox place{
        0,
        source.numbers,
        static_cast<uint64_t*>(source.words.get())};
    source.numbers += whole_counters(count);
    return place;
  }
};

Philox reserve_captured(
    CapturedDraws& draws,
    const at::Generator& generator,
    uint64_t count) {
  return CaptureAccess::reserve(draws, generator, count);
}

void* draw_outside(
    CapturedDraws& draws,
    const at::Generator& generator,
    uint64_t count,
    size_t bytes,
    const std::function<void(void*, const Philox&)>& run) {
  return CaptureAccess::draw(draws, generator, count, bytes, run);
}

void forbid_seeding() {
  TORCH_CHECK(
      runtime::capture_id(runtime::current_stream().handle()) == 0,
      "a flagos generator cannot be seeded while the current stream is "
      "captured: seed it before the capture, or between replays.");
}

} // namespace torch_fl::rng
