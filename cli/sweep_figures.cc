#include "cli/sweep_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "cli/sweep_grid.h"
#include "cli/sweep_table.h"
#include "core/input_file.h"
#include "core/json_fields.h"
#include "core/parse_json.h"
#include "core/shown_text.h"
#include "report/compare/compare_runs.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxTableBytes = std::uint64_t{1} << 30;
constexpr std::array kSettings = {"base", "cc", "act", "cc+act"};
// What a row has; the other quantities of a report would be zeros that nothing says.
constexpr std::array kQuantities = {"time",        "exposed_comm", "tokens_per_second",
                                    "energy",      "power",        "tokens_per_joule",
                                    "temperature", "peak_power",   "throttled"};

std::string TextOf(const Json& row, const char* key) {
  const auto at = row.find(key);
  return at != row.end() && at->is_string() ? at->get<std::string>() : "";
}

std::int64_t WholeOf(const Json& row, const char* key) {
  return std::llround(NumberIn(row, key).value_or(0));
}

std::int64_t MicroBatchOf(const Json& row) { return std::stoll(TextOf(row, kGridKeys[3])); }

// A row as the report of a run that took what the row says, so that it is compared as runs are.
Report ReportOfRow(const Json& row) {
  Report report;
  const std::int64_t step_ns = WholeOf(row, "step_time_ns");
  const std::string machine = TextOf(row, "machine");
  report.manifest.trace_name = TextOf(row, "model");
  report.manifest.options = {{"mode", "simulate"}, {"machine", machine}};
  report.manifest.complete = true;
  report.manifest.devices = {machine};
  report.iterations = 1;
  report.iteration_step_ns = {step_ns};
  report.measured_ns = step_ns;
  report.ranks = {{.rank = 0, .alike = WholeOf(row, "ranks"), .device = machine}};
  report.details.overlap = {
      {.rank = 0, .replayed_exposed_ns = WholeOf(row, "exposed_communication_ns")}};
  if (const auto tokens = NumberIn(row, "tokens"); tokens > 0) {
    report.tokens = {.per_step = *tokens};
  }
  if (const auto joules = NumberIn(row, "energy_joules")) {
    report.energy_joules = joules;
    report.mean_watts = NumberIn(row, "mean_watts").value_or(0);
    report.energy = {{.source = "model", .modelled = true, .in_total = true, .joules = *joules}};
    report.attribution =
        EnergyAttribution{.modelled = true, .joules = *joules, .steps = {{.joules = *joules}}};
  }
  if (const auto watts = NumberIn(row, "peak_watts")) {
    report.thermal.peaks = {{.modelled = true, .max_watts = *watts}};
  }
  if (const auto celsius = NumberIn(row, "max_celsius")) {
    report.thermal.heating = {{.modelled = true, .max_celsius = *celsius}};
  }
  if (const auto share = NumberIn(row, "throttled_share")) {
    report.thermal.throttling = {
        {.modelled = true,
         .measured_ns = step_ns,
         .throttled_ns = std::llround(*share * static_cast<double>(step_ns))}};
  }
  return report;
}

// A bar or a point: a row, its name, and what it is coloured by.
struct FigureSide {
  const Json* row = nullptr;
  std::string label, series;
};

struct FigurePart {
  std::string title, figure;
  std::vector<std::string> notes;
  std::vector<FigureSide> sides;
};

bool IsTrue(const Json& row, const char* key) {
  const auto at = row.find(key);
  return at != row.end() && at->is_boolean() && at->get<bool>();
}

std::string Mark(const Json& row) { return IsTrue(row, "fits") ? "" : " †"; }

