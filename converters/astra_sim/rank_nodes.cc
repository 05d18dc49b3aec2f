#include "converters/astra_sim/rank_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

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
  const CommKind kind = SimulatedKind(match.kind);
  const auto share = [members](std::int64_t bytes) { return (bytes + members - 1) / members; };
  // It divides an all_gather by the number of chunks, and never ends where nothing is left.
  const std::int64_t least = kind == CommKind::kAllGather ? chunks : 1;
  const std::int64_t bytes = std::max(
      match.kind == CommKind::kBroadcast ? share(match.size_bytes) : match.size_bytes, least);
  // Of what is scattered all get the same.
  const bool scatters = kind != match.kind && kind == CommKind::kReduceScatter;
  return scatters ? share(bytes) * members : bytes;
}

void AddEdge(std::uint64_t id, EdgeReason reason, Node& node) {
  if (std::none_of(node.deps.begin(), node.deps.end(),
                   [id](const Dependency& dep) { return dep.node_id == id; })) {
    node.deps.push_back({.node_id = id, .reason = reason, .inferred = true});
  }
}

// The bytes of memory that take so long in roofline mode, where one operation on them is nothing.
// At least a nanosecond, since a node of none stops ASTRA-sim where it is the first. Half a
// nanosecond on top, since times are cut to whole ones.
std::int64_t BytesFor(std::int64_t duration_ns, double memory_gb_per_s) {
  const auto ns = static_cast<double>(std::max<std::int64_t>(duration_ns, 1));
  return static_cast<std::int64_t>((ns + 0.5) * memory_gb_per_s) + 1;
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
    : set_(set),
      rank_(rank),
      replay_(set.request.mode == Mode::kReplay),
      graph_(rank.graph),
      times_(rank.graph),
      begin_us_(rank.graph.size()),
      after_(rank.graph.size()) {
  ShareUnits();
}

RankNodes::Unit RankNodes::UnitOf(Index i) const {
  const CommSpec* spec = graph_.comm(i);
  if (spec == nullptr || IsWorkOnly(i)) {
    return OnNpu(i) ? Unit::kNpu : Unit::kCpu;
  }
  return spec->kind == CommKind::kRecv ? Unit::kNone : Unit::kTransfer;
}

// Recorded nodes of one unit overlap: streams, threads, transfers that wait for each other inside
// the library. A unit of the simulator does them one after the other, so a node has only the time
// in which none before it runs. In replay mode nothing but this decides when a node ends: nodes
// follow each other in the order of their ends, each as soon as the last one's end, and all ends
// are the recorded ones. Where times are simulated, they come as they become ready.
void RankNodes::ShareUnits() {
  std::vector<std::uint32_t> place(graph_.size());
  for (std::uint32_t k = 0; const Index i : graph_.order()) {
    place[i] = k++;
  }
  std::vector<Index> order(graph_.order().begin(), graph_.order().end());
  const auto& times = replay_ ? times_.end_us : times_.start_us;
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) {
    return std::pair(times[a], place[a]) < std::pair(times[b], place[b]);
  });
  struct Last {
    std::int64_t end_us = 0;
    Index node = 0;
  };
  std::array<Last, 3> last;
  for (const Index i : order) {
    begin_us_[i] = set_.request.host_gaps ? times_.ready_us[i] : times_.start_us[i];
    after_[i] = i;
    const Unit unit = UnitOf(i);
    if (unit == Unit::kNone || (unit == Unit::kTransfer && !replay_)) {
      continue;
    }
    Last& before = last.at(static_cast<std::size_t>(unit));
    if (before.end_us > begin_us_[i]) {
      begin_us_[i] = std::min(before.end_us, times_.end_us[i]);
      after_[i] = replay_ ? before.node : i;
    }
    if (times_.end_us[i] >= before.end_us) {
      before = {times_.end_us[i], i};
    }
  }
}

std::int64_t RankNodes::LastEndUs() const {
  return times_.end_us.empty() ? 0 : *std::max_element(times_.end_us.begin(), times_.end_us.end());
}

bool RankNodes::IsWorkOnly(Index i) const {
  return rank_.match_of[i] == SetTransfers::kNone &&
         (!replay_ || !LacksOf(*graph_.comm(i)).empty());
}

bool RankNodes::SimulatedTransfer(Index i) const {
  return !replay_ && rank_.match_of[i] != SetTransfers::kNone;
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
  return times_.end_us[i] - begin_us_[i];
}

void RankNodes::Place(Index i, Node& node) const {
  node.actor = graph_.actor(i);
  if (graph_.comm(i) != nullptr && !node.comm) {  // a transfer that became work
    node.actor = {.kind = Actor::Kind::kStream, .id = 0, .device = 0};
  } else if (OnNpu(i) && node.actor.kind == Actor::Kind::kThread) {
    node.actor = {
        .kind = Actor::Kind::kStream, .id = kFirstThreadStream + node.actor.id, .device = 0};
  }
}

