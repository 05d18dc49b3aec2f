// Blocks to bytes and back, and its steps. Only et_schema/columns sees this.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "et_schema/columns/block.h"

namespace reprise::columns {

// What stands before a block, as four varints.
struct BlockHeader {
  std::uint64_t bytes = 0;  // of its messages with their lengths
  std::uint64_t messages = 0;
  std::uint64_t text_bytes = 0;   // that follow
  std::uint64_t coded_bytes = 0;  // that follow the texts
};

// Appends header, texts and codes of a block of a Splitter. False: more fields than a block may
// have.
[[nodiscard]] bool EncodeBlock(Block block, std::string& out);

// Appends the messages, each after its length. Bad input: whatever EncodeBlock would not write;
// more than `header` says is never made. Takes time in proportion to header.bytes and the bytes
// given, and up to twelve bytes of memory for a byte of messages.
[[nodiscard]] Status DecodeBlock(const BlockHeader& header, std::string_view texts,
                                 std::string_view codes, std::string& out);

// ---- How each column is coded: column_plan.cc. ----

// Finds the columns of times and dependencies, by the tags and attribute names of
// docs/et_format.md, and sets the stages. A trace of another kind has none: its columns are coded
// without.
void FindTimes(Block& block);
// Tries bases and contexts on the first values of each column and keeps what costs least. Texts and
// shapes must be numbered as they first appear.
void ChoosePlans(Block& block);

// The columns in the order in which they are coded.
[[nodiscard]] std::vector<std::uint32_t> CodingOrder(const Block& block);
// Whether a field's first column holds indices of texts.
[[nodiscard]] bool HoldsTexts(const Field& field);

// ---- Fields, shapes and columns → messages, the way back from split.h: merge.cc. ----

[[nodiscard]] inline tl::unexpected<Error> Damaged(std::string_view what) {
  return BadInput("damaged columns: " + std::string(what));
}

// Appends each message after its length. Every index in the block must be in range, every column as
// long as its shapes say. Bad input: more or fewer than block.bytes; more are never made.
[[nodiscard]] Status MergeMessages(const Block& block, std::string& out);

}  // namespace reprise::columns
