// Which OpenCL drivers (ICDs) there are: those registered with the ICD loader, those named by the
// user, and those of vendors that lie in their usual places without being registered, as in many
// containers.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/result.h"
#include "kernels/backend.h"

namespace reprise {

// What the environment says of drivers; the caller reads it.
struct IcdPlaces {
  // The loader's registry: a directory of .icd files, one such file, or a library.
  std::filesystem::path registry = "/etc/OpenCL/vendors";
  // Somebody chose the registry: what it has is taken as meant, and only an empty one added to.
  bool registry_is_chosen = false;
  // Where unregistered drivers may lie; the usual places are looked at after these.
  std::vector<std::filesystem::path> directories;
  // Before the usual places, for tests.
  std::filesystem::path root = "/";
};

// Loads a driver's library for good and returns why it could not.
using LoadIcd = std::function<std::string(const std::string& library)>;
[[nodiscard]] std::string LoadIcdLibrary(const std::string& library);

// `named`: libraries, .icd files or directories of those, each of which must be usable.
[[nodiscard]] Result<DriverSearch> SearchIcds(const IcdPlaces& places,
                                              const std::vector<std::string>& named,
                                              const LoadIcd& load = LoadIcdLibrary);

// All that can be loaded, each once: what a registry with everything in it would have.
[[nodiscard]] std::vector<std::string> UsableLibraries(const DriverSearch& search);

// Before the first OpenCL call, which it makes: the loader reads its environment then, and sees the
// drivers that are registered, those of `named`, and those found.
[[nodiscard]] Result<DriverSearch> PrepareOpenClDrivers(const std::vector<std::string>& named,
                                                        ProcessEnvironment& environment);

}  // namespace reprise
