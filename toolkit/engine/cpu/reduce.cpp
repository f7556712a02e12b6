// SPDX-License-Identifier: Apache-2.0
// The CPU engine's reductions.
#include "toolkit/engine/cpu/dnn.h"
#include "toolkit/engine/cpu/elementwise.h"
#include "toolkit/engine/cpu/memory.h"
#include "toolkit/engine/cpu/pool.h"
#include "toolkit/engine/cpu/reduce_plan.h"
#include "toolkit/engine/cpu/stream.h"
#include "toolkit/engine/error.h"

#include <algorithm>
#include <cmath>

namespace musa_standin::engine::cpu {

Axes merged(const Axes& axes, bool keep_order) {
  Axes sorted;
  for (int d = 0; d < axes.rank; ++d) {
    if (axes.dims[d] != 1)
      sorted.add(axes.dims[d], axes.strides[d]);
  }
  for (int d = 1; d < sorted.rank && !keep_order; ++d) {
    for (int e = d; e > 0 && sorted.strides[e - 1] < sorted.strides[e]; --e) {
      std::swap(sorted.strides[e - 1], sorted.strides[e]);
      std::swap(sorted.dims[e - 1], sorted.dims[e]);
    }
  }
  Axes out;
  for (int d = 0; d < sorted.rank; ++d) {
    const int last = out.rank - 1;
    if (last >= 0 && out.strides[last] == sorted.strides[d] * sorted.dims[d]) {
      out.dims[last] *= sorted.dims[d];
      out.strides[last] = sorted.strides[d];
    } else {
      out.add(sorted.dims[d], sorted.strides[d]);
    }
  }
  if (out.rank == 0)
    out.add(1, 1);
  return out;
}

int64_t offset_of(const Axes& axes, int64_t position) {
  int64_t offset = 0;
  for (int d = axes.rank - 1; d > 0; --d) {
    offset += position % axes.dims[d] * axes.strides[d];
    position /= axes.dims[d];
  }
  return offset + position * axes.strides[0];
}

namespace {

constexpr int64_t kWidth = 256;     // outputs of a vertical unit
constexpr int64_t kGrain = 32768;   // elements worth a thread
constexpr int64_t kPartials = 4096; // states kept on a task's stack

bool is_whole(const ReducePlan& plan) {
  return plan.compute == kI64;
}

Cell start_of(const ReducePlan& plan) {
  Cell c{};
  if (is_whole(plan)) {
    c.whole = plan.fold->start_whole;
  } else {
    c.real = plan.fold->start_real;
  }
  return c;
}

// Joins the deviations of n1 and n2 elements (Chan et al.).
void join_moments(
    Cell& m1,
    Cell& d1,
    int64_t n1,
    Cell m2,
    Cell d2,
    int64_t n2) {
  const double n = static_cast<double>(n1 + n2);
  const double delta = m2.real - m1.real;
  const double share = static_cast<double>(n2) / n;
  m1.real += delta * share;
  d1.real += d2.real + delta * delta * share * static_cast<double>(n1);
}

void reduce_one(
    const ReducePlan& plan,
    const char* base,
    int64_t begin,
    int64_t end,
    ReduceState state) {
  Cell& a = *state.a;
  Cell& b = *state.b;
  if (plan.kind == ReduceKind::kFold) {
    a = start_of(plan);
    for_pieces(plan, base, begin, end, [&](const void* x, int64_t n, int64_t) {
      a = plan.fold->join(a, plan.fold->block(x, n, plan.order));
    });
    return;
  }
  bool first = true;
  for_pieces(plan, base, begin, end, [&](const void* x, int64_t n, int64_t at) {
    if (plan.kind == ReduceKind::kMoments) {
      Cell m{};
      Cell d{};
      plan.moments->block(x, n, &m.real, &d.real);
      if (first) {
        a = m;
        b = d;
      } else {
        join_moments(a, b, at - begin, m, d, n);
      }
    } else {
      const Cell v = plan.fold->block(x, n, 0);
      if (first || plan.arg->better(v, a)) {
        a = v;
        b.whole = at + plan.arg->find(x, n, v);
      }
    }
    first = false;
  });
}

void reduce_columns(
    const ReducePlan& plan,
    const char* base,
    int64_t n,
    int64_t begin,
    int64_t end,
    ReduceState state) {
  const auto step_bytes = plan.compute_bytes;
  if (plan.kind == ReduceKind::kFold) {
    std::fill_n(state.a, n, start_of(plan));
    for_row_groups(
        plan,
        base,
        n,
        begin,
        end,
        [&](const char* x, int64_t row_step, int64_t rows, int64_t) {
          plan.fold->rows(state.a, x, n, row_step, rows, plan.order);
        });
    return;
  }
  int64_t seen = 0;
  std::fill_n(state.a, n, Cell{});
  std::fill_n(state.b, n, Cell{});
  for_row_groups(
      plan,
      base,
      n,
      begin,
      end,
      [&](const char* x, int64_t row_step, int64_t rows, int64_t at) {
        for (int64_t r = 0; r < rows; ++r) {
          const char* row = x + r * row_step * step_bytes;
          if (plan.kind == ReduceKind::kMoments) {
            plan.moments->row(&state.a->real, &state.b->real, row, n, ++seen);
          } else if (seen++ == 0) {
            for (int64_t i = 0; i < n; ++i) {
              state.a[i] = plan.fold->block(row + i * step_bytes, 1, 0);
              state.b[i].whole = at;
            }
          } else {
            plan.arg->row(state.a, &state.b->whole, row, n, at + r);
          }
        }
      });
}

// Joins the part [begin, end) to the state of [0, begin).
void join_part(
    const ReducePlan& plan,
    ReduceState state,
    ReduceState part,
    int64_t n,
    int64_t begin,
    int64_t end) {
  for (int64_t i = 0; i < n; ++i) {
    switch (plan.kind) {
    case ReduceKind::kFold:
      state.a[i] = plan.fold->join(state.a[i], part.a[i]);
      break;
    case ReduceKind::kMoments:
      join_moments(
          state.a[i],
          state.b[i],
          begin,
          part.a[i],
          part.b[i],
          end - begin);
      break;
    default:
      if (plan.arg->better(part.a[i], state.a[i])) {
        state.a[i] = part.a[i];
        state.b[i] = part.b[i];
      }
    }
  }
}

double finished(const ReducePlan& plan, Cell a, Cell b) {
  const auto n = static_cast<double>(plan.reduced);
  const double freedom = std::max(0.0, n - plan.correction);
  switch (plan.mode) {
  case ReduceMode::kMean:
    return a.real / n;
  case ReduceMode::kNorm:
    if (plan.order == 2.0F)
      return std::sqrt(a.real);
    return plan.order == 1.0F ? a.real : std::pow(a.real, 1.0 / plan.order);
  case ReduceMode::kL2Loss:
    return a.real / 2;
  case ReduceMode::kVariance:
    return b.real / freedom;
  case ReduceMode::kStd:
    return std::sqrt(b.real / freedom);
  default:
    return a.real;
  }
}

void write(const ReducePlan& plan, int64_t first, int64_t n, ReduceState s) {
  if (plan.indices != nullptr) {
    for (int64_t i = 0; i < n; ++i)
      plan.indices[first + i] = s.b[i].whole;
  }
  if (plan.out == nullptr)
    return;
  if (!is_whole(plan)) {
    for (int64_t i = 0; i < n; ++i)
      s.a[i].real = finished(plan, s.a[i], s.b[i]);
  }
  const StoreFn store = store_of(plan.out_dtype, is_whole(plan) ? kI64 : kF64);
  store(plan.out + first * element_bytes(plan.out_dtype), s.a, n, 1);
}

// Outputs [first, first + n) that one unit makes.
struct Unit {
  int64_t first;
  int64_t n;
  const char* base;
};

// Units are single outputs, or blocks along the innermost kept axis.
struct Layout {
  bool vertical;
  int64_t columns; // innermost kept extent
  int64_t blocks;  // per such row
  int64_t units;

