// What this program is: for --version, bug reports and whoever compares measurements.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace reprise {

// Where kernels can run, as kernels/device.h names the backends.
inline constexpr std::array<std::string_view, 2> kBackends = {"opencl", "host"};

// Several lines; the first is "reprise <version>", the others "<what>  <facts>": commit, compiler,
// backends, telemetry sources, MPI library as loaded, other libraries as built with.
[[nodiscard]] std::string VersionText();

}  // namespace reprise
