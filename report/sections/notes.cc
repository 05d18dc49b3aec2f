// What the run was, what was skipped or inferred, and counters.

#include "core/counters.h"
#include "core/json_fields.h"
#include "report/sections/section.h"
#include "report/text/table.h"

namespace reprise {

REPRISE_JSON_FIELDS(RunManifest, command, reprise_version, trace_name, trace_path, trace_hash,
                    started_at, provenance, world_size, complete, options, versions)

namespace {

std::string NotesText(const Report& report, const Style& style) {
  const std::vector<CounterSentence> sentences = DescribeCounters(report.diagnostics);
  if (report.notes.empty() && sentences.empty()) {
    return "";
  }
  std::string text = Heading(style, "Notes", "");
  for (const std::string& note : report.notes) {
    text += Wrap("  - " + note, kConsoleWidth, 4);
  }
  for (const CounterSentence& counted : sentences) {
    text += Wrap("  - " + counted.text, kConsoleWidth, 4);
  }
  return text;
}

void AddNotesJson(const Report& report, Json& json) {
  json["run"] = report.manifest;
  REPRISE_ADD_FIELDS(json, report, diagnostics, notes)
}

void CutNotes(const HtmlLimits& limits, Cutter& cutter, Report& report) {
  cutter.Cut("notes", limits.rows, report.notes);
}

}  // namespace

Section NotesSection() {
  return {.name = "notes", .console = NotesText, .json = AddNotesJson, .cut = CutNotes};
}

}  // namespace reprise
