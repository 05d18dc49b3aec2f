// Energy by meter, and who used it.
#include <fmt/format.h>

#include "core/json_fields.h"
#include "report/sections/section.h"
#include "report/text/console_lines.h"
#include "report/text/verdict_warnings.h"

namespace reprise {

REPRISE_JSON_FIELDS(Spread, median, half_range, standard_error, iterations)
REPRISE_JSON_FIELDS(StepAmount, per_step, per_joule, from)
REPRISE_JSON_FIELDS(EnergyRow, host, device, metric, source, modelled, in_total, joules, mean_watts,
                    ranks, devices)
REPRISE_JSON_FIELDS(MeterEnergyRow, host, device, metric, source, modelled, ranks, devices, joules,
                    idle_joules, idle_watts, above_idle_joules, gaps, gap_ns, gap_joules, update_ns,
                    boundary_joules)
REPRISE_JSON_FIELDS(HostEnergyRow, host, joules, idle_joules, gap_joules)
REPRISE_JSON_FIELDS(StepEnergyRow, iteration, step, joules)
// The members of `use` stand beside the row's own.
REPRISE_JSON_FIELDS(EnergyUse, joules, above_idle_joules, step_joules, active_ns, estimate)
inline void to_json(Json& json, const EnergyUseRow& row) {
  json["name"] = row.name;
  json.update(row.use);
}
inline void to_json(Json& json, const TransferEnergyRow& row) {
  REPRISE_ADD_FIELDS(json, row, name, group, group_size, bytes)
  json.update(row.use);
}
REPRISE_JSON_FIELDS(EnergyAttribution, modelled, of_operations, joules, idle_joules, gap_joules,
                    idle_watts, above_idle_joules, boundary_joules, step_joules, tokens, samples,
                    phases, classes, transfers, ranks, meters, hosts, steps)

namespace {

std::string EnergyRows(const Report& report) {
  // A row of equal devices has the numbers of one.
  const bool classes = HasClasses(report);
  Table table({"device", "metric", "host", "source", classes ? "energy of each" : "energy",
               classes ? "power of each" : "mean power", ""});
  for (const EnergyRow& row : report.energy) {
    table.Add({DeviceText(row.device, row.devices, 20), Fit(row.metric, 16), Fit(row.host, 10),
               row.source + (row.modelled ? " (modelled)" : ""), NumberText(row.joules) + " J",
               NumberText(row.mean_watts) + " W", row.in_total ? "" : "(within another)"});
  }
  return table.Empty() ? "" : table.Text(4);
}

constexpr std::size_t kMaxClasses = 10;
constexpr std::size_t kMaxTransfers = 8;
constexpr std::size_t kMaxRanks = 16;

std::string SpreadText(const std::optional<Spread>& spread) {
  return spread ? JoulesText(spread->median) + " +/- " + JoulesText(spread->half_range) : "-";
}

std::string ShareText(double part, double whole) {
  return whole > 0 ? fmt::format("{:.1f} %", 100 * part / whole) : "-";
}

std::string StepLines(const Report& report) {
  const EnergyAttribution& all = *report.attribution;
  std::string text;
  if (all.step_joules && all.step_joules->iterations < 2) {
    text += fmt::format("  {} a step\n", JoulesText(all.step_joules->median));
  } else if (all.step_joules) {
    text +=
        fmt::format("  {} a step (median of {} iterations, half their range; standard error {})\n",
                    SpreadText(all.step_joules), all.step_joules->iterations,
                    JoulesText(all.step_joules->standard_error));
  }
  if (all.boundary_joules) {
    text += fmt::format("  +/- {} of the total: what meters had not counted yet at its two ends\n",
                        JoulesText(all.boundary_joules));
  }
  if (all.idle_watts) {
    text += fmt::format(
        "  {} above the {} W of {}\n", JoulesText(all.above_idle_joules),
        NumberText(all.idle_watts),
        IsSimulated(report.manifest) ? "idle devices" : "the idle machine before the run");
  }
  const auto amount = [&text](const std::optional<StepAmount>& of, const char* name) {
    if (of) {
      text += Wrap(fmt::format("  {:.0f} {} a step, {} {}/J ({})", of->per_step, name,
                               NumberText(of->per_joule), name, of->from),
                   kConsoleWidth, 4);
    }
  };
  amount(all.tokens, "tokens");
  amount(all.samples, "samples");
  return text;
}

std::string UserName(const EnergyUseRow& row) { return row.name; }
std::string UserName(const TransferEnergyRow& row) {
  return fmt::format("{} {}/{} {}", row.name, Fit(row.group, 6), row.group_size,
                     BytesText(row.bytes));
}

// Rows of one kind, the first `most` of them; what is left out is one row.
class UseTable {
 public:
  explicit UseTable(const EnergyAttribution& all)
      : all_(all),
        table_({"", "", "energy", "share", all.above_idle_joules ? "above idle" : "", "a step",
                "+/-", "active"}) {}