  explicit Layout(const ReducePlan& plan)
      : vertical(side_by_side(plan)),
        // Rows of outputs that stay dense in memory.
        columns(vertical ? plan.kept.last_dim() : 1),
        blocks((columns + kWidth - 1) / kWidth),
        units(plan.outputs / columns * blocks) {}

  static bool side_by_side(const ReducePlan& plan) {
    // Short sums of many neighbours even against the grain.
    const bool across = plan.reduced <= 32 && plan.kept.last_dim() >= 64;
    return plan.outputs > 1 && plan.reduced > 1 &&
        (plan.kept.last_stride() < plan.gone.last_stride() || across);
  }

  [[nodiscard]] Unit unit(const ReducePlan& plan, int64_t u) const {
    const int64_t row = u / blocks;
    const int64_t at = u % blocks * kWidth;
    const int64_t first = row * columns + at;
    const int64_t n = vertical ? std::min(kWidth, columns - at) : 1;
    return {first, n, plan.in + offset_of(plan.kept, first) * plan.bytes};
  }
  void run(
      const ReducePlan& plan,
      const Unit& unit,
      int64_t begin,
      int64_t end,
      ReduceState state) const {
    if (vertical) {
      reduce_columns(plan, unit.base, unit.n, begin, end, state);
    } else {
      reduce_one(plan, unit.base, begin, end, state);
    }
  }
};

// Few outputs: the reduced elements are split too. How depends on sizes only,
// so that results do not change with the number of threads.
int64_t splits_of(const ReducePlan& plan, const Layout& layout) {
  const int64_t width = layout.vertical ? std::min(kWidth, layout.columns) : 1;
  const int64_t work = plan.reduced * width;
  if (layout.units >= 32 || work < 2 * kGrain)
    return 1;
  const int64_t room = kPartials / (layout.units * width);
  return std::max<int64_t>(
      1,
      std::min({int64_t{64}, room, work / kGrain, plan.reduced}));
}

void run_whole(const ReducePlan& plan, const Layout& layout) {
  const int64_t width = layout.vertical ? std::min(kWidth, layout.columns) : 1;
  const int64_t grain = std::max<int64_t>(1, kGrain / (plan.reduced * width));
  parallel_for(layout.units, grain, [&](int64_t begin, int64_t end) {
    Cell a[kWidth];
    Cell b[kWidth];
    if (layout.vertical) {
      for (int64_t u = begin; u < end; ++u) {
        const Unit unit = layout.unit(plan, u);
        layout.run(plan, unit, 0, plan.reduced, {a, b});
        write(plan, unit.first, unit.n, {a, b});
      }
      return;
    }
    for (int64_t u = begin; u < end; u += kWidth) {
      const int64_t n = std::min(kWidth, end - u);
      for (int64_t i = 0; i < n; ++i)
        layout.run(
            plan,
            layout.unit(plan, u + i),
            0,
            plan.reduced,
            {a + i, b + i});
      write(plan, u, n, {a, b});
    }
  });
}

void run_split(const ReducePlan& plan, const Layout& layout, int64_t splits) {
  const int64_t width = layout.vertical ? std::min(kWidth, layout.columns) : 1;
  Cell a[kPartials];
  Cell b[kPartials];
  const auto edge = [&](int64_t s) { return plan.reduced * s / splits; };
  parallel_for(layout.units * splits, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t s = i % splits;
      layout.run(
          plan,
          layout.unit(plan, i / splits),
          edge(s),
          edge(s + 1),
          {a + i * width, b + i * width});
    }
  });
  for (int64_t u = 0; u < layout.units; ++u) {
    const Unit unit = layout.unit(plan, u);
    const int64_t at = u * splits * width;
    const ReduceState state{a + at, b + at};
    for (int64_t s = 1; s < splits; ++s) {
      const int64_t part = at + s * width;
      join_part(
          plan,
          state,
          {a + part, b + part},
          unit.n,
          edge(s),
          edge(s + 1));
    }
    write(plan, unit.first, unit.n, state);
  }
}

