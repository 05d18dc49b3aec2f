// Results of rocprofv3 as JSON (`--output-format json`; rocprofiler-sdk,
// source/lib/output/generateJSON.cpp): its processes, and the records of one.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "converters/pytorch/rocprof/rocprof_records.h"
#include "core/result.h"

namespace reprise::pytorch {

// By the first bytes of a file's text: its object begins with "rocprofiler-sdk-tool".
[[nodiscard]] bool BeginsAsRocprofJson(std::string_view head);

// Those that dispatched kernels, in the file's order. Reads the whole text once. Bad input:
// damaged.
[[nodiscard]] Result<std::vector<RocprofProcess>> RocprofJsonProcesses(const std::string& path);

// Reads the text again: names first, which may stand behind the records that use them. Memory: the
// kernels' names, the texts of ranges, and one record. Bad input names the list and the record, or
// the byte.
[[nodiscard]] Result<std::unique_ptr<RocprofReader>> ReadRocprofJson(const std::string& path,
                                                                     const RocprofProcess& process);

}  // namespace reprise::pytorch