void RankNodes::AddDependencies(Index i, Node& node) const {
  const auto deps = graph_.deps(i);
  for (std::size_t d = 0; d < deps.size(); ++d) {
    node.deps.push_back({IdOf(deps[d]), graph_.reasons(i)[d], graph_.inferred(i, d)});
  }
  for (const Index dep : rank_.more_deps[i]) {
    AddEdge(IdOf(dep), EdgeReason::kData, node);
  }
}

void RankNodes::AddOrder(Index i, Node& node) const {
  if (const Index after = replay_ ? after_[i] : rank_.after[i]; after != i) {
    AddEdge(IdOf(after), graph_.comm(i) != nullptr ? EdgeReason::kGroup : EdgeReason::kStream,
            node);
  }
}

void RankNodes::FillTransfer(Index i, Node& node, Report& report) const {
  const std::int32_t number = rank_.match_of[i];
  const CommSpec& recorded = *graph_.comm(i);
  if (IsWorkOnly(i)) {
    node.kind = OpKind::kWork;
    node.op_class = OpClass::kComm;
    return;
  }
  node.type = graph_.type(i);
  CommSpec& spec = node.comm.emplace(recorded);
  const auto id = set_.group_ids.find(spec.group);
  spec.group = id != set_.group_ids.end() ? id->second : "0";
  if (number == SetTransfers::kNone) {
    return;
  }
  const Match& match = set_.transfers.matches[static_cast<std::size_t>(number)];
  if (IsPointToPoint(spec.kind)) {
    spec.tag = kFirstTag + static_cast<std::int32_t>(spec.index % kTags);
    const std::int64_t bytes = std::max<std::int64_t>(match.size_bytes, 1);
    if (match.size_bytes == 0) {
      (spec.kind == CommKind::kSend ? spec.in_bytes : spec.out_bytes) = bytes;
      spec.dtype = DType::kUInt8;
    }
    return;
  }
  const auto members = static_cast<std::int64_t>(match.members.size());
  const std::int64_t bytes = SimulatedBytes(match, members, set_.request.machine.chunks);
  spec.largest_bytes = std::max(bytes, match.size_bytes);
  if (replay_ || SimulatedKind(spec.kind) == spec.kind) {
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
  if (IsStorage(graph_.type(i))) {
    return {};
  }
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
    node.tensor_bytes =
        std::max(node.tensor_bytes, BytesFor(0, set_.request.machine.memory_gb_per_s));
    return;
  }
  report.timed_work += work ? 1 : 0;
  node.num_ops = 1;
  node.tensor_bytes = BytesFor(node.duration_ns, set_.request.machine.memory_gb_per_s);
}

void RankNodes::AddDelay(Index i, std::int64_t gap_us, ExportedNode& out) const {
  out.has_delay = true;
  Node& delay = out.delay;
  delay.id = out.node.id - 1;
  delay.name = fmt::format("delay before {}", out.node.name);
  delay.type = NodeType::kComp;
  delay.kind = OpKind::kWait;
  delay.op_class = OpClass::kHost;
  delay.actor = {.kind = Actor::Kind::kStream, .id = kFirstThreadStream - 1, .device = 0};
  delay.step = out.node.step;
  delay.start_ns = times_.ready_us[i] * kNsPerUs;
  delay.duration_ns = gap_us * kNsPerUs;
  if (set_.request.mode == Mode::kRoofline) {
    delay.num_ops = 1;
    delay.tensor_bytes = BytesFor(delay.duration_ns, set_.request.machine.memory_gb_per_s);
  }
  delay.deps = std::move(out.node.deps);
  out.node.deps = {{.node_id = delay.id, .reason = EdgeReason::kStream, .inferred = true}};
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
  report.storage_nodes += IsStorage(graph_.type(i)) ? 1 : 0;
  Place(i, node);
  AddDependencies(i, node);
  REPRISE_TRY(FillCost(i, node));
  const bool roofline = set_.request.mode == Mode::kRoofline;
  const bool modelled = roofline && OnNpu(i) && graph_.comm(i) == nullptr &&
                        graph_.kind(i) == OpKind::kWork && node.num_ops >= 0;
  const bool simulated = modelled || SimulatedTransfer(i);
  node.start_ns = (simulated ? times_.start_us[i] : begin_us_[i]) * kNsPerUs;
  node.duration_ns = (simulated ? times_.end_us[i] - times_.start_us[i] : DurationUs(i)) * kNsPerUs;
  if (const std::int64_t gap_us = simulated ? GapUs(i) : 0; gap_us > 0) {
    AddDelay(i, gap_us, out);
  }
  AddOrder(i, node);
  if (roofline) {
    FillRoofline(i, node, report);
  }
  return out;
}

}  // namespace reprise::astra_sim
