// Which OpenCL drivers (ICDs) there are: those registered with the ICD loader, those named by the
// user, and those of vendors that lie in their usual places without being registered, as in many
// containers.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/result.h"

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

struct Icd {
  std::string library;  // as given to dlopen
  std::string origin;   // the .icd file, or --icd, or the vendor
  std::string problem;  // why it can't be loaded; empty: it can
};

struct IcdSearch {
  std::string registry;
  std::vector<Icd> registered;
  std::vector<Icd> named;               // by the user
  std::vector<Icd> found;               // in a usual place, not registered
  bool looked_around = true;            // false: all is registered, or the registry was chosen
  std::vector<std::string> looked_for;  // "NVIDIA libnvidia-opencl.so.1"
  struct Place {
    std::string directory;
    bool exists;
  };
  std::vector<Place> looked_in;
};

// Loads a driver's library for good and returns why it could not.
using LoadIcd = std::function<std::string(const std::string& library)>;
[[nodiscard]] std::string LoadIcdLibrary(const std::string& library);

// `named`: libraries, .icd files or directories of those, each of which must be usable.
[[nodiscard]] Result<IcdSearch> SearchIcds(const IcdPlaces& places,
                                           const std::vector<std::string>& named,
                                           const LoadIcd& load = LoadIcdLibrary);

// All that can be loaded, each once: what a registry with everything in it would have.
[[nodiscard]] std::vector<std::string> UsableLibraries(const IcdSearch& search);

}  // namespace reprise
