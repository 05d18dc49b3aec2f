#include "converters/chakra/linked.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "converters/chakra/foreign_trace.h"
#include "converters/chakra/linked_nodes.h"
#include "core/comm.h"

namespace reprise::chakra {
namespace {

using NodeIndex = std::size_t;

class LinkedTraceBuilder {
 public:
  LinkedTraceBuilder(LinkedTrace linked, RankTrace& trace)
      : all_(std::move(linked.nodes)), trace_(trace) {}

  Status Run() {
    for (NodeIndex i = 0; i < all_.size(); ++i) {
      if (!by_id_.emplace(all_[i].id, i).second) {
        return BadInput(fmt::format("{}: two nodes have the id {}", trace_.path, all_[i].id));
      }
      next_id_ = std::max(next_id_, all_[i].id + 1);
      AddGroups(all_[i].name, all_[i].inputs, trace_);
    }
    Sort();
    for (auto& [thread, operations] : threads_) {
      BuildThread(operations);
    }
    for (const NodeIndex i : device_) {
      BuildDevice(i);
    }
    AddWaits();
    return {};
  }

 private:
  [[nodiscard]] std::int64_t End(NodeIndex i) const {
    return all_[i].start_ns + all_[i].duration_ns;
  }

  // Threads by start, callers before callees.
  void Sort() {
    for (NodeIndex i = 0; i < all_.size(); ++i) {
      const LinkedNode& node = all_[i];
      if (node.start_ns < 0) {
        trace_.diagnostics.Count("operation_without_time",
                                 fmt::format("{}: node {} ({})", trace_.path, node.id, node.name));
      } else if (node.category.empty()) {
        threads_[node.thread].push_back(i);
      } else {
        device_.push_back(i);
      }
    }
    const auto earlier = [&](NodeIndex a, NodeIndex b) {
      const LinkedNode& x = all_[a];
      const LinkedNode& y = all_[b];
      return x.start_ns != y.start_ns         ? x.start_ns < y.start_ns
             : x.duration_ns != y.duration_ns ? x.duration_ns > y.duration_ns
                                              : a < b;
    };
    for (auto& [thread, operations] : threads_) {
      std::sort(operations.begin(), operations.end(), earlier);
    }
    std::sort(device_.begin(), device_.end(), earlier);
    for (const NodeIndex i : device_) {
      kernels_[all_[i].caller].push_back(i);
    }
  }

  // The operations of one thread that become nodes: each first of its branch that is no frame.
  void BuildThread(const std::vector<NodeIndex>& operations) {
    std::unordered_set<NodeIndex> frames;
    std::vector<NodeIndex> open;
    for (const NodeIndex i : operations) {
      while (!open.empty() && End(open.back()) <= all_[i].start_ns) {
        open.pop_back();
      }
      // Unknown operators with something inside are frames.
      if (!open.empty() && !FindOperator(all_[open.back()].name)) {
        frames.insert(open.back());
      }
      open.push_back(i);
    }
    open.clear();
    constexpr NodeIndex kNone = std::numeric_limits<NodeIndex>::max();
    NodeIndex carrier = kNone;
    for (const NodeIndex i : operations) {
      if (carrier != kNone && all_[i].start_ns < End(carrier)) {
        if (End(i) > End(carrier)) {
          trace_.diagnostics.Count(
              "operation_sticks_out",
              fmt::format("{}: nodes {} and {}", trace_.path, all_[carrier].id, all_[i].id));
        }
        carried_[all_[i].id] = carrier;  // its kernels were launched by the carrier
        continue;
      }
      carrier = kNone;
      const OpInfo info = InfoOf(i, frames.contains(i));
      if (info.kind == OpKind::kComposite) {
        continue;
      }
      carrier = i;
      BuildHost(i, info);
    }
  }

  OpInfo InfoOf(NodeIndex i, bool frame) {
    const LinkedNode& node = all_[i];
    if (const auto known = FindOperator(node.name)) {
      // The transfer itself is the kernel.
      return known->kind == OpKind::kComm ? OpInfo{OpClass::kHost, OpKind::kMetadata} : *known;
    }
    // An unknown node without callees does its work itself, unless it only marks a range.
    const bool operation = node.name.find("::") != std::string::npos;
    return frame || !operation ? OpInfo{OpClass::kOther, OpKind::kComposite}
                               : OpInfo{OpClass::kOther, OpKind::kWork};
  }

