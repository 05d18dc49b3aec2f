#include "predict/machine/fits_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/shown_text.h"

namespace reprise {
namespace {

using FitsText = nlohmann::ordered_json;

constexpr std::string_view kKeys[] = {"class", "type",     "rows", "fitted",
                                      "error", "constant", "table"};

class EntryReader {
 public:
  EntryReader(const FitsText& entry, std::size_t number)
      : entry_(entry), at_(fmt::format("fits[{}]", number)) {}

  Result<FitErrors> Read() const {
    if (!entry_.is_object()) {
      return BadInput(fmt::format("{}: expected an object", at_));
    }
    for (const auto& [key, unused] : entry_.items()) {
      if (std::ranges::find(kKeys, key) == std::end(kKeys)) {
        return BadInput(
            fmt::format("{}.{}: no such key; expected class, type, rows, fitted, "
                        "error, constant and table",
                        at_, ShownText(key)));
      }
    }
    FitErrors fit;
    REPRISE_ASSIGN(fit.of_class, Text("class"));
    REPRISE_ASSIGN(fit.type, Text("type"));
    REPRISE_ASSIGN(fit.table, Text("table"));
    REPRISE_ASSIGN(const std::optional<double> rows, Number("rows"));
    REPRISE_ASSIGN(const std::optional<double> fitted, Number("fitted"));
    if (!rows || *rows < 1 || *rows > 1e15 || *rows != std::floor(*rows) || !fitted) {
      return BadInput(fmt::format("{}: expected rows, a whole number from 1 on, and fitted", at_));
    }
    fit.rows = static_cast<std::int64_t>(*rows);
    fit.fitted = *fitted;
    REPRISE_ASSIGN(fit.error, Number("error"));
    REPRISE_ASSIGN(fit.constant, Number("constant"));
    return fit;
  }

 private:
  [[nodiscard]] Result<std::string> Text(const char* key) const {
    const auto value = entry_.find(key);
    if (value == entry_.end() || !value->is_string() ||
        value->get_ref<const std::string&>().empty()) {
      return BadInput(fmt::format("{}.{}: expected a text", at_, key));
    }
    return value->get<std::string>();
  }
  // Absent or null: nothing.
  [[nodiscard]] Result<std::optional<double>> Number(const char* key) const {
    const auto value = entry_.find(key);
    if (value == entry_.end() || value->is_null()) {
      return std::optional<double>{};
    }
    if (!value->is_number() || !(value->get<double>() >= 0) ||
        !std::isfinite(value->get<double>())) {
      return BadInput(fmt::format("{}.{}: expected a number from 0 on", at_, key));
    }
    return std::optional(value->get<double>());
  }

  const FitsText& entry_;
  std::string at_;
};

}  // namespace

Result<std::vector<FitErrors>> FitsOf(const FitsText& file) {
  std::vector<FitErrors> fits;
  const auto list = file.find("fits");
  if (list == file.end()) {
    return fits;
  }
  if (!list->is_array()) {
    return BadInput("fits: expected a list");
  }
  for (const FitsText& entry : *list) {
    REPRISE_ASSIGN(FitErrors fit, EntryReader(entry, fits.size()).Read());
    for (const FitErrors& before : fits) {
      if (before.of_class == fit.of_class && before.type == fit.type) {
        return BadInput(fmt::format("fits: {} of {} stands twice", ShownText(fit.of_class),
                                    ShownText(fit.type)));
      }
    }
    fits.push_back(std::move(fit));
  }
  return fits;
}

FitsText FitsJson(const std::vector<FitErrors>& fits) {
  FitsText list = FitsText::array();
  for (const FitErrors& fit : fits) {
    FitsText& entry = list.emplace_back();
    entry = {
        {"class", fit.of_class}, {"type", fit.type}, {"rows", fit.rows}, {"fitted", fit.fitted}};
    entry["error"] = fit.error ? FitsText(*fit.error) : FitsText();
    entry["constant"] = fit.constant ? FitsText(*fit.constant) : FitsText();
    entry["table"] = fit.table;
  }
  return list;
}

}  // namespace reprise
