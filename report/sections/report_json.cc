#include "report/sections/report_json.h"

namespace reprise {

Json SourcesJson(const SourceTimes& from_ns) {
  Json json;
  for (std::size_t i = 1; i < from_ns.size(); ++i) {
    if (from_ns[i] > 0) {
      json[std::string(Name(static_cast<TimeSource>(i)))] = from_ns[i];
    }
  }
  return json;
}

void to_json(Json& json, const ClassRow& row) {
  REPRISE_ADD_FIELDS(json, row, name, count, recorded_ns, tracing_ns, replayed_ns, flops, bytes,
                     gflop_per_s, gb_per_s)
  json["time_from_ns"] = SourcesJson(row.from_ns);
}

}  // namespace reprise
