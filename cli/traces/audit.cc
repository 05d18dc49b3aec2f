// reprise audit: what a trace set or a run still says.
#include "converters/share/audit/audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <span>

#include "cli/program/commands.h"
#include "cli/program/common_options.h"
#include "cli/program/given_path.h"
#include "cli/program/local_names.h"
#include "cli/program/show_json.h"
#include "cli/traces/audit_run.h"
#include "core/counted.h"
#include "core/json_fields.h"
#include "core/shown_text.h"
#include "et_schema/trace_set.h"

namespace reprise {

REPRISE_JSON_FIELDS(AuditFinding, kind, field, text, count)
inline void to_json(Json& json, const ShapeFact& fact) {
  json = {{"fact", fact.name}, {"value", fact.value}, {"from", fact.from}};
}

namespace {

struct AuditFlags {
  AuditRequest request;
  bool json = false, all = false;
};

Json ToJson(const AuditFlags& flags, const AuditReport& report) {
  Json fields = Json::object();
  for (const auto& [name, field] : report.census.fields) {
    fields[name] = {{"count", field.count}, {"strings", field.texts}};
  }
  return {{"path", flags.request.directory}, {"files", report.files},
          {"nodes", report.census.nodes},    {"clean", report.findings.empty()},
          {"findings", report.findings},     {"readable_from_shapes", report.facts},
          {"fields", std::move(fields)}};
}

// Strings come from files: no control characters on a terminal.
std::string Printable(std::string_view text) {
  constexpr std::size_t kMax = 120;
  return ShownText(text.substr(0, kMax)) + (text.size() > kMax ? "..." : "");
}

constexpr std::size_t kMaxAuditLines = 12;

void PrintVerdict(const AuditFlags& flags, const AuditReport& report) {
  if (report.findings.empty()) {
    fmt::print("{}: safe to share: no private name, path, secret or time of day in {}\n",
               ShownText(flags.request.directory), Counted(report.files, "file"));
    return;
  }
  fmt::print("{}: do not share yet: {} in {}\n", ShownText(flags.request.directory),
             Counted(report.findings.size(), "finding"), Counted(report.files, "file"));
}

void PrintFindings(const AuditReport& report, bool all) {
  const std::size_t shown =
      all ? report.findings.size() : std::min(report.findings.size(), kMaxAuditLines);
  for (const AuditFinding& finding : std::span(report.findings).first(shown)) {
    fmt::print("  {} in {}{}{} ({} times)\n", finding.kind, Printable(finding.field),
               finding.text.empty() ? "" : ": ", Printable(finding.text), finding.count);
  }
  if (shown < report.findings.size()) {
    fmt::print("  {} more findings; --all shows them\n", report.findings.size() - shown);
  }
}

void PrintFields(const AuditReport& report, bool all) {
  fmt::print("fields and strings of {} nodes:\n", report.census.nodes);
  for (const auto& [name, field] : report.census.fields) {
    fmt::print("  {} x {}\n", field.count, Printable(name));
    std::size_t shown = 0;
    for (const auto& [text, count] : field.texts) {
      if (!all && shown++ == kMaxAuditLines) {
        fmt::print("      {} more; --all shows them\n", field.texts.size() - kMaxAuditLines);
        break;
      }
      fmt::print("      {} x '{}'\n", count, Printable(text));
    }
  }
}

void Print(const AuditFlags& flags, const AuditReport& report, bool verbose) {
  PrintVerdict(flags, report);
  PrintFindings(report, flags.all);
  for (const ShapeFact& fact : report.facts) {
    fmt::print("can be read from shapes: {} {} ({})\n", fact.name, fact.value, fact.from);
  }
  if (!report.findings.empty()) {
    fmt::print("{}\n", FindPathKind(flags.request.directory) == PathKind::kRun
                           ? "replay or simulate the anonymized set, with --provenance none"
                           : fmt::format("remove them: reprise anonymize {} shared --verify",
                                         ShownText(flags.request.directory)));
  }
  if (verbose || flags.all) {
    PrintFields(report, flags.all);
  } else {
    fmt::print("-v shows every field and its strings\n");
  }
}

Result<AuditReport> Audit(const AuditRequest& request) {
  if (FindPathKind(request.directory) == PathKind::kRun) {
    return AuditRun(request);
  }
  REPRISE_ASSIGN(const TraceSet set, TraceSet::OpenPresent(request.directory));
  REPRISE_TRY(set.Verify());
  return AuditSet(request);
}

}  // namespace

CommandBody RegisterAudit(CLI::App& app, const CommandContext& /*context*/) {
  auto flags = std::make_shared<AuditFlags>();
  app.description(
      "List the strings and fields in a trace set or a run; exit 1 if some should not be shared");
  app.add_option("SET", flags->request.directory, "trace set or run")->required();
  app.add_option("--public-names", flags->request.public_names,
                 "file with further names to accept");
  app.add_flag("--all", flags->all, "print every string and finding");
  app.add_flag("--json", flags->json, "machine-readable result on stdout, always complete");
  return [&app, flags]() -> Result<int> {
    flags->request.local = NamesOfThisMachine();
    REPRISE_ASSIGN(const AuditReport report, Audit(flags->request));
    if (flags->json) {
      ShowJson(ToJson(*flags, report), 1);
    } else {
      Print(*flags, report, IsVerbose(app));
    }
    return report.findings.empty() ? 0 : static_cast<int>(ErrorKind::kCheckFailed);
  };
}

}  // namespace reprise
