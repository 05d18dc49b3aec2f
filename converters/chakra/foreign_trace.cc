#include "converters/chakra/foreign_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/comm.h"

namespace reprise::chakra {
namespace {

constexpr auto kCollective = static_cast<std::uint32_t>(NodeType::kCommColl);
constexpr auto kSend = static_cast<std::uint32_t>(NodeType::kCommSend);
constexpr auto kRecv = static_cast<std::uint32_t>(NodeType::kCommRecv);
constexpr auto kComp = static_cast<std::uint32_t>(NodeType::kComp);

// CollectiveCommType of a name such as "ncclKernel_AllReduce_RING_LL(…)"; nothing if it has none.
std::optional<std::int64_t> CollectiveOf(std::string_view name) {
  const auto kind = ParseCommKind(name.substr(0, name.find('(')));
  if (!kind || IsPointToPoint(*kind)) {
    return std::nullopt;
  }
  constexpr std::array kNumbers = {0, 1, 2, 3, 4, 5, 6, 7, 9};  // by CommKind
  return kNumbers.at(static_cast<std::size_t>(*kind));
}

bool IsHostOperation(const ForeignNode& node) {
  const ForeignAttribute* attribute = node.Find("is_cpu_op");
  return attribute != nullptr && attribute->AsInt(0) != 0;
}

class ForeignTraceBuilder {
 public:
  explicit ForeignTraceBuilder(RankTrace& trace) : trace_(trace) {}

  Status Run(std::vector<ForeignNode>& nodes) {
    Look(nodes);
    const auto decoder = ForeignDecoder::Create(trace_.path);
    trace_.nodes.reserve(nodes.size());
    for (ForeignNode& from : nodes) {
      const NodeType became = Settle(from);
      REPRISE_ASSIGN(Node node, decoder->Decode(from));
      AddCallers(from, node);
      FillKind(from, became, node);
      FillTime(from, node);
      // Simulators take what does not say where it runs for work of the device.
      if (!trace_.captured && node.actor.kind == Actor::Kind::kThread &&
          from.Find("is_cpu_op") == nullptr && node.type == NodeType::kComp) {
        node.actor = {.kind = Actor::Kind::kStream, .id = 0, .device = 0};
      }
      if (!trace_.captured && node.comm && node.comm->kind == CommKind::kSend) {
        node.comm->send_end = SendEnd::kSent;
      }
      // Whatever takes its turn on an actor is COMP: simulators stop at other types.
      if (node.type == NodeType::kMetadata || node.type == NodeType::kInvalid) {
        node.type = NodeType::kComp;
      }
      AddGroups(node.name, node.inputs, trace_);
      trace_.nodes.push_back(std::move(node));
      from = {};
    }
    trace_.diagnostics.Merge(decoder->diagnostics());
    return {};
  }

 private:
  void Look(const std::vector<ForeignNode>& nodes) {
    for (const ForeignNode& node : nodes) {
      trace_.captured =
          trace_.captured || node.Find("rf_id") != nullptr || node.Find("fw_parent") != nullptr;
      names_.emplace(node.id, node.name);
      for (const std::uint64_t caller : node.ctrl_deps) {
        callers_.insert(caller);
        if (!IsHostOperation(node)) {
          launchers_.insert(caller);
        }
      }
    }
  }

  // Makes a transfer of what says enough to be one, and only of that.
  NodeType Settle(ForeignNode& node) {
    for (const std::uint32_t field : node.unknown_fields) {
      Count("unknown_node_field", node, fmt::format(", field {}", field));
    }
    if (IsStorage(static_cast<NodeType>(node.type))) {
      Count("storage_node", node);
      return NodeType::kInvalid;
    }
    const bool message = node.type == kSend || node.type == kRecv;
    if (node.type == kCollective && node.Find("comm_type") == nullptr) {
      // A c10d call on the host; the transfer is the kernel that it launches.
      const bool call = IsHostOperation(node);
      if (const auto number = call ? std::nullopt : CollectiveOf(node.name)) {
        node.Set("comm_type", *number);
        return NodeType::kInvalid;
      }
      Count(call ? "comm_call_on_host" : "comm_without_type", node);
    } else if (message && node.Find("comm_peer") == nullptr &&
               node.Find(node.type == kSend ? "comm_dst" : "comm_src") == nullptr) {
      Count("transfer_without_peer", node);
    } else {
      return NodeType::kInvalid;
    }
    return static_cast<NodeType>(std::exchange(node.type, kComp));
  }

