#include "report/timeline/run_timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "report/nodes/measured.h"
#include "report/text/table.h"

namespace reprise {
namespace {

using Index = Timeline::Index;
constexpr Index kNotShown = UINT32_MAX;

// Tracks of a rank from top to bottom.
enum Order : std::int32_t { kSteps, kRecorded, kReplayed, kTelemetry };

class RankDrawing {
 public:
  RankDrawing(const RankData& data, const RunTimelineOptions& options, RankOrigins origins,
              Timeline& timeline)
      : data_(data),
        options_(options),
        origins_(origins),
        timeline_(timeline),
        node_index_(data.nodes) {}

  void Draw() {
    process_ = timeline_.Add(Timeline::Track{.name = ProcessName(),
                                             .kind = Timeline::TrackKind::kProcess,
                                             .order = data_.rank,
                                             .id = data_.rank});
    DrawSteps();
    if (HasRecorded()) {
      DrawRecorded();
    }
    DrawReplayed();
    DrawTelemetry();
  }

 private:
  // A class of equal ranks is one process.
  [[nodiscard]] std::string ProcessName() const {
    const std::string& members = data_.facts.class_members;
    if (members.empty()) {
      return fmt::format("rank {}{}", data_.rank, data_.host.empty() ? "" : " on " + data_.host);
    }
    const std::int64_t alike = RanksAlike(data_);
    return alike == 1 ? fmt::format("rank {} (modelled)", members)
                      : fmt::format("class {} (×{}: ranks {}) (modelled)", data_.rank, alike,
                                    Fit(members, 60));
  }

  // False of sets without times.
  [[nodiscard]] bool HasRecorded() const {
    return data_.nodes.empty() || std::ranges::any_of(data_.nodes, [](const NodeInfo& node) {
             return node.recorded_duration_ns > 0;
           });
  }

  void DrawSteps() {
    if (data_.steps.empty()) {
      return;
    }
    const Index track =
        timeline_.Add(Timeline::Track{.name = "iterations", .parent = process_, .order = kSteps});
    for (const StepRecord& step : data_.steps) {
      if (Matches(options_.step, step.step) && Matches(options_.iteration, step.iteration)) {
        timeline_.Add(Timeline::Slice{
            .track = track,
            .start_ns = step.start_ns - origins_.replayed_ns,
            .duration_ns = std::max<std::int64_t>(step.duration_ns, 0),
            .name = fmt::format("iteration {}{}", step.iteration, step.warmup ? " (warm-up)" : ""),
            .category = "step",
            .annotations = {{"step", std::int64_t{step.step}}}});
      }
    }
  }

  // Actors of one side, below a track that bears its name.
  class Side {
   public:
    Side(const char* name, Order order, Index process, Timeline& timeline)
        : timeline_(timeline),
          parent_(timeline.Add(Timeline::Track{.name = name, .parent = process, .order = order})) {}
    Index TrackOf(const std::string& actor) {
      const auto [at, added] = tracks_.try_emplace(actor, 0);
      if (added) {
        at->second = timeline_.Add(Timeline::Track{
            .name = actor, .parent = parent_, .order = static_cast<std::int32_t>(tracks_.size())});
      }
      return at->second;
    }

   private:
    Timeline& timeline_;
    Index parent_;
    std::map<std::string, Index> tracks_;
  };

  Timeline::Slice SliceOf(const NodeInfo& node, Index track, std::int64_t start_ns,
                          std::int64_t duration_ns) const {
    return {.track = track,
            .start_ns = start_ns,
            .duration_ns = std::max<std::int64_t>(duration_ns, 0),
            .name = node.name,
            .category = std::string(Name(node.op_class)),
            .annotations = {{"node_id", static_cast<std::int64_t>(node.node_id)},
                            {"kind", std::string(Name(node.kind))}}};
  }

  void DrawRecorded() {
    Side side("recorded", kRecorded, process_, timeline_);
    std::vector<Index> slice_of(data_.nodes.size(), kNotShown);
    for (std::size_t i = 0; i < data_.nodes.size(); ++i) {
      const NodeInfo& node = data_.nodes[i];
      if (Matches(options_.step, node.step)) {
        slice_of[i] = timeline_.Add(SliceOf(node, side.TrackOf(node.actor),
                                            node.recorded_start_ns - origins_.recorded_ns,
                                            node.recorded_duration_ns));
      }
    }
    DrawFlows(slice_of);
  }

