#include <fmt/format.h>

#include <algorithm>

#include "core/counted.h"
#include "report/compare/present.h"
#include "report/text/table.h"

namespace reprise {

namespace {

constexpr std::size_t kObservations = 2;  // stragglers' placements that a console shows

std::string Ns(double ns) { return DurationText(static_cast<std::int64_t>(ns)); }

// Those that are not times, which have columns of their own: power and temperature first.
std::vector<std::size_t> ShownMetrics(const RankComparison& of) {
  constexpr std::size_t kMaxMetrics = 2;
  std::vector<std::size_t> shown;
  for (const char* unit : {"watts", "celsius"}) {
    for (std::size_t m = 0; m < of.metrics.size() && shown.size() < kMaxMetrics; ++m) {
      if (of.metrics[m].unit == unit) {
        shown.push_back(m);
      }
    }
  }
  return shown;
}

std::string PlaceCell(const RankLoad& rank) {
  const std::string slot = rank.slot < 0 ? "-" : std::to_string(rank.slot);
  return rank.host.empty() && rank.slot < 0
             ? "-"
             : fmt::format("{}/{}", rank.host.empty() ? "-" : Fit(rank.host, 12), slot);
}

// Of a folded simulation.
bool HasClasses(const RankComparison& of) {
  return std::ranges::any_of(of.ranks, [](const RankLoad& rank) { return rank.alike > 1; });
}

Table RankTable(const RankComparison& of, std::size_t most) {
  std::vector<std::string> header = {"rank",      "host/slot", "step",    "operations",
                                     "to median", "idle",      "exposed", "waiting"};
  const std::vector<std::size_t> metrics = ShownMetrics(of);
  const bool classes = HasClasses(of);
  if (classes) {
    header[0] = "class";
    header[1] = "ranks";
  }
  for (const std::size_t m : metrics) {
    // The heading says that all are means.
    const std::string& name = of.metrics[m].name;
    header.push_back(Fit(name.starts_with("mean ") ? name.substr(5) : name, 11) +
                     (of.metrics[m].unit == "watts" ? " W" : " C"));
  }
  Table table(header);
  for (std::size_t i = 0; i < std::min(of.ranks.size(), most); ++i) {
    const RankLoad& rank = of.ranks[i];
    std::vector<std::string> row = {std::to_string(rank.rank),
                                    classes ? std::to_string(rank.alike) : PlaceCell(rank),
                                    Ns(rank.step_ns),
                                    Ns(rank.operations_ns),
                                    fmt::format("{:.2f}x", rank.to_median),
                                    Ns(rank.idle_ns),
                                    Ns(rank.exposed_ns),
                                    Ns(rank.waited_ns)};
    for (const std::size_t m : metrics) {
      row.push_back(m < rank.metrics.size() ? NumberText(rank.metrics[m]) : "-");
    }
    table.Add(row);
  }
  return table;
}

std::string PeaksText(const JobOperations& job, const Style& style, bool full) {
  if (job.power_peaks.empty()) {
    return {};
  }
  Table table({"meter", "above", "most", "peaks", "throttled", "operations in them"});
  constexpr std::size_t kMaxMeters = 3;
  const std::size_t shown =
      full ? job.power_peaks.size() : std::min(job.power_peaks.size(), kMaxMeters);
  for (std::size_t i = 0; i < shown; ++i) {
    const PeakOfPower& of = job.power_peaks[i];
    std::string operations;
    for (std::size_t k = 0; k < std::min<std::size_t>(of.operations.size(), 2); ++k) {
      operations += (k == 0 ? "" : ", ") + Fit(of.operations[k].name, 16);
    }
    table.Add({Fit(of.device, 18), fmt::format("{:.0f} W", of.threshold_watts),
               fmt::format("{:.0f} W{}", of.most_watts, of.modelled ? " m" : ""),
               std::to_string(of.peaks), of.throttled ? std::to_string(*of.throttled) : "-",
               operations});
  }
  return Heading(style, "Power peaks", "m: modelled, not measured") + TableText(style, table);
}

}  // namespace

std::string RanksText(const JobOperations& job, const RankComparison& of, const Style& style,
                      bool full) {
  std::string text = style.bold + Message(style, of.verdict + ".", 2) + style.reset;
  for (const std::string& note : job.notes) {
    text += Message(style, "note: " + note, 6);
  }
  const std::size_t observed =
      full ? of.observations.size() : std::min<std::size_t>(of.observations.size(), kObservations);
  for (std::size_t i = 0; i < observed; ++i) {
    text += Message(style, "seen, not shown to be the cause: " + of.observations[i], 6);
  }
  const std::size_t most =
      full ? of.ranks.size() : (job.power_peaks.empty() ? 14 : 8) - 3 * observed;
  text += Heading(style, HasClasses(of) ? "Classes of equal ranks" : "Ranks", "means of a step") +
          TableText(style, RankTable(of, most), 2);
  if (of.ranks.size() > most) {
    text += fmt::format("-v shows {}\n", Counted(of.ranks.size() - most, "more rank"));
  }
  if (!of.groups.empty()) {
    Table table({"ranks by", "", "ranks", "operations", "to all", "waiting"});
    const std::size_t groups = full ? of.groups.size() : std::min<std::size_t>(of.groups.size(), 4);
    for (std::size_t i = 0; i < groups; ++i) {
      const RankGroupLoad& group = of.groups[i];
      table.Add({group.kind, group.name.empty() ? "unknown" : Fit(group.name, 30),
                 std::to_string(group.ranks), Ns(group.operations_ns),
                 fmt::format("{:.2f}x", group.to_all), Ns(group.waited_ns)});
    }
    text +=
        Heading(style, "Hosts, slots and devices", "means of ranks") + TableText(style, table, 2);
  }
  Table table({"class", "least", "mean", "most", HasClasses(of) ? "of class of ranks" : "of rank"});
  const std::size_t classes =
      full ? of.classes.size() : std::min<std::size_t>(of.classes.size(), 5);
  for (std::size_t i = 0; i < classes; ++i) {
    const ClassSpread& spread = of.classes[i];
    table.Add({spread.op_class, Ns(spread.least_ns), Ns(spread.mean_ns), Ns(spread.most_ns),
               std::to_string(spread.most_rank)});
  }
  text +=
      Heading(style, "Classes that differ most between ranks", "a step") + TableText(style, table);
  return text + PeaksText(job, style, full);
}

}  // namespace reprise
