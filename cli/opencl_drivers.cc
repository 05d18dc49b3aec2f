#include "cli/opencl_drivers.h"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <optional>

#include "cli/environment.h"
#include "kernels/device.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRegistryVariable = "OCL_ICD_VENDORS";

// As the loader reads them: OCL_ICD_VENDORS before OPENCL_VENDOR_PATH.
IcdPlaces ReadPlaces() {
  IcdPlaces places;
  const fs::path standard = places.registry;
  for (const char* name : {"OPENCL_VENDOR_PATH", kRegistryVariable}) {
    if (const std::string value = Environment(name); !value.empty()) {
      places.registry = value;
      places.registry_is_chosen = true;
    }
  }
  // "nvidia.icd" is one of those registered.
  std::error_code ignored;
  if (places.registry.extension() == ".icd" && !places.registry.has_parent_path() &&
      fs::exists(standard / places.registry, ignored)) {
    places.registry = standard / places.registry;
  }
  const std::string path = Environment("LD_LIBRARY_PATH");
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    if (end > begin) {
      places.directories.emplace_back(path.substr(begin, end - begin));
    }
    begin = end + 1;
  }
  for (const char* name : {"CUDA_HOME", "CUDA_PATH", "ROCM_PATH"}) {
    if (const std::string value = Environment(name); !value.empty()) {
      for (const char* sub : {"lib64", "lib", "compat"}) {
        places.directories.emplace_back(fs::path(value) / sub);
      }
    }
  }
  return places;
}

// A registry for one process, gone when the loader has read it.
class TemporaryRegistry {
 public:
  ~TemporaryRegistry() {
    std::error_code ignored;
    fs::remove_all(directory_, ignored);
    if (chosen_) {
      setenv(kRegistryVariable, chosen_->c_str(), 1);
    } else {
      unsetenv(kRegistryVariable);
    }
  }
  Status Fill(const std::vector<std::string>& libraries) {
    if (const char* chosen = std::getenv(kRegistryVariable)) {
      chosen_ = chosen;
    }
    std::error_code ignored;
    std::string name = (fs::temp_directory_path(ignored) / "reprise_icd_XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) {
      return EnvironmentError(
          fmt::format("could not make {}, where OpenCL drivers are listed for the ICD loader; set "
                      "TMPDIR to a directory that can be written",
                      name));
    }
    directory_ = name;
    for (std::size_t i = 0; i < libraries.size(); ++i) {
      std::ofstream file(directory_ / fmt::format("{:03}.icd", i));
      file << libraries[i] << "\n";
      if (!file.flush()) {
        return EnvironmentError(fmt::format("could not write to {}: is the disk full?", name));
      }
    }
    setenv(kRegistryVariable, name.c_str(), 1);
    return {};
  }

 private:
  fs::path directory_;
  std::optional<std::string> chosen_;
};

}  // namespace

void AddIcdOption(CLI::App& app, std::vector<std::string>& icds) {
  app.add_option(
         "--icd", icds,
         "OpenCL driver that is not registered: its library, an .icd file, or a directory of "
         "those")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

Result<IcdSearch> PrepareOpenClDrivers(const std::vector<std::string>& icds) {
  REPRISE_ASSIGN(IcdSearch search, SearchIcds(ReadPlaces(), icds));
  if (search.named.empty() && search.found.empty()) {
    return search;  // the loader finds the same by itself
  }
  TemporaryRegistry registry;
  REPRISE_TRY(registry.Fill(UsableLibraries(search)));
  (void)ListDevices("opencl");  // what fails here fails again where it is asked for
  return search;
}

}  // namespace reprise
