// What this program is: for --version, bug reports and comparisons of measurements.
#pragma once

#include <string>

namespace reprise {

// Several lines; the first is "reprise <version>", the others "<what>  <facts>": commit, compiler,
// parts of the program that are in, backends, telemetry sources, MPI library as loaded, other
// libraries as built with.
[[nodiscard]] std::string VersionText();

}  // namespace reprise
