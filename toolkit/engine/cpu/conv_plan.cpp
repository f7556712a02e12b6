// SPDX-License-Identifier: Apache-2.0
// Convolution plans and their cache.
#include "toolkit/engine/cpu/conv_plan.h"

#include "toolkit/engine/cpu/conv_descs.h"
#include "toolkit/engine/cpu/spin_lock.h"

#include "toolkit/engine/error.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <list>
#include <mutex>
#include <new>
#include <unordered_map>
#include <utility>
#include <vector>

namespace musa_standin::engine::cpu {
namespace {

using Desc = dnnl::memory::desc;

constexpr size_t kPlans = 512; // of the cache
constexpr size_t kAlign = 64;

// Memory of the calling thread that a pass uses up to its end; grows, and
// stays for the next one.
char* thread_buffer(size_t bytes) {
  struct Buffer {
    char* address = nullptr;
    size_t bytes = 0;
    Buffer() = default;
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    ~Buffer() { std::free(address); }
  };
  thread_local Buffer buffer;
  if (buffer.bytes < bytes) {
    std::free(buffer.address);
    buffer.bytes = 0;
    buffer.address = static_cast<char*>(std::aligned_alloc(kAlign, bytes));
    if (buffer.address == nullptr)
      throw Error(
          musaErrorMemoryAllocation,
          "no host memory for a convolution");
    buffer.bytes = bytes;
  }
  return buffer.address;
}

size_t aligned(size_t bytes) {
  return (bytes + kAlign - 1) / kAlign * kAlign;
}

void check(dnnl_status_t status, const char* what) {
  if (status != dnnl_success)
    throw Error(musaErrorUnknown, std::string("oneDNN refused a ") + what);
}

// The memory objects of one thread's run; a plan keeps them for the next one.
struct Binding {
  explicit Binding(dnnl::engine& engine) : stream(engine) {}
  dnnl::stream stream;
  dnnl::memory outside[3]; // in, filter, out as the caller has them
  dnnl::memory inside[3];  // as oneDNN wants them
  dnnl::memory scratch;
};

class OneDnnPlan final : public ConvPlan {
 public:
  explicit OneDnnPlan(const ConvShape& s) : shape_(s), descs_(conv_descs(s)) {
    for (int i = 0; i < 3; ++i) {
      outside_[i] = descs_.outside[i];
      inside_[i] = descs_.inside[i];
    }
    for (int i = 0; i < 3; ++i)
      prepare(i);
    if (moves_[1])
      filter_floats_ =
          static_cast<int64_t>(inside_[1].get_size() / sizeof(float));
    offset_[0] = 0;
    offset_[1] = moves_[0] ? aligned(inside_[0].get_size()) : 0;
    offset_[2] = offset_[1] + (moves_[2] ? aligned(inside_[2].get_size()) : 0);
    bytes_ = offset_[2] + aligned(descs_.scratch.get_size());
  }
  OneDnnPlan(const OneDnnPlan&) = delete;
  OneDnnPlan& operator=(const OneDnnPlan&) = delete;
  ~OneDnnPlan() override {
    for (Binding* b : free_)
      delete b;
  }

  void load_filter(const float* from, float* to) override {
    const Lease lease(*this);
    lease->outside[1].set_data_handle(const_cast<float*>(from));
    lease->inside[1].set_data_handle(to);
    reorder(*lease, 1, true);
  }
  void store_filter(const float* from, float* to) override {
    const Lease lease(*this);
    lease->inside[1].set_data_handle(const_cast<float*>(from));
    lease->outside[1].set_data_handle(to);
    reorder(*lease, 1, false);
  }

  void run(const ConvPointers& p) override {
    char* buffer = thread_buffer(bytes_ == 0 ? kAlign : bytes_);
    const Lease lease(*this);
    Binding& b = *lease;
    bind_image(b, 0, p.in, buffer + offset_[0]);
    bind_image(b, 2, p.out, buffer + offset_[1]);
    b.inside[1].set_data_handle(p.filter);
    b.scratch.set_data_handle(buffer + offset_[2]);
    if (moves_[0] && !is_result(0))
      reorder(b, 0, true);
    if (moves_[2] && !is_result(2))
      reorder(b, 2, true);
    execute(b);
    for (const int image : {0, 2}) {
      if (moves_[image] && is_result(image))
        reorder(b, image, false);
    }
  }

 private:
  // A set of memory objects for the time of a call.
  class Lease {
   public:
    explicit Lease(OneDnnPlan& plan) : plan_(plan), binding_(plan.take()) {}
    ~Lease() { plan_.give(binding_); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    Binding* operator->() const { return binding_; }
    Binding& operator*() const { return *binding_; }

   private:
    OneDnnPlan& plan_;
    Binding* binding_;
  };

  [[nodiscard]] bool is_result(int operand) const {
    switch (shape_.pass) {
    case ConvPass::kForward:
      return operand == 2;
    case ConvPass::kBackwardData:
      return operand == 0;
    default:
      return operand == 1;
    }
  }

  void prepare(int i) {
    moves_[i] = inside_[i] != outside_[i];
    if (!moves_[i])
      return;
    const bool out = is_result(i);
    const Desc& from = out ? inside_[i] : outside_[i];
    const Desc& to = out ? outside_[i] : inside_[i];
    reorders_[i] = dnnl::reorder(
        dnnl::reorder::primitive_desc(onednn(), from, onednn(), to));
  }

  void bind_image(Binding& b, int i, float* address, char* buffer) const {
    b.outside[i].set_data_handle(address);
    b.inside[i].set_data_handle(
        moves_[i] ? static_cast<void*>(buffer) : address);
  }

