#include "cli/program/replay_parts.h"

#include "collectives/communicator.h"

namespace reprise {

ReplayParts PartsOfReplay() { return {.parts = "all", .mpi = MpiLibraryVersion()}; }

}  // namespace reprise
