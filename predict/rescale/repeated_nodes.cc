#include "predict/rescale/repeated_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "core/input_file.h"
#include "predict/rescale/each_tensor.h"
#include "predict/rescale/moved_ids.h"
#include "predict/rescale/repeated_places.h"
#include "predict/rescale/repeated_times.h"
#include "predict/rescale/repeated_transfers.h"

namespace reprise {
namespace {

using Index = Graph::Index;

}  // namespace

struct RepeatedNodes::Impl {
  Impl(const Graph& of, const MicroBatches& micro_batches, std::int64_t more, std::int32_t of_rank)
      : graph(of),
        found(micro_batches),
        places(micro_batches, more),
        storages(places),
        tensors(places),
        memories(places),
        sequences(places),
        launches(places),
        times(of, micro_batches, places),
        transfers(of, micro_batches, places, of_rank) {}

  Status Add() {
    for (std::uint32_t at = 0; at < found.order.nodes.size(); ++at) {
      const Index i = found.order.nodes[at];
      REPRISE_ASSIGN(const OpCall call, graph.Call(i));
      std::vector<std::int64_t> of_storages, of_tensors, of_memories;
      for (const ValueList* const values : {&call.inputs, &call.outputs}) {
        for (const TensorDesc* const tensor : TensorsIn(*values)) {
          of_storages.push_back(tensor->incarnation);
          of_tensors.push_back(tensor->tensor_id);
          of_memories.push_back(tensor->storage_id == 0 ? -1 : tensor->storage_id);
        }
      }
      storages.Add(of_storages);
      tensors.Add(of_tensors);
      memories.Add(of_memories);
      sequences.Add(std::vector{graph.seq_id(i)});
      const DeviceWork* const work = graph.device_work(i);
      launches.Add(std::vector{work == nullptr ? -1 : work->correlation});
      next_id = std::max(next_id, graph.id(i) + 1);
      next_record = std::max(next_record, graph.rf_id(i) + 1);
    }
    for (const RepeatedPlace& one : places.All()) {
      for (MovedIds* const ids : {&storages, &tensors, &memories, &sequences, &launches}) {
        if (one.copy >= 0) {
          ids->Make(one);
        }
      }
    }
    return {};
  }

  [[nodiscard]] std::uint64_t IdOf(const RepeatedPlace& one) const {
    if (one.copy < 0) {
      return graph.id(found.order.nodes[one.place]);
    }
    return next_id + places.NumberOfCopy(one);
  }

  Result<Node> NodeOf(const RepeatedPlace& one) {
    REPRISE_ASSIGN(Node node, graph.Decode(found.order.nodes[one.place]));
    const std::int64_t shift_ns = times.ShiftOf(one);
    node.start_ns += shift_ns;
    REPRISE_TRY(MoveDependencies(one, node));
    node.id = IdOf(one);
    for (ValueList* const values : {&node.inputs, &node.outputs}) {
      ChangeEachTensor(*values, [&](TensorDesc& tensor) {
        if (!tensor.IsDefined()) {
          return;
        }
        tensor.incarnation = storages.Of(one, tensor.incarnation);
        tensor.tensor_id = tensors.Of(one, tensor.tensor_id);
        tensor.storage_id = tensor.storage_id == 0 ? 0 : memories.Of(one, tensor.storage_id);
      });
    }
    node.seq_id = sequences.Of(one, node.seq_id);
    if (node.device_work) {
      node.device_work->correlation = launches.Of(one, node.device_work->correlation);
    }
    if (node.comm) {
      transfers.Move(one, shift_ns, *node.comm);
    }
    if (one.copy >= 0) {
      node.rescaled = Rescaled::kRepeat;
      node.rf_id = node.rf_id < 0 ? -1 : next_record++;
    }
    return node;
  }

  Status MoveDependencies(const RepeatedPlace& one, Node& node) const {
    std::vector<Dependency> moved;
    for (Dependency dependency : node.deps) {
      const std::optional<Index> on = graph.FindId(dependency.node_id);
      const auto relation = IsControl(dependency.reason) ? RepeatedPlaces::Relation::kOrder
                                                         : RepeatedPlaces::Relation::kOfMicroBatch;
      const auto to = on ? places.Related(one, found.order.place[*on], relation) : std::nullopt;
      if (to) {
        dependency.node_id = IdOf(*to);
        moved.push_back(dependency);
      } else if (on && dependency.reason != EdgeReason::kCommWait) {
        // A wait that a program makes at the end of its step may be for a transfer left out.
        return BadInput(fmt::format(
            "node {} (\"{}\") would wait for node {}, which is of a micro-batch that is "
            "left out, and of the few that stay none has the like",
            node.id, node.name, dependency.node_id));
      }
    }
    node.deps = std::move(moved);
    return {};
  }

  const Graph& graph;
  const MicroBatches& found;
  RepeatedPlaces places;
  MovedIds storages, tensors, memories, sequences, launches;
  RepeatedTimes times;
  RepeatedTransfers transfers;
  std::uint64_t next_id = 0;
  std::int64_t next_record = 0;
};

RepeatedNodes::RepeatedNodes(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RepeatedNodes::RepeatedNodes(RepeatedNodes&&) noexcept = default;
RepeatedNodes::~RepeatedNodes() = default;

Result<RepeatedNodes> RepeatedNodes::Create(const Graph& graph, const MicroBatches& micro_batches,
                                            std::int64_t more, std::int32_t rank) {
  for (const MicroBatchParts& passes : micro_batches.steps) {
    if (-more > passes.times) {
      return BadInput(fmt::format(
          "step {}: {} parts are alike and one after the other, and {} would have to be left out",
          passes.step, passes.times, -more));
    }
  }
  std::uint64_t length = 0;
  for (const MicroBatchParts& passes : micro_batches.steps) {
    length += passes.length;
  }
  const std::uint64_t limit = CurrentInputLimits().job_nodes;
  if (more > 0 && (graph.size() > limit ||
                   static_cast<std::uint64_t>(more) > (limit - graph.size()) / length)) {
    return BadInput(
        fmt::format("more nodes than {} for a rank, which --limits job_nodes=N raises: {} parts of "
                    "{} nodes are "
                    "to be added",
                    limit, more, length));
  }
  auto impl = std::make_unique<Impl>(graph, micro_batches, more, rank);
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
  for (const auto& [made, source] : impl_->storages.made()) {
    const auto range = std::ranges::lower_bound(recorded, source, {}, &IndexRange::incarnation);
    if (range != recorded.end() && range->incarnation == source) {
      header.index_ranges.push_back({made, range->low, range->high});
    }
  }
  header.samples.clear();
  header.untraced_step_ns = header.untraced_page_faults = -1;
  return header;
}

Status RepeatedNodes::ForEach(const std::function<Status(Node&)>& visit) {
  std::vector<RepeatedPlace> all = impl_->places.All();
  std::ranges::stable_sort(all, {}, [this](const RepeatedPlace& one) {
    return impl_->graph.start_ns(impl_->found.order.nodes[one.place]) + impl_->times.ShiftOf(one);
  });
  for (const RepeatedPlace& one : all) {
    REPRISE_ASSIGN(Node node, impl_->NodeOf(one));
    REPRISE_TRY(visit(node));
  }
  return {};
}

}  // namespace reprise
