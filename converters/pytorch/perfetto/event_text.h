// Pieces of the JSON text that Perfetto's packets become.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "converters/pytorch/kineto/event_list.h"
#include "converters/pytorch/perfetto/interned.h"

namespace reprise::pytorch {

// A DebugAnnotation as a member: its name, ':' and its value. A value that is left out is an empty
// list, which packets have no other way to say. Why it can't be, for a message; empty: it is done.
// Recursive up to the limit on JSON's depth.
[[nodiscard]] std::string_view AppendAnnotation(std::string_view message,
                                                const InternedTexts& texts, std::string& out);

}  // namespace reprise::pytorch
