#include <fmt/format.h>

#include "core/json_fields.h"
#include "report/sections/report_json.h"
#include "report/sections/section.h"
#include "report/text/console_lines.h"
#include "report/text/time_sources.h"
#include "report/text/verdict.h"

namespace reprise {
namespace {

std::string ClassesText(const Report& report, const Style& style) {
  const Verdict& verdict = report.verdict;
  const bool recorded = HasRecordedTimes(report);
  const bool sources = HasSources(SourcesOf(report));
  Table table({"class", "nodes", If(recorded, "recorded"), If(recorded, "tracing"),
               ReplayedName(verdict), If(recorded, RatioName(verdict)), "GFLOP/s", "GB/s",
               If(sources, "times from")});
  for (const ClassRow& row : report.classes) {
    table.Add(
        {row.name, fmt::format("{}", row.count), DurationText(row.recorded_ns),
         DurationText(row.tracing_ns), DurationText(row.replayed_ns),
         RatioText(verdict, row.replayed_ns, ComparedNs(verdict, row.recorded_ns, row.tracing_ns)),
         row.flops > 0 ? NumberText(row.gflop_per_s) : "-",
         row.bytes > 0 ? NumberText(row.gb_per_s) : "-", MainSourceText(row.from_ns)});
  }
  const std::string ranks =
      HasClasses(report) ? fmt::format("all {} ranks", RanksOf(report)) : "all ranks";
  return TitledTable(
      style, "By class",
      recorded ? fmt::format("{} and recorded steps; {} {}", ranks, RatioName(verdict),
                             verdict.untraced ? "against recorded less tracing" : "with tracing")
               : ranks + " and steps",
      table);
}

void AddClassesJson(const Report& report, Json& json) { json["classes"] = report.classes; }

}  // namespace

Section ClassesSection() {
  return {.name = "classes", .console = ClassesText, .json = AddClassesJson};
}

}  // namespace reprise
