#include "predict/rescale/repeated_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "core/input_file.h"
#include "predict/rescale/moved_ids.h"
#include "predict/rescale/repeated_places.h"

namespace reprise {
namespace {

using Index = Graph::Index;

// Calls visit(tensor) for the tensors of values and of lists in them.
void ForEachTensor(ValueList& values, const std::function<void(TensorDesc&)>& visit) {
  for (Value& value : values) {
    if (TensorDesc* const tensor = value.AsTensor()) {
      visit(*tensor);
    } else if (ValueList* const list = value.AsList()) {
      ForEachTensor(*list, visit);
    }
  }
}

}  // namespace

struct RepeatedNodes::Impl {
  Impl(const Graph& of, const MicroBatches& micro_batches, std::int64_t more, std::int32_t of_rank)
      : graph(of),
        found(micro_batches),
        rank(of_rank),
        places(micro_batches, more),
        storages(places),
        tensors(places),
        memories(places),
        sequences(places),
        launches(places) {}

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
    CountTransfers();
    FindTimes();
    return {};
  }

  void CountTransfers() {
    for (const Index i : found.order.nodes) {
      if (const CommSpec* const comm = graph.comm(i)) {
        const std::int64_t ahead = comm->sequence < 0 ? kUneven : comm->sequence - comm->index;
        const auto [at, is_new] = own_number_ahead.try_emplace(SequenceOf(*comm, rank), ahead);
        if (!is_new && at->second != ahead) {
          at->second = kUneven;
        }
      }
    }
    in_part.resize(found.steps.size());
    for (std::size_t s = 0; s < found.steps.size(); ++s) {
      for (std::uint32_t at = found.steps[s].begin(); at < found.steps[s].end; ++at) {
        if (const CommSpec* const comm = graph.comm(found.order.NodeOf(at))) {
          ++in_part[s][SequenceOf(*comm, rank)];
        }
      }
    }
  }

  // When the host comes to a place.
  [[nodiscard]] std::int64_t TimeAt(std::uint32_t place) const {
    for (std::uint32_t at = place; at < found.order.nodes.size(); ++at) {
      if (!found.order.launched[at]) {
        return graph.start_ns(found.order.nodes[at]);
      }
    }
    std::int64_t end_ns = 0;
    for (Index i = 0; i < graph.size(); ++i) {
      end_ns = std::max(end_ns, graph.start_ns(i) + graph.duration_ns(i));
    }
    return end_ns;
  }

  void FindTimes() {
    std::int64_t before_ns = 0;  // what earlier steps grew by
    for (std::size_t s = 0; s < found.steps.size(); ++s) {
      const MicroBatchParts& passes = found.steps[s];
      Growth& of = growth.emplace_back();
      of.at_ns = TimeAt(found.order.PlaceOf(passes.end));
      std::int64_t next_ns = of.at_ns + before_ns;
      for (std::int64_t copy = 0; copy < places.more(); ++copy) {
        const RepeatedPlaces::Part part = places.SourceOf(s, copy);
        const std::int64_t from_ns = TimeAt(part.begin), to_ns = TimeAt(part.end);
        of.parts.push_back({from_ns, to_ns, next_ns - from_ns});
        next_ns += to_ns - from_ns;
      }
      of.by_ns = next_ns - of.at_ns - before_ns;
      if (places.more() < 0) {
        of.left_out_from_ns = TimeAt(found.order.PlaceOf(static_cast<std::uint32_t>(
            passes.end + places.more() * static_cast<std::int64_t>(passes.length))));
        of.by_ns = of.left_out_from_ns - of.at_ns;
      }
      before_ns += of.by_ns;
    }
  }

  // How much later a place comes.
  [[nodiscard]] std::int64_t ShiftOf(const RepeatedPlace& one) const {
    if (one.copy >= 0) {
      return growth[*places.StepOf(one.place)].parts[static_cast<std::size_t>(one.copy)].shift_ns;
    }
    std::int64_t shift_ns = 0;
    if (const auto last = places.StepBefore(one.place)) {
      for (std::size_t s = 0; s <= *last; ++s) {
        shift_ns += growth[s].by_ns;
      }
    }
    return shift_ns;
  }

  [[nodiscard]] std::uint64_t IdOf(const RepeatedPlace& one) const {
    if (one.copy < 0) {
      return graph.id(found.order.nodes[one.place]);
    }
    return next_id + places.NumberOfCopy(one);
  }

