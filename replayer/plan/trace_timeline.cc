#include "replayer/plan/trace_timeline.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "replayer/plan/recorded_times.h"

namespace reprise {
namespace {

using Index = Graph::Index;
constexpr Timeline::Index kNotShown = UINT32_MAX;

// Tracks of a rank from top to bottom.
enum Order : std::int32_t { kSteps, kThreads = 1'000, kStreams = 100'000, kTransfers = 1'000'000 };

// "float32[64, 256], int64[4]"; at most kMax tensors.
std::string ShapesText(const ValueList& values) {
  constexpr std::size_t kMax = 8;
  const std::vector<const TensorDesc*> tensors = TensorsIn(values);
  std::string text;
  for (std::size_t i = 0; i < std::min(tensors.size(), kMax); ++i) {
    text += fmt::format("{}{}[{}]", i == 0 ? "" : ", ", Name(tensors[i]->dtype),
                        fmt::join(tensors[i]->shape, ", "));
  }
  return tensors.size() > kMax ? fmt::format("{}, … {} tensors", text, tensors.size()) : text;
}

// Order alone needs no arrow: the track shows it.
bool IsPlainOrder(EdgeReason reason) {
  return reason == EdgeReason::kThread || reason == EdgeReason::kStream;
}

class RankTracks {
 public:
  RankTracks(const Graph& graph, const RankClock& clock,
             const std::map<std::string, ProcessGroup>& groups, std::optional<std::int32_t> step,
             Timeline& timeline)
      : graph_(graph),
        clock_(clock),
        end_ns_(RecordedTimesOf(graph, clock).end_ns),
        groups_(groups),
        step_(step),
        timeline_(timeline) {}

  Status Add() {
    const std::int32_t rank = graph_.metadata().rank;
    process_ = timeline_.Add(Timeline::Track{.name = fmt::format("rank {}", rank),
                                             .kind = Timeline::TrackKind::kProcess,
                                             .order = rank,
                                             .id = rank});
    AddSteps();
    slice_of_.assign(graph_.size(), kNotShown);
    for (const Index i : graph_.order()) {
      REPRISE_TRY(AddNode(i));
    }
    return {};
  }

 private:
  void AddSteps() {
    const std::vector<Step>& steps = graph_.metadata().steps;
    if (steps.empty()) {
      return;
    }
    const Timeline::Index track =
        timeline_.Add(Timeline::Track{.name = "steps", .parent = process_, .order = kSteps});
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (step_.value_or(static_cast<std::int32_t>(i)) == static_cast<std::int32_t>(i)) {
        const std::int64_t start_ns = clock_.Map(steps[i].start_ns);
        const std::int64_t end_ns = clock_.Map(steps[i].start_ns + steps[i].duration_ns);
        timeline_.Add(Timeline::Slice{.track = track,
                                      .start_ns = start_ns,
                                      .duration_ns = end_ns - start_ns,
                                      .name = steps[i].name,
                                      .category = "step"});
      }
    }
  }

  Timeline::Index TrackOf(Index i) {
    const Actor actor = graph_.actor(i);
    Timeline::Track track{.parent = process_};
    if (const CommSpec* comm = graph_.comm(i)) {
      const auto group = groups_.find(comm->group);
      const std::string label =
          group == groups_.end() || group->second.description.empty()
              ? comm->group
              : fmt::format("{} ({})", comm->group, group->second.description);
      track.name = IsPointToPoint(comm->kind)
                       ? fmt::format("group {}: {} {}", label, Name(comm->kind), comm->peer)
                       : fmt::format("group {}", label);
      track.order = kTransfers;
    } else if (actor.kind == Actor::Kind::kStream) {
      track.name = fmt::format("stream {}/{}", actor.device, actor.id);
      track.order = kStreams;
    } else {
      track.name = fmt::format("thread {}", actor.id);
      track.kind = Timeline::TrackKind::kThread;
      track.id = actor.id;
      track.order = kThreads;
    }
    const auto [at, added] = tracks_.try_emplace(track.name, 0);
    if (added) {
      track.order += static_cast<std::int32_t>(tracks_.size());
      at->second = timeline_.Add(std::move(track));
    }
    return at->second;
  }

