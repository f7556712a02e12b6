// SPDX-License-Identifier: Apache-2.0
// Dense and strided drivers of the elementwise loops.
#include "toolkit/engine/cpu/elementwise.h"

#include "toolkit/engine/cpu/memory.h"
#include "toolkit/engine/cpu/pool.h"
#include "toolkit/engine/cpu/stream.h"
#include "toolkit/engine/error.h"

#include <algorithm>
#include <utility>

namespace musa_standin::engine::cpu {

namespace {

constexpr int kBlockBytes[] = {4, 8, 8, 1, 1, 2, 4, 8};

constexpr uint32_t bit(Dtype type) {
  return 1U << static_cast<int>(type);
}

// By what the loop computes in: the types that it reads where they lie.
constexpr uint32_t kDirect[] = {
    bit(Dtype::kFloat),
    bit(Dtype::kDouble),
    bit(Dtype::kInt64) | bit(Dtype::kUint64),
    bit(Dtype::kBool),
    ~0U,
    ~0U,
    ~0U,
    ~0U};

uint32_t is_direct(Dtype type, Compute compute) {
  return kDirect[compute] >> static_cast<int>(type) & 1U;
}

// A block for each operand, in the first cache.
struct Blocks {
  alignas(64) char data[kMaxOperands][kBlock * 8];
};

bool all_direct(const ElementLoop& loop) {
  return loop.direct == (1U << loop.operands) - 1;
}

void run_dense(const ElementLoop& loop, int64_t begin, int64_t end) {
  const void* in[kMaxOperands - 1];
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): scratch
  Blocks blocks;
  for (int64_t at = begin; at < end; at += kBlock) {
    const int64_t n = std::min(kBlock, end - at);
    for (int i = 1; i < loop.operands; ++i) {
      char* from = loop.address[i] + at * loop.bytes[i];
      in[i - 1] = from;
      if ((loop.direct >> i & 1U) == 0) {
        loop.load[i](blocks.data[i], from, n, 1);
        in[i - 1] = blocks.data[i];
      }
    }
    char* to = loop.address[0] + at * loop.bytes[0];
    if ((loop.direct & 1U) != 0) {
      loop.map(to, in, n, loop.params);
    } else {
      loop.map(blocks.data[0], in, n, loop.params);
      loop.store(to, blocks.data[0], n, 1);
    }
  }
}

// A position in the nest: the indices of all but the innermost extent, and the
// address of that row in each operand.
struct Cursor {
  int64_t index[kMaxRank];
  char* row[kMaxOperands];
  int64_t at; // in the row

  Cursor(const ElementLoop& loop, const ElementNest& nest, int64_t position) {
    for (int i = 0; i < loop.operands; ++i)
      row[i] = loop.address[i];
    const int last = nest.rank - 1;
    at = position % nest.dims[last];
    position /= nest.dims[last];
    for (int d = last - 1; d >= 0; --d) {
      index[d] = position % nest.dims[d];
      position /= nest.dims[d];
      for (int i = 0; i < loop.operands; ++i)
        row[i] += index[d] * nest.strides[i][d] * loop.bytes[i];
    }
  }

  void skip(const ElementLoop& loop, const ElementNest& nest, int64_t n) {
    const int64_t inner = nest.dims[nest.rank - 1];
    for (at += n; at >= inner;) {
      const int64_t rest = at - inner;
      next_row(loop, nest);
      at = rest;
    }
  }

  void next_row(const ElementLoop& loop, const ElementNest& nest) {
    at = 0;
    for (int d = nest.rank - 2; d >= 0; --d) {
      if (++index[d] < nest.dims[d]) {
        for (int i = 0; i < loop.operands; ++i)
          row[i] += nest.strides[i][d] * loop.bytes[i];
        return;
      }
      index[d] = 0;
      for (int i = 0; i < loop.operands; ++i)
        row[i] -= (nest.dims[d] - 1) * nest.strides[i][d] * loop.bytes[i];
    }
  }
};

// A stretch of one row. `filled` remembers which value a block repeats.
struct RowRunner {
  const ElementLoop& loop;
  const ElementNest& nest;
  Blocks& blocks;
  const void* filled[kMaxOperands] = {};
  bool whole; // every operand can be used where it lies

