#include "converters/pytorch/rank/graph_matches.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "converters/pytorch/rank/graph_recordings.h"
#include "converters/pytorch/rank/graph_twins.h"
#include "converters/pytorch/rank/same_arguments.h"
#include "converters/tensors_in.h"
#include "core/kernel_names.h"

namespace reprise::pytorch {
namespace {

constexpr std::size_t kMostLost = 100;  // one kernel in so many

// Operators and kernels of these classes are what they are by their name. An operator of another
// class launches none of their kernels.
bool IsProduct(OpClass op_class) {
  return op_class == OpClass::kGemm || op_class == OpClass::kAttention ||
         op_class == OpClass::kConv;
}

// A launch's events in the order in which the graph was recorded.
using LaunchedEvents = std::vector<std::int32_t>;

// By event of a launch: the node of the recording; -1: it has none, or several.
using NodeOfEvent = std::vector<std::int32_t>;

class GraphMatcher {
 public:
  GraphMatcher(const GraphSources& others, RankCapture& rank) : rank_(rank), like_(others.like) {
    for (RecordedGraph& own : TakeRecordedGraphs(rank_)) {
      rank_.recorded_graphs.push_back(std::make_shared<const RecordedGraph>(std::move(own)));
    }
    Collect(others.recorded);
    recordings_ = rank_.recorded_graphs.size();
    for (const Operation& operation : rank.list.operations) {
      next_rf_id_ = std::max(next_rf_id_, operation.rf_id + 1);
    }
  }

  void Run() {
    const auto& calls = rank_.kineto.device.calls;
    for (std::size_t c = 0; c < calls.size(); ++c) {
      const auto& events = rank_.links.calls[c].events;
      if (!events.empty() && calls[c].name->find("GraphLaunch") != std::string::npos) {
        AddLaunch(InOrder(events));
      }
    }
    if (!unknown_.empty()) {
      FindTwins();
    }
  }

 private:
  // What fits all launches of equal kernels.
  struct Fitting {
    std::int32_t number = 0;               // of the graph
    std::vector<std::int32_t> recordings;  // that agree
    NodeOfEvent alignment;                 // with each of them
    bool partial = false;
    std::vector<bool> operations, arguments;  // by event: all recordings have the same
    bool differ = false;
  };

  [[nodiscard]] const RecordedGraph& Recording(std::int32_t i) const {
    return *rank_.recorded_graphs[static_cast<std::size_t>(i)];
  }
  [[nodiscard]] const RecordedOperation* OperationOf(std::int32_t recording,
                                                     std::int32_t node) const {
    const RecordedGraph& graph = Recording(recording);
    const std::int32_t made_by = graph.nodes[static_cast<std::size_t>(node)].operation;
    return made_by < 0 ? nullptr : &graph.operations[static_cast<std::size_t>(made_by)];
  }

  // Those of other captures get identities beside those that are here.
  void Collect(const RecordedGraphs& others) {
    if (others.empty()) {
      return;
    }
    std::int64_t tensors = 0;
    std::int64_t incarnations = 0;
    for (const HostNode& node : rank_.host.nodes) {
      for (const ValueList* values : {&node.inputs, &node.outputs}) {
        ForEachTensor(*values, [&](const TensorDesc& tensor) {
          tensors = std::max({tensors, tensor.tensor_id, tensor.storage_id});
          incarnations = std::max(incarnations, tensor.incarnation + 1);
        });
      }
    }
    for (const auto& other : others) {
      RecordedGraph graph = *other;
      for (RecordedOperation& operation : graph.operations) {
        for (ValueList* values : {&operation.inputs, &operation.outputs}) {
          ForEachTensor(*values, [&](TensorDesc& tensor) {
            if (tensor.IsDefined()) {
              tensor.tensor_id += tensors;
              tensor.storage_id += tensors;
              tensor.incarnation += incarnations;
            }
          });
        }
      }
      rank_.recorded_graphs.push_back(std::make_shared<const RecordedGraph>(std::move(graph)));
    }
  }

  // Events come by start. CUDA numbers a graph's nodes as they were recorded.
  [[nodiscard]] LaunchedEvents InOrder(LaunchedEvents events) const {
    const auto id = [&](std::int32_t e) { return rank_.Event(e).graph_node_id; };
    if (std::ranges::all_of(events, [&](std::int32_t e) { return id(e) >= 0; })) {
      std::ranges::stable_sort(events, {}, id);
    }
    return events;
  }

  void AddLaunch(const LaunchedEvents& launch) {
    std::vector<std::pair<const std::string*, DeviceEvent::Kind>> names;
    std::int64_t graph_id = -1;
    for (const std::int32_t e : launch) {
      names.emplace_back(rank_.Event(e).name, rank_.Event(e).kind);
      graph_id = std::max(graph_id, rank_.Event(e).graph_id);
    }
    const auto [known, added] = graphs_.try_emplace({graph_id, std::move(names)});
    Fitting& fitting = known->second;
    if (added) {
      fitting = Fit(launch);
      fitting.number = static_cast<std::int32_t>(graphs_.size()) - 1;
    }
    for (const std::int32_t e : launch) {
      LinkOf(e).graph = fitting.number;
    }
    if (fitting.recordings.empty()) {
      unknown_[fitting.number].push_back(launch);
    }
    Apply(fitting, launch);
  }