// Ratios of each side to that of the same layout in the setting "base".
void RelateToBase(const std::vector<FigureSide>& sides, Comparison& comparison) {
  for (ComparedRow& quantity : comparison.rows) {
    for (std::size_t s = 0; s < sides.size(); ++s) {
      ComparedCell& cell = quantity.cells[s];
      std::optional<Ratio> ratio;
      for (std::size_t b = 0; b < sides.size() && cell.quantity && cell.ratio; ++b) {
        const auto& base = quantity.cells[b].quantity;
        const bool same = TextOf(*sides[b].row, "layout") == TextOf(*sides[s].row, "layout") &&
                          TextOf(*sides[b].row, "setting") == kSettings[0];
        if (same && base && base->value > 0) {
          ratio = Ratio{.value = cell.quantity->value / base->value};
        }
      }
      cell.ratio = ratio;
    }
  }
}

Json PartJson(const FigurePart& part) {
  std::vector<ComparedSide> sides;
  for (const FigureSide& side : part.sides) {
    sides.push_back(
        {.label = side.label,
         .runs = {{.path = TextOf(*side.row, "configuration"), .report = ReportOfRow(*side.row)}}});
  }
  Comparison comparison = Compare(sides, {});
  comparison.verdicts.clear();
  comparison.warnings.clear();
  comparison.heat.clear();
  std::erase_if(comparison.rows, [](const ComparedRow& row) {
    return std::ranges::find(kQuantities, row.name) == kQuantities.end();
  });
  const bool relative = part.figure == kSweepFigures[1];
  if (relative) {
    RelateToBase(part.sides, comparison);
  }
  Json json = {{"title", part.title}, {"figure", part.figure}, {"notes", part.notes}};
  json.update(ParseJson<Json>(ComparisonJson(sides, comparison, {part.figure})));
  for (std::size_t s = 0; s < part.sides.size(); ++s) {
    json["sides"][s]["series"] = part.sides[s].series;
    json["sides"][s]["number"] = part.figure == kSweepFigures[2]
                                     ? Json(std::stod(TextOf(*part.sides[s].row, kGridKeys[3])))
                                     : Json(nullptr);
  }
  json["axis"] = "micro-batch";
  json["ratios_to"] = "base of the same layout";
  return json;
}

using FigureRows = std::vector<const Json*>;

// As the study lists layouts: experts, then tensor parallelism, FSDP last.
FigureRows InOrderOfStudy(FigureRows rows) {
  const auto key = [](const Json* row) {
    const std::string layout = TextOf(*row, "layout");
    const auto setting = std::ranges::find(kSettings, TextOf(*row, "setting")) - kSettings.begin();
    return std::tuple(layout.find("fsdp") != std::string::npos, -WholeOf(*row, "ep"),
                      WholeOf(*row, "tp"), layout, setting, MicroBatchOf(*row));
  };
  std::ranges::sort(rows, {}, key);
  return rows;
}

// `rows`: of one model, in order. `figure` of kSweepFigures.
FigurePart PartOf(const std::string& figure, const std::string& model, const FigureRows& rows) {
  std::int64_t least = MicroBatchOf(*rows.front());
  std::set<std::string> settings;
  for (const Json* row : rows) {
    least = std::min(least, MicroBatchOf(*row));
    settings.insert(TextOf(*row, "setting"));
  }
  const auto first =
      *std::ranges::find_if(kSettings, [&](const char* name) { return settings.contains(name); });
  const auto last = *std::find_if(kSettings.rbegin(), kSettings.rend(),
                                  [&](const char* name) { return settings.contains(name); });
  const bool micro = figure == kSweepFigures[2];
  const bool layouts = figure == kSweepFigures[0];
  FigurePart part{.figure = figure};
  FigureRows shown;
  std::ranges::copy_if(rows, std::back_inserter(shown), [&](const Json* row) {
    const std::string setting = TextOf(*row, "setting");
    return micro ? setting == first
                 : MicroBatchOf(*row) == least && (!layouts || setting == first || setting == last);
  });
  for (const Json* row : shown) {
    const std::string layout = TextOf(*row, "layout") + Mark(*row);
    const std::string setting = TextOf(*row, "setting");
    part.sides.push_back({.row = row,
                          .label = micro ? layout + ", " + TextOf(*row, kGridKeys[3])
                                         : TextOf(*row, "layout") + " " + setting + Mark(*row),
                          .series = micro ? TextOf(*row, "layout") : setting});
  }
  part.title = fmt::format("{}: {}", model,
                           micro     ? "micro-batch"
                           : layouts ? "efficiency, power, temperature and throttling by layout"
                                     : "overlap and recomputation");
  part.notes.push_back(micro ? fmt::format("Setting {}.", first)
                             : fmt::format("Micro-batch {}.", least));
  if (std::ranges::any_of(shown, [](const auto* row) { return !Mark(*row).empty(); })) {
    part.notes.emplace_back("†: does not fit in the modelled memory; shown all the same.");
  }
  return part;
}

