// What every replay, dry run and prediction of a set is asked for, and how it ends.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "report/run/provenance.h"

namespace reprise {

struct RunRequest {
  std::string set_directory;
  std::string run_directory;  // created; refused if it holds a run, unless `force`
  bool force = false;
  std::string command_line;  // for the manifest
  // What the run keeps of who made it, where and when. Nothing: kNone for an anonymized set, else
  // kFull.
  std::optional<Provenance> provenance;
};

struct ReplayOutcome {
  std::int64_t checked_transfers = 0;    // on this rank; --check
  std::vector<std::string> notes;        // for the user: which part of the set was replayed
  std::vector<std::int32_t> ranks = {};  // of this process
};

// Every rank returns the same success or an error of
// the same kind: ranks agree before each stage, and an error while running is raised to all.
// After an error that began while transfers were outstanding, Communicator::AbortNow ends the
// process; `while_running` is then true.
struct ReplayFailure {
  Error error;
  bool while_running = false;
};
using ReplayResult = tl::expected<ReplayOutcome, ReplayFailure>;

}  // namespace reprise
