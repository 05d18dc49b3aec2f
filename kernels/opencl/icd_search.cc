#include "kernels/opencl/icd_search.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <fstream>

namespace reprise {
namespace {

namespace fs = std::filesystem;

struct Vendor {
  const char* name;
  const char* library;
  bool gpu;
};
constexpr Vendor kVendors[] = {
    {"NVIDIA", "libnvidia-opencl.so.1", true},
    {"AMD", "libamdocl64.so", true},
    {"Intel GPU", "libigdrcl.so", true},
    {"Intel CPU", "libintelocl.so", false},
};

// A trailing * stands for the rest of a file name.
constexpr const char* kUsualPlaces[] = {
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu/nvidia/current",
    "/usr/lib/x86_64-linux-gnu/intel-opencl",
    "/usr/lib64",
    "/usr/lib64/intel-opencl",
    "/usr/lib",
    "/usr/local/nvidia/lib64",
    "/usr/local/cuda/compat",
    "/opt/rocm/lib",
    "/opt/rocm-*/lib",
    "/opt/rocm/opencl/lib",
    "/opt/intel/oneapi/compiler/latest/lib",
    "/run/opengl-driver/lib",
    "/usr/lib/wsl/lib",
};

std::vector<fs::path> Files(const fs::path& directory) {
  std::vector<fs::path> files;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(directory, ignored)) {
    files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// "/opt/rocm-*/lib" → /opt/rocm-6.0.2/lib, …; itself where nothing matches, to be shown.
std::vector<fs::path> Expand(const fs::path& root, const std::string& place) {
  const std::size_t star = place.find('*');
  if (star == std::string::npos) {
    return {root / fs::path(place).relative_path()};
  }
  const fs::path prefix = root / fs::path(place.substr(0, star)).relative_path();
  std::vector<fs::path> places;
  for (const fs::path& file : Files(prefix.parent_path())) {
    if (file.filename().string().starts_with(prefix.filename().string())) {
      places.push_back(file / fs::path(place.substr(star + 1)).relative_path());
    }
  }
  return places.empty() ? std::vector<fs::path>{root / fs::path(place).relative_path()} : places;
}

// The first line of an .icd file: a library's name or path.
std::string LibraryOf(const fs::path& icd_file) {
  std::string line;
  std::ifstream(icd_file) >> line;
  return line;
}

Driver Try(const std::string& library, const std::string& origin, const LoadIcd& load) {
  return {library, origin,
          library.empty() ? "the file names no library on its first line" : load(library)};
}

// A directory's .icd files, one .icd file, or a library.
std::vector<Driver> Read(const fs::path& path, const std::string& origin, const LoadIcd& load) {
  std::error_code ignored;
  std::vector<Driver> icds;
  if (fs::is_directory(path, ignored)) {
    for (const fs::path& file : Files(path)) {
      if (file.extension() == ".icd") {
        icds.push_back(Try(LibraryOf(file), file.string(), load));
      }
    }
  } else if (path.extension() == ".icd") {
    icds.push_back(Try(LibraryOf(path), path.string(), load));
  } else {
    icds.push_back(Try(path.string(), origin, load));
  }
  return icds;
}

bool IsUsable(const std::vector<Driver>& icds, const std::string& library) {
  return std::any_of(icds.begin(), icds.end(), [&](const Driver& icd) {
    // "libpocl.so.2.10.0" is also "libpocl.so".
    return icd.problem.empty() &&
           fs::path(icd.library).filename().string().starts_with(fs::path(library).stem().string());
  });
}

void LookAround(const IcdPlaces& places, const LoadIcd& load, DriverSearch& search) {
  std::vector<fs::path> directories = places.directories;
  for (const char* place : kUsualPlaces) {
    for (fs::path& directory : Expand(places.root, place)) {
      if (std::find(directories.begin(), directories.end(), directory) == directories.end()) {
        directories.push_back(std::move(directory));
      }
    }
  }
  for (const fs::path& directory : directories) {
    std::error_code ignored;
    search.looked_in.push_back({directory.string(), fs::is_directory(directory, ignored)});
  }
  const bool any = std::any_of(search.registered.begin(), search.registered.end(),
                               [](const Driver& icd) { return icd.problem.empty(); });
  for (const Vendor& vendor : kVendors) {
    // Another CPU driver beside one that is registered would only change the devices' numbers.
    if ((any && !vendor.gpu) || IsUsable(search.registered, vendor.library) ||
        IsUsable(search.named, vendor.library)) {
      continue;
    }
    search.looked_for.push_back(fmt::format("{} {}", vendor.name, vendor.library));
    for (const fs::path& directory : directories) {
      const fs::path file = directory / vendor.library;
      std::error_code ignored;
      if (fs::exists(file, ignored)) {
        search.found.push_back(Try(file.string(), vendor.name, load));
        if (search.found.back().problem.empty()) {
          break;
        }
      }
    }
  }
}

// NVIDIA's driver opens its parts by their names only: loaded before it, from beside it, they are
// found where the dynamic loader does not look.
void LoadCompanions(const fs::path& library) {
  if (!library.filename().string().starts_with("libnvidia-opencl")) {
    return;
  }
  for (const char* name : {"libnvidia-gpucomp.so.", "libcuda.so.1", "libnvidia-ptxjitcompiler.so.1",
                           "libnvidia-nvvm.so.", "libnvidia-nvvm70.so."}) {
    for (const fs::path& file : Files(library.parent_path())) {
      if (file.filename().string().starts_with(name)) {
        (void)dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL);
      }
    }
  }
}

}  // namespace

std::string LoadIcdLibrary(const std::string& library) {
  if (library.find('/') != std::string::npos) {
    LoadCompanions(library);
  }
  void* handle = dlopen(library.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* error = dlerror();
    return error == nullptr ? "it can't be loaded" : error;
  }
  // Exported by every driver that an ICD loader can use.
  if (dlsym(handle, "clGetExtensionFunctionAddress") == nullptr &&
      dlsym(handle, "clIcdGetPlatformIDsKHR") == nullptr) {
    return "it is no OpenCL driver: it has no clGetExtensionFunctionAddress";
  }
  return "";
}

Result<DriverSearch> SearchIcds(const IcdPlaces& places, const std::vector<std::string>& named,
                                const LoadIcd& load) {
  DriverSearch search;
  search.registry = places.registry.string();
  for (const std::string& name : named) {
    std::error_code ignored;
    if (name.find('/') != std::string::npos && !fs::exists(name, ignored)) {
      return UsageError(fmt::format("--icd {}: there is no such file", name));
    }
    std::vector<Driver> icds = Read(name, "--icd", load);
    if (icds.empty()) {
      return UsageError(fmt::format("--icd {}: the directory has no .icd file", name));
    }
    for (Driver& icd : icds) {
      if (!icd.problem.empty()) {
        return EnvironmentError(fmt::format(
            "--icd {}: {}; expected a vendor's OpenCL library, such as libnvidia-opencl.so.1, or "
            "an .icd file that names one",
            name, icd.problem));
      }
      search.named.push_back(std::move(icd));
    }
  }
  std::error_code ignored;
  if (fs::exists(places.registry, ignored) || places.registry_is_chosen) {
    search.registered = Read(places.registry, places.registry.string(), load);
  }
  search.looked_around = !places.registry_is_chosen || search.registered.empty();
  if (search.looked_around) {
    LookAround(places, load, search);
  }
  return search;
}

std::vector<std::string> UsableLibraries(const DriverSearch& search) {
  std::vector<std::string> libraries;
  std::vector<void*> handles;
  for (const auto* icds : {&search.registered, &search.named, &search.found}) {
    for (const Driver& icd : *icds) {
      if (!icd.problem.empty()) {
        continue;
      }
      // The same library by two names has one handle; its devices would be listed twice.
      void* handle = dlopen(icd.library.c_str(), RTLD_LAZY | RTLD_NOLOAD);
      if (handle == nullptr || std::find(handles.begin(), handles.end(), handle) == handles.end()) {
        libraries.push_back(icd.library);
        handles.push_back(handle);
      }
    }
  }
  return libraries;
}

}  // namespace reprise
