// Which MPI library this is.
#pragma once

#include <string>

namespace reprise {

// Name and version of the MPI library that the process has loaded ("Open MPI v4.1.4"). May be
// called before MPI is initialised, and by any thread.
[[nodiscard]] std::string MpiLibraryVersion();

}  // namespace reprise
