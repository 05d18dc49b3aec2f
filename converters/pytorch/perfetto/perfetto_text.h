// Perfetto's trace files, as PyTorch's CUDA back end of the profiler writes them (.pftrace, from
// 2.15 on), read as the JSON text of a Kineto file.
#pragma once

#include <memory>

#include "converters/text_source.h"

namespace reprise::pytorch {

// The text of the Kineto file that these packets, open already, would be. Memory does not grow with
// the file but for 32 bytes per begin and end, and texts that packets refer to.
//
// - Slices become events of two halves (begin_end.h), whose "slice" tells which belong together.
// - Work on a GPU (GpuRenderStageEvent) becomes an event of the category that Kineto has for its
//   stage, on the stream that recorded it; grid, block and registers are those of its launch.
//   PyTorch leaves out what a copy's kinds are and a kernel's static shared memory.
// - Samples of counters become counter events ("C").
//
// Reading fails with bad input that names the file and the byte of the damage, unpacked.
[[nodiscard]] std::unique_ptr<TextSource> PerfettoAsJson(std::unique_ptr<TextSource> packets);

}  // namespace reprise::pytorch
