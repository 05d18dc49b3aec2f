// A trace set as a folded capture, and back, whole in its own directory.
#pragma once

#include <string>

#include "core/result.h"
#include "et_schema/fold.h"

namespace reprise {

struct FoldRequest {
  std::string set;
  std::string directory;  // of the result
  std::string name;       // of its files; the set's if empty
  bool expand = false;    // one file a rank
  bool force = false;     // replace a directory that holds a trace set
};

// Whether Reprise wrote the trace set in `directory`: nothing in it needs conversion.
[[nodiscard]] bool IsOwnSet(const std::string& directory);

// Nodes, groups, and what else belongs to the set stay as they are. Usage error: `directory` is the
// set itself, or exists. Bad input as FoldInto and ExpandInto have it.
[[nodiscard]] Result<FoldSummary> FoldSet(const FoldRequest& request);

}  // namespace reprise