struct ReduceTask {
  ReducePlan plan;
  void operator()() const {
    ReducePlan local = plan;
    local.in = host<const char>(plan.in);
    local.out = plan.out != nullptr ? host<char>(plan.out) : nullptr;
    local.indices =
        plan.indices != nullptr ? host<int64_t>(plan.indices) : nullptr;
    local.kept = merged(plan.kept, /*keep_order=*/true);
    local.gone = merged(plan.gone, plan.kind == ReduceKind::kArg);
    const Layout layout(local);
    const int64_t splits = splits_of(local, layout);
    if (splits == 1)
      return run_whole(local, layout);
    run_split(local, layout, splits);
  }
};

Fold fold_of(const ReduceArgs& args) {
  switch (args.mode) {
  case ReduceMode::kMax:
  case ReduceMode::kMaxUnstable:
    return Fold::kMax;
  case ReduceMode::kMin:
  case ReduceMode::kMinUnstable:
    return Fold::kMin;
  case ReduceMode::kProd:
    return Fold::kProduct;
  case ReduceMode::kMulNoZeros:
    return Fold::kProductNonzero;
  case ReduceMode::kAnd:
    return Fold::kAnd;
  case ReduceMode::kOr:
    return Fold::kOr;
  case ReduceMode::kL2Loss:
    return Fold::kSumSquare;
  case ReduceMode::kNorm:
    if (args.order == 2.0F)
      return Fold::kSumSquare;
    return args.order == 1.0F ? Fold::kSumAbs : Fold::kSumPower;
  default:
    return Fold::kSum;
  }
}

} // namespace

