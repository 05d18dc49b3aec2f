// Opens what is read as a Kineto file, whatever its form.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "converters/text_source.h"
#include "core/result.h"

namespace reprise::pytorch {

// The text of a Kineto file: its own where it is JSON, else what Perfetto's packets, an export of
// Nsight Systems, results of rocprofv3 or a profile of XLA say. `process`: whose events, of the
// latter three (nsight/nsight_text.h, rocprof/rocprof_text.h, xla/xla_text.h).
// Bad input names the file, and where it is damaged.
[[nodiscard]] Result<std::unique_ptr<TextSource>> OpenKinetoText(const std::string& path,
                                                                 std::int64_t process);

}  // namespace reprise::pytorch
