#include "kernels/bench/tuning_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "core/input_file.h"
#include "core/json_fields.h"
#include "core/parse_json.h"
#include "kernels/ops/products/gemm_tiles.h"

namespace reprise {

inline void to_json(Json& json, const TunedGemm& one) {
  REPRISE_ADD_FIELDS(json, one, program, dtype, layout, size)
  if (one.program == "gemm_cpu") {
    REPRISE_ADD_FIELDS(json["tile"], one.tile, n, k)
  } else {
    REPRISE_ADD_FIELDS(json["tile"], one.tile, m, n, k, warp_m, warp_n, stages)
  }
}
REPRISE_JSON_FIELDS(DeviceTuning, device, driver, gemm)

namespace {

constexpr const char* kMark = "reprise_tuning";
constexpr int kTuningVersion = 1;

// Absent fields stay 0, unknown ones are refused: a misspelt one would be ignored.
Result<GemmTile> ParseTile(const Json& json) {
  static const std::map<std::string_view, int GemmTile::*> fields = {
      {"m", &GemmTile::m},           {"n", &GemmTile::n},           {"k", &GemmTile::k},
      {"warp_m", &GemmTile::warp_m}, {"warp_n", &GemmTile::warp_n}, {"stages", &GemmTile::stages}};
  GemmTile tile;
  for (const auto& [key, value] : json.items()) {
    const auto field = fields.find(key);
    if (field == fields.end()) {
      return BadInput(fmt::format("a tile has no '{}'", key));
    }
    const auto number = value.get<std::int64_t>();
    if (!value.is_number_integer() || number < 0 || number > 4096) {
      return BadInput(
          fmt::format("{} is {}: whole numbers up to 4096 are possible", key, value.dump()));
    }
    tile.*field->second = static_cast<int>(number);
  }
  return tile;
}

Result<TunedGemm> ParseGemm(const Json& json) {
  TunedGemm one;
  one.program = json.at("program").get<std::string>();
  one.dtype = ParseDType(json.at("dtype").get<std::string>());
  one.layout = json.at("layout").get<std::string>();
  one.size = json.at("size").get<std::string>();
  if (!IsGemmLayout(one.layout)) {
    return BadInput(fmt::format("'{}' is no layout: nn, nt, tn, tt", one.layout));
  }
  if (!IsGemmSizeClass(one.size)) {
    return BadInput(fmt::format("'{}' is no size: small, medium, large", one.size));
  }
  REPRISE_ASSIGN(one.tile, ParseTile(json.at("tile")));
  REPRISE_TRY(CheckGemmTile(one.program, one.dtype, one.tile));
  return one;
}

Result<DeviceTuning> ParseDevice(const Json& json) {
  DeviceTuning device;
  device.device = json.at("device").get<std::string>();
  device.driver = json.at("driver").get<std::string>();
  const Json& gemm = json.at("gemm");
  for (std::size_t i = 0; i < gemm.size(); ++i) {
    Result<TunedGemm> one = ParseGemm(gemm.at(i));
    if (!one) {
      return BadInput(fmt::format("entry {} of {}: {}", i, device.device, one.error().message));
    }
    device.gemm.push_back(std::move(*one));
  }
  return device;
}

bool SameKind(const TunedGemm& a, const TunedGemm& b) {
  return a.program == b.program && a.dtype == b.dtype && a.layout == b.layout && a.size == b.size;
}

}  // namespace

Result<std::vector<DeviceTuning>> ReadTuningFile(const std::string& path) {
  REPRISE_ASSIGN(const std::string text, ReadJsonText(path));
  return ParseTuning(text, path);
}

Result<std::vector<DeviceTuning>> ParseTuning(const std::string& text, const std::string& name) {
  const auto refuse = [&](std::string_view why) {
    return BadInput(
        fmt::format("{}: {}; remove it, write it anew with reprise tune, or give "
                    "--tuning none",
                    name, why));
  };
  try {
    const Json json = ParseJson<Json>(text);
    if (!json.is_object() || !json.contains(kMark)) {
      return refuse("this is no tuning file");
    }
    if (json.at(kMark) != kTuningVersion) {
      return refuse(
          fmt::format("version {} is not known, only {}", json.at(kMark).dump(), kTuningVersion));
    }
    std::vector<DeviceTuning> devices;
    for (const Json& one : json.at("devices")) {
      Result<DeviceTuning> device = ParseDevice(one);
      if (!device) {
        return refuse(device.error().message);
      }
      devices.push_back(std::move(*device));
    }
    return devices;
  } catch (const Json::exception& error) {
    return refuse(error.what());
  }
}

Json TuningJson(const std::vector<DeviceTuning>& devices) {
  return {{kMark, kTuningVersion}, {"devices", devices}};
}

void MergeTuning(const DeviceTuning& measured, std::vector<DeviceTuning>& devices) {
  const auto it = std::ranges::find_if(devices, [&](const DeviceTuning& device) {
    return device.device == measured.device && device.driver == measured.driver;
  });
  if (it == devices.end()) {
    devices.push_back(measured);
    return;
  }
  for (const TunedGemm& one : measured.gemm) {
    const auto same =
        std::ranges::find_if(it->gemm, [&](const TunedGemm& old) { return SameKind(old, one); });
    if (same == it->gemm.end()) {
      it->gemm.push_back(one);
    } else {
      *same = one;
    }
  }
}

}  // namespace reprise
