// Chakra's StorageInfo in the wire format. Only et_schema sees this.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "et_schema/storage.h"
#include "et_schema/wire_buffer.h"

namespace reprise {

// A field 11 of a Node into `work`, which may have parts already: protobuf merges them. False: not
// a message. Attributes of schemas before 0.0.4, which begin with a name, leave `work` as it is.
// Adds to `unknown_fields` what the schema does not have.
[[nodiscard]] bool ParseStorage(std::string_view message, std::optional<StorageWork>& work,
                                std::uint64_t& unknown_fields);
// As a field 11 of a Node; what is 0 or empty is left out, as protobuf does.
void PutStorage(const StorageWork& work, WireBuffer& out);
// Whether a message has a text in field 1: an attribute of any schema, and no StorageInfo.
[[nodiscard]] bool HasAName(std::string_view message);

}  // namespace reprise
