#include "report/monitored_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace reprise {
namespace {

std::string OptionOr(const RunManifest& manifest, const std::string& name,
                     const std::string& otherwise) {
  const auto found = manifest.options.find(name);
  return found == manifest.options.end() ? otherwise : found->second;
}

}  // namespace

bool IsMonitored(const RunManifest& manifest) {
  return OptionOr(manifest, "mode", "") == kMonitorMode;
}

std::string MonitoredHead(const Report& report, const Style& style) {
  const std::string launcher = OptionOr(report.manifest, "launcher", "");
  return fmt::format("\n{}Monitored{}       {}\n{}Time{}            {} ({} rank{}{})\n", style.bold,
                     style.reset, Fit(OptionOr(report.manifest, "monitored", "this host"), 80),
                     style.bold, style.reset, DurationText(report.step_time_replayed_ns),
                     report.manifest.world_size, report.manifest.world_size == 1 ? "" : "s",
                     launcher.empty() ? "" : " of " + launcher);
}

std::string MonitoredRanks(const Report& report, const Style& style) {
  if (report.ranks.size() < 2) {
    return "";
  }
  Table table({"rank", "host", "time"});
  for (std::size_t i = 0; i < std::min(report.ranks.size(), kMaxRankRows); ++i) {
    const RankRow& row = report.ranks[i];
    table.Add(
        {fmt::format("{}", row.rank), Fit(row.host, 24), DurationText(row.step_time_replayed_ns)});
  }
  return Heading(style, "Ranks", "the command's time on each") + table.Text(2) +
         RanksLeftOut(report.ranks.size());
}

}  // namespace reprise
