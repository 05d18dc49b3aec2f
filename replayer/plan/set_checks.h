// What makes a trace set one that replays, checked file by file and between ranks: for `validate`,
// and for `convert`, of what it wrote.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/processes.h"
#include "core/result.h"
#include "et_schema/graph.h"
#include "et_schema/trace_set.h"

namespace reprise {

struct SetFindings {
  std::uint64_t nodes = 0, edges = 0;
  std::vector<std::string> errors;    // it does not replay
  std::vector<std::string> warnings;  // it does; something was lost
  std::vector<Graph> graphs;          // of the files, if all could be read
};

// Each file on its own. Bad input: a file is damaged, or no trace; what is wrong with its content
// is a finding. Shared by `processes`, all get the findings, and graphs are of the own share.
[[nodiscard]] Status CheckFiles(const std::vector<std::string>& files, SetFindings& findings,
                                Processes& processes = OneProcess());

// All of a set: its files, and if these are sound, its transfers. Shared as CheckTransfers is.
[[nodiscard]] Result<SetFindings> CheckSet(const TraceSet& set,
                                           Processes& processes = OneProcess());

// Whether the ranks agree on their transfers, by `findings.graphs` of one rank of each class. Not
// of folded sets it may be shared: then the first process gets what is found.
[[nodiscard]] Status CheckTransfers(const TraceSet& set, SetFindings& findings,
                                    Processes& processes = OneProcess());

}  // namespace reprise