  Result<Node> NodeOf(const RepeatedPlace& one) {
    REPRISE_ASSIGN(Node node, graph.Decode(found.order.nodes[one.place]));
    const std::int64_t shift_ns = ShiftOf(one);
    node.start_ns += shift_ns;
    REPRISE_TRY(MoveDependencies(one, node));
    node.id = IdOf(one);
    for (ValueList* const values : {&node.inputs, &node.outputs}) {
      ForEachTensor(*values, [&](TensorDesc& tensor) {
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
      MoveTransfer(one, shift_ns, *node.comm);
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
      const auto to = on ? places.Related(one, found.order.place[*on]) : std::nullopt;
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

  void MoveTransfer(const RepeatedPlace& one, std::int64_t shift_ns, CommSpec& comm) const {
    const SequenceKey key = SequenceOf(comm, rank);
    std::int64_t later = 0;
    const auto last = places.StepBefore(one.place);
    for (std::size_t s = 0; last && s <= *last; ++s) {
      later += places.more() * InPart(s, key);
    }
    if (one.copy >= 0) {
      const std::size_t s = *places.StepOf(one.place);
      later += (one.copy + places.SourceOf(s, one.copy).back) * InPart(s, key);
    }
    comm.index += later;
    if (later != 0) {
      const std::int64_t ahead = own_number_ahead.at(key);
      comm.sequence = ahead == kUneven ? -1 : comm.index + ahead;
    }
    for (std::int64_t* const at : {&comm.issued_ns, &comm.noticed_start_ns, &comm.noticed_end_ns}) {
      *at += *at < 0 ? 0 : shift_ns;
    }
  }

  [[nodiscard]] std::int64_t InPart(std::size_t step, const SequenceKey& key) const {
    const auto count = in_part[step].find(key);
    return count == in_part[step].end() ? 0 : count->second;
  }

  // A recorded time that is before or after what is new, or left out.
  [[nodiscard]] std::int64_t TimeAfter(std::int64_t ns) const {
    std::int64_t after_ns = ns;
    for (const Growth& of : growth) {
      if (ns >= of.at_ns) {
        after_ns += of.by_ns;
      } else if (ns > of.left_out_from_ns) {
        after_ns += of.left_out_from_ns - ns;
      }
    }
    return after_ns;
  }

  [[nodiscard]] std::vector<Range> Ranges(const std::vector<Range>& recorded) const {
    std::vector<Range> ranges;
    for (const Range& range : recorded) {
      const std::int64_t begin_ns = TimeAfter(range.start_ns);
      const std::int64_t end_ns = TimeAfter(range.start_ns + range.duration_ns);
      if (end_ns > begin_ns || range.duration_ns == 0) {
        ranges.push_back(range);
        ranges.back().start_ns = begin_ns;
        ranges.back().duration_ns = end_ns - begin_ns;
      }
      for (const Growth& of : growth) {
        for (const Growth::Part& part : of.parts) {
          if (range.start_ns >= part.from_ns && range.start_ns + range.duration_ns <= part.to_ns) {
            ranges.push_back(range);
            ranges.back().start_ns += part.shift_ns;
          }
        }
      }
    }
    std::ranges::stable_sort(ranges, [](const Range& a, const Range& b) {
      return std::pair(a.start_ns, -a.duration_ns) < std::pair(b.start_ns, -b.duration_ns);
    });
    ranges.resize(std::min(ranges.size(), kMaxRanges));
    return ranges;
  }

  const Graph& graph;
  const MicroBatches& found;
  std::int32_t rank;
  RepeatedPlaces places;
  MovedIds storages, tensors, memories, sequences, launches;
  std::uint64_t next_id = 0;
  std::int64_t next_record = 0;
  std::vector<std::map<SequenceKey, std::int64_t>> in_part;  // transfers, by step
  // What CommSpec::sequence is beyond index, where it is the same for all of a sequence.
  static constexpr std::int64_t kUneven = std::numeric_limits<std::int64_t>::min();
  std::map<SequenceKey, std::int64_t> own_number_ahead;
  struct Growth {  // of a step, in the host's recorded time
    std::int64_t at_ns = 0, by_ns = 0;
    std::int64_t left_out_from_ns = std::numeric_limits<std::int64_t>::max();
    struct Part {
      std::int64_t from_ns = 0, to_ns = 0;  // of its source
      std::int64_t shift_ns = 0;
    };
    std::vector<Part> parts;
  };
  std::vector<Growth> growth;
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
  header.ranges = impl_->Ranges(header.ranges);
  for (Step& step : header.steps) {
    const std::int64_t end_ns = impl_->TimeAfter(step.start_ns + step.duration_ns);
    step.start_ns = impl_->TimeAfter(step.start_ns);
    step.duration_ns = end_ns - step.start_ns;
  }
  for (const auto& [made, source] : impl_->storages.made()) {
    const auto range =
        std::ranges::find(impl_->graph.metadata().index_ranges, source, &IndexRange::incarnation);
    if (range != impl_->graph.metadata().index_ranges.end()) {
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
    return impl_->graph.start_ns(impl_->found.order.nodes[one.place]) + impl_->ShiftOf(one);
  });
  for (const RepeatedPlace& one : all) {
    REPRISE_ASSIGN(Node node, impl_->NodeOf(one));
    REPRISE_TRY(visit(node));
  }
  return {};
}

}  // namespace reprise
