#include "report/text/console_lines.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <initializer_list>
#include <utility>
#include <vector>

#include "report/text/time_sources.h"
#include "report/text/verdict_warnings.h"

namespace reprise {
namespace {

// Units that people read: hertz as GHz, bytes scaled, fractions as percent.
std::string MetricText(double value, const MetricRow& row) {
  if (row.unit == "bytes" && !row.rate) {
    return BytesText(static_cast<std::int64_t>(value));
  }
  if (row.unit == "hertz") {
    return NumberText(value * 1e-9) + " GHz";
  }
  if (row.unit == "fraction" || (row.unit == "seconds" && row.rate)) {
    return fmt::format("{:.1f} %", 100 * value);
  }
  if (row.unit == "celsius") {
    return fmt::format("{:.1f} C", value);
  }
  return NumberText(value) + (row.unit == "count" ? "" : " " + row.unit) + (row.rate ? "/s" : "");
}

// "49.1 %"; empty where it would be 0.0 %.
std::string CoverageShare(double share) {
  constexpr double kLeast = 0.0005;
  return share < kLeast ? "" : fmt::format("{:.1f} %", 100 * share);
}

using NamedShares = std::initializer_list<std::pair<std::string_view, double>>;

// ", timed 33.4 % (compiled code 33.0 %)"; empty where it would be 0.0 %.
std::string CoveragePart(std::string_view name, double share, NamedShares parts) {
  const std::string amount = CoverageShare(share);
  if (amount.empty()) {
    return "";
  }
  std::vector<std::string> within;
  for (const auto& [part, of_it] : parts) {
    if (const std::string own = CoverageShare(of_it); !own.empty()) {
      within.push_back(fmt::format("{} {}", part, own));
    }
  }
  return fmt::format(", {} {}{}", name, amount,
                     within.empty() ? "" : fmt::format(" ({})", fmt::join(within, ", ")));
}

}  // namespace

std::string CoverageText(const Coverage& coverage, std::string_view whole) {
  return fmt::format("real {:.1f} % of {}", 100 * coverage.real, whole) +
         CoveragePart("surrogate", coverage.surrogate, {{"capped", coverage.capped}}) +
         CoveragePart("timed", coverage.timed,
                      {{"compiled code", coverage.compiled}, {"unknown work", coverage.unknown}}) +
         CoveragePart("skipped", coverage.skipped, {}) +
         CoveragePart("pauses", coverage.waiting + coverage.host,
                      {{"waiting", coverage.waiting}, {"host work", coverage.host}});
}

std::string RowsLeftOut(std::size_t rows, std::size_t most, const char* what) {
  return rows > most ? fmt::format("  .. and {} {}; --json has all\n", rows - most, what) : "";
}

std::string Label(const std::string& name, const Style& style) {
  return fmt::format("{}{:<15}{} ", style.bold, name, style.reset);
}

std::string SummaryLine(const std::string& name, const std::string& text, const Style& style) {
  constexpr std::size_t kLabelWidth = 16;
  const std::string wrapped =
      Wrap(std::string(kLabelWidth, ' ') + text, kConsoleWidth, kLabelWidth);
  return Label(name, style) + wrapped.substr(kLabelWidth);
}

std::string VerdictLines(const Verdict& verdict, std::size_t most_warnings, const Style& style) {
  std::string text = style.bold + Wrap(verdict.text, kConsoleWidth, 0);
  text.insert(text.size() - 1, style.reset);
  if (!verdict.caution.empty()) {
    text.insert(0, Wrap("! " + verdict.caution, kConsoleWidth, 2));
  }
  for (const std::string& warning : First(most_warnings, verdict.warnings)) {
    text += Wrap("  ! " + warning, kConsoleWidth, 4);
  }
  return text;
}

std::string CoverageLine(const Report& report, const Style& style) {
  if (!IsReplay(report.manifest)) {
    return "";
  }
  std::string text;
  switch (report.coverage_basis) {
    case CoverageBasis::kTime:
      text = CoverageText(report.coverage, "the recorded step");
      break;
    case CoverageBasis::kFlops:
      text =
          fmt::format("{}; {} (no times are recorded)", CoverageText(report.coverage, "the FLOPs"),
                      CoverageText(report.coverage_of_bytes, "the bytes"));
      break;
    case CoverageBasis::kBytes:
    case CoverageBasis::kNodes:
      text = fmt::format(
          "{} (no times are recorded)",
          CoverageText(report.coverage, fmt::format("the {}", Name(report.coverage_basis))));
      break;
  }
  return SummaryLine("Coverage", text, style);
}

std::string SourceLine(const Report& report, const Style& style) {
  const RunSources sources = SourcesOf(report);
  if (!HasSources(sources)) {
    return "";
  }
  const std::string operations = SourcesText(sources.operations_ns);
  const std::string transfers = SourcesText(sources.transfers_ns);
  return SummaryLine("Times from",
                     fmt::format("{}{}{}", operations.empty() ? "" : "operations: " + operations,
                                 operations.empty() || transfers.empty() ? "" : "; ",
                                 transfers.empty() ? "" : "transfers: " + transfers),
                     style);
}

bool HasClasses(const Report& report) {
  // A run of every rank, each a class of its own, is one of ranks.
  return std::ranges::any_of(report.ranks, [](const RankRow& row) {
    return row.alike > 1 || (!row.members.empty() && row.members != std::to_string(row.rank));
  });
}

std::string ClassText(const RankRow& row) {
  constexpr std::size_t kMembersWidth = 40;
  return row.alike == 1 ? fmt::format("rank {}", row.members)
                        : fmt::format("class {} ({} ranks: {})", row.rank, row.alike,
                                      Fit(row.members, kMembersWidth));
}

std::string ShortClassText(const Report& report, std::int32_t rank) {
  for (const RankRow& row : report.ranks) {
    if (row.rank == rank && row.alike > 1) {
      return fmt::format("class {}, {} ranks", rank, row.alike);
    }
    if (row.rank == rank && !row.members.empty()) {
      return fmt::format("rank {}", row.members);
    }
  }
  return fmt::format("rank {}", rank);
}

std::string EnergyLine(const Report& report, const Style& style) {
  if (!report.energy_joules && !Runs(report.manifest)) {
    return "";
  }
  if (!report.energy_joules) {
    return Label("Energy", style) + "unknown: no source, or too few samples\n";
  }
  return Label("Energy", style) + fmt::format("{} over {}{}, {} W mean, source: {}\n",
                                              JoulesText(report.energy_joules),
                                              DurationText(report.measured_ns),
                                              report.iterations > 1 ? " (all iterations)" : "",
                                              NumberText(report.mean_watts), report.energy_source);
}

std::string MetricRows(const Report& report, std::size_t most) {
  Table table({"metric", "device", "host", "source", "min", "mean", "max", "updates"});
  std::size_t left_out = 0;
  std::size_t shown = 0;
  for (const MetricRow& row : report.metrics) {
    if (row.device.starts_with("cpu-")) {
      continue;  // single cores, of which there may be hundreds, are in --json
    }
    if (shown == most) {
      ++left_out;
      continue;
    }
    ++shown;
    table.Add({Fit(row.metric, 18), DeviceText(row.device, row.devices, 17), Fit(row.host, 8),
               row.source + (row.modelled ? " (modelled)" : ""),
               row.rate ? "" : MetricText(row.min, row), MetricText(row.mean, row),
               row.rate ? "" : MetricText(row.max, row), DurationText(row.update_ns)});
  }
  return table.Empty() ? ""
                       : table.Text(4) + (left_out > 0 ? fmt::format("  .. and {} more\n", left_out)
                                                       : std::string());
}

}  // namespace reprise
