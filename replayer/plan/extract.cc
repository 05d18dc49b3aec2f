// Extract: the chosen nodes as a graph of their own, on a time line without the rest.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "replayer/plan/recorded_times.h"
#include "replayer/plan/selection.h"

namespace reprise {
namespace {

using Index = Graph::Index;

class Extraction {
 public:
  Extraction(const Graph& graph, const Selection& selection, Diagnostics& diagnostics)
      : graph_(graph),
        selection_(selection),
        diagnostics_(diagnostics),
        times_(RecordedTimesOf(graph)) {}

  Result<Graph> Run() {
    PlacePieces();
    FindPredecessors();
    return graph_.Rewrite(Metadata(), [this](Index i, Node& node) { return Place(i, node); });
  }

 private:
  static constexpr Index kNone = UINT32_MAX;
  struct Span {
    std::int64_t start_ns = INT64_MAX;
    std::int64_t end_ns = INT64_MIN;
    std::int64_t shift_ns = 0;  // subtracted from recorded times
    Index last = kNone;         // the node that ends last
  };

  [[nodiscard]] std::int32_t PieceOf(Index i) const { return selection_.piece[i]; }
  [[nodiscard]] Span& SpanOf(Index i) { return spans_[static_cast<std::size_t>(PieceOf(i))]; }

  void PlacePieces() {
    spans_.resize(selection_.pieces.size());
    for (std::size_t k = 0; k < spans_.size(); ++k) {
      const std::vector<Step>& steps = selection_.pieces[k].steps;
      spans_[k].start_ns = steps.front().start_ns;
      spans_[k].end_ns = steps.back().start_ns + steps.back().duration_ns;
    }
    for (Index i = 0; i < graph_.size(); ++i) {
      if (PieceOf(i) < 0) {
        continue;
      }
      Span& span = SpanOf(i);
      // The host may have begun a step before the device had ended the one before.
      span.start_ns = std::min(span.start_ns, times_.start_ns[i]);
      span.end_ns = std::max(span.end_ns, times_.end_ns[i]);
      if (span.last == kNone || times_.end_ns[i] >= times_.end_ns[span.last]) {
        span.last = i;
      }
    }
    for (std::size_t k = 1; k < spans_.size(); ++k) {
      spans_[k].shift_ns = spans_[k].start_ns - (spans_[k - 1].end_ns - spans_[k - 1].shift_ns);
    }
  }

  // The node before of the same thread or stream and piece: what keeps order where no edge does.
  void FindPredecessors() {
    std::map<std::tuple<std::int32_t, Actor::Kind, std::int64_t, std::int32_t>, Index> last;
    predecessor_.assign(graph_.size(), kNone);
    for (Index i = 0; i < graph_.size(); ++i) {
      if (PieceOf(i) < 0 || graph_.comm(i) != nullptr) {
        continue;
      }
      const Actor actor = graph_.actor(i);
      const auto [at, added] =
          last.try_emplace({PieceOf(i), actor.kind, actor.id, actor.device}, i);
      if (!added) {
        predecessor_[i] = std::exchange(at->second, i);
      }
    }
  }

  bool Place(Index i, Node& node) {
    if (PieceOf(i) < 0) {
      return false;
    }
    const bool cut = CutEdges(i, node);
    if (cut || (PieceOf(i) > 0 && LatestEnd(i, node) == INT64_MIN)) {
      Reconnect(i, node);
    }
    node.start_ns = (cut ? times_.start_ns[i] : node.start_ns) - SpanOf(i).shift_ns;
    node.step = selection_.step[i];
    return true;
  }

  // Edges from outside the selection, and from pieces that follow (two threads in the same range
  // at a time): they would make a circle.
  bool CutEdges(Index i, Node& node) {
    const auto deps = graph_.deps(i);
    std::vector<Dependency> kept;
    for (std::size_t d = 0; d < deps.size(); ++d) {
      if (PieceOf(deps[d]) >= 0 && PieceOf(deps[d]) <= PieceOf(i)) {
        kept.push_back(node.deps[d]);
      } else {
        diagnostics_.Count("edge_cut", fmt::format("node {} from node {}: {}", graph_.id(i),
                                                   graph_.id(deps[d]), Name(graph_.reasons(i)[d])));
      }
    }
    std::swap(node.deps, kept);
    return node.deps.size() != kept.size();
  }