  RowRunner(const ElementLoop& l, const ElementNest& n, Blocks& b)
      : loop(l), nest(n), blocks(b), whole(all_direct(l)) {
    for (int i = 0; i < l.operands; ++i)
      whole &= stride(i) == 1;
  }
  [[nodiscard]] int64_t stride(int operand) const {
    return nest.strides[operand][nest.rank - 1];
  }
  [[nodiscard]] bool in_place(int operand) const {
    return (loop.direct >> operand & 1U) != 0 && stride(operand) == 1;
  }

  const void* fetch(int i, char* from, int64_t n) {
    if (in_place(i))
      return from;
    if (stride(i) != 0) {
      loop.load[i](blocks.data[i], from, n, stride(i));
    } else if (filled[i] != from) {
      loop.load[i](blocks.data[i], from, kBlock, 0);
      filled[i] = from;
    }
    return blocks.data[i];
  }

  void run(const Cursor& cursor, int64_t count) {
    const void* in[kMaxOperands - 1];
    const int64_t step = whole ? count : kBlock;
    for (int64_t done = 0; done < count; done += step) {
      const int64_t n = std::min(step, count - done);
      for (int i = 1; i < loop.operands; ++i) {
        const int64_t offset = (cursor.at + done) * stride(i);
        in[i - 1] = fetch(i, cursor.row[i] + offset * loop.bytes[i], n);
      }
      const int64_t offset = (cursor.at + done) * stride(0);
      char* to = cursor.row[0] + offset * loop.bytes[0];
      if (in_place(0)) {
        loop.map(to, in, n, loop.params);
      } else {
        loop.map(blocks.data[0], in, n, loop.params);
        loop.store(to, blocks.data[0], n, stride(0));
      }
    }
  }
};

// Rows too short to be worth a call of the loop: a block takes many.
class ShortRows {
 public:
  ShortRows(const ElementLoop& loop, const ElementNest& nest, Blocks& blocks)
      : loop_(loop), nest_(nest), blocks_(blocks), step_(kBlock) {
    for (int i = 0; i < loop.operands; ++i) {
      dense_[i] = is_dense(i);
      period_[i] = dense_[i] || i == 0 ? 0 : period(i);
      // A period is a product of the innermost extents: the shorter ones
      // divide the longest.
      if (period_[i] != 0)
        step_ = std::min(step_, kBlock - kBlock % period_[i]);
    }
  }

  void run(int64_t begin, int64_t end) {
    Cursor cursor(loop_, nest_, begin);
    for (int64_t at = begin; at < end; at += step_) {
      const int64_t n = std::min(step_, end - at);
      const void* in[kMaxOperands - 1];
      for (int i = 1; i < loop_.operands; ++i)
        in[i - 1] = fetch(i, cursor, at, n, at == begin);
      char* to = loop_.address[0] + at * loop_.bytes[0];
      const bool in_place = dense_[0] && (loop_.direct & 1U) != 0;
      loop_.map(in_place ? to : blocks_.data[0], in, n, loop_.params);
      put(cursor, to, n);
    }
  }

 private:
  // Row-major in the order of the nest?
  [[nodiscard]] bool is_dense(int operand) const {
    int64_t expected = 1;
    for (int d = nest_.rank - 1; d >= 0; --d) {
      if (nest_.strides[operand][d] != expected)
        return false;
      expected *= nest_.dims[d];
    }
    return true;
  }

  // Elements after which the operand repeats, if they fit a block; else 0.
  [[nodiscard]] int64_t period(int operand) const {
    int d = 0;
    while (d < nest_.rank && nest_.strides[operand][d] == 0)
      ++d;
    if (d == 0)
      return 0;
    int64_t n = 1;
    for (; d < nest_.rank; ++d)
      n *= nest_.dims[d];
    return n <= kBlock ? n : 0;
  }