  [[nodiscard]] EventLink& LinkOf(std::int32_t e) const {
    return rank_.links.events[static_cast<std::size_t>(e)];
  }

  [[nodiscard]] Fitting Fit(const LaunchedEvents& launch) const {
    Fitting out;
    for (std::size_t i = 0; i < rank_.recorded_graphs.size(); ++i) {
      if (Agrees(*rank_.recorded_graphs[i], launch)) {
        out.recordings.push_back(static_cast<std::int32_t>(i));
      }
    }
    if (!out.recordings.empty()) {
      for (std::size_t k = 0; k < launch.size(); ++k) {
        out.alignment.push_back(static_cast<std::int32_t>(k));
      }
    } else {
      FitPart(launch, out);
    }
    Compare(out);
    return out;
  }

  // One recording at most: of several that fit in part, none is known.
  void FitPart(const LaunchedEvents& launch, Fitting& out) const {
    for (std::size_t i = 0; i < rank_.recorded_graphs.size(); ++i) {
      std::optional<NodeOfEvent> part = AlignPart(*rank_.recorded_graphs[i], launch);
      if (part && out.partial) {
        out.recordings.clear();
        return;
      }
      if (part) {
        out.partial = true;
        out.recordings = {static_cast<std::int32_t>(i)};
        out.alignment = *std::move(part);
      }
    }
  }

  [[nodiscard]] bool AgreesByName(const RecordedNode& node, const DeviceEvent& event) const {
    if (node.kind == DeviceEvent::Kind::kKernel) {
      return event.kind == DeviceEvent::Kind::kKernel && node.kernel == *event.name;
    }
    if (event.kind != DeviceEvent::Kind::kKernel) {
      return node.kind == event.kind;
    }
    // HIP's graphs copy and fill by kernels.
    const OpClass by_name = ClassOfKernelName(*event.name);
    return by_name == (node.kind == DeviceEvent::Kind::kMemcpy ? OpClass::kCopy : OpClass::kFill);
  }

  [[nodiscard]] bool Agrees(const RecordedGraph& graph, const LaunchedEvents& launch) const {
    if (graph.nodes.size() != launch.size()) {
      return false;
    }
    std::size_t known = 0;
    std::size_t equal = 0;
    for (std::size_t k = 0; k < launch.size(); ++k) {
      const RecordedNode& node = graph.nodes[k];
      const DeviceEvent& event = rank_.Event(launch[k]);
      if (graph.named || node.kind != DeviceEvent::Kind::kKernel) {
        if (!AgreesByName(node, event)) {
          return false;
        }
        continue;
      }
      const OpClass by_name = ClassOfKernelName(*event.name);
      const OpClass by_operator =
          node.operation < 0 ? OpClass::kOther
                             : graph.operations[static_cast<std::size_t>(node.operation)].op_class;
      if (event.kind != DeviceEvent::Kind::kKernel) {
        return false;
      }
      if (by_name != OpClass::kOther && by_operator != OpClass::kOther) {
        ++known;
        equal += by_name == by_operator ? 1 : 0;
        if (IsProduct(by_name) && !IsProduct(by_operator)) {
          return false;
        }
      }
    }
    return graph.named || (equal > 0 && 2 * equal >= known);
  }

  // Both the earliest and the latest places of the launch's kernels in the recording.
  [[nodiscard]] std::optional<NodeOfEvent> AlignPart(const RecordedGraph& graph,
                                                     const LaunchedEvents& launch) const {
    const std::size_t lost = graph.nodes.size() - launch.size();
    if (!graph.named || graph.nodes.size() <= launch.size() ||
        lost > std::max<std::size_t>(1, graph.nodes.size() / kMostLost) ||
        launch.size() < kMostLost / 2) {
      return std::nullopt;
    }
    const auto agrees = [&](std::size_t node, std::size_t k) {
      return AgreesByName(graph.nodes[node], rank_.Event(launch[k]));
    };
    NodeOfEvent out(launch.size(), -1);
    std::size_t node = 0;
    for (std::size_t k = 0; k < launch.size(); ++k, ++node) {
      while (node < graph.nodes.size() && !agrees(node, k)) {
        ++node;
      }
      if (node == graph.nodes.size()) {
        return std::nullopt;
      }
      out[k] = static_cast<std::int32_t>(node);
    }
    node = graph.nodes.size();
    for (std::size_t k = launch.size(); k-- > 0;) {
      while (!agrees(--node, k)) {
      }
      if (out[k] != static_cast<std::int32_t>(node)) {
        out[k] = -1;
      }
    }
    return out;
  }

