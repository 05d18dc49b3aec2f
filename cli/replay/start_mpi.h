// MPI, started as the launcher of this process means it.
#pragma once

#include <memory>

#include "cli/program/commands.h"
#include "collectives/communicator.h"
#include "core/result.h"

namespace reprise {

// Once in a process. Usage error, the same on all ranks, where a launcher started several processes
// and this MPI joined none of them, because the launcher is of another MPI: each would run as rank
// 0 of 1.
[[nodiscard]] Result<std::unique_ptr<Communicator>> StartMpi(const CommandContext& context);

}  // namespace reprise
