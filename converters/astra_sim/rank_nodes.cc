#include "converters/astra_sim/rank_nodes.h"

#include <fmt/format.h>

#include <algorithm>

namespace reprise::astra_sim {
namespace {

using Index = Graph::Index;

// Tags of collectives' messages count from 0, and from a million per group: a message with such a
// tag, the same size and the same ranks would be taken for one of them.
constexpr std::int32_t kFirstTag = 2'000'000'000;
constexpr std::int32_t kTags = 100'000'000;
// Streams and threads are numbered apart.
constexpr std::int64_t kFirstThreadStream = 1 << 20;

// Of nodes that are ready at once, ASTRA-sim issues the one with the lowest id first: the recorded
// order.
std::uint64_t IdOf(Index i) { return 2 * std::uint64_t{i} + 2; }

// The kinds that ASTRA-sim has no algorithm for, as one that it has: the same bytes over the
// busiest link, to within a factor of (n - 1) / n.
CommKind SimulatedKind(CommKind kind) {
  switch (kind) {
    case CommKind::kReduce:
    case CommKind::kScatter:
      return CommKind::kReduceScatter;
    case CommKind::kGather:
    case CommKind::kBroadcast:
      return CommKind::kAllGather;
    case CommKind::kBarrier:
      return CommKind::kAllReduce;
    default:
      return kind;
  }
}

// What each member puts in then. A scatter's root puts in what all get; a broadcast's parts are
// spread and gathered.
std::int64_t SimulatedBytes(const Match& match, std::int64_t members, std::int64_t chunks) {
  std::int64_t bytes = match.size_bytes;
  if (match.kind == CommKind::kBroadcast) {
    bytes = (bytes + members - 1) / members;
  }
  // It divides an all_gather by the number of chunks, and never ends where nothing is left.
  return std::max(bytes, SimulatedKind(match.kind) == CommKind::kAllGather ? chunks
                                                                         : std::int64_t{1});
}

// Both sides as the kind has them.
void SetBytes(std::int64_t bytes, std::int64_t members, CommSpec& spec) {
  spec.in_bytes = spec.out_bytes = bytes;
  if (spec.kind == CommKind::kAllGather) {
    spec.out_bytes = bytes * members;
  } else if (spec.kind == CommKind::kReduceScatter) {
    spec.out_bytes = bytes / members;
  }
}

}  // namespace

RankNodes::RankNodes(const SetPlan& set, const RankPlan& rank)
    : set_(set), rank_(rank), graph_(rank.graph), times_(rank.graph) {}

std::int64_t RankNodes::LastEndUs() const {
  return times_.end_us.empty() ? 0
                               : *std::max_element(times_.end_us.begin(), times_.end_us.end());
}

bool RankNodes::SimulatedTransfer(Index i) const {
  return set_.request.mode != Mode::kReplay && rank_.match_of[i] != SetTransfers::kNone;
}

bool RankNodes::OnNpu(Index i) const {
  return set_.host == HostPlace::kNpu || graph_.comm(i) != nullptr ||
         graph_.actor(i).kind != Actor::Kind::kThread;
}

bool RankNodes::TakesNoTime(Index i) const {
  return !set_.request.host_gaps && graph_.comm(i) == nullptr &&
         graph_.actor(i).kind == Actor::Kind::kThread && graph_.kind(i) != OpKind::kWork;
}

std::int64_t RankNodes::GapUs(Index i) const {
  if (!set_.request.host_gaps) {
    return 0;
  }
  // A transfer's gap is time of the network's software, which the simulated rank has no place for:
  // it is waited for on the NPU, as long as that has nothing else to do.
  return graph_.comm(i) == nullptr ? times_.start_us[i] - times_.ready_us[i]
                                   : times_.IdleUs(times_.ready_us[i], times_.start_us[i]);
}

std::int64_t RankNodes::DurationUs(Index i) const {
  if (TakesNoTime(i)) {
    return 0;
  }
  return times_.end_us[i] - (set_.request.host_gaps ? times_.ready_us[i] : times_.start_us[i]);
}

void RankNodes::Place(Index i, Node& node) const {
  node.actor = graph_.actor(i);
  if (graph_.comm(i) != nullptr && !node.comm) {  // a transfer that became work
    node.actor = {.kind = Actor::Kind::kStream, .id = 0, .device = 0};
  } else if (OnNpu(i) && node.actor.kind == Actor::Kind::kThread) {
    node.actor = {.kind = Actor::Kind::kStream,
                  .id = kFirstThreadStream + node.actor.id,
                  .device = 0};
  }
}

void RankNodes::AddDependencies(Index i, Node& node) const {
  const auto deps = graph_.deps(i);
  for (std::size_t d = 0; d < deps.size(); ++d) {
    node.deps.push_back({IdOf(deps[d]), graph_.reasons(i)[d], graph_.inferred(i, d)});
  }
  const auto add = [&node](std::uint64_t id, EdgeReason reason) {
    if (std::none_of(node.deps.begin(), node.deps.end(),
                     [id](const Dependency& dep) { return dep.node_id == id; })) {
      node.deps.push_back({.node_id = id, .reason = reason, .inferred = true});
    }
  };
  for (const Index dep : rank_.more_deps[i]) {
    add(IdOf(dep), EdgeReason::kData);
  }
  if (rank_.after[i] != i) {
    add(IdOf(rank_.after[i]), EdgeReason::kGroup);
  }
}

void RankNodes::FillTransfer(Index i, Node& node, Report& report) const {
  const std::int32_t number = rank_.match_of[i];
  const CommSpec& recorded = *graph_.comm(i);
  if (number == SetTransfers::kNone && set_.request.mode != Mode::kReplay) {
    node.kind = OpKind::kWork;
    node.op_class = OpClass::kComm;
    return;
  }
  node.type = graph_.type(i);
  CommSpec& spec = node.comm.emplace(recorded);
  if (const auto id = set_.group_ids.find(spec.group); id != set_.group_ids.end()) {
    spec.group = id->second;
  }
  if (number == SetTransfers::kNone) {
    return;
  }
  const Match& match = set_.transfers.matches[static_cast<std::size_t>(number)];
  if (IsPointToPoint(spec.kind)) {
    spec.tag = kFirstTag + static_cast<std::int32_t>(spec.index % kTags);
    const std::int64_t bytes = std::max<std::int64_t>(match.size_bytes, 1);
    (spec.kind == CommKind::kSend ? spec.in_bytes : spec.out_bytes) = bytes;
    return;
  }
  const auto members = static_cast<std::int64_t>(match.members.size());
  const std::int64_t bytes = SimulatedBytes(match, members, set_.request.machine.chunks);
  spec.largest_bytes = std::max(bytes, match.size_bytes);
  if (set_.request.mode == Mode::kReplay || SimulatedKind(spec.kind) == spec.kind) {
    return;
  }
  if (match.members.front().rank == static_cast<std::size_t>(graph_.metadata().rank)) {
    ++report.replaced[fmt::format("{} as {}", Name(spec.kind), Name(SimulatedKind(spec.kind)))];
  }
  spec.kind = SimulatedKind(spec.kind);
  SetBytes(bytes, members, spec);
  spec.largest_bytes = -1;
  spec.dtype = DType::kUInt8;
  spec.root = -1;
  spec.in_splits.clear();
  spec.out_splits.clear();
}

Status RankNodes::FillCost(Index i, Node& node) const {
  node.num_ops = graph_.num_ops(i);
  node.tensor_bytes = graph_.tensor_bytes(i);
  if (graph_.kind(i) == OpKind::kWork && graph_.comm(i) == nullptr && node.num_ops < 0 &&
      node.tensor_bytes < 0 && set_.request.costs) {
    REPRISE_ASSIGN(Node whole, graph_.Decode(i));
    AddCost(set_.request.costs, whole);
    node.num_ops = whole.num_ops;
    node.tensor_bytes = whole.tensor_bytes;
  }
  if (node.num_ops >= 0 || node.tensor_bytes >= 0) {
    node.num_ops = std::max<std::int64_t>(node.num_ops, 1);
    node.tensor_bytes = std::max<std::int64_t>(node.tensor_bytes, 1);
  }
  return {};
}

// Everything on the NPU is modelled. What has no cost gets the bytes that take its recorded time.
void RankNodes::FillRoofline(Index i, Node& node, Report& report) const {
  if (node.comm || !OnNpu(i)) {
    return;
  }
  const bool work = graph_.kind(i) == OpKind::kWork && graph_.comm(i) == nullptr;
  if (work && node.num_ops >= 0) {
    ++report.modelled_work;
    return;
  }
  report.timed_work += work ? 1 : 0;
  node.num_ops = 1;
  // A nanosecond's half on top, since times are cut to whole ones.
  const double ns = static_cast<double>(node.duration_ns) + 0.5;
  node.tensor_bytes = static_cast<std::int64_t>(ns * set_.request.machine.memory_gb_per_s) + 1;
}

Result<ExportedNode> RankNodes::Build(Index i, Report& report) const {
  ExportedNode out;
  Node& node = out.node;
  node.id = IdOf(i);
  node.name = graph_.name(i);
  node.type = NodeType::kComp;
  node.kind = graph_.kind(i);
  node.op_class = graph_.op_class(i);
  node.step = graph_.step(i);
  node.op = graph_.op(i);
  if (graph_.comm(i) != nullptr) {
    FillTransfer(i, node, report);
  }
  Place(i, node);
  AddDependencies(i, node);
  REPRISE_TRY(FillCost(i, node));
  const bool roofline = set_.request.mode == Mode::kRoofline;
  const bool modelled = roofline && OnNpu(i) && graph_.comm(i) == nullptr &&
                        graph_.kind(i) == OpKind::kWork && node.num_ops >= 0;
  const std::int64_t gap_us = modelled || SimulatedTransfer(i) ? GapUs(i) : 0;
  node.start_ns = (gap_us > 0 ? times_.start_us[i] : times_.ready_us[i]) * kNsPerUs;
  node.duration_ns = DurationUs(i) * kNsPerUs;
  if (modelled || SimulatedTransfer(i)) {
    node.duration_ns = (times_.end_us[i] - times_.start_us[i]) * kNsPerUs;
  }
  if (gap_us > 0) {
    out.has_delay = true;
    out.delay = node;
    out.delay.comm.reset();
    out.delay.id = node.id - 1;
    out.delay.name = fmt::format("delay before {}", node.name);
    out.delay.type = NodeType::kComp;
    out.delay.kind = OpKind::kWait;
    out.delay.op_class = OpClass::kHost;
    out.delay.actor = {.kind = Actor::Kind::kStream, .id = kFirstThreadStream - 1, .device = 0};
    out.delay.start_ns = times_.ready_us[i] * kNsPerUs;
    out.delay.duration_ns = gap_us * kNsPerUs;
    out.delay.num_ops = out.delay.tensor_bytes = -1;
    node.deps = {{.node_id = out.delay.id, .reason = EdgeReason::kStream, .inferred = true}};
    if (roofline) {
      out.delay.num_ops = 1;
      const double ns = static_cast<double>(out.delay.duration_ns) + 0.5;
      out.delay.tensor_bytes =
          static_cast<std::int64_t>(ns * set_.request.machine.memory_gb_per_s) + 1;
    }
  }
  if (roofline) {
    FillRoofline(i, node, report);
  }
  return out;
}

}  // namespace reprise::astra_sim
