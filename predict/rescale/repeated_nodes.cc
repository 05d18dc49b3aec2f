#include "predict/rescale/repeated_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "predict/rescale/layer_tensors.h"
#include "predict/rescale/moved_ids.h"
#include "predict/rescale/moved_tensors.h"
#include "predict/rescale/repeated_times.h"
#include "predict/rescale/repeated_transfers.h"
#include "predict/rescale/tensors/each_tensor.h"

namespace reprise {
namespace {

using Index = Graph::Index;

std::int64_t ElementsIn(const ValueList& values) {
  std::int64_t elements = 0;
  ForEachTensor(values, [&](const TensorDesc& tensor) { elements += tensor.elements; });
  return elements;
}

void Scale(std::int64_t before, std::int64_t after, std::int64_t& bytes) {
  bytes = before > 0 && bytes > 0 ? bytes / before * after : bytes;
}

}  // namespace

struct RepeatedNodes::Impl {
  Impl(const Graph& of, const Repetition& of_places, const LayerPlaces* of_layers,
       std::int32_t of_rank)
      : graph(of),
        order(of_places.order()),
        places(of_places),
        moved(places),
        sequences(places),
        launches(places),
        times(of, places),
        transfers(of, places, of_rank) {
    if (of_layers != nullptr) {
      layers.emplace(graph, *of_layers, moved);
    }
  }

  Status Add() {
    for (const Index i : order.nodes) {
      REPRISE_ASSIGN(const OpCall call, graph.Call(i));
      moved.Add(call);
      if (layers) {
        layers->Add(call);
      }
      sequences.Add(std::vector{graph.seq_id(i)}, 0);
      const DeviceWork* const work = graph.device_work(i);
      launches.Add(std::vector{work == nullptr ? -1 : work->correlation}, 0);
      next_id = std::max(next_id, graph.id(i) + 1);
      next_record = std::max(next_record, graph.rf_id(i) + 1);
    }
    for (const RepeatedPlace& one : places.All()) {
      if (one.copy >= 0) {
        moved.Make(one);
        sequences.Make(one);
        launches.Make(one);
      }
    }
    return layers ? layers->End() : Status();
  }

  [[nodiscard]] std::uint64_t IdOf(const RepeatedPlace& one) const {
    if (one.copy < 0) {
      return graph.id(order.nodes[one.place]);
    }
    return next_id + places.NumberOfCopy(one);
  }

  Result<Node> NodeOf(const RepeatedPlace& one, bool& resized) {
    REPRISE_ASSIGN(Node node, graph.Decode(order.nodes[one.place]));
    const std::int64_t shift_ns = times.ShiftOf(one);
    node.start_ns += shift_ns;
    REPRISE_TRY(MoveDependencies(one, node));
    node.id = IdOf(one);
    const std::int64_t in_elements = ElementsIn(node.inputs);
    const std::int64_t out_elements = ElementsIn(node.outputs);
    resized = false;
    if (layers) {
      REPRISE_ASSIGN(resized, layers->Change(one, node));
    } else {
      for (ValueList* const values : {&node.inputs, &node.outputs}) {
        ChangeEachTensor(*values, [&](TensorDesc& tensor) { moved.Move(one, tensor); });
      }
    }
    if (node.comm && resized) {
      Scale(in_elements, ElementsIn(node.inputs), node.comm->in_bytes);
      Scale(out_elements, ElementsIn(node.outputs), node.comm->out_bytes);
    }
    node.seq_id = sequences.Of(one, node.seq_id);
    if (node.device_work) {
      node.device_work->correlation = launches.Of(one, node.device_work->correlation);
    }
    if (node.comm) {
      transfers.Move(one, shift_ns, *node.comm);
    }
    if (one.copy >= 0 || resized) {
      node.rescaled = Rescaled::kRepeat;
    }
    if (one.copy >= 0) {
      node.rf_id = node.rf_id < 0 ? -1 : next_record++;
    }
    return node;
  }

