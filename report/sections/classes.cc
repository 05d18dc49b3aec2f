#include <fmt/format.h>

#include "report/sections/json_fields.h"
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
  std::vector<std::string> header = {"class", "nodes"};
  AddIf(recorded, header, {"recorded", "tracing"});
  AddIf(true, header, {ReplayedName(verdict)});
  AddIf(recorded, header, {RatioName(verdict)});
  AddIf(true, header, {"GFLOP/s", "GB/s"});
  AddIf(sources, header, {"times from"});
  Table table(std::move(header));
  for (const ClassRow& row : report.classes) {
    std::vector<std::string> cells = {row.name, fmt::format("{}", row.count)};
    AddIf(recorded, cells, {DurationText(row.recorded_ns), DurationText(row.tracing_ns)});
    AddIf(true, cells, {DurationText(row.replayed_ns)});
    AddIf(recorded, cells,
          {RatioText(verdict, row.replayed_ns,
                     ComparedNs(verdict, row.recorded_ns, row.tracing_ns))});
    AddIf(true, cells,
          {row.flops > 0 ? NumberText(row.gflop_per_s) : "-",
           row.bytes > 0 ? NumberText(row.gb_per_s) : "-"});
    AddIf(sources, cells, {MainSourceText(row.from_ns)});
    table.Add(std::move(cells));
  }
  if (table.Empty()) {
    return "";
  }
  const std::string ranks =
      HasClasses(report) ? fmt::format("all {} ranks", RanksOf(report)) : "all ranks";
  return Heading(style, "By class",
                 recorded ? fmt::format(
                                "{} and recorded steps; {} {}", ranks, RatioName(verdict),
                                verdict.untraced ? "against recorded less tracing" : "with tracing")
                          : ranks + " and steps") +
         table.Text();
}

void AddClassesJson(const Report& report, Json& json) { json["classes"] = report.classes; }

}  // namespace

Section ClassesSection() {
  return {.name = "classes", .console = ClassesText, .json = AddClassesJson};
}

}  // namespace reprise
