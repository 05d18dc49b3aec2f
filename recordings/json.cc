#include <nlohmann/json.hpp>

#include "recordings/show.h"

namespace reprise {
namespace {

using Json = nlohmann::ordered_json;

Json SumJson(const OperationSum& sum) {
  return {{"count", sum.count},
          {"ns", sum.ns},
          {"device_events", sum.kernels},
          {"alone_count", sum.alone_count},
          {"alone_ns", sum.alone_ns}};
}

Json RatioJson(std::int64_t a, std::int64_t b) {
  return a > 0 && b > 0 ? Json(static_cast<double>(b) / static_cast<double>(a)) : Json();
}

Json AlignedRowsJson(const std::vector<AlignedRow>& rows, bool shapes, bool classes) {
  Json out = Json::array();
  for (const AlignedRow& row : rows) {
    Json json = {{"name", row.name}};
    if (classes) {
      json["class"] = row.op_class;
    }
    if (shapes) {
      json["shapes"] = row.shape;
    }
    json["a"] = SumJson(row.a);
    json["b"] = SumJson(row.b);
    json["ratio"] = RatioJson(row.a.ns, row.b.ns);
    json["difference_ns"] = row.difference_ns();
    out.push_back(std::move(json));
  }
  return out;
}

Json ShareJson(const AlignedShare& share) {
  return {{"operations", share.operations},
          {"aligned", share.aligned},
          {"ns", share.ns},
          {"aligned_ns", share.aligned_ns},
          {"share", share.share()}};
}

Json ActivityJson(const RankActivity& of) {
  return {{"steps_ns", of.steps_ns},           {"busy_ns", of.busy_ns},
          {"launch_wait_ns", of.launch_wait_ns}, {"latency_ns", of.latency_ns},
          {"other_idle_ns", of.other_idle_ns}, {"launch_gaps", of.launch_gaps},
          {"transfers_ns", of.transfers_ns},   {"exposed_ns", of.exposed_ns},
          {"waited_ns", of.waited_ns}};
}

Json TotalsJson(const SideTotals& of) {
  return {{"ranks", of.ranks},
          {"steps", of.steps},
          {"step_ns", of.step_ns},
          {"device_ns", of.device_ns},
          {"device_events", of.device_events},
          {"launched_before_ns", of.early_ns},
          {"launched_before_events", of.early_count},
          {"overlap_ns", of.overlap_ns},
          {"activity", ActivityJson(of.activity)}};
}

Json DifferenceJson(const RecordingDifference& of) {
  Json by = Json::object();
  for (int i = 0; i < kAlignedBys; ++i) {
    by[std::string(Name(static_cast<AlignedBy>(i)))] = of.aligned_by[static_cast<std::size_t>(i)];
  }
  return {{"verdict", of.verdict},
          {"notes", of.notes},
          {"aligned", {{"a", ShareJson(of.a)}, {"b", ShareJson(of.b)}, {"by", std::move(by)}}},
          {"ranks", of.ranks},
          {"only_a_ranks", of.only_a},
          {"only_b_ranks", of.only_b},
          {"totals",
           {{"a", TotalsJson(of.totals_a)},
            {"b", TotalsJson(of.totals_b)},
            {"step_ratio", RatioJson(of.totals_a.step_ns, of.totals_b.step_ns)},
            {"device_ratio", RatioJson(of.totals_a.device_ns, of.totals_b.device_ns)}}},
          {"classes", AlignedRowsJson(of.classes, false, false)},
          {"operations", AlignedRowsJson(of.operations, false, true)},
          {"shapes", AlignedRowsJson(of.shapes, true, true)},
          {"phases", AlignedRowsJson(of.phases, false, false)}};
}

Json RecordingJson(const RecordedJob& of) {
  Json path = Json::array();
  for (const PathPart& part : of.critical_path) {
    path.push_back({{"name", part.name}, {"ns", part.ns}});
  }
  Json ranks = Json::array();
  for (const RankRecording& rank : of.ranks) {
    ranks.push_back({{"rank", rank.rank},
                     {"host", rank.host},
                     {"device", rank.device},
                     {"processor", rank.processor},
                     {"placement", rank.placement},
                     {"steps", rank.steps},
                     {"step_ns", rank.step_ns}});
  }
  return {{"label", of.label},           {"path", of.path},
          {"kind", of.run ? "run" : "trace set"},
          {"about", of.about},           {"world_size", of.world_size},
          {"ranks", std::move(ranks)},   {"critical_path", std::move(path)},
          {"notes", of.notes}};
}

}  // namespace

std::string RecordingsJson(const ComparedRecordings& compared, bool /*timelines*/) {
  Json sides = Json::array();
  for (const RecordedJob& of : compared.recordings) {
    sides.push_back(RecordingJson(of));
  }
  Json differences = Json::array();
  for (const RecordingDifference& of : compared.differences) {
    differences.push_back(DifferenceJson(of));
  }
  const Json json = {{"kind", "recordings"},
                     {"sides", std::move(sides)},
                     {"differences", std::move(differences)}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace reprise
