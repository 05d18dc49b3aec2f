// Of which rank each file of a capture is.
#pragma once

#include <span>
#include <string>

#include "converters/pytorch/files/captured_file.h"
#include "core/result.h"

namespace reprise::pytorch {

// Sets the rank of every file that has none: by its content, by "rank" in its name, by another file
// of its process, or by the number in regular names that counts ranks ("host.0.json",
// "host.1.json"). `pattern`, where it is not empty, is a regular expression (ECMAScript) whose one
// group is the rank in a name; it replaces what names say otherwise. One file of a kind needs no
// rank. Bad input: content and name contradict each other, names have two readings, or none.
// Usage error: the pattern.
[[nodiscard]] Status FindRanks(const std::string& directory, std::span<CapturedFile> files,
                               const std::string& pattern);

}  // namespace reprise::pytorch
