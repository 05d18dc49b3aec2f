// The files of a recorder: those of a directory, or one alone.
#pragma once

#include <string>
#include <vector>

#include "converters/converter.h"
#include "core/result.h"

namespace reprise::recorded_transfers {

// Whether the path is a file that `is_ours`, or a directory that has one.
[[nodiscard]] bool LooksLike(const std::string& path, bool (*is_ours)(const std::string& path));

// The one file, or those of the directory that are ours, by name; packed ones too. Others stay, but
// for those that are called like ours but for numbers: those are damaged, and reading says so. Bad
// input: none, more than CurrentInputLimits().ranks, or the directory cannot be listed. `expected`
// ends the message of none: "files of …, one a rank".
[[nodiscard]] Result<std::vector<std::string>> FindFiles(const ConvertRequest& request,
                                                         bool (*is_ours)(const std::string& path),
                                                         std::string_view expected);

}  // namespace reprise::recorded_transfers
