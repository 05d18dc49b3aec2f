#include "predict/machine/described_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/input_file.h"
#include "core/nearest.h"
#include "core/parse_json.h"
#include "core/shown_text.h"

namespace reprise {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kEnding = ".json";
constexpr std::uint64_t kMaxBytes = std::uint64_t{4} << 20;

std::string_view NameOf(const EmbeddedFile& file) {
  return file.name.substr(0, file.name.size() - kEnding.size());
}

}  // namespace

std::vector<std::string> BuiltInNames(std::span<const EmbeddedFile> files) {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : files) {
    names.emplace_back(NameOf(file));
  }
  std::ranges::sort(names);
  return names;
}

Result<DescribedText> ReadBuiltInOrFile(std::span<const EmbeddedFile> files,
                                        const std::string& name_or_path, const FileKind& kind) {
  const auto built_in = std::ranges::find(files, name_or_path, NameOf);
  if (built_in != files.end()) {
    return DescribedText{std::string(built_in->text), fmt::format("{} (built in)", built_in->name)};
  }
  if (name_or_path.find('/') == std::string::npos && !name_or_path.ends_with(kEnding)) {
    const std::string hint = NameHint(name_or_path, BuiltInNames(files));
    return BadInput(fmt::format(
        "no {} '{}'{} `reprise list {}` lists them, and a file of your own ends in "
        ".json ({})",
        kind.what, ShownText(name_or_path), hint.empty() ? ";" : hint, kind.listed, kind.page));
  }
  if (std::error_code error; !std::filesystem::exists(name_or_path, error)) {
    return BadInput(
        fmt::format("{}: no such file; expected a {} file ({}), or a name that `reprise list {}` "
                    "lists",
                    ShownText(name_or_path), kind.what, kind.page, kind.listed));
  }
  REPRISE_ASSIGN(std::string text, ReadJsonText(name_or_path, kMaxBytes));
  return DescribedText{std::move(text), name_or_path};
}

Result<Json> ParseDescribed(std::string_view text, const std::string& origin,
                            const FileKind& kind) {
  REPRISE_TRY(CheckJsonText(text, origin));
  std::string twice;
  Json json;
  const auto no_json = [&](const std::string& at, const std::exception& error) {
    return BadInput(fmt::format(
        "{}: {}no JSON ({}); expected a {} file ({}); `reprise list {}` shows the built-in ones",
        origin, at, JsonProblem(error.what()), kind.what, kind.page, kind.listed));
  };
  try {
    json = ParseJson<Json>(text, twice);
  } catch (const Json::parse_error& error) {
    return no_json(fmt::format("byte {}: ", error.byte), error);
  } catch (const Json::exception& error) {  // a number beyond all
    return no_json("", error);
  }
  if (!twice.empty()) {
    return BadInput(fmt::format("{}: the key '{}' stands twice in one object; remove one", origin,
                                ShownText(twice)));
  }
  if (!json.is_object()) {
    return BadInput(
        fmt::format("{}: expected one object, a {} ({})", origin, kind.what, kind.page));
  }
  return json;
}

Result<std::string> ReadText(const Json& object, const std::string& key, const std::string& path) {
  const auto at = object.find(key);
  if (at == object.end() || !at->is_string() || at->get_ref<const std::string&>().empty()) {
    return BadInput(fmt::format("{}: expected a text", path));
  }
  return at->get<std::string>();
}

Result<SourcedNumber> ReadSourcedNumber(const Json& value, const std::string& path,
                                        Dimension dimension, bool counted) {
  if (!value.is_object()) {
    return BadInput(
        fmt::format("{}: expected {{\"value\", \"unit\", \"source\", \"reference\"}}: a "
                    "number says where it comes from",
                    path));
  }
  constexpr std::array<std::string_view, 6> kKeys = {"value",     "unit", "source",
                                                     "reference", "per",  "ways"};
  const std::span<const std::string_view> keys(kKeys.data(), counted ? 6 : 4);
  for (const auto& [key, unused] : value.items()) {
    if (std::ranges::find(keys, key) == keys.end()) {
      return BadInput(
          fmt::format("{}.{}: no such key; a number has value, unit, source and reference{}", path,
                      ShownText(key), counted ? ", a link's bandwidth per and ways" : ""));
    }
  }
  const auto amount = value.find("value");
  if (amount == value.end() || !amount->is_number()) {
    return BadInput(fmt::format("{}.value: expected a number", path));
  }
  SourcedNumber number;
  REPRISE_ASSIGN(number.unit, ReadText(value, "unit", path + ".unit"));
  REPRISE_ASSIGN(const std::string source, ReadText(value, "source", path + ".source"));
  const std::optional<NumberSource> from = ParseName<NumberSource>(source);
  if (!from) {
    return BadInput(
        fmt::format("{}.source is '{}'; expected datasheet, measured, fitted, default or given",
                    path, ShownText(source)));
  }
  number.source = *from;
  REPRISE_ASSIGN(number.reference, ReadText(value, "reference", path + ".reference"));
  const Result<double> factor = UnitFactor(number.unit, dimension);
  if (!factor) {
    return BadInput(fmt::format("{}.unit: {}", path, factor.error().message));
  }
  number.value = amount->get<double>() * *factor;
  return number;
}

}  // namespace reprise
