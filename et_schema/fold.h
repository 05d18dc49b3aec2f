// Trace sets into folded captures (folded_set.h), and back.
#pragma once

#include <cstdint>
#include <string>

#include "core/result.h"
#include "et_schema/trace_set.h"

namespace reprise {

struct FoldSummary {
  std::int64_t ranks = 0, classes = 0;
  std::uint64_t bytes_before = 0, bytes_after = 0;  // of files of ranks; of classes and times
};

// Ranks belong to one class if most of their nodes have the same forms (operators, shapes,
// transfers); what they differ in, a file of times has. Writes the files of the ranks that `set`
// has into `directory`, which may be the set's own, without groups and checksums; `name` begins
// theirs. Each rank was read back and compared before this returns. Bad input: the set is folded,
// or a file is damaged.
[[nodiscard]] Result<FoldSummary> FoldInto(const TraceSet& set, const std::string& directory,
                                           const std::string& name);
// A file for each rank. Bad input: `set` is none of FoldInto, or has more ranks than InputLimits
// has files.
[[nodiscard]] Result<FoldSummary> ExpandInto(const TraceSet& set, const std::string& directory,
                                             const std::string& name);

}  // namespace reprise
