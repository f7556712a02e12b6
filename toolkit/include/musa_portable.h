// SPDX-License-Identifier: Apache-2.0
// What the portable toolkit offers beyond the vendor's interface.
#pragma once

#include "musa_runtime_api.h"

#include <stddef.h>
#include <stdint.h>

#define MUSA_PORTABLE_ABI 1

#ifdef __cplusplus
extern "C" {
#endif

/* The marker that a loader looks for: the vendor's library has none. */
MUSART_PUBLIC int musaPortableAbi(void);

/* Name of the engine that runs the work: "cpu" or "cuda". */
MUSART_PUBLIC const char* musaPortableEngine(void);

/* Counts since the process started; 0 for a name that is none of:
   "waits"       synchronise calls of streams, events and devices, copies that
                 hold the caller, musaFree and musaFreeHost
   "tasks"       tasks submitted by calls (not the engine's own waits)
   "wakes"       submits that had to wake a thread
   "full_queue"  submits that were held by a full queue
   An engine that leaves queues to a driver counts the waits alone. */
MUSART_PUBLIC unsigned long long musaPortableCounter(const char* name);

/* Stops the engine: the task that runs ends, the rest is dropped, and later
   calls return musaErrorMusartUnloading.  Meant for the process's exit. */
MUSART_PUBLIC void musaPortableStop(void);

/* Name of the task whose error the last failing call of this thread reported;
   an empty string if that error did not come from a task. */
MUSART_PUBLIC const char* musaPortableFailedTask(void);

/* One sentence about the last failing call of this thread; may be empty. */
MUSART_PUBLIC const char* musaPortableLastMessage(void);

/* Row `index` of the functions that are exported but not implemented; null
   past the end. */
MUSART_PUBLIC const char* musaPortableUnimplemented(int index);

/* --- for kernels that bin/mcc compiles (musa_portable_kernels.h) --- */

/* A loop over [0, n): body(closure, begin, end) runs a part of it.  The name
   lives as long as the process; the closure is trivially copyable, at most 864
   bytes, and copied before the call returns. */
typedef struct musaPortableLoop {
  const char* name;
  void (*body)(const void* closure, int64_t begin, int64_t end);
  const void* closure;
  size_t bytes;
  int64_t n;
  int64_t grain; /* elements that are not worth a second thread */
} musaPortableLoop;

/* Enqueues the loop on an engine whose kernels are functions of the host;
   musaErrorNotSupported on others.  n <= 0 enqueues nothing. */
MUSART_PUBLIC musaError_t
musaPortableForEach(const musaPortableLoop* loop, musaStream_t stream);

/* Where such a loop reaches the memory behind a device address. */
MUSART_PUBLIC void* musaPortableAddress(void* pointer);

/* Called by the body of such a loop: ends its task, and the device then has
   this error, under the loop's name.  Does not return. */
MUSART_PUBLIC void musaPortableFail(musaError_t code, const char* message);

/* For the kernels of an engine with a device compiler: the word in which they
   leave an error, 0 while there is none, else the code shifted left by 48 bits
   over the address of the loop's name.  musaErrorNotSupported on others. */
MUSART_PUBLIC musaError_t
musaPortableErrorWord(void** word, musaStream_t stream);

/* The engine's own handle of a stream (a cudaStream_t); musaErrorNotSupported
   where it has none. */
MUSART_PUBLIC musaError_t
musaPortableNativeStream(void** native, musaStream_t stream);

#ifdef __cplusplus
}
#endif
