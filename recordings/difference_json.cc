#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "et_schema/json.h"
#include "recordings/inference.h"
#include "recordings/ranks_json.h"
#include "recordings/show.h"
#include "report/compare/quantities_json.h"

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
  const auto ratio = RatioOf(a, b);
  return ratio ? Json(*ratio) : Json();
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
  return {{"steps_ns", of.steps_ns},
          {"busy_ns", of.busy_ns},
          {"launch_wait_ns", of.launch_wait_ns},
          {"latency_ns", of.latency_ns},
          {"other_idle_ns", of.other_idle_ns},
          {"launch_gaps", of.launch_gaps},
          {"transfers_ns", of.transfers_ns},
          {"exposed_ns", of.exposed_ns},
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

Json UseJson(const AchievedUse& of) {
  return {{"flops", of.flops},
          {"bytes", of.bytes},
          {"ns", of.ns},
          {"ideal_ns", of.ideal_ns},
          {"of_peak_flops", of.rate_known ? Json(of.of_rate()) : Json()},
          {"of_bandwidth", of.of_bandwidth()},
          {"of_roofline", of.of_roofline()}};
}

Json SharesJson(const std::vector<ShareRow>& rows) {
  Json out = Json::array();
  for (const ShareRow& row : rows) {
    out.push_back({{"class", row.op_class},
                   {"count", row.count},
                   {"a", UseJson(row.a)},
                   {"b", UseJson(row.b)},
                   {"peaks_factor", row.device_factor()},
                   {"use_factor", row.use_factor()}});
  }
  return out;
}

Json InferenceJson(const RankRecording& rank) {
  const auto found = FindInference(rank);
  if (!found) {
    return {};
  }
  Json passes = Json::array();
  for (const InferencePass& pass : found->passes) {
    passes.push_back({{"kind", Name(pass.kind)},
                      {"start_ns", pass.start_ns},
                      {"end_ns", pass.end_ns},
                      {"operations", pass.last - pass.first},
                      {"sequences", pass.sequences},
                      {"tokens", pass.tokens},
                      {"context", pass.context},
                      {"cache_bytes", pass.cache_bytes}});
  }
  const auto known = [](const std::optional<std::int64_t>& ns) { return ns ? Json(*ns) : Json(); };
  return {{"first_token_ns", known(found->first_token_ns)},
          {"per_token_ns", known(found->per_token_ns)},
          {"prefill_tokens_per_second", found->prefill_tokens_per_second},
          {"decode_tokens_per_second", found->decode_tokens_per_second},
          {"cache_growth_bytes", known(found->cache_growth_bytes)},
          {"passes", std::move(passes)}};
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
          {"phases", AlignedRowsJson(of.phases, false, false)},
          {"collectives", AlignedRowsJson(of.collectives, false, false)},
          {"shares", SharesJson(of.shares)}};
}

constexpr std::size_t kTimelineBins = 1500;

// Of a lane, stretches of bins in which one class ran most: [first bin, one past the last, class].
Json LaneJson(const RankRecording& rank, BusySlice::Lane lane, std::int64_t span_ns) {
  std::vector<std::array<float, kOpClassCount>> bins(kTimelineBins);
  const double width = static_cast<double>(span_ns) / kTimelineBins;
  for (const BusySlice& slice : rank.slices) {
    if (slice.lane != lane || width <= 0) {
      continue;
    }
    const double begin =
        std::max(0.0, static_cast<double>(slice.start_ns - rank.first_step_ns) / width);
    const double end = std::min<double>(
        kTimelineBins, static_cast<double>(slice.end_ns - rank.first_step_ns) / width);
    for (auto bin = static_cast<std::size_t>(begin); static_cast<double>(bin) < end; ++bin) {
      const double share =
          std::min(end, static_cast<double>(bin + 1)) - std::max(begin, static_cast<double>(bin));
      bins[bin][static_cast<std::size_t>(slice.op_class)] += static_cast<float>(share);
    }
  }
  Json runs = Json::array();
  constexpr float kHardly = 0.05F;  // of a bin: blank
  for (std::size_t bin = 0; bin < kTimelineBins; ++bin) {
    const auto most = std::max_element(bins[bin].begin(), bins[bin].end());
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

Json TimelineJson(const RankRecording& rank) {
  std::int64_t span_ns = 0;
  for (const std::int64_t ns : rank.step_ns) {
    span_ns += ns;
  }
  for (const BusySlice& slice : rank.slices) {
    span_ns = std::max(span_ns, slice.end_ns - rank.first_step_ns);
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
                     {"placement", ToJson(rank.placement)},
                     {"steps", rank.steps},
                     {"step_ns", rank.step_ns},
                     {"inference", InferenceJson(rank)},
                     {"weights",
                      {{"trained", rank.trained_weights},
                       {"trained_bytes", rank.trained_bytes},
                       {"frozen", rank.frozen_weights},
                       {"frozen_bytes", rank.frozen_bytes}}}});
  }
  Json energy = Json::array();
  for (const PhaseEnergy& phase : of.phase_energy) {
    energy.push_back(
        {{"phase", phase.phase},
         {"joules", phase.joules},
         {"tokens", phase.tokens},
         {"tokens_per_joule",
          phase.joules > 0 ? Json(static_cast<double>(phase.tokens) / phase.joules) : Json()}});
  }
  return {{"label", of.label},
          {"path", of.path},
          {"kind", of.run ? "run" : "trace set"},
          {"about", of.about},
          {"world_size", of.world_size},
          {"ranks", std::move(ranks)},
          {"critical_path", std::move(path)},
          {"phase_energy", std::move(energy)},
          {"notes", of.notes}};
}

}  // namespace

std::string RecordingsJson(const ComparedRecordings& compared, bool timelines) {
  Json sides = Json::array();
  for (const RecordedJob& of : compared.recordings) {
    sides.push_back(RecordingJson(of));
    if (timelines && !of.ranks.empty()) {
      sides.back()["timeline"] = TimelineJson(of.ranks.front());
    }
  }
  Json json;
  if (compared.recordings.size() == 1 && !timelines) {
    json = RanksJson(compared.recordings.front(), compared.ranks.front());
  } else {
    for (std::size_t s = 0; s < compared.ranks.size(); ++s) {
      sides[s]["load"] = RanksJson(compared.recordings[s], compared.ranks[s]);
    }
    Json differences = Json::array();
    for (const RecordingDifference& of : compared.differences) {
      differences.push_back(DifferenceJson(of));
    }
    json = {{"kind", "recordings"},
            {"sides", std::move(sides)},
            {"differences", std::move(differences)}};
  }
  json["repeats"] = RepeatsName(compared.comparison);
  json["quantities"] = QuantitiesJson(compared.comparison);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace reprise
