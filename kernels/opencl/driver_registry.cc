// The registry of drivers that the ICD loader sees in this process.
#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <optional>

#include "core/text.h"
#include "kernels/opencl/icd_search.h"
#include "kernels/opencl/opencl_device.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRegistryVariable = "OCL_ICD_VENDORS";

// As the loader reads them: OCL_ICD_VENDORS before OPENCL_VENDOR_PATH.
IcdPlaces ReadPlaces(const ProcessEnvironment& environment) {
  const auto variable = [&](const char* name) { return environment.Get(name).value_or(""); };
  IcdPlaces places;
  const fs::path standard = places.registry;
  for (const char* name : {"OPENCL_VENDOR_PATH", kRegistryVariable}) {
    if (const std::string value = variable(name); !value.empty()) {
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
  const std::string path = variable("LD_LIBRARY_PATH");
  for (const std::string_view directory : SplitText(path, ':')) {
    if (!directory.empty()) {
      places.directories.emplace_back(directory);
    }
  }
  for (const char* name : {"CUDA_HOME", "CUDA_PATH", "ROCM_PATH"}) {
    if (const std::string value = variable(name); !value.empty()) {
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
  explicit TemporaryRegistry(ProcessEnvironment& environment)
      : environment_(environment), chosen_(environment.Get(kRegistryVariable)) {}
  TemporaryRegistry(const TemporaryRegistry&) = delete;
  TemporaryRegistry& operator=(const TemporaryRegistry&) = delete;
  ~TemporaryRegistry() {
    std::error_code ignored;
    fs::remove_all(directory_, ignored);
    environment_.Set(kRegistryVariable, chosen_);
  }
  Status Fill(const std::vector<std::string>& libraries) {
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
    environment_.Set(kRegistryVariable, name);
    return {};
  }

 private:
  ProcessEnvironment& environment_;
  std::optional<std::string> chosen_;
  fs::path directory_;
};

}  // namespace

Result<DriverSearch> PrepareOpenClDrivers(const std::vector<std::string>& icds,
                                          ProcessEnvironment& environment) {
  REPRISE_ASSIGN(DriverSearch search, SearchIcds(ReadPlaces(environment), icds));
  if (search.named.empty() && search.found.empty()) {
    return search;  // the loader finds the same by itself
  }
  TemporaryRegistry registry(environment);
  REPRISE_TRY(registry.Fill(UsableLibraries(search)));
  (void)ListOpenClDevices();  // what fails here fails again where it is asked for
  return search;
}

}  // namespace reprise
