// What `reprise machine measure` measures: this machine, as ranks of a job see it that all compute
// at the same time.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "collectives/communicator.h"
#include "core/result.h"

namespace reprise {

struct MeasureOptions {
  std::string name;                       // of the machine
  int repeats = 5;                        // of a kernel; the fastest counts
  std::int64_t min_time_ns = 20'000'000;  // all repeats of one kernel together
  std::int64_t max_run_ns = 200'000'000;  // kernels whose one run takes longer are left out
  std::string conditions;                 // what the references add
};

// Collective: every rank measures its kernels while the others do, then the transfers between them.
// The same machine file on every rank, of rank 0's kernels. Environment errors, those of any rank.
[[nodiscard]] Result<nlohmann::ordered_json> MeasureMachine(Communicator& communicator,
                                                            const MeasureOptions& options);

}  // namespace reprise