  void AddCallers(const ForeignNode& from, Node& node) {
    for (const std::uint64_t caller : from.ctrl_deps) {
      if (trace_.captured) {
        const auto it = names_.find(caller);
        if (it == names_.end()) {
          Count("dangling_caller", from);
        } else if (node.parent.empty()) {
          node.parent = it->second;
        }
        trace_.diagnostics.Count("caller_is_no_edge");
      } else {
        // Once, if it is in both lists: FinishTrace.
        node.deps.push_back({.node_id = caller, .reason = EdgeReason::kControl});
      }
    }
  }

  // `became`: the type of transfer that it was not fit to be.
  void FillKind(const ForeignNode& from, NodeType became, Node& node) const {
    if (became != NodeType::kInvalid) {
      const bool call = IsHostOperation(from);
      node.kind = call ? OpKind::kMetadata : OpKind::kWork;
      node.op_class = call ? OpClass::kHost : OpClass::kComm;
      node.type = NodeType::kComp;
      return;
    }
    if (IsTransfer(node.type) || IsStorage(node.type) || node.type == NodeType::kMetadata) {
      return;
    }
    // A frame, or what launched kernels that are nodes themselves: host time and nothing more.
    const bool frame = node.kind == OpKind::kComposite ||
                       (node.op_class == OpClass::kOther && callers_.contains(node.id));
    const bool launcher = launchers_.contains(node.id);
    if (trace_.captured && IsHostOperation(from) && (frame || launcher)) {
      node.kind = OpKind::kMetadata;
      node.op_class = OpClass::kHost;
    }
    if (node.kind == OpKind::kComm) {  // by its name only
      node.kind = node.actor.kind == Actor::Kind::kThread ? OpKind::kMetadata : OpKind::kWork;
    }
  }

  // A transfer always takes time, and work of a simulator's trace does. Host time that a profiler
  // rounded down to 0 us is no different from none.
  void FillTime(const ForeignNode& from, Node& node) {
    const bool work = !trace_.captured && node.kind == OpKind::kWork;
    node.untimed = !from.duration_micros && (node.comm || work);
    if (node.untimed) {
      Count("no_recorded_time", from);
    }
  }

  void Count(std::string_view name, const ForeignNode& node, const std::string& what = {}) {
    trace_.diagnostics.Count(name, fmt::format("{}: node {} ({}) at byte {}{}", trace_.path,
                                               node.id, node.name, node.offset, what));
  }

  RankTrace& trace_;
  std::unordered_map<std::uint64_t, std::string> names_;
  std::unordered_set<std::uint64_t> callers_, launchers_;
};

}  // namespace

void AddGroups(std::string_view name, const ValueList& inputs, RankTrace& trace) {
  const std::string* json = inputs.empty() ? nullptr : inputs[0].AsString();
  if (json != nullptr && name.find("process_group:init") != std::string_view::npos) {
    for (GroupRecord& group : pytorch::ParseGroupRecords(*json)) {
      trace.groups.push_back(std::move(group));
    }
  }
}

Status BuildNodes(const std::string& schema, const ForeignHeader& header,
                  std::vector<ForeignNode> nodes, RankTrace& trace) {
  trace.metadata.source = fmt::format("chakra {}", schema);
  if (const ForeignAttribute* origin = header.Find("schema")) {
    if (const auto* text = std::get_if<std::string>(&origin->value)) {
      trace.metadata.source += fmt::format(" of {}", *text);
    }
  }
  trace.recorded_operations = nodes.size();
  return ForeignTraceBuilder(trace).Run(nodes);
}

}  // namespace reprise::chakra