  const void*
  fetch(int i, const Cursor& cursor, int64_t at, int64_t n, bool first) {
    if (dense_[i]) {
      char* from = loop_.address[i] + at * loop_.bytes[i];
      if ((loop_.direct >> i & 1U) != 0)
        return from;
      loop_.load[i](blocks_.data[i], from, n, 1);
    } else if (period_[i] == 0 || first) {
      Cursor walk = cursor;
      each_row(
          walk,
          i,
          n,
          [&](int64_t done, char* from, int64_t m, int64_t step) {
            loop_.load[i](
                blocks_.data[i] + done * loop_.block_bytes[i],
                from,
                m,
                step);
          });
    }
    return blocks_.data[i];
  }

  // Takes the result out of its block, and moves the cursor.
  void put(Cursor& cursor, char* to, int64_t n) {
    if (!dense_[0]) {
      each_row(
          cursor,
          0,
          n,
          [&](int64_t done, char* at, int64_t m, int64_t step) {
            loop_.store(
                at,
                blocks_.data[0] + done * loop_.block_bytes[0],
                m,
                step);
          });
      return;
    }
    if ((loop_.direct & 1U) == 0)
      loop_.store(to, blocks_.data[0], n, 1);
    for (int i = 1; i < loop_.operands; ++i) {
      if (!dense_[i] && period_[i] == 0) {
        cursor.skip(loop_, nest_, n);
        return;
      }
    }
  }

  // Calls f(block offset, row address, n, step) for the rows of `count`
  // elements.
  template <class F>
  void each_row(Cursor& cursor, int operand, int64_t count, F&& f) const {
    const int64_t inner = nest_.dims[nest_.rank - 1];
    const int64_t step = nest_.strides[operand][nest_.rank - 1];
    for (int64_t done = 0; done < count;) {
      const int64_t n = std::min(inner - cursor.at, count - done);
      f(done,
        cursor.row[operand] + cursor.at * step * loop_.bytes[operand],
        n,
        step);
      done += n;
      cursor.at += n;
      if (cursor.at == inner)
        cursor.next_row(loop_, nest_);
    }
  }

  const ElementLoop& loop_;
  const ElementNest& nest_;
  Blocks& blocks_;
  int64_t step_;
  int64_t period_[kMaxOperands];
  bool dense_[kMaxOperands];
};

void run_strided(
    const ElementLoop& loop,
    const ElementNest& nest,
    int64_t begin,
    int64_t end) {
  constexpr int64_t kShortRow = 32;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): scratch
  Blocks blocks;
  const int64_t inner = nest.dims[nest.rank - 1];
  if (inner < kShortRow && nest.rank > 1) {
    ShortRows(loop, nest, blocks).run(begin, end);
    return;
  }
  Cursor cursor(loop, nest, begin);
  RowRunner rows(loop, nest, blocks);
  for (int64_t at = begin; at < end;) {
    const int64_t n = std::min(inner - cursor.at, end - at);
    rows.run(cursor, n);
    at += n;
    cursor.next_row(loop, nest);
  }
}

ElementLoop translated(const ElementLoop& loop) {
  ElementLoop local = loop;
  for (int i = 0; i < loop.operands; ++i)
    local.address[i] = host<char>(loop.address[i]);
  return local;
}

// Most calls: every operand is dense and used where it lies. Small, since a
// submitter pays for each line of a task.
struct DirectTask {
  MapFn map;
  char* address[kMaxOperands];
  Params params;
  int64_t numel;
  int32_t operands;
  uint8_t bytes[kMaxOperands];

  void operator()() const {
    char* base[kMaxOperands];
    for (int i = 0; i < operands; ++i)
      base[i] = host<char>(address[i]);
    parallel_for(numel, kElementGrain, [&](int64_t begin, int64_t end) {
      const void* in[kMaxOperands - 1];
      for (int i = 1; i < operands; ++i)
        in[i - 1] = base[i] + begin * bytes[i];
      map(base[0] + begin * bytes[0], in, end - begin, params);
    });
  }
};

struct DenseTask {
  ElementLoop loop;
  void operator()() const {
    const ElementLoop local = translated(loop);
    parallel_for(local.numel, kElementGrain, [&](int64_t begin, int64_t end) {
      run_dense(local, begin, end);
    });
  }
};

struct StridedTask {
  ElementLoop loop;
  ElementNest nest;
  void operator()() const {
    const ElementLoop local = translated(loop);
    ElementNest merged = nest;
    collapse(merged, loop.operands);
    parallel_for(local.numel, kElementGrain, [&](int64_t begin, int64_t end) {
      run_strided(local, merged, begin, end);
    });
  }
};

