// Blocks to bytes and back. Only et_schema/columns sees this.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

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

}  // namespace reprise::columns
