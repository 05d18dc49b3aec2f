#include "report/compare/rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>

#include "report/compare/kinds.h"
#include "report/run/run.h"
#include "report/text/verdict_warnings.h"

namespace reprise {
namespace {

using Values = QuantityValues;

// An interval of this share about a ratio is narrow enough for a claim.
constexpr double kNarrow = 0.03;

// One value a run where runs are the repeats, else all values there are.
Values ValuesOf(const ComparedSide& side, const QuantityKind& kind, bool of_runs) {
  Values all;
  for (const ComparedRun& run : side.runs) {
    Values of_run = kind.values(run);
    if (of_runs && !of_run.empty()) {
      of_run = {Describe(std::move(of_run))->value};
    }
    all.insert(all.end(), of_run.begin(), of_run.end());
  }
  return all;
}

bool IsModelled(Basis basis, const Report& report) {
  const auto any = [](const auto& rows) {
    return std::ranges::any_of(rows, [](const auto& row) { return row.modelled; });
  };
  switch (basis) {
    case Basis::kTime:
      return IsSimulated(report.manifest);
    case Basis::kEnergy:
    case Basis::kPower:
      return std::ranges::any_of(report.energy,
                                 [](const EnergyRow& row) { return row.in_total && row.modelled; });
    case Basis::kPowerPeaks:
      return any(report.thermal.peaks);
    case Basis::kHeating:
      return any(report.thermal.heating);
    case Basis::kThrottling:
      return any(report.thermal.throttling);
    case Basis::kMeasured:
      return false;
  }
  return false;
}

// Degrees Celsius have no natural zero; of two shares the difference says more.
bool HasRatio(const std::string& unit) { return unit != "fraction" && unit != "celsius"; }

// Why two sides' values of a quantity must not be divided; empty if they may.
std::string WhyNoRatio(Basis basis, const Report& of, const Report& base) {
  const bool of_step = basis == Basis::kTime || basis == Basis::kEnergy;
  if (of_step && IsMonitored(of.manifest) != IsMonitored(base.manifest)) {
    return "a watched program is no step";
  }
  const bool metered = basis == Basis::kEnergy || basis == Basis::kPower;
  if (metered && MeteredText(of) != MeteredText(base)) {
    return fmt::format("other meters: {} and {}", MeteredText(base), MeteredText(of));
  }
  return {};
}

ComparedRow RowOf(const QuantityKind& kind) {
  return {.name = kind.name,
          .label = kind.label,
          .group = kind.group,
          .unit = kind.unit,
          .better = kind.better,
          .cells = {},
          .note = {}};
}

std::optional<ComparedRow> MakeRow(const std::vector<ComparedSide>& sides, const QuantityKind& kind,
                                   bool of_runs) {
  const Report& base = sides.front().runs.front().report;
  std::vector<SideValues> all;
  for (const ComparedSide& side : sides) {
    const Report& report = side.runs.front().report;
    all.push_back({.values = ValuesOf(side, kind, of_runs),
                   .modelled = IsModelled(kind.basis, report),
                   .why_no_ratio = WhyNoRatio(kind.basis, report, base)});
  }
  return CompareValues(RowOf(kind), all, of_runs);
}

}  // namespace

std::optional<ComparedRow> CompareValues(ComparedRow row, const std::vector<SideValues>& sides,
                                         bool repeats_are_runs) {
  bool any = false;
  for (const SideValues& of : sides) {
    const bool first = row.cells.empty();
    const Values& base = sides.front().values;
    ComparedCell& cell = row.cells.emplace_back();
    cell.quantity = Describe(of.values);
    cell.modelled = cell.quantity && of.modelled;
    any = any || cell.quantity;
    if (of.why_no_ratio.empty() && HasRatio(row.unit)) {
      cell.ratio = RatioOf(of.values, base);
      cell.runs_needed = first ? std::nullopt : RepeatsFor(kNarrow, of.values, base);
      if (cell.ratio && !repeats_are_runs) {
        cell.ratio->low = cell.ratio->high = std::nullopt;  // from iteration to iteration: no claim
      }
    } else if (of.why_no_ratio.empty() && cell.quantity && !base.empty()) {
      cell.difference = cell.quantity->value - Describe(base)->value;
    } else if (!of.why_no_ratio.empty() && cell.quantity && !base.empty()) {
      row.note = of.why_no_ratio;
    }
  }
  return any ? std::optional(std::move(row)) : std::nullopt;
}

ComparedRow SummaryRow(std::string_view name) {
  const std::vector<QuantityKind> kinds = SummaryKinds();
  return RowOf(*std::ranges::find(kinds, name, &QuantityKind::name));
}

std::string_view Name(Better better) {
  constexpr std::array<std::string_view, 3> kNames = {"lower", "higher", "neither"};
  return kNames.at(static_cast<std::size_t>(better));
}

bool RepeatsAreRuns(const std::vector<ComparedSide>& sides) {
  return std::ranges::all_of(sides, [](const ComparedSide& side) { return side.runs.size() > 1; });
}

std::string MeteredText(const Report& report) {
  static constexpr std::string_view kOfGpus[] = {"nvml", "amd_smi", "rocm_smi"};
  std::set<std::string> kinds;
  for (const EnergyRow& row : report.energy) {
    if (row.in_total) {
      const bool gpu =
          std::find(std::begin(kOfGpus), std::end(kOfGpus), row.source) != std::end(kOfGpus);
      kinds.insert((gpu ? "GPUs" : row.source) + std::string(row.modelled ? " (modelled)" : ""));
    }
  }
  return fmt::format("{}", fmt::join(kinds, " + "));
}

std::vector<ComparedRow> CompareQuantities(const std::vector<ComparedSide>& sides,
                                           bool repeats_are_runs) {
  std::vector<ComparedRow> rows;
  for (const QuantityKind& kind : FindQuantityKinds(sides)) {
    if (auto row = MakeRow(sides, kind, repeats_are_runs)) {
      rows.push_back(std::move(*row));
    }
  }
  return rows;
}

}  // namespace reprise