bool all_dense_and_direct(
    const View* const* views,
    const Compute* computes,
    int operands) {
  bool result = true;
  for (int i = 0; i < operands; ++i) {
    result &= views[i]->dense && is_direct(views[i]->dtype, computes[i]) != 0;
  }
  return result;
}

void submit_direct(
    engine::Stream& stream,
    const char* name,
    MapFn map,
    const Params& params,
    const View* const* views,
    int operands) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): up to `operands`
  DirectTask task;
  task.map = map;
  task.params = params;
  task.numel = views[0]->numel;
  task.operands = operands;
  for (int i = 0; i < operands; ++i) {
    task.address[i] = static_cast<char*>(views[i]->address);
    task.bytes[i] = static_cast<uint8_t>(element_bytes(views[i]->dtype));
  }
  submit(stream, name, task);
}

} // namespace

void collapse(ElementNest& nest, int operands) {
  int rank = 0;
  for (int d = 0; d < nest.rank; ++d) {
    if (nest.dims[d] == 1)
      continue;
    nest.dims[rank] = nest.dims[d];
    for (int i = 0; i < operands; ++i)
      nest.strides[i][rank] = nest.strides[i][d];
    ++rank;
  }
  const auto exchange = [&](int a, int b) {
    std::swap(nest.dims[a], nest.dims[b]);
    for (int i = 0; i < operands; ++i)
      std::swap(nest.strides[i][a], nest.strides[i][b]);
  };
  for (int d = 1; d < rank; ++d) {
    for (int e = d; e > 0 && nest.strides[0][e - 1] < nest.strides[0][e]; --e)
      exchange(e - 1, e);
  }
  int last = 0;
  for (int d = 1; d < rank; ++d) {
    bool joins = true;
    for (int i = 0; i < operands; ++i)
      joins &= nest.strides[i][last] == nest.strides[i][d] * nest.dims[d];
    if (joins) {
      nest.dims[last] *= nest.dims[d];
    } else {
      ++last;
      nest.dims[last] = nest.dims[d];
    }
    for (int i = 0; i < operands; ++i)
      nest.strides[i][last] = nest.strides[i][d];
  }
  nest.rank = last + 1;
  if (rank == 0) {
    nest.dims[0] = 1;
    for (int i = 0; i < operands; ++i)
      nest.strides[i][0] = 1;
  }
}

void run_elementwise(
    engine::Stream& stream,
    const char* name,
    MapFn map,
    const Params& params,
    const View* const* views,
    const Compute* computes,
    int operands) {
  if (map == nullptr)
    throw Error(musaErrorNotSupported, "the engine has no such mode and type");
  if (all_dense_and_direct(views, computes, operands)) {
    submit_direct(stream, name, map, params, views, operands);
    return;
  }
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): set by rank
  StridedTask task;
  ElementLoop& loop = task.loop;
  loop.map = map;
  loop.params = params;
  loop.numel = views[0]->numel;
  loop.operands = operands;
  loop.direct = 0;
  bool dense = true;
  for (int i = 0; i < operands; ++i) {
    loop.address[i] = static_cast<char*>(views[i]->address);
    loop.load[i] = load_of(views[i]->dtype, computes[i]);
    loop.bytes[i] = static_cast<uint8_t>(element_bytes(views[i]->dtype));
    loop.block_bytes[i] = static_cast<uint8_t>(kBlockBytes[computes[i]]);
    loop.direct |= is_direct(views[i]->dtype, computes[i]) << i;
    dense &= views[i]->dense;
  }
  loop.store = store_of(views[0]->dtype, computes[0]);
  if (dense) {
    submit(stream, name, DenseTask{loop});
    return;
  }
  ElementNest& nest = task.nest;
  nest.rank = views[0]->rank;
  for (int d = 0; d < nest.rank; ++d) {
    nest.dims[d] = views[0]->dims[d];
    for (int i = 0; i < operands; ++i)
      nest.strides[i][d] = views[i]->strides[d];
  }
  submit(stream, name, task);
}

} // namespace musa_standin::engine::cpu
