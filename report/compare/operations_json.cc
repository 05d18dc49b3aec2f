#include "report/compare/operations_json.h"

#include <algorithm>
#include <array>

#include "core/json_fields.h"
#include "et_schema/json.h"
#include "report/operations/inference.h"

namespace reprise {

REPRISE_JSON_FIELDS(OperationSum, count, ns, device_events, alone_count, alone_ns)
REPRISE_JSON_FIELDS(RankActivity, steps_ns, busy_ns, launch_wait_ns, latency_ns, other_idle_ns,
                    launch_gaps, transfers_ns, exposed_ns, waited_ns)
inline void to_json(Json& json, const InferencePass& pass) {
  REPRISE_ADD_FIELDS(json, pass, kind, start_ns, end_ns)
  json["operations"] = pass.last - pass.first;
  REPRISE_ADD_FIELDS(json, pass, sequences, tokens, context, cache_bytes)
}
REPRISE_JSON_FIELDS(InferencePhases, first_token_ns, per_token_ns, prefill_tokens_per_second,
                    decode_tokens_per_second, cache_growth_bytes, passes)
inline void to_json(Json& json, const AlignedShare& of) {
  REPRISE_ADD_FIELDS(json, of, operations, aligned, ns, aligned_ns)
  json["share"] = of.share();
}
inline void to_json(Json& json, const SideTotals& of) {
  REPRISE_ADD_FIELDS(json, of, ranks, steps, step_ns, device_ns, device_events)
  json["launched_before_ns"] = of.early_ns;
  json["launched_before_events"] = of.early_count;
  REPRISE_ADD_FIELDS(json, of, overlap_ns, activity)
}
inline void to_json(Json& json, const AchievedUse& of) {
  REPRISE_ADD_FIELDS(json, of, flops, bytes, ns, ideal_ns)
  json["of_peak_flops"] = of.rate_known ? Json(of.of_rate()) : Json();
  json["of_bandwidth"] = of.of_bandwidth();
  json["of_roofline"] = of.of_roofline();
}
inline void to_json(Json& json, const ShareRow& row) {
  json["class"] = row.op_class;
  REPRISE_ADD_FIELDS(json, row, count, a, b)
  json["peaks_factor"] = row.device_factor();
  json["use_factor"] = row.use_factor();
}
inline void to_json(Json& json, const RankOperations& rank) {
  REPRISE_ADD_FIELDS(json, rank, rank, host, device, processor)
  json["placement"] = ToJson(rank.placement);
  REPRISE_ADD_FIELDS(json, rank, steps, step_ns)
  json["inference"] = FindInference(rank);
  json["weights"] = {{"trained", rank.weights.trained},
                     {"trained_bytes", rank.weights.trained_bytes},
                     {"frozen", rank.weights.frozen},
                     {"frozen_bytes", rank.weights.frozen_bytes}};
}
inline void to_json(Json& json, const PhaseEnergy& of) {
  REPRISE_ADD_FIELDS(json, of, phase, joules, tokens)
  json["tokens_per_joule"] =
      of.joules > 0 ? Json(static_cast<double>(of.tokens) / of.joules) : Json();
}

REPRISE_JSON_FIELDS(PathPart, name, ns)
REPRISE_JSON_FIELDS(RankMetric, name, unit)
REPRISE_JSON_FIELDS(RankGroupLoad, kind, name, ranks, operations_ns, to_all, waited_ns)
REPRISE_JSON_FIELDS(PeakOfPower, host, device, metric, modelled, threshold_watts, most_watts, peaks,
                    ns, throttled, operations)
inline void to_json(Json& json, const ClassSpread& spread) {
  json["name"] = spread.op_class;
  REPRISE_ADD_FIELDS(json, spread, least_ns, mean_ns, most_ns, most_rank)
}

namespace {

Json AlignedRowsJson(const std::vector<AlignedRow>& rows, bool shapes, bool classes) {
  Json out = Json::array();
  for (const AlignedRow& row : rows) {
    Json& json = out.emplace_back(Json{{"name", row.name}});
    if (classes) {
      json["class"] = row.op_class;
    }
    if (shapes) {
      json["shapes"] = row.shape;
    }
    REPRISE_ADD_FIELDS(json, row, a, b)
    json["ratio"] = row.ratio();
    json["difference_ns"] = row.difference_ns();
  }
  return out;
}

constexpr std::size_t kTimelineBins = 1500;

// Of a lane, intervals of bins in which one class ran most: [first bin, one past the last, class].
Json LaneJson(const RankOperations& rank, BusySlice::Lane lane, std::int64_t span_ns) {
  std::vector<std::array<float, kOpClassCount>> bins(kTimelineBins);
  const double width = static_cast<double>(span_ns) / kTimelineBins;
  for (const BusySlice& slice : rank.slices) {
    if (slice.lane != lane || width <= 0) {
      continue;
    }
    const double begin = std::max(0.0, static_cast<double>(slice.start_ns) / width);
    const double end = std::min<double>(kTimelineBins, static_cast<double>(slice.end_ns) / width);
    for (auto bin = static_cast<std::size_t>(begin); static_cast<double>(bin) < end; ++bin) {
      const double share =
          std::min(end, static_cast<double>(bin + 1)) - std::max(begin, static_cast<double>(bin));
      bins[bin][static_cast<std::size_t>(slice.op_class)] += static_cast<float>(share);
    }
  }
  Json runs = Json::array();
  constexpr float kHardly = 0.05F;  // of a bin: blank
  for (std::size_t bin = 0; bin < kTimelineBins; ++bin) {
    const auto most = std::ranges::max_element(bins[bin]);
    if (*most < kHardly) {
      continue;
    }
    const auto name = Name(static_cast<OpClass>(most - bins[bin].begin()));
    if (!runs.empty() && runs.back()[1] == bin && runs.back()[2] == name) {
      runs.back()[1] = bin + 1;
    } else {
      runs.push_back({bin, bin + 1, name});
    }
  }
  return runs;
}

}  // namespace

Json DifferenceJson(const OperationDifference& of) {
  Json by = Json::object();
  for (int i = 0; i < kAlignedBys; ++i) {
    by[std::string(Name(static_cast<AlignedBy>(i)))] = of.aligned_by[static_cast<std::size_t>(i)];
  }
  return {{"verdict", of.verdict},
          {"notes", of.notes},
          {"aligned", {{"a", of.a}, {"b", of.b}, {"by", std::move(by)}}},
          {"ranks", of.ranks},
          {"totals",
           {{"a", of.totals_a},
            {"b", of.totals_b},
            {"step_ratio", RatioOf(of.totals_a.step_ns, of.totals_b.step_ns)},
            {"device_ratio", RatioOf(of.totals_a.device_ns, of.totals_b.device_ns)}}},
          {"classes", AlignedRowsJson(of.classes, false, false)},
          {"operations", AlignedRowsJson(of.operations, false, true)},
          {"shapes", AlignedRowsJson(of.shapes, true, true)},
          {"phases", AlignedRowsJson(of.phases, false, false)},
          {"collectives", AlignedRowsJson(of.collectives, false, false)},
          {"shares", of.shares}};
}

Json TimelineJson(const RankOperations& rank) {
  std::int64_t span_ns = 0;
  for (const std::int64_t ns : rank.step_ns) {
    span_ns += ns;
  }
  for (const BusySlice& slice : rank.slices) {
    span_ns = std::max(span_ns, slice.end_ns);
  }
  Json lanes = Json::array();
  const auto add = [&](const char* name, BusySlice::Lane lane) {
    Json runs = LaneJson(rank, lane, span_ns);
    if (!runs.empty()) {
      lanes.push_back({{"name", name}, {"runs", std::move(runs)}});
    }
  };
  add("device", BusySlice::Lane::kDevice);
  add("host", BusySlice::Lane::kHost);
  add("transfers", BusySlice::Lane::kTransfer);
  return {{"rank", rank.rank},
          {"span_ns", span_ns},
          {"bins", kTimelineBins},
          {"lanes", std::move(lanes)}};
}

Json OperationsJson(const JobOperations& of, const std::vector<PathPart>& critical_path) {
  Json json;
  REPRISE_ADD_FIELDS(json, of, about, ranks)
  json["critical_path"] = critical_path;
  REPRISE_ADD_FIELDS(json, of, phase_energy, notes)
  return json;
}

Json RanksJson(const JobOperations& job, const RankComparison& of) {
  Json ranks = Json::array();
  for (std::size_t i = 0; i < of.ranks.size(); ++i) {
    const RankLoad& rank = of.ranks[i];
    Json& json = ranks.emplace_back();
    REPRISE_ADD_FIELDS(json, rank, rank, alike, members, host)
    json["slot"] = rank.slot < 0 ? Json() : Json(rank.slot);
    json["device"] = rank.device;
    json["placement"] = ToJson(job.ranks[i].placement);
    REPRISE_ADD_FIELDS(json, rank, step_ns, operations_ns, to_median, idle_ns, exposed_ns,
                       waited_ns)
    json["metrics"] = Json::object();
    for (std::size_t m = 0; m < rank.metrics.size(); ++m) {
      json["metrics"][of.metrics[m].name] = rank.metrics[m];
    }
  }
  Json json = {{"power_peaks", job.power_peaks}, {"kind", "ranks"}};
  REPRISE_ADD_FIELDS(json, job, label)
  REPRISE_ADD_FIELDS(json, of, verdict, imbalance, stragglers, observations, metrics)
  json["ranks"] = std::move(ranks);
  REPRISE_ADD_FIELDS(json, of, groups, classes)
  json["notes"] = job.notes;
  return json;
}

}  // namespace reprise
