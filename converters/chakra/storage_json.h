// Chakra's StorageInfo as protobuf's JSON.
#pragma once

#include <simdjson.h>

#include <optional>
#include <string>
#include <vector>

#include "et_schema/storage.h"

namespace reprise::chakra {

// {"level": "STORAGE_LEVEL_FS", "fs": {"op": "FS_OP_READ", "sizeBytes": "4096", …}}: keys in any of
// protobuf's spellings, enumerations by name or number. Returns the keys that were not read: no
// field has them, or their value has the wrong type.
[[nodiscard]] std::vector<std::string> ReadStorageJson(simdjson::dom::element json,
                                                       std::optional<StorageWork>& work);

}  // namespace reprise::chakra