Status CheckFigures(const std::vector<std::string>& figures) {
  for (const std::string& figure : figures) {
    if (std::ranges::find(kSweepFigures, figure) == kSweepFigures.end()) {
      return UsageError(fmt::format(
          "--figure {}: a sweep has none; it has parallelism, optimizations and microbatch",
          ShownText(figure)));
    }
  }
  return {};
}

bool IsOfGrid(const Json& row) {
  return row.is_object() &&
         std::ranges::all_of(kGridKeys,
                             [&row](const char* key) { return !TextOf(row, key).empty(); }) &&
         TextOf(row, kGridKeys[3]).find_first_not_of("0123456789") == std::string::npos &&
         TextOf(row, kGridKeys[3]).size() < 10 &&
         std::ranges::find(kSettings, TextOf(row, "setting")) != kSettings.end();
}

}  // namespace

Result<std::string> SweepFiguresJson(const std::string& title, const Json& rows,
                                     const std::vector<std::string>& figures) {
  REPRISE_TRY(CheckFigures(figures));
  std::vector<std::string> models;
  std::map<std::string, FigureRows> rows_of;
  for (const Json& row : rows) {
    if (!IsOfGrid(row)) {
      return UsageError(
          "figures are drawn of a grid's sweep: its rows have model, layout, setting and "
          "micro-batch; other sweeps have index.html");
    }
    if (IsTrue(row, "possible") && NumberIn(row, "step_time_ns") > 0) {
      FigureRows& of_model = rows_of[TextOf(row, "model")];
      if (of_model.empty()) {
        models.push_back(TextOf(row, "model"));
      }
      of_model.push_back(&row);
    }
  }
  Json parts = Json::array();
  for (const std::string& model : models) {
    const FigureRows ordered = InOrderOfStudy(rows_of[model]);
    for (const std::string figure : kSweepFigures) {
      if (figures.empty() || std::ranges::find(figures, figure) != figures.end()) {
        parts.push_back(PartJson(PartOf(figure, model, ordered)));
      }
    }
  }
  std::vector<std::string> warnings = {
      "Every number is modelled: nothing was executed, and none is a study's result."};
  for (std::string& warning : SweepWarnings(rows)) {
    warnings.push_back(std::move(warning));
  }
  const Json json = {
      {"title", title}, {"modelled", true}, {"warnings", warnings}, {"parts", parts}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<std::string> ReadSweepFigures(const std::string& directory,
                                     const std::vector<std::string>& figures) {
  const std::string path = (fs::path(directory) / kSweepTableFile).string();
  REPRISE_ASSIGN(const std::string text, ReadJsonText(path, kMaxTableBytes));
  const Json table = ParseJson<Json>(text, /*throws=*/false);
  const bool whole = table.is_object() && TextOf(table, "format") == "reprise-sweep" &&
                     table.contains("configurations") && table["configurations"].is_array();
  if (!whole) {
    return BadInput(
        fmt::format("{}: expected the table of a sweep, as `reprise simulate --grid` writes it; "
                    "simulate it again",
                    path));
  }
  return SweepFiguresJson(TextOf(table, "title"), table["configurations"], figures);
}

}  // namespace reprise
