// What the run was, what was skipped or inferred, and counters.

#include "core/counters.h"
#include "report/sections/rows_json.h"
#include "report/sections/section.h"
#include "report/text/table.h"

namespace reprise {
namespace {

std::string NotesText(const Report& report, const Style& style) {
  if (report.notes.empty() && report.diagnostics.empty()) {
    return "";
  }
  std::string text = Heading(style, "Notes", "");
  for (const std::string& note : report.notes) {
    text += Wrap("  - " + note, kConsoleWidth, 4);
  }
  for (const CounterSentence& counted : DescribeCounters(report.diagnostics)) {
    text += Wrap("  - " + counted.text, kConsoleWidth, 4);
  }
  return text;
}

Json ManifestJson(const RunManifest& manifest) {
  return {{"command", manifest.command},       {"reprise_version", manifest.reprise_version},
          {"trace_name", manifest.trace_name}, {"trace_path", manifest.trace_path},
          {"trace_hash", manifest.trace_hash}, {"started_at", manifest.started_at},
          {"world_size", manifest.world_size}, {"complete", manifest.complete},
          {"options", manifest.options},       {"versions", manifest.versions}};
}

void AddNotesJson(const Report& report, Json& json) {
  json["run"] = ManifestJson(report.manifest);
  json["diagnostics"] = report.diagnostics;
  json["notes"] = report.notes;
}

void CutNotes(const HtmlLimits& limits, Cutter& cutter, Report& report) {
  cutter.Cut("notes", limits.rows, report.notes);
}

}  // namespace

Section NotesSection() {
  return {.name = "notes", .console = NotesText, .json = AddNotesJson, .cut = CutNotes};
}

}  // namespace reprise
