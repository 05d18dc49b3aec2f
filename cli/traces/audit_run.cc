#include "cli/traces/audit_run.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "converters/share/anonymize/vocabulary.h"
#include "core/checksums.h"
#include "core/output_kind.h"
#include "core/text.h"
#include "report/run/provenance.h"
#include "report/run/row_columns.h"
#include "report/run/run_texts.h"
#include "report/run/schema.h"

namespace reprise {
namespace {

// The field of a set whose text a run repeats; empty: none.
std::string_view FieldOfSet(const RunText& of) {
  if (of.table == "node_info" && of.field == "name") {
    return "node.name";
  }
  if (of.table == "collectives" && of.field == "process_group") {
    return "group id";
  }
  return of.table == "manifest.json" && of.field == "trace_name" && of.text != "trace" ? "set name"
                                                                                       : "";
}

// A directory of the kernel's that every machine may have: "/sys/class/powercap".
bool IsOfEveryMachine(std::string_view path) {
  constexpr std::string_view kClasses = "/sys/class/";
  return path.starts_with(kClasses) &&
         path.substr(kClasses.size()).find('/') == std::string_view::npos;
}

// Whether what looks like it is none: a GPU's number, a file's name without directories, where the
// kernel would have had telemetry.
bool IsHarmless(const RunText& of, ProvenanceRule rule, const Discovery& discovery) {
  return (discovery.kind == "host name" && of.field == "device") ||
         (discovery.kind == "path" &&
          (IsOfEveryMachine(discovery.excerpt) ||
           (rule == ProvenanceRule::kFileNames && FileNamesOnly(of.text) == of.text)));
}

void AddFindings(const RunText& of, const Vocabulary& vocabulary, const LocalNames& local,
                 std::vector<AuditFinding>& findings) {
  const std::string where = of.table + " " + of.field;
  const auto add = [&](std::string_view kind, std::string text) {
    findings.push_back({std::string(kind), where, std::move(text), of.count});
  };
  if (of.text.empty() || of.text == "0" || of.text == "simulated" || IsNumberedHost(of.text)) {
    return;
  }
  if (of.table == "facts" && of.field == "trace_base_ns" &&
      ParseNumber<std::int64_t>(of.text).value_or(0) > kAbsoluteNs) {
    add("absolute time", of.text);
  }
  if (const std::string_view field = FieldOfSet(of); !field.empty()) {
    for (AuditFinding& finding :
         AuditText(vocabulary, local, std::string(field), of.text, of.count)) {
      findings.push_back(std::move(finding));
    }
    return;
  }
  const ProvenanceField* const field = FindProvenanceField(of.table, of.field);
  const ProvenanceRule rule = field == nullptr ? ProvenanceRule::kShortened : field->rule;
  if (rule == ProvenanceRule::kLeftOut || rule == ProvenanceRule::kNumbered) {
    add(std::string("provenance: ").append(field->reason), of.text);
    return;
  }
  for (Discovery& discovery : ScanText(of.text, local)) {
    if (!IsHarmless(of, rule, discovery)) {
      add(discovery.kind, std::move(discovery.excerpt));
    }
  }
}

// Numbers that a rank's file has too, and nothing else.
bool IsOfColumns(const std::string& directory, const std::string& name) {
  const auto rank = RankOfColumns(name);
  const Result<std::string> checksum =
      rank ? ChecksumOf(RankPath(directory, *rank)) : Result<std::string>();
  return checksum && RowColumns::Read(directory, *rank, *checksum);
}

}  // namespace

Result<AuditReport> AuditRun(const AuditRequest& request) {
  REPRISE_ASSIGN(const Vocabulary vocabulary, Vocabulary::Create(request.public_names));
  REPRISE_ASSIGN(const RunTexts run, ReadTexts(request.directory));
  AuditReport report;
  report.files = run.files;
  for (const RunText& text : run.texts) {
    Census::Field& field = report.census.fields[text.table + " " + text.field];
    field.count += text.count;
    field.texts[text.text] += text.count;
    AddFindings(text, vocabulary, request.local, report.findings);
  }
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(request.directory, error)) {
    const std::string name = entry.path().filename().string();
    if (name != "manifest.json" && name != kChecksumsFile && !name.ends_with(".sqlite") &&
        !IsOfColumns(request.directory, name)) {
      report.findings.push_back({"file that is no part of the run", "file name", name, 1});
    }
  }
  return report;
}

}  // namespace reprise
