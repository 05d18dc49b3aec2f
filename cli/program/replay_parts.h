// What of this build replays: the part of the program that -DREPRISE_REPLAY=OFF leaves out
// (cmake/without_replay.cmake). Of the two files that define these, a build has one.
#pragma once

#include <string>

namespace reprise {

struct ReplayParts {
  std::string parts;  // "replay", or that it is left out; for --version
  std::string mpi;    // the library that is loaded, or "none"
};
[[nodiscard]] ReplayParts PartsOfReplay();

}  // namespace reprise
