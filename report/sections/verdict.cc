#include "report/sections/rows_json.h"
#include "report/sections/section.h"
#include "report/text/console_lines.h"

namespace reprise {
namespace {

Json VerdictJson(const Verdict& verdict) {
  return {{"kind", Name(verdict.kind)},
          {"caution", verdict.caution.empty() ? Json(nullptr) : Json(verdict.caution)},
          {"text", verdict.text},
          {"replayed_ns", OrNull(verdict.replayed_ns)},
          {"job_ns", OrNull(verdict.job_ns)},
          {"untraced", verdict.untraced},
          {"ratio", OrNull(verdict.ratio)},
          {"is_error", IsError(verdict)},
          {"mostly", verdict.mostly.empty() ? Json(nullptr) : Json(verdict.mostly)},
          {"mostly_ns", verdict.mostly_ns},
          {"mostly_ratio", OrNull(verdict.mostly_ratio)},
          {"operation_speed", OrNull(verdict.operation_speed)},
          {"warnings", verdict.warnings}};
}

void AddVerdictJson(const Report& report, Json& json) {
  json["verdict"] = VerdictJson(report.verdict);
}

}  // namespace

Section VerdictSection() {
  return {.name = "verdict", .console = VerdictLines, .json = AddVerdictJson};
}

}  // namespace reprise
