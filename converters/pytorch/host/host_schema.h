// Which versions of the host trace's format are read.
#pragma once

#include <string>

#include "converters/json_split.h"
#include "converters/text_file.h"
#include "core/diagnostics.h"
#include "core/result.h"

namespace reprise::pytorch {

// The text of the "schema" member. Bad input if there is none, if it is no version, or of another
// major version. A version that is not known but of the same major one is read and counted
// (`host_schema_newer`): the fields say where they are, versions only ever added some.
[[nodiscard]] Result<std::string> CheckHostSchema(const TextFile& file, const SplitJson& json,
                                                  Diagnostics& diagnostics);

}  // namespace reprise::pytorch
