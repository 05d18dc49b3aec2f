#include "converters/pytorch/host/host_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace reprise::pytorch {
namespace {

constexpr std::array<std::string_view, 8> kKnown = {
    "1.0.0",  // tensors without a device
    "1.0.1",
    "1.0.2-chakra.0.0.4",  // fields in attrs, inputs and outputs as objects, ctrl_deps
    "1.0.3-chakra.0.0.4",  // names of process groups with descriptions
    "1.0.4-chakra.0.0.4",  // kernel_backend, kernel_file
    "1.1.0-chakra.0.0.4",  // record_param_comms as attributes
    "1.1.1-chakra.0.0.4",  // strides
    "1.1.1-chakra.1.0.0",
};

// "1.2.0", "1.1.2-chakra.2.0.0".
bool IsOfThisFamily(std::string_view version) {
  constexpr std::string_view kMajor = "1.";
  if (!version.starts_with(kMajor)) {
    return false;
  }
  const std::string_view numbers = version.substr(0, version.find('-'));
  return numbers.find_first_not_of("0123456789.") == std::string_view::npos &&
         std::count(numbers.begin(), numbers.end(), '.') == 2 && numbers.back() != '.' &&
         numbers.find("..") == std::string_view::npos;
}

}  // namespace

Result<std::string> CheckHostSchema(const TextFile& file, const SplitJson& json,
                                    Diagnostics& diagnostics) {
  if (!json.has_array) {
    return BadInput(
        fmt::format("{}: no \"nodes\" list: not a host execution trace{}", file.path(),
                    json.Member("baseTimeNanoseconds").empty() && json.Member("traceEvents").empty()
                        ? ""
                        : " but a Kineto file; are the two swapped?"));
  }
  const std::string_view raw = json.Member("schema");
  std::string version;
  if (raw.size() >= 2 && raw.front() == '"') {
    version = raw.substr(1, raw.size() - 2);
  }
  if (std::find(kKnown.begin(), kKnown.end(), version) != kKnown.end()) {
    return version;
  }
  if (!IsOfThisFamily(version)) {
    return BadInput(fmt::format(
        "{}: wrong schema {} at byte {}: host traces of schema {} to {} are read; capture again "
        "with a PyTorch that writes one of them",
        file.path(), version.empty() ? "(none)" : version, raw.empty() ? 0 : file.OffsetOf(raw),
        kKnown.front(), kKnown.back()));
  }
  diagnostics.Count("host_schema_newer", fmt::format("{}: schema {}", file.path(), version));
  return version;
}

}  // namespace reprise::pytorch
