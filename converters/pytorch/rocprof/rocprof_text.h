// Results of rocprofv3, read as the JSON text of a Kineto file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "converters/pytorch/rocprof/rocprof_records.h"
#include "converters/text_source.h"
#include "core/result.h"

namespace reprise::pytorch {

// Whether the file is a database of rocprofv3 (rocpd), or its JSON, perhaps packed.
[[nodiscard]] bool IsRocprofFile(const std::string& path);

[[nodiscard]] tl::unexpected<Error> NoRocprofKernels(const std::string& path);

// The processes that used a GPU: by rank where all have one, else by device and number. Bad input:
// damaged.
[[nodiscard]] Result<std::vector<RocprofProcess>> RocprofProcesses(const std::string& path);

// The events of one of them, by its index; -1: the only one. Rules: rocprof_events.h. Memory: what
// the readers of either form keep, and a block of text. Bad input: damaged, a time that can't be,
// several processes where none is named.
[[nodiscard]] Result<std::unique_ptr<TextSource>> OpenRocprofText(const std::string& path,
                                                                  std::int64_t process);

}  // namespace reprise::pytorch
