// Which files a conversion reads.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "core/result.h"
#include "et_schema/trace_set.h"

namespace reprise::chakra {

enum class Form : std::uint8_t { kNone, kEt, kJson, kLinked };

struct InputFiles {
  std::string name;                           // what comes before the rank
  std::map<std::int32_t, std::string> ranks;  // rank → path
};

// `<name>.<rank>.et` or `<name>.<rank>.json`, each perhaps with .gz or .zst; all of one name and
// one ending, ranks from 0 up.
[[nodiscard]] Result<InputFiles> FindRanks(const std::string& directory);
// The rank in a name like these, -1 if there is none.
[[nodiscard]] std::int32_t RankInName(const std::string& path);
// The process groups that a file beside the traces lists: `comm_groups.json`, `comm_group.json`,
// `<name>.json`, or whichever other JSON file is an object of ids and lists of ranks. Empty: there
// is none. Bad input, naming them: several others.
[[nodiscard]] Result<std::map<std::string, ProcessGroup>> GroupsBeside(const std::string& directory,
                                                                       const std::string& name);
// By content; reads the first kilobytes.
[[nodiscard]] Form FormOf(const std::string& path);
// A file of a form other than kNone, or a directory with such files. Trace sets of ours look so
// too; converting them is refused.
[[nodiscard]] bool LooksLikeChakra(const std::string& path);

}  // namespace reprise::chakra