  // When the last of the node's dependencies in its own piece ended; INT64_MIN: it has none.
  [[nodiscard]] std::int64_t LatestEnd(Index i, const Node& node) const {
    std::int64_t latest_ns = INT64_MIN;
    for (const Dependency& dep : node.deps) {
      const Index from = *graph_.FindId(dep.node_id);
      latest_ns =
          PieceOf(from) == PieceOf(i) ? std::max(latest_ns, times_.end_ns[from]) : latest_ns;
    }
    return latest_ns;
  }

  // The node's recorded distance to what it still waits for.
  void Reconnect(Index i, Node& node) {
    const auto wait_for = [&](Index from, EdgeReason reason) {
      const bool waits = std::any_of(node.deps.begin(), node.deps.end(), [&](const auto& dep) {
        return dep.node_id == graph_.id(from);
      });
      if (waits) {
        return;
      }
      node.deps.push_back({graph_.id(from), reason, true});
    };
    if (LatestEnd(i, node) == INT64_MIN && predecessor_[i] != kNone) {
      const bool stream = graph_.actor(i).kind == Actor::Kind::kStream;
      wait_for(predecessor_[i], stream ? EdgeReason::kStream : EdgeReason::kThread);
    }
    if (const std::int64_t latest_ns = LatestEnd(i, node); latest_ns != INT64_MIN) {
      node.delay_ns = std::max<std::int64_t>(times_.start_ns[i] - latest_ns, 0);
      return;
    }
    node.delay_ns = times_.start_ns[i] - SpanOf(i).shift_ns;  // since the trace's base
    for (auto k = static_cast<std::size_t>(PieceOf(i)); k-- > 0;) {
      if (const Span& before = spans_[k]; before.last != kNone) {
        wait_for(before.last, EdgeReason::kUnknown);
        node.delay_ns -= times_.end_ns[before.last] - before.shift_ns;
        break;
      }
    }
  }

  TraceMetadata Metadata() {
    TraceMetadata metadata = graph_.metadata();
    metadata.steps.clear();
    metadata.ranges.clear();
    KeepSamples(metadata);
    for (std::size_t k = 0; k < spans_.size(); ++k) {
      for (Step step : selection_.pieces[k].steps) {
        if (selection_.is_range) {
          step.duration_ns = spans_[k].end_ns - step.start_ns;
        }
        step.start_ns -= spans_[k].shift_ns;
        metadata.steps.push_back(std::move(step));
      }
    }
    if (selection_.is_range) {
      // Were measured of whole steps.
      metadata.untraced_step_ns = metadata.untraced_page_faults = -1;
    }
    return metadata;
  }

  // Those within the pieces, which move as nodes do.
  void KeepSamples(TraceMetadata& metadata) const {
    for (SampledSeries& series : metadata.samples) {
      SampledSeries kept{.quantity = series.quantity, .device = series.device};
      for (const Span& span : spans_) {
        for (std::size_t i = 0; i < series.times_ns.size(); ++i) {
          if (series.times_ns[i] >= span.start_ns && series.times_ns[i] <= span.end_ns) {
            kept.times_ns.push_back(series.times_ns[i] - span.shift_ns);
            kept.millionths.push_back(series.millionths[i]);
          }
        }
      }
      series = std::move(kept);
    }
    std::erase_if(metadata.samples,
                  [](const SampledSeries& series) { return series.times_ns.empty(); });
  }

  const Graph& graph_;
  const Selection& selection_;
  Diagnostics& diagnostics_;
  const RecordedTimes times_;
  std::vector<Span> spans_;
  std::vector<Index> predecessor_;
};

}  // namespace

Result<Graph> Extract(const Graph& graph, const Selection& selection, Diagnostics& diagnostics) {
  return Extraction(graph, selection, diagnostics).Run();
}

}  // namespace reprise
