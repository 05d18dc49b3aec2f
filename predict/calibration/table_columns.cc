#include "predict/calibration/table_columns.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "core/input_file.h"
#include "core/parse_json.h"
#include "core/shown_text.h"
#include "predict/calibration/embedded_columns.h"

namespace reprise {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kFormat = "reprise-table-columns";
constexpr int kVersion = 1;

struct ClassColumns {
  TableClass of_class;
  std::vector<std::string_view> names;
  std::vector<std::string_view> one_of = {};  // of these exactly one besides
};
// What a row of each class must say.
const ClassColumns kClasses[] = {
    {TableClass::kGemm, {"m", "n", "k", "type", "time"}},
    {TableClass::kAttention,
     {"batch", "queries", "heads", "kv_heads", "head_size", "type", "time"}},
    {TableClass::kReduction, {"rows", "columns", "type", "time"}},
    {TableClass::kExperts,
     {"tokens", "hidden", "inner", "top_k", "experts", "tp", "ep", "distribution", "type", "time"}},
    {TableClass::kCollective, {"operation", "members", "type", "time"}, {"elements", "bytes"}},
};

std::optional<double> NsOfUnit(std::string_view unit) {
  constexpr std::pair<std::string_view, double> kUnits[] = {
      {"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
  for (const auto& [name, ns] : kUnits) {
    if (name == unit) {
      return ns;
    }
  }
  return std::nullopt;
}

class Reader {
 public:
  Reader(const Json& json, const std::string& origin) : json_(json), origin_(origin) {}

  Result<TableColumns> Read() {
    if (!json_.is_object() || json_.value("format", Json()) != kFormat ||
        json_.value("version", Json()) != kVersion) {
      return Wrong(fmt::format(R"(expected an object with "format": "{}", "version": {})", kFormat,
                               kVersion));
    }
    for (const auto& [key, unused] : json_.items()) {
      static constexpr std::string_view kKnown[] = {"format",  "version", "class",
                                                    "columns", "unit",    "types"};
      if (std::ranges::find(kKnown, key) == std::end(kKnown)) {
        return Wrong(
            fmt::format("'{}' is unknown; expected {}", ShownText(key), fmt::join(kKnown, ", ")));
      }
    }
    const Json of_class = json_.value("class", Json());
    const auto known = std::ranges::find_if(
        kClasses, [&](const ClassColumns& one) { return of_class == Name(one.of_class); });
    if (known == std::end(kClasses)) {
      return Wrong(fmt::format("class: expected {}", fmt::join(kNamesOf<TableClass>, ", ")));
    }
    columns_.file = origin_;
    columns_.of_class = known->of_class;
    REPRISE_TRY(ReadNames(*known));
    REPRISE_ASSIGN(const auto unit, Texts("unit"));
    const std::optional<double> ns = NsOfUnit(unit.begin()->second);
    if (!ns) {
      return Wrong("unit: expected ns, us, ms or s, of the column of times");
    }
    columns_.ns_per_unit = *ns;
    REPRISE_ASSIGN(const auto types, Texts("types"));
    for (const auto& [word, type] : types) {
      const DType dtype = ParseDType(type);
      if (dtype == DType::kUnknown) {
        return Wrong(fmt::format("types.{}: expected a type, as bfloat16 or float8_e4m3fn",
                                 ShownText(word)));
      }
      columns_.types[word] = dtype;
    }
    return std::move(columns_);
  }

 private:
  [[nodiscard]] tl::unexpected<Error> Wrong(const std::string& what) const {
    return BadInput(fmt::format("{}: {} (docs/kernel_tables.md)", origin_, what));
  }
  // The member's texts by key; of a text alone, it with the key "".
  Result<std::map<std::string, std::string>> Texts(const std::string& member) {
    const Json value = json_.value(member, Json());
    std::map<std::string, std::string> texts;
    const auto add = [&](const std::string& key, const Json& text) {
      const bool ok = text.is_string() && !text.get_ref<const std::string&>().empty();
      texts[key] = ok ? text.get<std::string>() : "";
      return ok;
    };
    bool good = value.is_object() ? !value.empty() : add("", value);
    if (value.is_object()) {
      for (const auto& [key, text] : value.items()) {
        good = add(key, text) && good;
      }
    }
    if (!good) {
      return Wrong(fmt::format("{}: expected texts", member));
    }
    return texts;
  }
  Status ReadNames(const ClassColumns& known) {
    REPRISE_ASSIGN(columns_.names, Texts("columns"));
    for (const auto& [name, column] :
         {std::pair("watts", &columns_.watts), {"limit_watts", &columns_.limit_watts}}) {
      if (auto named = columns_.names.extract(name)) {
        *column = std::move(named.mapped());
      }
    }
    const std::string expected =
        fmt::format("class {} has {}{}{}", Name(known.of_class), fmt::join(known.names, ", "),
                    known.one_of.empty() ? "" : ", and one of ", fmt::join(known.one_of, ", "));
    const auto has = [&](std::string_view name) {
      return columns_.names.contains(std::string(name));
    };
    for (const std::string_view name : known.names) {
      if (!has(name)) {
        return Wrong(fmt::format("columns.{} is missing; {}", name, expected));
      }
    }
    if (!known.one_of.empty() && std::ranges::count_if(known.one_of, has) != 1) {
      return Wrong(fmt::format("columns: {}", expected));
    }
    for (const auto& [name, column] : columns_.names) {
      if (std::ranges::find(known.names, name) == known.names.end() &&
          std::ranges::find(known.one_of, name) == known.one_of.end()) {
        return Wrong(fmt::format("columns.{} is unknown; {}", ShownText(name), expected));
      }
    }
    return {};
  }

  const Json& json_;
  const std::string& origin_;
  TableColumns columns_;
};

}  // namespace

Result<TableColumns> ReadTableColumns(std::string_view text, const std::string& origin) {
  REPRISE_TRY(CheckJsonText(text, origin));
  Json json;
  try {
    json = ParseJson<Json>(text);
  } catch (const Json::exception& error) {
    return BadInput(
        fmt::format("{}: no JSON ({}); expected a file of columns "
                    "(docs/kernel_tables.md)",
                    origin, JsonProblem(error.what())));
  }
  return Reader(json, origin).Read();
}

Result<std::vector<TableColumns>> AllTableColumns(const std::vector<std::string>& files) {
  std::vector<TableColumns> all;
  for (const std::string& file : files) {
    REPRISE_ASSIGN(const std::string text, ReadJsonText(file, std::uint64_t{1} << 20));
    REPRISE_ASSIGN(all.emplace_back(), ReadTableColumns(text, file));
  }
  for (const EmbeddedFile& file : EmbeddedColumns()) {
    REPRISE_ASSIGN(all.emplace_back(),
                   ReadTableColumns(file.text, fmt::format("{} (built in)", file.name)));
  }
  return all;
}

}  // namespace reprise
