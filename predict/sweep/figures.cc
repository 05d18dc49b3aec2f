#include "predict/sweep/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "core/counted.h"
#include "core/input_file.h"
#include "core/json_fields.h"
#include "core/shown_text.h"
#include "core/text.h"
#include "predict/sweep/option_names.h"
#include "report/compare/compare.h"
#include "report/compare/rows.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxTableBytes = std::uint64_t{1} << 30;
// Bars beyond these cannot be read; the others are in the table.
constexpr std::size_t kMostBars = 40;

using FigureValue = std::optional<double> (*)(const SweepRow& row);

template <typename Number>
std::optional<double> Scaled(const std::optional<Number>& number, double factor) {
  return number ? std::optional(static_cast<double>(*number) * factor) : std::nullopt;
}

// What a row has, by the names of the summary's quantities.
struct FigureQuantity {
  const char* name;
  FigureValue value;
};
constexpr FigureQuantity kFigureQuantities[] = {
    {"time", [](const SweepRow& row) { return Scaled(row.step_time_ns, 1e-9); }},
    {"exposed_comm",
     [](const SweepRow& row) { return Scaled(row.exposed_communication_ns, 1e-9); }},
    {"tokens_per_second", [](const SweepRow& row) { return row.tokens_per_second; }},
    {"samples_per_second",
     [](const SweepRow& row) {
       return row.tokens_per_second ? std::nullopt : row.samples_per_second;
     }},
    {"energy", [](const SweepRow& row) { return row.energy_joules; }},
    {"tokens_per_joule", [](const SweepRow& row) { return row.tokens_per_joule; }},
    {"power", [](const SweepRow& row) { return row.mean_watts; }},
    {"peak_power", [](const SweepRow& row) { return row.peak_watts; }},
    {"temperature", [](const SweepRow& row) { return row.max_celsius; }},
    {"throttled", [](const SweepRow& row) { return row.throttled_share; }},
};

// A bar or a point: a row, its name, and what it is coloured by.
struct FigureSide {
  const SweepRow* row = nullptr;
  std::string label, series;
  std::optional<double> number;  // on the axis
};

struct FigurePart {
  std::string title, figure, axis;
  std::vector<std::string> notes;
  std::vector<FigureSide> sides;
};

using FigureRows = std::vector<const SweepRow*>;

// The varied numbers of the step: micro-batch, sequence and the like. By key its place.
std::vector<std::size_t> AxesOf(const SweepTable& table) {
  std::vector<std::size_t> axes;
  for (std::size_t k = 0; k < table.keys.size(); ++k) {
    const JobOption* const option = FindJobOption(table.keys[k].name);
    if (option != nullptr && option->part == JobOption::Part::kStep && IsNumber(*option)) {
      axes.push_back(k);
    }
  }
  return axes;
}

double OnAxis(const SweepRow& row, std::size_t key) {
  return static_cast<double>(ParseNumber<std::int64_t>(row.values[key]).value_or(0));
}

// Ratios of each side to that of the same layout in the first setting.
void RelateToFirst(const FigurePart& part, const std::string& first_setting,
                   std::vector<ComparedRow>& rows) {
  for (ComparedRow& quantity : rows) {
    for (std::size_t s = 0; s < part.sides.size(); ++s) {
      ComparedCell& cell = quantity.cells[s];
      std::optional<Ratio> ratio;
      for (std::size_t b = 0; b < part.sides.size() && cell.quantity && cell.ratio; ++b) {
        const SweepRow& other = *part.sides[b].row;
        const auto& base = quantity.cells[b].quantity;
        if (other.layout == part.sides[s].row->layout && other.setting == first_setting && base &&
            base->value > 0) {
          ratio = Ratio{.value = cell.quantity->value / base->value};
        }
      }
      cell.ratio = ratio;
    }
  }
}

std::vector<ComparedRow> QuantitiesOf(const FigurePart& part) {
  std::vector<ComparedRow> rows;
  for (const FigureQuantity& quantity : kFigureQuantities) {
    std::vector<SideValues> all;
    for (const FigureSide& side : part.sides) {
      SideValues& of = all.emplace_back();
      if (const auto value = quantity.value(*side.row)) {
        of.values = {*value};
      }
      of.modelled = true;
    }
    if (auto row = CompareValues(SummaryRow(quantity.name), all, /*repeats_are_runs=*/false)) {
      rows.push_back(std::move(*row));
    }
  }
  return rows;
}

