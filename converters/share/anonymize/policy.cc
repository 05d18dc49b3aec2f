#include "converters/share/anonymize/policy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "converters/share/anonymize/keyed_hash.h"
#include "core/input_file.h"
#include "core/parse_json.h"
#include "core/text.h"
#include "et_schema/shared_fields.h"

namespace reprise {
namespace {

// Actions by the letters of a SharingRule.
constexpr std::string_view kActionLetters = "dkmc";

// In the order of SharingRule::presets.
struct Preset {
  std::string_view name, description, durations;
};
constexpr std::array<Preset, 3> kPresets = {
    {{"replay",
      "Replays as the original does; names of one's own, identities, places and absolute times are "
      "gone.",
      "keep"},
     {"simulate",
      "For simulators and dry runs: graph, times and transfers, without arguments and names.",
      "keep"},
     {"statistics", "Times and bytes by class of operation, without a graph.", "grid:1000"}}};

bool Allows(const SharedField& row, Action action) {
  return row.sharing.may.find(kActionLetters[static_cast<std::size_t>(action)]) !=
         std::string_view::npos;
}

std::string AllowedActions(const SharedField& row) {
  std::vector<std::string_view> names;
  for (std::size_t action = 0; action < kActionCount; ++action) {
    if (Allows(row, static_cast<Action>(action))) {
      names.push_back(Name(static_cast<Action>(action)));
    }
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

Status SetAction(const std::string& key, const std::string& value, const std::string& origin,
                 Policy& policy) {
  const auto field = std::ranges::find(kSharedFields, key, &SharedField::name);
  if (field == kSharedFields.end()) {
    return BadInput(
        fmt::format("{}: no field is called \"{}\" (docs/policies.md lists them)", origin, key));
  }
  const std::optional<Action> action = ParseName<Action>(value);
  if (!action || !Allows(*field, *action)) {
    return BadInput(fmt::format("{}: field \"{}\" cannot be \"{}\", expected one of: {}", origin,
                                key, value, AllowedActions(*field)));
  }
  policy.actions.at(static_cast<std::size_t>(field - kSharedFields.begin())) = *action;
  return {};
}

Status CheckRequired(const std::string& origin, const Policy& policy) {
  for (std::size_t i = 0; i < kFieldCount; ++i) {
    if (policy.actions[i] == Action::kDrop && !Allows(kSharedFields[i], Action::kDrop)) {
      return BadInput(
          fmt::format("{}: \"{}\" is missing, without which a trace is none; give one "
                      "of: {}",
                      origin, kSharedFields[i].name, AllowedActions(kSharedFields[i])));
    }
  }
  return {};
}

Result<Rounding> RoundingOf(const nlohmann::json& json, const std::string& key,
                            const std::string& origin) {
  auto rounding = ParseRounding(json.value(key, "keep"));
  if (!rounding) {
    return BadInput(fmt::format("{}: \"{}\": {}", origin, key, rounding.error().message));
  }
  return rounding;
}

}  // namespace

std::string_view Name(Field field) {
  return kSharedFields.at(static_cast<std::size_t>(field)).name;
}

Result<Rounding> ParseRounding(std::string_view text) {
  constexpr std::string_view kGridPrefix = "grid:";
  if (text == "keep") {
    return Rounding{};
  }
  if (text == "scale") {
    return Rounding{.kind = Rounding::Kind::kScale};
  }
  Rounding rounding{.kind = Rounding::Kind::kGrid};
  if (text.starts_with(kGridPrefix)) {
    rounding.grid = ParseNumber<std::int64_t>(text.substr(kGridPrefix.size())).value_or(0);
    // Beyond a day, or a dimension of 2^46, a grid leaves nothing.
    constexpr std::int64_t kMaxGrid = 86'400'000'000'000;
    if (rounding.grid >= 1 && rounding.grid <= kMaxGrid) {
      return rounding;
    }
  }
  return UsageError(
      fmt::format("'{}' is none of keep, grid:N with a whole N above 0, scale", text));
}

std::string Name(const Rounding& rounding) {
  switch (rounding.kind) {
    case Rounding::Kind::kKeep:
      return "keep";
    case Rounding::Kind::kGrid:
      return fmt::format("grid:{}", rounding.grid);
    case Rounding::Kind::kScale:
      return "scale";
  }
  return "keep";
}

Result<Policy> Policy::Parse(const std::string& text, const std::string& origin) {
  Policy policy;
  try {
    const nlohmann::json json = ParseJson<nlohmann::json>(text);
    for (const auto& [key, value] : json.items()) {
      constexpr std::string_view kKeys[] = {"name", "description", "durations", "shapes", "fields"};
      if (std::find(std::begin(kKeys), std::end(kKeys), key) == std::end(kKeys)) {
        return BadInput(
            fmt::format("{}: \"{}\" is none of {}", origin, key, fmt::join(kKeys, ", ")));
      }
    }
    policy.name = json.at("name").get<std::string>();
    policy.description = json.value("description", "");
    REPRISE_ASSIGN(policy.durations, RoundingOf(json, "durations", origin));
    REPRISE_ASSIGN(policy.shapes, RoundingOf(json, "shapes", origin));
    for (const auto& [key, value] : json.at("fields").items()) {
      REPRISE_TRY(SetAction(key, value.get<std::string>(), origin, policy));
    }
  } catch (const nlohmann::json::exception& error) {
    return BadInput(fmt::format("{}: no policy: {}", origin, error.what()));
  }
  REPRISE_TRY(CheckRequired(origin, policy));
  policy.sha256 = Sha256(text);
  return policy;
}

std::vector<std::string> PolicyPresets() {
  std::vector<std::string> names;
  names.reserve(kPresets.size());
  for (const Preset& preset : kPresets) {
    names.emplace_back(preset.name);
  }
  return names;
}

Result<std::string> PolicyText(std::string_view preset) {
  for (std::size_t i = 0; i < kPresets.size(); ++i) {
    if (kPresets[i].name == preset) {
      nlohmann::ordered_json json = {{"name", preset},
                                     {"description", kPresets[i].description},
                                     {"durations", kPresets[i].durations},
                                     {"shapes", "keep"}};
      for (const SharedField& row : kSharedFields) {
        json["fields"][row.name] =
            Name(static_cast<Action>(kActionLetters.find(row.sharing.presets[i])));
      }
      return json.dump(1) + "\n";
    }
  }
  return UsageError(fmt::format("no policy is called {}; there are {}", preset,
                                fmt::join(PolicyPresets(), ", ")));
}

Result<Policy> Policy::Load(const std::string& name_or_path) {
  if (auto text = PolicyText(name_or_path)) {
    return Parse(*text, "policy " + name_or_path);
  }
  std::error_code error;
  if (!std::filesystem::exists(name_or_path, error)) {
    return UsageError(fmt::format("{} is neither a policy's file nor one of {}", name_or_path,
                                  fmt::join(PolicyPresets(), ", ")));
  }
  REPRISE_ASSIGN(const std::string text, ReadJsonText(name_or_path));
  return Parse(text, name_or_path);
}

}  // namespace reprise
