// Whether a run's database is made as this program makes it.
#pragma once

#include <cstdint>
#include <string>

#include "core/sqlite/database.h"

namespace reprise {

// The version of the schema of the file at `path`. Bad input where this program does not read it,
// and where the file has a view of another definition than RankViews(), a trigger, or a table of a
// module or with computed columns: reading would run somebody else's query, which need not end.
[[nodiscard]] Result<std::int64_t> CheckSchema(Database& database, const std::string& path);

}  // namespace reprise