  // One node, or pieces cut at the starts of the kernels that it launches; kernels are known by the
  // operations inside, which come later: cutting is done with all kernels of the interval.
  void BuildHost(NodeIndex i, const OpInfo& info) {
    LinkedNode& from = all_[i];
    std::vector<std::int64_t> cuts;
    CollectCuts(i, cuts);
    Node node = HostNode(from, info);
    // An operation that launches leaves the work to the kernels.
    if (!cuts.empty() && info.kind == OpKind::kWork) {
      node.kind = OpKind::kMetadata;
      node.op_class = OpClass::kHost;
    }
    const std::int64_t end = End(i);
    std::vector<std::pair<std::int64_t, std::uint64_t>>& pieces = pieces_[i];
    std::int64_t start = from.start_ns;
    for (const std::int64_t cut : cuts) {
      if (cut > start && cut < end) {
        AddPiece(node, start, cut, pieces);
        start = cut;
      }
    }
    AddPiece(node, start, end, pieces);
  }

  void AddPiece(Node& node, std::int64_t start, std::int64_t end,
                std::vector<std::pair<std::int64_t, std::uint64_t>>& pieces) {
    node.start_ns = start;
    node.duration_ns = end - start;
    pieces.emplace_back(end, node.id);
    trace_.nodes.push_back(node);
    // What follows is the same call, returning.
    node.id = next_id_++;
    node.inputs.clear();
    node.outputs.clear();
    node.kind = OpKind::kMetadata;
    node.op_class = OpClass::kHost;
  }

  // Starts of the kernels that were launched from inside an operation's interval, by caller.
  void CollectCuts(NodeIndex carrier, std::vector<std::int64_t>& cuts) {
    const std::vector<NodeIndex>& operations = threads_.at(all_[carrier].thread);
    auto at =
        std::lower_bound(operations.begin(), operations.end(), all_[carrier].start_ns,
                         [&](NodeIndex i, std::int64_t start) { return all_[i].start_ns < start; });
    for (; at != operations.end() &&
           all_[*at].start_ns < std::max(End(carrier), all_[carrier].start_ns + 1);
         ++at) {
      if (const auto kernels = kernels_.find(all_[*at].id); kernels != kernels_.end()) {
        for (const NodeIndex kernel : kernels->second) {
          cuts.push_back(all_[kernel].start_ns);
        }
      }
    }
    std::sort(cuts.begin(), cuts.end());
  }

  Node HostNode(LinkedNode& from, const OpInfo& info) const {
    Node node;
    node.id = from.id;
    node.name = from.name;
    node.kind = info.kind;
    node.op_class = info.op_class;
    node.type = NodeType::kComp;
    node.actor = {.kind = Actor::Kind::kThread, .id = from.thread};
    node.rf_id = from.rf_id;
    node.seq_id = from.seq_id;
    node.op_schema = from.op_schema;
    node.parent = NameOf(from.caller);
    node.inputs = from.inputs;
    node.outputs = from.outputs;
    return node;
  }

  [[nodiscard]] std::string NameOf(std::uint64_t id) const {
    const auto it = by_id_.find(id);
    return it == by_id_.end() ? std::string() : all_[it->second].name;
  }

  void BuildDevice(NodeIndex i) {
    LinkedNode& from = all_[i];
    Node node;
    node.id = from.id;
    node.name = from.name;
    node.start_ns = from.start_ns;
    node.duration_ns = from.duration_ns;
    node.actor = {.kind = Actor::Kind::kStream, .id = from.stream, .device = 0};
    node.parent = NameOf(from.caller);
    node.type = NodeType::kComp;
    node.inputs = std::move(from.inputs);
    node.outputs = std::move(from.outputs);
    const bool copy = from.category.find("mem") != std::string::npos;
    const auto caller = FindOperator(node.parent);
    node.op_class = copy ? OpClass::kMemcpy : caller ? caller->op_class : OpClass::kOther;
    const std::string_view name = std::string_view(from.name).substr(0, from.name.find('('));
    if (name.find("nccl") != std::string_view::npos ||
        name.find("rccl") != std::string_view::npos) {
      MakeTransfer(from, name, node);
    }
    if (const auto launch = LaunchOf(from)) {
      node.deps.push_back({.node_id = *launch, .reason = EdgeReason::kLaunch, .inferred = true});
    }
    trace_.nodes.push_back(std::move(node));
  }

  // The last piece that ended before the kernel began.
  [[nodiscard]] std::optional<std::uint64_t> LaunchOf(const LinkedNode& kernel) const {
    const auto caller = by_id_.find(kernel.caller);
    if (caller == by_id_.end()) {
      return std::nullopt;
    }
    const auto carried = carried_.find(kernel.caller);
    const NodeIndex holder = carried == carried_.end() ? caller->second : carried->second;
    if (pieces_.contains(holder)) {
      return EndedBy(holder, kernel.start_ns);
    }
    // The caller is a frame: by what ran inside it.
    const auto thread = threads_.find(all_[holder].thread);
    if (thread == threads_.end()) {
      return std::nullopt;
    }
    const std::vector<NodeIndex>& operations = thread->second;
    auto at =
        std::upper_bound(operations.begin(), operations.end(), kernel.start_ns,
                         [&](std::int64_t start, NodeIndex i) { return start < all_[i].start_ns; });
    while (at != operations.begin() && all_[*(at - 1)].start_ns >= all_[holder].start_ns) {
      if (const auto found = EndedBy(*--at, kernel.start_ns)) {
        return found;
      }
    }
    return std::nullopt;
  }

