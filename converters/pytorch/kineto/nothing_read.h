// The refusal of a file whose events are none of PyTorch's profiler.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "converters/json_split.h"
#include "converters/pytorch/kineto/other_events.h"
#include "core/result.h"

namespace reprise::pytorch {

using EventCategories = std::map<std::string, std::uint64_t>;
// Before the events are placed: how many there are of each category; "": of none.
[[nodiscard]] EventCategories CategoriesOf(const std::vector<OtherEvent>& others);

// Says what was looked for, and what the file holds: events by category, and of Perfetto's files
// the members `tracks` and `packets` (perfetto/file_contents.h).
[[nodiscard]] tl::unexpected<Error> NothingRead(const std::string& path, EventCategories categories,
                                                const SplitJson& json);

}  // namespace reprise::pytorch
