#include "cli/replay_parts.h"

#include "collectives/transport/mpi_version.h"

namespace reprise {

ReplayParts PartsOfReplay() { return {.parts = "all", .mpi = MpiLibraryVersion()}; }

}  // namespace reprise