// As docs/comparisons.md has a comparison, with what sides of a sweep lack left empty.
Json PartJson(const SweepTable& table, const FigurePart& part) {
  Comparison comparison;
  comparison.rows = QuantitiesOf(part);
  const std::string& first_setting = part.sides.front().row->setting;
  if (part.figure == kSweepFigures[1]) {
    RelateToFirst(part, first_setting, comparison.rows);
  }
  Json sides = Json::array();
  for (const FigureSide& side : part.sides) {
    const SweepRow& row = *side.row;
    const Json run = {{"path", ConfigurationText(table.keys, row.values)},
                      {"mode", "simulate"},
                      {"complete", true},
                      {"iterations", 1},
                      {"step_seconds", Json::array({Scaled(row.step_time_ns, 1e-9)})}};
    sides.push_back({{"label", side.label},
                     {"number", side.number},
                     {"devices", row.machine},
                     {"world_size", row.ranks},
                     {"runs", Json::array({run})},
                     {"series", side.series}});
  }
  return {
      {"title", part.title},
      {"figure", part.figure},
      {"notes", part.notes},
      {"figures", Json::array({part.figure})},
      {"repeats", RepeatsName(comparison)},
      {"sides", std::move(sides)},
      {"quantities", QuantitiesJson(comparison)},
      {"collectives", Json::array()},
      {"axis", part.axis},
      {"ratios_to", first_setting.empty() ? "the first" : first_setting + " of the same layout"}};
}

std::string Mark(const SweepRow& row) { return row.Fits() ? "" : " †"; }

std::string LabelOf(const SweepRow& row, const std::string& more) {
  std::string label = row.layout;
  for (const std::string& part : {row.setting, more}) {
    label += part.empty() ? "" : (label.empty() ? "" : " ") + part;
  }
  return label.empty() ? row.model : label;
}

// The figures of one model.
class ModelFigures {
 public:
  ModelFigures(const SweepTable& table, std::string model, FigureRows rows)
      : table_(table), model_(std::move(model)), axes_(AxesOf(table)), rows_(std::move(rows)) {
    for (const SweepRow* const row : rows_) {
      Add(row->layout, layouts_);
      Add(row->setting, settings_);
      for (const std::size_t axis : axes_) {
        numbers_[axis].insert(OnAxis(*row, axis));
      }
    }
    // As the sweep lists them, numbers ascending.
    std::ranges::stable_sort(rows_, {}, [this](const SweepRow* row) {
      std::vector<double> numbers;
      for (const std::size_t axis : axes_) {
        numbers.push_back(OnAxis(*row, axis));
      }
      return std::tuple(PlaceOf(row->layout, layouts_), PlaceOf(row->setting, settings_), numbers);
    });
  }

  std::vector<FigurePart> Parts(const std::string& figure) const {
    if (figure == kSweepFigures[2]) {
      std::vector<FigurePart> parts;
      for (const std::size_t axis : axes_) {
        if (numbers_.at(axis).size() > 1) {
          parts.push_back(OverNumber(axis));
        }
      }
      return parts;
    }
    const bool by_layout = figure == kSweepFigures[0];
    return (by_layout ? layouts_ : settings_).size() > 1 ? std::vector{Bars(figure, by_layout)}
                                                         : std::vector<FigurePart>{};
  }

 private:
  static void Add(const std::string& name, std::vector<std::string>& names) {
    if (std::ranges::find(names, name) == names.end()) {
      names.push_back(name);
    }
  }
  static std::size_t PlaceOf(const std::string& name, const std::vector<std::string>& names) {
    return static_cast<std::size_t>(std::ranges::find(names, name) - names.begin());
  }

  // Whether the row has the least number on all axes, or on all but one.
  [[nodiscard]] bool AtLeasts(const SweepRow& row, std::optional<std::size_t> but) const {
    return std::ranges::all_of(axes_, [&](std::size_t axis) {
      return axis == but || OnAxis(row, axis) == *numbers_.at(axis).begin();
    });
  }

  void AddNotes(std::optional<std::size_t> but, FigurePart& part) const {
    std::string at;
    for (const std::size_t axis : axes_) {
      if (axis != but) {
        at += fmt::format("{}{} {:g}", at.empty() ? "At " : ", ", table_.keys[axis].name,
                          *numbers_.at(axis).begin());
      }
    }
    if (!at.empty()) {
      part.notes.push_back(at + ".");
    }
    if (but && settings_.size() > 1) {
      part.notes.push_back(fmt::format("Setting {}.", settings_.front()));
    }
    const std::size_t all = part.sides.size();
    if (all > kMostBars) {
      part.sides.resize(kMostBars);
      part.notes.push_back(
          fmt::format("The first {} of {}; the table has all of them.", kMostBars, all));
    }
    if (std::ranges::any_of(part.sides, [](const FigureSide& side) { return !side.row->Fits(); })) {
      part.notes.emplace_back("†: does not fit in the modelled memory; shown all the same.");
    }
  }