  // An operation's last piece that ended by then.
  [[nodiscard]] std::optional<std::uint64_t> EndedBy(NodeIndex operation,
                                                     std::int64_t by_ns) const {
    const auto pieces = pieces_.find(operation);
    std::optional<std::uint64_t> found;
    if (pieces != pieces_.end()) {
      for (const auto& [end, id] : pieces->second) {
        found = end <= by_ns ? id : found;
      }
    }
    return found;
  }

  // "SendRecv" kernels are all_to_all, send or recv: the caller's caller says which.
  void MakeTransfer(const LinkedNode& from, std::string_view name, Node& node) {
    std::string said = from.collective;
    if (said.empty() && name.find("SendRecv") == std::string_view::npos) {
      said = name;
    }
    std::uint64_t at = from.caller;
    for (int i = 0; said.empty() && i < 3; ++i) {
      const auto it = by_id_.find(at);
      if (it == by_id_.end()) {
        break;
      }
      if (ParseCommKind(all_[it->second].name)) {
        said = all_[it->second].name;
      }
      at = all_[it->second].caller;
    }
    const auto kind = ParseCommKind(said);
    // The peer of a send or receive is not in the file.
    if (!kind || IsPointToPoint(*kind)) {
      node.op_class = OpClass::kComm;
      trace_.diagnostics.Count(kind ? "transfer_without_peer" : "comm_without_type",
                               fmt::format("{}: node {} ({})", trace_.path, node.id, node.name));
      return;
    }
    FillLinkedTransfer(*kind, from, node);
  }

  // inter_thread_dep and sync_dep: by the node that holds what they name.
  void AddWaits() {
    std::unordered_map<std::uint64_t, std::size_t> made;
    for (std::size_t i = 0; i < trace_.nodes.size(); ++i) {
      made.emplace(trace_.nodes[i].id, i);
    }
    for (const LinkedNode& node : all_) {
      for (const std::uint64_t id : node.waits_for) {
        const auto waiter = made.find(Holder(node.id, false));
        const auto awaited = by_id_.find(id);
        if (waiter == made.end() || awaited == by_id_.end()) {
          trace_.diagnostics.Count("dangling_dependency", fmt::format("{}: node {} waits for {}",
                                                                      trace_.path, node.id, id));
          continue;
        }
        const bool device = !all_[awaited->second].category.empty();
        const std::uint64_t from = Holder(id, true);
        if (from != trace_.nodes[waiter->second].id) {
          trace_.nodes[waiter->second].deps.push_back(
              {.node_id = from,
               .reason = device ? EdgeReason::kSync : EdgeReason::kUnknown,
               .inferred = true});
        }
      }
    }
  }

  // The first or last piece of the node that an operation is in.
  [[nodiscard]] std::uint64_t Holder(std::uint64_t id, bool last) const {
    const auto it = by_id_.find(id);
    const auto carried = carried_.find(id);
    const auto pieces = pieces_.find(carried != carried_.end() ? carried->second : it->second);
    return pieces == pieces_.end() ? id
           : last                  ? pieces->second.back().second
                                   : pieces->second.front().second;
  }

  std::vector<LinkedNode> all_;
  RankTrace& trace_;
  std::unordered_map<std::uint64_t, NodeIndex> by_id_;
  std::uint64_t next_id_ = 0;
  std::map<std::int64_t, std::vector<NodeIndex>> threads_;
  std::vector<NodeIndex> device_;
  std::unordered_map<std::uint64_t, std::vector<NodeIndex>> kernels_;  // by caller's id
  std::unordered_map<std::uint64_t, NodeIndex>
      carried_;  // id of an operation inside another → which
  std::unordered_map<NodeIndex, std::vector<std::pair<std::int64_t, std::uint64_t>>> pieces_;
};

}  // namespace

Status ReadLinked(const TextFile& file, RankTrace& trace) {
  REPRISE_ASSIGN(LinkedTrace linked, ReadLinkedNodes(file, trace.diagnostics));
  trace.captured = true;
  trace.metadata.source = fmt::format("chakra linked {}", linked.schema);
  trace.recorded_operations = linked.nodes.size();
  return LinkedTraceBuilder(std::move(linked), trace).Run();
}

}  // namespace reprise::chakra
