#include "replayer/engine/replay_options.h"

#include <fmt/format.h>

#include <optional>

#include "core/text.h"

namespace reprise {

Status ParseDeviceMap(std::string_view text, ReplayOptions& options) {
  DeviceMap& map = options.device_map;
  if (text == "round-robin" || text == "packed") {
    map.kind = text == "packed" ? DeviceMap::Kind::kPacked : DeviceMap::Kind::kRoundRobin;
    return {};
  }
  map.kind = DeviceMap::Kind::kListed;
  for (const std::string_view part : SplitText(text, ',')) {
    const std::size_t colon = part.find(':');
    const auto rank = ParseNumber<int>(part.substr(0, colon));
    const auto device =
        colon == std::string_view::npos ? std::nullopt : ParseNumber<int>(part.substr(colon + 1));
    if (!rank || !device || *rank < 0 || *device < 0) {
      return UsageError(fmt::format(
          "--device-map: '{}': expected round-robin, packed, or LOCAL_RANK:DEVICE,…, e.g. "
          "0:0,1:0,2:1",
          part));
    }
    if (!map.device_of.emplace(*rank, *device).second) {
      return UsageError(fmt::format("--device-map: local rank {} comes twice", *rank));
    }
  }
  return {};
}

}  // namespace reprise