  // By layout: in the first and the last setting.
  [[nodiscard]] FigurePart Bars(const std::string& figure, bool by_layout) const {
    FigurePart part{
        .title = fmt::format("{}: {}", model_,
                             by_layout ? "efficiency, power, temperature and throttling by layout"
                                       : "settings beside each other"),
        .figure = figure};
    for (const SweepRow* const row : rows_) {
      const bool shown =
          !by_layout || row->setting == settings_.front() || row->setting == settings_.back();
      if (shown && AtLeasts(*row, std::nullopt)) {
        part.sides.push_back({.row = row,
                              .label = LabelOf(*row, "") + Mark(*row),
                              .series = row->setting.empty() ? model_ : row->setting});
      }
    }
    AddNotes(std::nullopt, part);
    return part;
  }

  [[nodiscard]] FigurePart OverNumber(std::size_t axis) const {
    const std::string& name = table_.keys[axis].name;
    FigurePart part{
        .title = fmt::format("{}: {}", model_, name), .figure = kSweepFigures[2], .axis = name};
    for (const SweepRow* const row : rows_) {
      if (row->setting == settings_.front() && AtLeasts(*row, axis)) {
        const std::string line = row->layout.empty() ? model_ : row->layout;
        part.sides.push_back({.row = row,
                              .label = fmt::format("{}{}, {}", line, Mark(*row), row->values[axis]),
                              .series = line,
                              .number = OnAxis(*row, axis)});
      }
    }
    AddNotes(axis, part);
    return part;
  }

  const SweepTable& table_;
  std::string model_;
  std::vector<std::size_t> axes_;
  FigureRows rows_;
  std::vector<std::string> layouts_, settings_;      // in the order of the sweep
  std::map<std::size_t, std::set<double>> numbers_;  // by axis
};

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

}  // namespace

Result<std::string> SweepFiguresJson(const SweepTable& table,
                                     const std::vector<std::string>& figures) {
  REPRISE_TRY(CheckFigures(figures));
  FigureRows possible;
  for (const SweepRow& row : table.rows) {
    if (row.possible && row.step_time_ns) {
      possible.push_back(&row);
    }
  }
  std::ranges::stable_sort(possible, {}, &SweepRow::place);
  std::vector<std::string> models;
  std::map<std::string, FigureRows> rows_of;
  for (const SweepRow* const row : possible) {
    FigureRows& of_model = rows_of[row->model];
    if (of_model.empty()) {
      models.push_back(row->model);
    }
    of_model.push_back(row);
  }
  Json parts = Json::array();
  for (const std::string& model : models) {
    const ModelFigures of_model(table, model, std::move(rows_of[model]));
    for (const std::string figure : kSweepFigures) {
      if (figures.empty() || std::ranges::find(figures, figure) != figures.end()) {
        for (const FigurePart& part : of_model.Parts(figure)) {
          parts.push_back(PartJson(table, part));
        }
      }
    }
  }
  std::vector<std::string> warnings = {"Every number is modelled: nothing was executed."};
  for (std::string& warning : SweepWarnings(table)) {
    warnings.push_back(std::move(warning));
  }
  if (const std::size_t left_out = CountRows(table).not_simulated; left_out > 0) {
    warnings.push_back(fmt::format("{} that {} not fit {} in the table alone.",
                                   Counted(left_out, "configuration"),
                                   left_out == 1 ? "does" : "do", left_out == 1 ? "is" : "are"));
  }
  const Json json = {
      {"title", table.title}, {"modelled", true}, {"warnings", warnings}, {"parts", parts}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<std::string> ReadSweepFigures(const std::string& directory,
                                     const std::vector<std::string>& figures) {
  const std::string path = (fs::path(directory) / kSweepTableFile).string();
  REPRISE_ASSIGN(const std::string text, ReadJsonText(path, kMaxTableBytes));
  REPRISE_ASSIGN(const SweepTable table, ParseSweepTable(text, path));
  return SweepFiguresJson(table, figures);
}

}  // namespace reprise
