// One node of a host trace, of whichever version.
#pragma once

#include <simdjson.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "converters/pytorch/host/host_trace.h"
#include "converters/pytorch/host/string_pool.h"
#include "converters/text_file.h"
#include "core/result.h"

namespace reprise::pytorch {

// Survivable oddities of one node, as bits.
enum HostOddity : std::uint8_t {
  kNonJsonNumber = 1,        // NaN or infinity, read as null
  kUnreadableAttribute = 2,  // of another type than it should have, or out of range: as if absent
  kListsDiffer = 4,          // arguments without values, or fewer shapes or types than values
};

// Fresh node ids come after the recorded ones.
inline constexpr std::uint64_t kNodeIdLimit = std::uint64_t{1} << 62;

// `at_byte` and the file are for messages. Bad input if a member is missing that all versions have.
[[nodiscard]] Status ReadHostNode(simdjson::dom::element root, const TextFile& file,
                                  std::size_t at_byte, BatchStrings& strings, HostNode& node,
                                  std::uint8_t& oddities);

}  // namespace reprise::pytorch