void CpuDnn::reduce(engine::Stream& stream, const ReduceArgs& args) {
  static const ReduceKernels& table = MUSA_ISA_PICK(kReduceKernels);
  const View& in = args.in;
  const Compute natural = compute_of(in.dtype);
  const Fold fold = fold_of(args);
  ReduceTask task;
  ReducePlan& plan = task.plan;
  plan.compute = natural == kU8 ? kI64 : natural;
  plan.mode = args.mode;
  if (args.mode == ReduceMode::kVariance || args.mode == ReduceMode::kStd)
    plan.kind = ReduceKind::kMoments;
  if (args.indices.present())
    plan.kind = ReduceKind::kArg;
  plan.direct = in.dtype == Dtype::kFloat || in.dtype == Dtype::kDouble ||
      in.dtype == Dtype::kInt64 || in.dtype == Dtype::kUint64;
  plan.out_dtype = args.out.dtype;
  plan.bytes = static_cast<int32_t>(element_bytes(in.dtype));
  plan.compute_bytes = plan.compute == kF32 ? 4 : 8;
  plan.correction = args.correction;
  plan.order = args.order;
  plan.in = static_cast<const char*>(in.address);
  plan.out = static_cast<char*>(args.out.address);
  plan.indices = static_cast<int64_t*>(args.indices.address);
  plan.load = load_of(in.dtype, plan.compute);
  plan.fold = &table.fold[plan.compute][static_cast<int>(fold)];
  plan.moments = plan.compute == kI64 ? nullptr : &table.moments[plan.compute];
  plan.arg = fold == Fold::kMin ? &table.smallest[plan.compute]
                                : &table.largest[plan.compute];
  if (plan.fold->block == nullptr ||
      (plan.kind == ReduceKind::kMoments && plan.moments == nullptr))
    throw Error(musaErrorNotSupported, "the engine has no such reduction");
  for (int d = 0; d < in.rank; ++d) {
    const bool gone = (args.axes >> d & 1U) != 0;
    (gone ? plan.reduced : plan.outputs) *= in.dims[d];
    (gone ? plan.gone : plan.kept).add(in.dims[d], in.strides[d]);
  }
  submit(stream, "Reduce", task);
}

} // namespace musa_standin::engine::cpu
