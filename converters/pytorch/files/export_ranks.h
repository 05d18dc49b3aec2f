// Files of other profilers among those of a capture: exports of Nsight Systems, results of
// rocprofv3.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "converters/pytorch/files/captured_file.h"
#include "core/diagnostics.h"
#include "core/result.h"

namespace reprise::pytorch {

// "nsight systems", "rocprofv3"; empty: no such file. By its content.
[[nodiscard]] std::string_view ProfilerOf(const std::string& path);

// Replaces each such file by an entry for each of its processes that used a GPU. Their ranks: as
// NCCL's communicators, or the launcher's variables, say where that is known of all; else a file of
// one process keeps the rank of its name, and those of several count theirs, files by name and
// processes by device. Where names of results are the processes' numbers, they count by host and
// device. Where results are there in both forms, the database is read. Results of processes that
// used no GPU are left out beside others, and counted
// (`export_without_kernels`). Bad input: none did, or damaged.
[[nodiscard]] Status OpenExports(std::vector<CapturedFile>& files, Diagnostics* diagnostics);

}  // namespace reprise::pytorch
