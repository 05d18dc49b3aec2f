#include "converters/anonymize/policy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "converters/anonymize/embedded.h"
#include "converters/anonymize/keyed_hash.h"
#include "core/input_file.h"

namespace reprise {
namespace {

constexpr std::array<std::string_view, kActionCount> kActionNames = {"drop", "keep", "map",
                                                                     "coarsen"};
struct FieldRow {
  std::string_view name, actions;
};
constexpr std::array<FieldRow, kFieldCount> kFields = {{
#define FIELD(symbol, name, actions) {name, actions},
#include "converters/anonymize/fields.def"
#undef FIELD
}};

bool Allows(const FieldRow& row, Action action) {
  return row.actions.find(Name(action).front()) != std::string_view::npos;
}

std::string AllowedActions(const FieldRow& row) {
  std::vector<std::string_view> names;
  std::copy_if(kActionNames.begin(), kActionNames.end(), std::back_inserter(names),
               [&](std::string_view name) {
                 return row.actions.find(name.front()) != std::string_view::npos;
               });
  return fmt::format("{}", fmt::join(names, ", "));
}

Status SetAction(const std::string& key, const std::string& value, const std::string& origin,
                 Policy& policy) {
  const auto field = std::find_if(kFields.begin(), kFields.end(),
                                  [&](const FieldRow& row) { return row.name == key; });
  if (field == kFields.end()) {
    return BadInput(
        fmt::format("{}: no field is called \"{}\" (docs/policies.md lists them)", origin, key));
  }
  const auto action = std::find(kActionNames.begin(), kActionNames.end(), value);
  const auto number = static_cast<std::size_t>(action - kActionNames.begin());
  if (action == kActionNames.end() || !Allows(*field, static_cast<Action>(number))) {
    return BadInput(fmt::format("{}: field \"{}\" cannot be \"{}\", expected one of: {}", origin,
                                key, value, AllowedActions(*field)));
  }
  policy.actions.at(static_cast<std::size_t>(field - kFields.begin())) =
      static_cast<Action>(number);
  return {};
}

Status CheckRequired(const std::string& origin, const Policy& policy) {
  for (std::size_t i = 0; i < kFieldCount; ++i) {
    if (policy.actions[i] == Action::kDrop && !Allows(kFields[i], Action::kDrop)) {
      return BadInput(
          fmt::format("{}: \"{}\" is missing, without which a trace is none; give one "
                      "of: {}",
                      origin, kFields[i].name, AllowedActions(kFields[i])));
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

std::string_view Name(Action action) { return kActionNames.at(static_cast<std::size_t>(action)); }
std::string_view Name(Field field) { return kFields.at(static_cast<std::size_t>(field)).name; }

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
    const char* const end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data() + kGridPrefix.size(), end, rounding.grid);
    // Beyond a day, or a dimension of 2^46, a grid leaves nothing.
    constexpr std::int64_t kMostGrid = 86'400'000'000'000;
    if (error == std::errc{} && at == end && rounding.grid >= 1 && rounding.grid <= kMostGrid) {
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
    const nlohmann::json json = nlohmann::json::parse(text);
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

std::vector<std::string> PolicyPresets() { return {"replay", "simulate", "statistics"}; }

Result<std::string> PolicyText(std::string_view preset) {
  for (const EmbeddedText& file : EmbeddedTexts()) {
    if (file.name == std::string(preset) + ".json") {
      return std::string(file.text);
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
