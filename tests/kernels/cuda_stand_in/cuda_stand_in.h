// A libcuda.so.1 for tests without a GPU: the driver interface over this process's memory, and
// kernels by OpenCL's CPU device (PoCL). It refuses what a GPU's driver refuses, says why on
// stderr, and runs work as late as a driver may.
//
// LD_LIBRARY_PATH=build/tests/cuda_stand_in makes it the one that is opened by name;
// …/incomplete there has one without cuEventElapsedTime.
//
// Streams: work is queued. It is executed when somebody waits for it or asks after it: in order
// within a stream, and a wait for an event first executes that event's stream up to the record.
// Asking after work that has not run executes it and answers "not ready", as the first question to
// a GPU may. Work that waits for other processes holds up its stream alone.
//
// Memory: 0xA5 when it is allocated and when it is freed. Freed addresses are not given out again.
// Work that touches freed or unknown memory is CUDA_ERROR_ILLEGAL_ADDRESS, which stays until the
// context is released for the last time. So is freeing memory behind which something was written.
//
// Kernels: a module is text whose first line is `// reprise: PROGRAM OPTIONS`; the rest is not
// read. It is compiled from kernels/ops, with just those options, and tensor cores are emulated.
// Pointers are to the start of an allocation, or into a result of PyTorch's.
//
// Environment, read by cuInit; the log's file whenever it is written to:
//
//   REPRISE_STAND_IN_DEVICES=N        that many devices; 1
//   REPRISE_STAND_IN_LOG=FILE         appends `SEQUENCE stream NUMBER WHAT` when an operation runs
//   REPRISE_STAND_IN_FAULT=alloc:N    the N-th cuMemAlloc finds no memory
//   REPRISE_STAND_IN_FAULT=launch:N   the N-th launch fails, CUDA_ERROR_LAUNCH_FAILED
//   REPRISE_STAND_IN_FAULT=lost:N     from the N-th operation of any stream on, all answers 999
//   REPRISE_STAND_IN_FAULT=lost:N:C   the same, answers C
//   REPRISE_STAND_IN_FAULT=init:C     cuInit answers C
#pragma once

#include <cstddef>

extern "C" {

// For the stand-ins of libtorch_cuda.so, which computes at once on this process's processor, and of
// libnccl.so.2. Thread-safe.

// Executes what is queued on the stream (null: the context's default one), and what that waits for.
// 0, or the error of the context.
int reprise_stand_in_drain(void* stream);
// Whether the stream's device may read and write these bytes now: 0, or CUDA_ERROR_ILLEGAL_ADDRESS,
// which then is the context's error.
int reprise_stand_in_touch(void* stream, const void* memory, std::size_t bytes);
// A line of the log for what was computed in the stream's place.
int reprise_stand_in_log(void* stream, const char* text);
// Memory of the current device (without a context: the first), page-aligned; null if there is no
// more. It is lost when the stream that it was made on comes to where it was freed, as PyTorch's
// allocator gives it to that stream's next result: work of another stream that still needs it
// fails.
void* reprise_stand_in_alloc(std::size_t bytes);
void reprise_stand_in_free(void* stream, void* memory);

struct reprise_stand_in_range {  // NOLINT(readability-identifier-naming)
  const void* memory;
  std::size_t bytes;
};
// Queues work of another library, which may wait for other processes. Whoever waits for the stream,
// or asks after it, calls `advance(work)` until it answers 1: done, with the line `text` in the
// log, 2: over without it, or -1: the context's error. Each time the device must be able to touch
// `ranges`. `release(work)` comes last. 0, or the error of the context.
int reprise_stand_in_enqueue(void* stream, const char* text, const reprise_stand_in_range* ranges,
                             std::size_t count, int (*advance)(void* work),
                             void (*release)(void* work), void* work);
}
