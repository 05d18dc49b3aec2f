// A database of rocprofv3: its processes, and the rows of one as records.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "converters/pytorch/rocprof/rocpd_tables.h"
#include "converters/pytorch/rocprof/rocprof_records.h"
#include "core/result.h"

namespace reprise::pytorch {

// Those that dispatched kernels, in the file's order. Bad input: damaged.
[[nodiscard]] Result<std::vector<RocprofProcess>> RocpdProcesses(const std::string& path);

// Memory: the texts and kernels' names of the file, and the arguments of RCCL's calls. Bad input
// names the table and the row.
[[nodiscard]] Result<std::unique_ptr<RocprofReader>> ReadRocpd(const std::string& path,
                                                               const RocprofProcess& process);

}  // namespace reprise::pytorch