  void DrawReplayed() {
    Side side(IsModelled(data_) ? "modelled" : "replayed", kReplayed, process_, timeline_);
    // By iteration and node; within an iteration in the order of the nodes.
    std::map<std::int32_t, std::map<std::size_t, const NodeRecord*>> iterations;
    for (const NodeRecord& record : data_.records) {
      const auto node = node_index_.Find(record.node_id);
      if (node && Matches(options_.step, record.step) &&
          Matches(options_.iteration, record.iteration)) {
        iterations[record.iteration][*node] = &record;
      }
    }
    for (const auto& [unused, records] : iterations) {
      std::vector<Index> slice_of(data_.nodes.size(), kNotShown);
      for (const auto& [i, record] : records) {
        const NodeInfo& node = data_.nodes[i];
        Timeline::Slice slice =
            SliceOf(node, side.TrackOf(node.actor), record->start_ns - origins_.replayed_ns,
                    record->duration_ns);
        slice.annotations.push_back({"mode", std::string(Name(record->mode))});
        if (!node.kernel.empty()) {
          slice.annotations.push_back({"kernel", node.kernel});
        }
        if (node.time_from != TimeSource::kNone) {
          slice.annotations.push_back({"time_from", std::string(Name(node.time_from))});
        }
        slice.annotations.push_back({"recorded_duration_ns", node.recorded_duration_ns});
        if (node.flops > 0) {
          slice.annotations.push_back({"flops", node.flops});
        }
        if (node.bytes > 0) {
          slice.annotations.push_back({"bytes", node.bytes});
        }
        slice_of[i] = timeline_.Add(std::move(slice));
      }
      DrawFlows(slice_of);
    }
  }

  // Order within a thread or stream needs no arrow: the track shows it.
  void DrawFlows(const std::vector<Index>& slice_of) {
    for (const EdgeInfo& edge : data_.edges) {
      const auto from = node_index_.Find(edge.from);
      const auto to = node_index_.Find(edge.to);
      if (edge.reason != "thread" && edge.reason != "stream" && from && to &&
          slice_of[*from] != kNotShown && slice_of[*to] != kNotShown) {
        timeline_.flows.push_back({slice_of[*from], slice_of[*to]});
      }
    }
  }

  void DrawTelemetry() {
    if (data_.metrics.empty()) {
      return;
    }
    const Index parent = timeline_.Add(
        Timeline::Track{.name = "telemetry", .parent = process_, .order = kTelemetry});
    std::map<std::int32_t, std::vector<const Sample*>> samples;
    for (const Sample& sample : data_.samples) {
      if (!std::isnan(sample.value)) {
        samples[sample.metric].push_back(&sample);
      }
    }
    for (const Metric& metric : data_.metrics) {
      const std::vector<const Sample*>& values = samples[metric.id];
      if (!values.empty()) {
        DrawMetric(metric, values, parent);
      }
    }
  }

  // A growing total is drawn as its rate: from each sample to the next.
  void DrawMetric(const Metric& metric, const std::vector<const Sample*>& values, Index parent) {
    const std::string rate_unit = metric.unit == "joules" ? "watts" : metric.unit + "/s";
    const Index track = timeline_.Add(Timeline::Track{
        .name = fmt::format("{}{}{}{}", metric.name, metric.device.empty() ? "" : " ",
                            metric.device, metric.modelled ? " (modelled)" : ""),
        .kind = Timeline::TrackKind::kCounter,
        .parent = parent,
        .order = metric.id,
        .unit = IsTotal(metric.kind) ? rate_unit : metric.unit});
    for (std::size_t i = 0; i + (IsTotal(metric.kind) ? 1 : 0) < values.size(); ++i) {
      double value = values[i]->value;
      if (IsTotal(metric.kind)) {
        const std::int64_t span_ns = values[i + 1]->time_ns - values[i]->time_ns;
        if (span_ns <= 0) {
          continue;
        }
        value = (values[i + 1]->value - value) / (static_cast<double>(span_ns) * 1e-9);
      }
      timeline_.points.push_back({track, values[i]->time_ns - origins_.replayed_ns, value});
    }
  }

  const RankData& data_;
  const RunTimelineOptions& options_;
  const RankOrigins origins_;
  Timeline& timeline_;
  Index process_ = 0;
  NodeIndex node_index_;
};

}  // namespace

RunTimeline TimelineOfRun(const RunData& run, const RunTimelineOptions& options) {
  RunTimeline out;
  std::vector<const RankData*> ranks;
  for (const RankData& rank : run.ranks) {
    if (Matches(options.rank, rank.rank)) {
      ranks.push_back(&rank);
    }
  }
  const std::vector<RankOrigins> origins = ChooseOrigins(ranks, options, out.notes);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    RankDrawing(*ranks[i], options, origins[i], out.timeline).Draw();
  }
  return out;
}

}  // namespace reprise
