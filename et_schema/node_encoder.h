// Messages as they stand in a file, each preceded by its length. Only et_schema sees this.
#pragma once

#include <string>
#include <string_view>

#include "core/result.h"
#include "et_schema/wire_buffer.h"

namespace reprise {

// Appends; bad input if it is longer than readers take. `what` is for the error.
[[nodiscard]] Status AppendMessage(const WireBuffer& message, std::string_view what,
                                   std::string& out);

}  // namespace reprise
