// Phases: their times, and how fast they go, and what a token of them takes in energy.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "core/json_fields.h"
#include "report/sections/report_json.h"
#include "report/sections/section.h"
#include "report/text/console_lines.h"
#include "report/text/verdict.h"

namespace reprise {

inline void to_json(Json& json, const PhaseUse& use) {
  json = {{"name", use.name},     {"time_ns", use.time_ns},
          {"tokens", use.tokens}, {"tokens_per_second", use.TokensPerSecond()},
          {"joules", use.joules}, {"joules_per_token", use.JoulesPerToken()}};
}

namespace {

// Those of a step, from the report's times, energy and tokens; most time first. Nothing where
// neither energy nor tokens are known, which would repeat the table of times.
std::vector<PhaseUse> PhaseUsesOf(const Report& report) {
  const std::int64_t steps = RankSteps(report);
  std::vector<PhaseUse> uses;
  if (!report.attribution && !report.tokens) {
    return uses;
  }
  for (const ClassRow& row : report.phases) {
    PhaseUse use{
        .name = row.name, .time_ns = std::nullopt, .tokens = std::nullopt, .joules = std::nullopt};
    if (row.replayed_ns && steps > 0) {
      use.time_ns = static_cast<double>(*row.replayed_ns) / static_cast<double>(steps);
    }
    // Transfers and other work are of no token alone.
    if (report.tokens && (row.name == Name(Phase::kForward) || row.name == Name(Phase::kBackward) ||
                          row.name == Name(Phase::kOptimizer))) {
      use.tokens = report.tokens->per_step;
    }
    if (report.attribution) {
      for (const EnergyUseRow& energy : report.attribution->phases) {
        if (energy.name == row.name && energy.use.step_joules) {
          use.joules = energy.use.step_joules->median;
        }
      }
    }
    uses.push_back(std::move(use));
  }
  std::erase_if(uses, [](const PhaseUse& use) { return !use.joules && !use.tokens; });
  std::ranges::stable_sort(uses, std::greater{},
                           [](const PhaseUse& row) { return row.time_ns.value_or(0); });
  return uses;
}

void AnalysePhases(const RunData& /*outline*/, Report& report) {
  report.phase_uses = PhaseUsesOf(report);
}

std::string PhasesText(const Report& report, const Style& style) {
  return PhaseUsesText(report, style, report.phase_uses.size());
}

void AddPhasesJson(const Report& report, Json& json) {
  REPRISE_ADD_FIELDS(json, report, phases, phase_uses)
}

}  // namespace

std::string PhaseUsesText(const Report& report, const Style& style, std::size_t most) {
  const std::vector<PhaseUse>& uses = report.phase_uses;
  const bool tokens =
      std::ranges::any_of(uses, [](const PhaseUse& use) { return use.tokens.has_value(); });
  Table table({"phase", "time", "energy", If(tokens, "tokens/s"), If(tokens, "J/token")});
  for (const PhaseUse& use : First(most, uses)) {
    table.Add({use.name,
               DurationText(use.time_ns ? std::optional(static_cast<std::int64_t>(*use.time_ns))
                                        : std::nullopt),
               JoulesText(use.joules), NumberText(use.TokensPerSecond()),
               JoulesText(use.JoulesPerToken())});
  }
  const bool modelled = report.attribution && report.attribution->modelled;
  return TitledTable(style, "Phases",
                     fmt::format("one step on a rank, the mean; {}energy of all ranks{}",
                                 tokens ? "tokens and " : "", modelled ? "; MODELLED power" : ""),
                     table);
}

Section PhasesSection() {
  return {.name = "phases", .analyse = AnalysePhases, .console = PhasesText, .json = AddPhasesJson};
}

}  // namespace reprise