  void reorder(Binding& b, int i, bool inwards) {
    const dnnl::memory& from = inwards ? b.outside[i] : b.inside[i];
    const dnnl::memory& to = inwards ? b.inside[i] : b.outside[i];
    const dnnl_exec_arg_t args[] = {
        {DNNL_ARG_FROM, from.get()},
        {DNNL_ARG_TO, to.get()}};
    check(
        dnnl_primitive_execute(reorders_[i].get(), b.stream.get(), 2, args),
        "reorder");
  }

  void execute(Binding& b) {
    static constexpr int kArgs[3][3] = {
        {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST},
        {DNNL_ARG_DIFF_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_DST},
        {DNNL_ARG_SRC, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_DST}};
    const auto pass = static_cast<size_t>(shape_.pass);
    const dnnl_exec_arg_t args[] = {
        {kArgs[pass][0], b.inside[0].get()},
        {kArgs[pass][1], b.inside[1].get()},
        {kArgs[pass][2], b.inside[2].get()},
        {DNNL_ARG_SCRATCHPAD, b.scratch.get()}};
    check(
        dnnl_primitive_execute(descs_.primitive.get(), b.stream.get(), 4, args),
        "convolution");
  }

  Binding* take() {
    {
      const std::lock_guard<SpinLock> lock(lock_);
      if (!free_.empty()) {
        Binding* binding = free_.back();
        free_.pop_back();
        return binding;
      }
    }
    auto binding = std::make_unique<Binding>(onednn());
    for (int i = 0; i < 3; ++i) {
      binding->outside[i] = dnnl::memory(outside_[i], onednn(), nullptr);
      binding->inside[i] = dnnl::memory(inside_[i], onednn(), nullptr);
    }
    binding->scratch = dnnl::memory(descs_.scratch, onednn(), nullptr);
    return binding.release();
  }
  void give(Binding* binding) {
    const std::lock_guard<SpinLock> lock(lock_);
    free_.push_back(binding);
  }

  ConvShape shape_;
  ConvDescs descs_;
  Desc outside_[3];
  Desc inside_[3];
  bool moves_[3] = {false, false, false};
  dnnl::reorder reorders_[3];
  // In the thread's buffer: in, out, scratch.
  size_t offset_[3] = {0, 0, 0};
  size_t bytes_ = 0;
  SpinLock lock_;
  std::vector<Binding*> free_;
};

struct Hash {
  size_t operator()(const ConvShape& s) const {
    uint64_t words[sizeof(ConvShape) / 8];
    static_assert(sizeof words == sizeof s, "whole words, no padding");
    std::memcpy(words, &s, sizeof s);
    uint64_t hash = 0x9E3779B97F4A7C15ULL;
    for (const uint64_t word : words) {
      hash = (hash ^ word) * 0xFF51AFD7ED558CCDULL;
      hash ^= hash >> 32;
    }
    return hash;
  }
};

struct Equal {
  bool operator()(const ConvShape& a, const ConvShape& b) const {
    return std::memcmp(&a, &b, sizeof a) == 0;
  }
};

// The plans used last, the newest first.
class Cache {
 public:
  std::shared_ptr<ConvPlan> find(const ConvShape& shape) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = index_.find(shape);
    if (found == index_.end())
      return nullptr;
    entries_.splice(entries_.begin(), entries_, found->second);
    return found->second->second;
  }

  // The plan that is kept: another thread may have been faster.
  std::shared_ptr<ConvPlan> keep(
      const ConvShape& shape,
      std::shared_ptr<ConvPlan> plan) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = index_.find(shape);
    if (found != index_.end())
      return found->second->second;
    entries_.emplace_front(shape, std::move(plan));
    index_[shape] = entries_.begin();
    if (entries_.size() > kPlans) {
      index_.erase(entries_.back().first);
      entries_.pop_back();
    }
    return entries_.front().second;
  }

 private:
  using Entry = std::pair<ConvShape, std::shared_ptr<ConvPlan>>;
  std::mutex mutex_;
  std::list<Entry> entries_;
  std::unordered_map<ConvShape, std::list<Entry>::iterator, Hash, Equal> index_;
};

// Never destroyed: engine threads may be in it when the process ends.
Cache& cache() {
  static auto* const instance = new Cache;
  return *instance;
}

} // namespace

std::shared_ptr<ConvPlan> conv_plan(const ConvShape& shape) {
  std::shared_ptr<ConvPlan> plan = cache().find(shape);
  if (plan != nullptr)
    return plan;
  try {
    plan = std::make_shared<OneDnnPlan>(shape);
  } catch (const dnnl::error& error) {
    throw Error(
        error.status == dnnl_unimplemented ? musaErrorNotSupported
                                           : musaErrorUnknown,
        std::string("oneDNN makes no such convolution: ") + error.what());
  }
  return cache().keep(shape, std::move(plan));
}

int64_t filter_floats_bound(const ConvShape& s) {
  // oneDNN's blocks of channels.
  const auto padded = [](int64_t channels) {
    const int64_t block = channels < 64 ? 16 : 64;
    return (channels + block - 1) / block * block;
  };
  const int64_t oc = s.oc / s.groups;
  const int64_t ic = s.ic / s.groups;
  // Depthwise filters are blocked by groups.
  return s.groups > 1 && oc == 1 && ic == 1
      ? padded(s.groups) * s.taps()
      : s.groups * padded(oc) * padded(ic) * s.taps();
}

} // namespace musa_standin::engine::cpu
