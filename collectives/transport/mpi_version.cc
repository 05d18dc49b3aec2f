#include "collectives/transport/mpi_version.h"

#include <mpi.h>

#include <array>

namespace reprise {

std::string MpiLibraryVersion() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  if (MPI_Get_library_version(text.data(), &length) != MPI_SUCCESS) {
    return "unknown";
  }
  const std::string all(text.data(), static_cast<std::size_t>(length));
  // "Open MPI v4.1.4, package: Debian OpenMPI, ident: …", others go on in a second line.
  return all.substr(0, all.find_first_of(",\n"));
}

}  // namespace reprise
