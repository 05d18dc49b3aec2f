#include "core/json_fields.h"
#include "report/sections/section.h"
#include "report/text/console_lines.h"

namespace reprise {

inline void to_json(Json& json, const Verdict& verdict) {
  json["kind"] = verdict.kind;
  json["caution"] = NullIfEmpty(verdict.caution);
  REPRISE_ADD_FIELDS(json, verdict, text, replayed_ns, job_ns, untraced, ratio)
  json["is_error"] = IsError(verdict);
  json["mostly"] = NullIfEmpty(verdict.mostly);
  REPRISE_ADD_FIELDS(json, verdict, mostly_ns, mostly_ratio, operation_speed, warnings)
}

namespace {

std::string VerdictSectionText(const Report& report, const Style& style) {
  return VerdictLines(report.verdict, report.verdict.warnings.size(), style);
}

void AddVerdictJson(const Report& report, Json& json) { json["verdict"] = report.verdict; }

}  // namespace

Section VerdictSection() {
  return {.name = "verdict", .console = VerdictSectionText, .json = AddVerdictJson};
}

}  // namespace reprise
