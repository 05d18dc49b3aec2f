#include "predict/machine/like.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/nearest.h"
#include "core/shown_text.h"
#include "predict/machine/described_file.h"
#include "predict/machine/embedded_machines.h"

namespace reprise {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kLike[] = "like";

bool IsNumber(const Json& json) { return json.is_object() && json.contains("value"); }

Status Merge(const Json& from, const std::string& path, Json& into) {
  for (const auto& [key, value] : from.items()) {
    const std::string at = path.empty() ? key : fmt::format("{}.{}", path, key);
    const auto there = into.find(key);
    if (value.is_null()) {
      if (there == into.end()) {
        return BadInput(
            fmt::format("{}: null removes what the other machine has, and it has none; remove the "
                        "line",
                        ShownText(at)));
      }
      into.erase(key);
    } else if (value.is_object() && !IsNumber(value) && there != into.end() && there->is_object() &&
               !IsNumber(*there)) {
      REPRISE_TRY(Merge(value, at, *there));
    } else {
      into[key] = value;
    }
  }
  return {};
}

// Numbers that were measured on another device, or fitted to it.
void MakeDefaults(const std::string& machine, Json& json) {
  for (auto& [key, value] : json.items()) {
    if (!value.is_object()) {
      continue;
    }
    if (!IsNumber(value)) {
      MakeDefaults(machine, value);
    } else if (value.at("source") == "measured" || value.at("source") == "fitted") {
      value["source"] = "default";
      value["reference"] =
          fmt::format("as {}: {}", machine, value.at("reference").get<std::string>());
    }
  }
}

// Whether the file is of the device that the other machine has.
bool IsOfDevice(const Json& json, const Json& base) {
  const auto device = json.find("device");
  const bool named = device != json.end() && device->is_object() && device->contains("name");
  return !named || device->at("name") == base.at("device").at("name");
}

Result<Json> BaseOf(const Json& json) {
  REPRISE_ASSIGN(const std::string name, ReadText(json, kLike, kLike));
  const std::vector<std::string> names = BuiltInNames(EmbeddedMachines());
  if (std::ranges::find(names, name) == names.end()) {
    return BadInput(
        fmt::format("like: no built-in machine '{}'{}; `reprise list machines` lists them",
                    ShownText(name), DidYouMean(name, names)));
  }
  REPRISE_ASSIGN(const DescribedText file,
                 ReadBuiltInOrFile(EmbeddedMachines(), name, kMachineFile));
  REPRISE_ASSIGN(Json base, ParseDescribed(file.text, file.origin, kMachineFile));
  REPRISE_ASSIGN(base, WithLike(std::move(base), file.origin));
  if (!IsOfDevice(json, base)) {
    MakeDefaults(name, base);
    base.erase("fits");
    base.erase("calibration");
    base["device"].erase("recorded_as");
  }
  for (const char* const own : {"format", "version", "name", "about"}) {
    base.erase(own);
  }
  return base;
}

}  // namespace

Result<Json> WithLike(Json json, const std::string& origin) {
  if (!json.contains(kLike)) {
    return json;
  }
  Result<Json> base = BaseOf(json);
  json.erase(kLike);
  const Status merged = base ? Merge(json, "", *base) : tl::unexpected<Error>(base.error());
  if (!merged) {
    return BadInput(fmt::format("{}: {}", origin, merged.error().message));
  }
  return base;
}

}  // namespace reprise
