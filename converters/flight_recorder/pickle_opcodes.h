// Opcodes of pickles that are refused.
#pragma once

#include <string_view>

namespace reprise::flight_recorder {

// Python's name (pickletools) of an opcode that makes objects other than plain data, calls
// functions or refers to what is outside of the file; empty: it is none of these.
[[nodiscard]] std::string_view RefusedOpcode(unsigned char code);

}  // namespace reprise::flight_recorder
