// MPI, started as the launcher of this process means it.
#pragma once

#include <memory>

#include "cli/program/commands.h"
#include "collectives/communicator.h"
#include "core/result.h"

namespace reprise {

// Once in a process. Usage error, the same on all ranks, where a launcher started several processes
// and MPI joined none of them (the launcher is of another MPI): each would take itself for rank 0
// of 1.
[[nodiscard]] Result<std::unique_ptr<Communicator>> StartMpi(const CommandContext& context);

}  // namespace reprise