  // What the k-th dependency of a recorded node is on in the result.
  [[nodiscard]] std::optional<RepeatedPlace> On(const RepeatedPlace& one, std::size_t k, Index on,
                                                EdgeReason reason) const {
    const auto relation =
        IsControl(reason) ? Repetition::Relation::kOrder : Repetition::Relation::kData;
    const auto twin = places.PartsOf(order.place[on]) ? std::nullopt : places.TwinOf(one);
    if (twin) {
      const Index node = order.nodes[*twin];
      if (k < graph.deps(node).size() && graph.reasons(node)[k] == reason) {
        const auto like = places.RelatedLike(one, *twin, order.place[graph.deps(node)[k]]);
        if (like) {
          return like;
        }
      }
    }
    return places.Related(one, order.place[on], relation);
  }

  Status MoveDependencies(const RepeatedPlace& one, Node& node) const {
    std::vector<Dependency> moved_ones;
    for (std::size_t k = 0; k < node.deps.size(); ++k) {
      Dependency dependency = node.deps[k];
      const std::optional<Index> on = graph.FindId(dependency.node_id);
      const auto to = on ? On(one, k, *on, dependency.reason) : std::nullopt;
      if (to) {
        dependency.node_id = IdOf(*to);
        moved_ones.push_back(dependency);
      } else if (on && dependency.reason != EdgeReason::kCommWait) {
        // A wait that a program makes at the end of its step may be for a transfer left out.
        return BadInput(
            fmt::format("node {} (\"{}\") would wait for node {}, which is of a part that is left "
                        "out, and of the few that stay none has the like",
                        node.id, node.name, dependency.node_id));
      }
    }
    node.deps = std::move(moved_ones);
    return {};
  }

  const Graph& graph;
  const ProgramOrder& order;
  const Repetition& places;
  MovedTensors moved;
  std::optional<LayerTensors> layers;
  MovedIds sequences, launches;
  RepeatedTimes times;
  RepeatedTransfers transfers;
  std::uint64_t next_id = 0;
  std::int64_t next_record = 0;
};

RepeatedNodes::RepeatedNodes(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RepeatedNodes::RepeatedNodes(RepeatedNodes&&) noexcept = default;
RepeatedNodes::~RepeatedNodes() = default;

Result<RepeatedNodes> RepeatedNodes::Create(const Graph& graph, const Repetition& places,
                                            const LayerPlaces* layers, std::int32_t rank) {
  auto impl = std::make_unique<Impl>(graph, places, layers, rank);
  REPRISE_TRY(impl->Add());
  return RepeatedNodes(std::move(impl));
}

TraceMetadata RepeatedNodes::Header() const {
  TraceMetadata header = impl_->graph.metadata();
  impl_->times.MoveRanges(header);
  for (Step& step : header.steps) {
    const std::int64_t end_ns = impl_->times.After(step.start_ns + step.duration_ns);
    step.start_ns = impl_->times.After(step.start_ns);
    step.duration_ns = end_ns - step.start_ns;
  }
  const std::vector<IndexRange>& recorded = impl_->graph.metadata().index_ranges;
  for (const auto& [made, source] : impl_->moved.storages.made()) {
    const auto range = std::ranges::lower_bound(recorded, source, {}, &IndexRange::incarnation);
    if (range != recorded.end() && range->incarnation == source) {
      header.index_ranges.push_back({made, range->low, range->high});
    }
  }
  header.samples.clear();
  header.untraced_step_ns = header.untraced_page_faults = -1;
  return header;
}

Status RepeatedNodes::ForEach(const std::function<Status(Node&, bool)>& visit) {
  std::vector<RepeatedPlace> all = impl_->places.All();
  std::ranges::stable_sort(all, {}, [this](const RepeatedPlace& one) {
    return impl_->graph.start_ns(impl_->order.nodes[one.place]) + impl_->times.ShiftOf(one);
  });
  for (const RepeatedPlace& one : all) {
    bool resized = false;
    REPRISE_ASSIGN(Node node, impl_->NodeOf(one, resized));
    REPRISE_TRY(visit(node, resized));
  }
  return {};
}

}  // namespace reprise
