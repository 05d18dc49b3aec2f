// Fields, shapes and columns → messages: the way back from split.h. Only et_schema/columns sees
// this.
#pragma once

#include <string>
#include <string_view>

#include "core/result.h"
#include "et_schema/columns/block.h"

namespace reprise::columns {

[[nodiscard]] inline tl::unexpected<Error> Damaged(std::string_view what) {
  return BadInput("damaged columns: " + std::string(what));
}

// Appends each message after its length. Every index in the block must be in range, every column as
// long as its shapes say. Bad input: more or fewer than block.bytes; more are never made.
[[nodiscard]] Status MergeMessages(const Block& block, std::string& out);

}  // namespace reprise::columns