  template <typename Row>
  void Add(const std::string& kind, const std::vector<Row>& rows, std::size_t most) {
    double rest = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (i < most) {
        Add(kind, UserName(rows[i]), rows[i].use);
      } else {
        rest += rows[i].use.joules;
      }
    }
    if (rows.size() > most) {
      AddPlain(kind, fmt::format(".. {} more", rows.size() - most), rest);
    }
  }
  void AddPlain(const std::string& kind, const std::string& name, double joules) {
    table_.Add({kind, name, JoulesText(joules), ShareText(joules, all_.joules), "", "", "", ""});
  }
  [[nodiscard]] std::string Text() const {
    return table_.Text(2) +
           (estimates_ ? "  ~ ran for less than five updates of its meter: a rough estimate\n"
                       : "");
  }

 private:
  void Add(const std::string& kind, const std::string& name, const EnergyUse& use) {
    const auto& step = use.step_joules;
    table_.Add({kind, name, JoulesText(use.joules), ShareText(use.joules, all_.joules),
                use.above_idle_joules ? JoulesText(use.above_idle_joules) : "",
                JoulesText(step ? std::optional(step->median) : std::nullopt),
                JoulesText(step ? std::optional(step->half_range) : std::nullopt),
                DurationText(use.active_ns) + (use.estimate ? " ~" : "  ")});
    estimates_ = estimates_ || use.estimate;
  }

  const EnergyAttribution& all_;
  Table table_;
  bool estimates_ = false;
};

std::string MeterTable(const Report& report) {
  const bool classes = HasClasses(report);
  Table table(
      {"meter", "host", "ranks", classes ? "of each" : "energy", "idle", "updates", "at ends"});
  for (const MeterEnergyRow& row : report.attribution->meters) {
    const std::string ranks = row.ranks.empty()      ? "none"
                              : row.ranks.size() > 1 ? fmt::format("{} ranks", row.ranks.size())
                              : classes              ? ShortClassText(report, row.ranks.front())
                                                     : fmt::format("{}", row.ranks.front());
    table.Add({DeviceText(row.device, row.devices, 18) + " " + Fit(row.metric, 16) +
                   (row.modelled ? " (modelled)" : ""),
               Fit(row.host, 12), ranks, JoulesText(row.joules),
               ShareText(row.idle_joules, row.joules), DurationText(row.update_ns),
               JoulesText(row.boundary_joules)});
  }
  return table.Text(3);
}

// Empty without an attribution.
std::string EnergyUsesText(const Report& report, const Style& style) {
  if (!report.attribution) {
    return "";
  }
  const EnergyAttribution& attribution = *report.attribution;
  UseTable table(attribution);
  table.Add("phase", attribution.phases, attribution.phases.size());
  table.Add("class", attribution.classes, kMaxClasses);
  table.Add("transfer", attribution.transfers, kMaxTransfers);
  std::vector<EnergyUseRow> ranks = attribution.ranks;
  for (EnergyUseRow& row : ranks) {
    row.name = HasClasses(report) ? ShortClassText(report, std::stoi(row.name)) : row.name;
  }
  table.Add(HasClasses(report) ? "ranks" : "rank", ranks, kMaxRanks);
  table.AddPlain("idle", "no operation ran", attribution.idle_joules);
  if (attribution.gap_joules != 0) {
    table.AddPlain("gaps", "meter not read", attribution.gap_joules);
  }
  return Heading(style, "Who used the energy",
                 std::string(attribution.of_operations
                                 ? "of each operation as modelled, idle power in equal shares"
                                 : "equal shares among what runs at a time") +
                     (attribution.modelled ? "; MODELLED power" : "")) +
         StepLines(report) + table.Text() + MeterTable(report);
}

std::string EnergySectionText(const Report& report, const Style& style) {
  const std::string line = EnergyLine(report, style);
  return (line.empty() ? "" : "\n" + line) + EnergyRows(report) + EnergyUsesText(report, style);
}

void AddEnergyJson(const Report& report, Json& json) {
  json["energy_joules"] = report.energy_joules;
  json["energy_source"] = NullIfEmpty(report.energy_source);
  json["mean_watts"] = report.energy_joules ? Json(report.mean_watts) : Json(nullptr);
  REPRISE_ADD_FIELDS(json, report, measured_ns, energy)
  json["metrics"] = nullptr;  // its place among the members; telemetry fills it
  REPRISE_ADD_FIELDS(json, report, tokens, samples, attribution)
}

void CutAttribution(std::size_t most, std::size_t most_ranks, Cutter& cutter,
                    EnergyAttribution& attribution) {
  const auto joules = [](const auto& row) { return row.joules; };
  const auto used = [](const auto& row) { return row.use.joules; };
  cutter.Cut("energy.meters", most, attribution.meters, joules);
  cutter.Cut("energy.hosts", most, attribution.hosts, joules);
  cutter.Cut("energy.steps", most, attribution.steps);
  cutter.Cut("energy.transfers", most, attribution.transfers, used);
  cutter.Cut("energy.ranks", most_ranks, attribution.ranks, used);
}

void CutEnergy(const HtmlLimits& limits, Cutter& cutter, Report& report) {
  cutter.Cut("energy", limits.rows, report.energy, [](const EnergyRow& row) { return row.joules; });
  if (report.attribution) {
    CutAttribution(limits.rows, limits.ranks, cutter, *report.attribution);
  }
}

}  // namespace

Section EnergySection() {
  return {.name = "energy", .console = EnergySectionText, .json = AddEnergyJson, .cut = CutEnergy};
}

}  // namespace reprise
