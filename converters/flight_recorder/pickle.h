// Pickles of Python that hold plain data: nothing in them is run.
#pragma once

#include <string_view>

#include "converters/flight_recorder/dump_values.h"
#include "converters/text_file.h"
#include "core/result.h"

namespace reprise::flight_recorder {

// Whether a text begins as a pickle of protocol 2 to 5 does.
[[nodiscard]] bool BeginsAsPickle(std::string_view head);

// The value of a pickle of protocol 2 to 5 (Python's pickletools has the format): dicts, lists,
// tuples and sets (both as lists), text, bytes (as text), whole numbers of up to 64 bits, floats,
// booleans and None. Bad input with the byte, and the opcode's name: what makes other objects or
// calls functions (GLOBAL, REDUCE, …), damage, and more values than CurrentInputLimits().values.
// A value that holds itself is legal: who walks it has to mind.
[[nodiscard]] Result<ValueId> ReadPickle(const TextFile& file, DumpValues& values);

}  // namespace reprise::flight_recorder
