#include "core/output_path.h"

#include <fmt/format.h>

#include <filesystem>

namespace reprise {

Status CreateParents(const std::string& path) {
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  if (parent.empty()) {
    return {};
  }
  std::error_code error;
  std::filesystem::create_directories(parent, error);
  if (error) {
    return EnvironmentError(fmt::format("{}: the directory cannot be created for {}: {}",
                                        parent.string(), path, error.message()));
  }
  return {};
}

}  // namespace reprise
