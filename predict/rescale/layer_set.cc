#include "predict/rescale/layer_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "predict/rescale/group_kinds.h"
#include "predict/rescale/layer_places.h"
#include "predict/rescale/layers.h"
#include "predict/rescale/repeated_nodes.h"

namespace reprise {
namespace {

// Ranks that hold different layers: the stages of a pipeline, by the messages that they send.
class Stages {
 public:
  explicit Stages(const TraceSet& set) : set_(set) {
    connected_.resize(static_cast<std::size_t>(set.world_size));
    std::iota(connected_.begin(), connected_.end(), 0);
  }

  void Add(std::int32_t rank, const Graph& graph) {
    for (Graph::Index i = 0; i < graph.size(); ++i) {
      const CommSpec* const comm = graph.comm(i);
      if (comm == nullptr || (comm->kind != CommKind::kSend && comm->kind != CommKind::kRecv)) {
        continue;
      }
      const auto [known, is_new] = kinds_.try_emplace(comm->group);
      if (is_new) {
        known->second = Look(comm->group);
      }
      if (!known->second && comm->peer >= 0 && comm->peer < set_.world_size) {
        connected_[static_cast<std::size_t>(Last(rank))] = Last(comm->peer);
      }
    }
  }

  [[nodiscard]] std::int64_t Count() {
    std::map<std::int32_t, std::int64_t> ranks;
    for (std::int32_t rank = 0; rank < set_.world_size; ++rank) {
      most_ = std::max(most_, ++ranks[Last(rank)]);
    }
    return most_;
  }

 private:
  // What a group's description says.
  std::optional<GroupKind> Look(const std::string& id) {
    const auto group = set_.FindGroup(id);
    const auto kind = group ? KindOfDescription(group->description) : std::nullopt;
    if (kind == GroupKind::kPipeline) {
      most_ = std::max(most_, static_cast<std::int64_t>(group->ranks.size()));
    }
    return kind;
  }

  std::int32_t Last(std::int32_t rank) {
    while (connected_[static_cast<std::size_t>(rank)] != rank) {
      auto& next = connected_[static_cast<std::size_t>(rank)];
      next = connected_[static_cast<std::size_t>(next)];
      rank = next;
    }
    return rank;
  }

  const TraceSet& set_;
  std::map<std::string, std::optional<GroupKind>> kinds_;  // by group
  std::vector<std::int32_t> connected_;                    // by rank
  std::int64_t most_ = 1;
};

class LayerSet {
 public:
  LayerSet(const TraceSet& set, const RescaleRequest& request, const std::string& directory)
      : set_(set), request_(request), directory_(directory) {
    summary_.after = request.layers;
  }

  Result<RepeatSummary> Write() {
    REPRISE_TRY(Count());
    for (const TraceSet::DistinctRank& one : set_.DistinctRanks()) {
      REPRISE_TRY(WriteFile(one));
    }
    REPRISE_TRY(WriteSameGroups(set_, directory_));
    REPRISE_TRY(CheckRepeatedSet(set_, fmt::format("{} layers", summary_.after), directory_));
    return summary_;
  }

 private:
  Status Count() {
    Stages stages(set_);
    std::int64_t on_rank = 0;
    std::int32_t first = 0;
    for (const TraceSet::DistinctRank& one : set_.DistinctRanks()) {
      REPRISE_TRY(set_.VerifyFile(one.rank));
      REPRISE_ASSIGN(const Graph graph, Graph::Load(one.path));
      REPRISE_ASSIGN(const Layers found, Find(one, graph));
      stages.Add(one.rank, graph);
      if (on_rank == 0) {
        on_rank = found.count * found.chunks;
        chunks_ = found.chunks;
        first = one.rank;
      }
      if (on_rank != found.count * found.chunks || chunks_ != found.chunks) {
        return BadInput(fmt::format(
            "{}: rank {} has {} layers that are alike, in {}, rank {} has {} in {}: how more or "
            "fewer of them are divided among the ranks is not known",
            one.file, one.rank, found.count * found.chunks, Chunks(found.chunks), first, on_rank,
            Chunks(chunks_)));
      }
    }
    stages_ = stages.Count();
    summary_.before = on_rank * stages_;
    if (summary_.after == summary_.before) {
      return UsageError(fmt::format("--layers {}: the set has as many already", summary_.after));
    }
    if (summary_.after % (stages_ * chunks_) != 0) {
      return BadInput(fmt::format(
          "--layers {}: {} layers are divided among {} pipeline stages with {} each; give a "
          "multiple of {}",
          summary_.after, summary_.before, stages_, Chunks(chunks_), stages_ * chunks_));
    }
    return {};
  }

  static std::string Chunks(std::int64_t chunks) {
    return fmt::format("{} chunk{}", chunks, chunks == 1 ? "" : "s");
  }

  static Result<Layers> Find(const TraceSet::DistinctRank& one, const Graph& graph) {
    auto found = FindLayers(graph);
    if (!found) {
      return BadInput(fmt::format("{}: {}", one.file, found.error().message));
    }
    return found;
  }

  [[nodiscard]] tl::unexpected<Error> Refused(const TraceSet::DistinctRank& one,
                                              const Error& why) const {
    return BadInput(fmt::format("{}: --layers {} instead of {}: {}", one.file, summary_.after,
                                summary_.before, why.message));
  }

  Status WriteFile(const TraceSet::DistinctRank& one) {
    REPRISE_ASSIGN(const Graph graph, Graph::Load(one.path));
    REPRISE_ASSIGN(const Layers found, Find(one, graph));
    const std::int64_t more = (summary_.after - summary_.before) / (stages_ * chunks_);
    const Status allowed = CheckRepetition(graph.size(), found.parts, more);
    if (!allowed) {
      return Refused(one, allowed.error());
    }
    const LayerPlaces places(found, more);
    auto nodes = RepeatedNodes::Create(graph, places, &places, one.rank);
    if (!nodes) {
      return Refused(one, nodes.error());
    }
    return WriteRepeatedFile(set_, one, *nodes,
                             fmt::format("layers {} for {}", summary_.after, summary_.before),
                             request_.costs, directory_, summary_);
  }

  const TraceSet& set_;
  const RescaleRequest& request_;
  const std::string& directory_;
  RepeatSummary summary_;
  std::int64_t stages_ = 1, chunks_ = 1;
};

}  // namespace

Result<RepeatSummary> WriteLayers(const TraceSet& set, const RescaleRequest& request,
                                  const std::string& directory) {
  return LayerSet(set, request, directory).Write();
}

}  // namespace reprise