  Status AddNode(Index i) {
    if (step_ && graph_.step(i) != *step_) {
      return {};
    }
    const std::int64_t start_ns = clock_.Map(graph_.start_ns(i));
    REPRISE_ASSIGN(const Node node, graph_.Decode(i));
    slice_of_[i] = timeline_.Add(
        Timeline::Slice{.track = TrackOf(i),
                        .start_ns = start_ns,
                        .duration_ns = std::max<std::int64_t>(end_ns_[i] - start_ns, 0),
                        .name = node.name,
                        .category = std::string(Name(node.op_class)),
                        .annotations = Annotations(node, IsWait(graph_, i))});
    for (std::size_t d = 0; d < graph_.deps(i).size(); ++d) {
      const Index dep = graph_.deps(i)[d];
      if (!IsPlainOrder(graph_.reasons(i)[d]) && slice_of_[dep] != kNotShown) {
        timeline_.flows.push_back({slice_of_[dep], slice_of_[i]});
      }
    }
    return {};
  }

  static std::vector<Timeline::Annotation> Annotations(const Node& node, bool is_wait) {
    std::vector<Timeline::Annotation> out;
    out.push_back({"node_id", static_cast<std::int64_t>(node.id)});
    out.push_back({"kind", std::string(Name(node.kind))});
    const auto add_text = [&out](const char* name, std::string text) {
      if (!text.empty()) {
        out.push_back({name, std::move(text)});
      }
    };
    add_text("parent", node.parent);
    add_text("inputs", ShapesText(node.inputs));
    std::string waits_for;
    for (const Dependency& dep : node.deps) {
      if (!IsPlainOrder(dep.reason)) {
        waits_for += fmt::format("{}{} {}{}", waits_for.empty() ? "" : ", ", Name(dep.reason),
                                 dep.node_id, dep.inferred ? " (inferred)" : "");
      }
    }
    add_text("waits_for", std::move(waits_for));
    out.push_back({"delay_ns", node.delay_ns});
    if (is_wait) {
      out.push_back({"remaining_ns", node.duration_ns});
    }
    if (node.comm) {
      AddTransfer(*node.comm, node.transfer_ns, out);
    }
    return out;
  }

  static void AddTransfer(const CommSpec& comm, std::int64_t transfer_ns,
                          std::vector<Timeline::Annotation>& out) {
    out.push_back({"transfer", std::string(Name(comm.kind))});
    out.push_back({"index", comm.index});
    out.push_back({"dtype", std::string(Name(comm.dtype))});
    if (comm.bytes_known) {
      out.push_back({"in_bytes", comm.in_bytes});
      out.push_back({"out_bytes", comm.out_bytes});
    }
    if (comm.certainty != GroupCertainty::kRecorded) {
      out.push_back({"group_inferred", comm.certainty == GroupCertainty::kInferred});
    }
    if (transfer_ns >= 0) {
      out.push_back({"transfer_ns", transfer_ns});
    }
  }

  const Graph& graph_;
  const RankClock clock_;
  const std::vector<std::int64_t> end_ns_;
  const std::map<std::string, ProcessGroup>& groups_;
  const std::optional<std::int32_t> step_;
  Timeline& timeline_;
  Timeline::Index process_ = 0;
  std::map<std::string, Timeline::Index> tracks_;
  std::vector<Timeline::Index> slice_of_;
};

}  // namespace

Result<Timeline> TimelineOfTrace(std::span<const Graph* const> graphs,
                                 const std::map<std::string, ProcessGroup>& groups,
                                 std::optional<std::int32_t> step) {
  Timeline timeline;
  const std::int64_t origin_ns = OriginNs(graphs);
  for (const Graph* graph : graphs) {
    const RankClock clock = RankClock::Of(graph->metadata(), origin_ns);
    REPRISE_TRY(RankTracks(*graph, clock, groups, step, timeline).Add());
  }
  return timeline;
}

}  // namespace reprise
