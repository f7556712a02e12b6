// SPDX-License-Identifier: Apache-2.0
// The engine's one thread pool: every kernel splits its work here.
#pragma once

#include <cstdint>
#include <type_traits>

namespace musa_standin::engine::cpu {

// Threads that work on one parallel_for, its caller included.
int pool_threads();

using ChunkFunction = void (*)(void* context, int64_t begin, int64_t end);
void run_chunks(int64_t n, int64_t chunk, ChunkFunction fn, void* context);

// Elements of one chunk: a multiple of grain, about four chunks a thread.
int64_t chunk_size(int64_t n, int64_t grain);

// Is this thread inside a parallel_for already?
bool in_parallel();

// Calls f(begin, end) for chunks that cover [0, n).  Chunk borders are
// multiples of `grain` and depend on n, grain and the number of threads alone.
// Only tasks may call it; a nested call runs serially.  The first exception of
// a chunk is thrown again here, after the others have ended.
template <class F>
void parallel_for(int64_t n, int64_t grain, F&& f) {
  if (n <= 0) {
    return;
  }
  const int64_t chunk = chunk_size(n, grain);
  if (n <= chunk || in_parallel()) {
    f(int64_t{0}, n);
    return;
  }
  using Function = std::remove_reference_t<F>;
  run_chunks(
      n,
      chunk,
      [](void* context, int64_t begin, int64_t end) {
        (*static_cast<Function*>(context))(begin, end);
      },
      const_cast<void*>(static_cast<const void*>(&f)));
}

} // namespace musa_standin::engine::cpu
