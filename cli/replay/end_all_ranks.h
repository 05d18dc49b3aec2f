// How a command ends on all ranks for one reason.
#pragma once

#include "collectives/communicator.h"
#include "core/result.h"

namespace reprise {

// Every rank calls it with what all agreed on: the first prints it, then all processes of the job
// end with its exit code, which is returned where this process has to end by itself.
[[nodiscard]] int EndAllRanks(const Error& error, Communicator& communicator);

}  // namespace reprise