  void Compare(Fitting& fitting) const {
    fitting.operations.assign(fitting.alignment.size(), false);
    fitting.arguments.assign(fitting.alignment.size(), false);
    for (std::size_t k = 0; k < fitting.alignment.size() && !fitting.recordings.empty(); ++k) {
      if (fitting.alignment[k] < 0) {
        continue;
      }
      const RecordedOperation* const first =
          OperationOf(fitting.recordings.front(), fitting.alignment[k]);
      bool same = first != nullptr;
      bool same_arguments = same;
      for (const std::int32_t recording : fitting.recordings) {
        const RecordedOperation* const other = OperationOf(recording, fitting.alignment[k]);
        same = same && other != nullptr && other->name == first->name;
        same_arguments = same_arguments && same && SameArguments(first->inputs, other->inputs) &&
                         SameArguments(first->outputs, other->outputs);
        fitting.differ |= (first == nullptr) != (other == nullptr);
      }
      fitting.operations[k] = same;
      fitting.arguments[k] = same_arguments;
      fitting.differ |= first != nullptr && !same_arguments;
    }
  }

  void Apply(const Fitting& fitting, const LaunchedEvents& launch) {
    if (recordings_ == 0) {
      return;
    }
    const auto example = [&] {
      return fmt::format("{}: {} of {} kernels, correlation {}", rank_.label,
                         *rank_.Event(launch.front()).name, launch.size(),
                         rank_.Event(launch.front()).work.correlation);
    };
    if (fitting.recordings.empty()) {
      rank_.diagnostics.Count("graph_launch_unknown", example());
      return;
    }
    if (fitting.partial) {
      rank_.diagnostics.Count("graph_match_partial", example());
    }
    if (fitting.differ) {
      rank_.diagnostics.Count("graph_recording_ambiguous", example());
    }
    std::vector<RecordedPlace> places(launch.size());
    for (std::size_t k = 0; k < launch.size(); ++k) {
      if (fitting.operations[k]) {
        places[k] = {.graph = fitting.recordings.front(),
                     .node = fitting.alignment[k],
                     .arguments = fitting.arguments[k]};
      }
    }
    rank_.diagnostics.Count("graph_kernel_recorded", {}, GivePlaces(places, launch));
  }

  // Gives events their places; of an operation's kernels, the longest has its arguments. How many.
  std::uint64_t GivePlaces(const std::vector<RecordedPlace>& places, const LaunchedEvents& launch) {
    std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> longest;  // by operation: event
    std::map<std::pair<std::int32_t, std::int32_t>, std::int64_t> rf_ids;   // by operation
    std::uint64_t placed = 0;
    const auto length = [&](std::int32_t e) {
      const DeviceEvent& event = rank_.Event(e);
      return std::pair(event.kind == DeviceEvent::Kind::kKernel, event.end_ns - event.start_ns);
    };
    for (std::size_t k = 0; k < launch.size(); ++k) {
      if (places[k].graph < 0) {
        continue;
      }
      const auto made_by = std::pair(
          places[k].graph,
          Recording(places[k].graph).nodes[static_cast<std::size_t>(places[k].node)].operation);
      const auto [rf_id, fresh] = rf_ids.try_emplace(made_by, next_rf_id_);
      next_rf_id_ += fresh ? 1 : 0;
      EventLink& link = LinkOf(launch[k]);
      link.recorded = places[k];
      link.recorded.rf_id = rf_id->second;
      link.recorded.arguments = false;
      link.main = false;
      ++placed;
      if (places[k].arguments) {
        const auto [it, first] = longest.try_emplace(made_by, launch[k]);
        if (!first && length(launch[k]) > length(it->second)) {
          it->second = launch[k];
        }
      }
    }
    for (const auto& [operation, event] : longest) {
      LinkOf(event).recorded.arguments = true;
    }
    return placed;
  }

  // Of the graphs that no recording fits.
  void FindTwins() {
    const std::size_t first = rank_.recorded_graphs.size();
    RecordedGraph own = TakeEagerKernels(rank_);
    if (own.nodes.size() >= EagerTwins::kStretch) {
      rank_.recorded_graphs.push_back(std::make_shared<const RecordedGraph>(std::move(own)));
    }
    Collect(like_);
    const EagerTwins twins(rank_.recorded_graphs, first);
    for (const auto& [number, launches] : unknown_) {
      for (const LaunchedEvents& launch : launches) {
        if (const std::uint64_t placed = GivePlaces(twins.Find(rank_, launch), launch);
            placed > 0) {
          rank_.diagnostics.Count("graph_kernel_inferred", *rank_.Event(launch.front()).name,
                                  placed);
        }
      }
    }
  }

  using Signature =
      std::pair<std::int64_t, std::vector<std::pair<const std::string*, DeviceEvent::Kind>>>;

  RankCapture& rank_;
  const RecordedGraphs& like_;
  std::size_t recordings_ = 0;  // of rank_.recorded_graphs; eager kernels follow them
  std::int64_t next_rf_id_ = 1;
  std::map<std::int32_t, std::vector<LaunchedEvents>> unknown_;  // by number of the graph
  std::map<Signature, Fitting> graphs_;                          // by id and kernels
};

}  // namespace

void MatchGraphs(const GraphSources& others, RankCapture& rank) {
  GraphMatcher(others, rank).Run();
}

}  // namespace reprise::pytorch
