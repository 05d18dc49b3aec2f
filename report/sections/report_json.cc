#include "report/sections/report_json.h"

namespace reprise {

Json CoverageJson(const Coverage& coverage) {
  return {{"real", coverage.real},     {"surrogate", coverage.surrogate},
          {"timed", coverage.timed},   {"skipped", coverage.skipped},
          {"capped", coverage.capped}, {"unknown", coverage.unknown}};
}

Json SourcesJson(const SourceTimes& from_ns) {
  Json json;
  for (std::size_t i = 1; i < from_ns.size(); ++i) {
    if (from_ns[i] > 0) {
      json[std::string(Name(static_cast<TimeSource>(i)))] = from_ns[i];
    }
  }
  return json;
}

Json ClassJson(const ClassRow& row) {
  return {{"name", row.name},
          {"count", row.count},
          {"recorded_ns", row.recorded_ns},
          {"tracing_ns", row.tracing_ns},
          {"replayed_ns", OrNull(row.replayed_ns)},
          {"flops", row.flops},
          {"bytes", row.bytes},
          {"gflop_per_s", OrNull(row.gflop_per_s)},
          {"gb_per_s", OrNull(row.gb_per_s)},
          {"time_from_ns", SourcesJson(row.from_ns)}};
}

}  // namespace reprise
