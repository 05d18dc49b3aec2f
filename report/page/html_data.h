// What the HTML report shows, as one JSON object: {"report": report's JSON, "left_out": {list:
// count}, "steps": StepDetails, "telemetry": …}. Its size is bounded: of a long list the rows that
// matter most are kept and the others counted, series are reduced to bins. Only report/ sees this.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "report/page/html_steps.h"
#include "report/page/html_telemetry.h"
#include "report/sections/html_limits.h"
#include "report/values/report.h"

namespace reprise {

// What the page shows beside the report.
struct PageDetails {
  StepClasses steps;
  std::vector<StragglerRow> stragglers;
  Telemetry telemetry;
};

[[nodiscard]] std::string HtmlDataJson(const Report& report, const PageDetails& details,
                                       const HtmlLimits& limits = {});

}  // namespace reprise
