#include <fmt/format.h>

#include "core/json_fields.h"
#include "report/sections/section.h"
#include "report/text/console_lines.h"
#include "report/text/odd_values.h"

namespace reprise {

inline void to_json(Json& json, const ValueRow& row) {
  json["operation"] = row.name;
  REPRISE_ADD_FIELDS(json, row.counts, values, denormals, infinities, nans)
}

namespace {

void AnalyseValues(const RunData& outline, Report& report) {
  report.values = CollectValues(outline);
  NameValuesAsCause(report);
}

std::string ValuesText(const Report& report, const Style& style) {
  Table table({"operation", "values", "denormals", "infinities", "NaN", ""});
  for (const ValueRow& row : report.values) {
    table.Add({Fit(row.name, 40), fmt::format("{}", row.counts.values),
               fmt::format("{}", row.counts.denormals), fmt::format("{}", row.counts.infinities),
               fmt::format("{}", row.counts.nans),
               HasOddValues(row.counts) ? "not a training's" : ""});
  }
  return TitledTable(style, "Values",
                     "read and written by real operations in one iteration, all ranks", table);
}

void AddValuesJson(const Report& report, Json& json) { json["values"] = report.values; }

}  // namespace

Section ValuesSection() {
  return {.name = "values", .analyse = AnalyseValues, .console = ValuesText, .json = AddValuesJson};
}

}  // namespace reprise
