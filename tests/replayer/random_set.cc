#include "tests/replayer/random_set.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

#include "et_schema/io.h"
#include "et_schema/trace_set.h"
#include "tests/collectives/spmd.h"
#include "tests/replayer/small_trace.h"

namespace reprise::testing {
namespace {

// std::…_distribution differs between libraries; ranks and machines must draw the same.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : engine_(seed) {}
  // 0 … n-1
  std::int64_t Below(std::int64_t n) {
    return static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(n));
  }
  bool Chance(int percent) { return Below(100) < percent; }
  template <typename T>
  const T& Of(const std::vector<T>& list) {
    return list[static_cast<std::size_t>(Below(static_cast<std::int64_t>(list.size())))];
  }
  template <typename T>
  void Shuffle(std::vector<T>& list) {
    for (std::size_t i = list.size(); i > 1; --i) {
      std::swap(list[i - 1], list[static_cast<std::size_t>(Below(static_cast<std::int64_t>(i)))]);
    }
  }

 private:
  std::mt19937_64 engine_;
};

// One transfer of the whole set: a collective, or a send with its recv.
struct Meeting {
  std::int64_t number = 0;
  std::string group;
  Case what;
  int source = -1, destination = -1;  // positions in the group, of a pair
};

// One rank's trace in the making. Every node depends on earlier ones only.
class RankTrace {
 public:
  RankTrace(Draw& draw, int threads, int streams)
      : draw_(draw),
        last_of_thread_(static_cast<std::size_t>(threads), 0),
        last_of_stream_(static_cast<std::size_t>(streams), 0) {}

  void AddHostWork() {
    const std::size_t thread = AnyThread();
    Node& node = AddOnThread(thread, OpKind::kMetadata);
    if (draw_.Chance(20)) {
      AddDep(node, last_of_thread_[AnyThread()], EdgeReason::kFwdBwd);
    }
    last_of_thread_[thread] = node.id;
  }

  void AddKernel() {
    if (last_of_stream_.empty()) {
      return;
    }
    const std::size_t stream = Any(last_of_stream_);
    const std::uint64_t launch = Step(AnyThread(), OpKind::kMetadata);
    Node& node = Add("kernel", {Actor::Kind::kStream, static_cast<std::int64_t>(stream), 0});
    node.op = "aten::add";
    node.op_class = OpClass::kElementwise;
    node.inputs = {TensorValue(3 * static_cast<std::int64_t>(stream), {8}),
                   TensorValue(3 * static_cast<std::int64_t>(stream) + 1, {8}),
                   Value{std::int64_t{1}}};
    node.outputs = {TensorValue(3 * static_cast<std::int64_t>(stream) + 2, {8})};
    AddDep(node, last_of_stream_[stream], EdgeReason::kStream);
    AddDep(node, launch, EdgeReason::kLaunch);
    if (!earlier_.empty() && draw_.Chance(50)) {
      AddDep(node, draw_.Of(earlier_), EdgeReason::kEvent);
    }
    last_of_stream_[stream] = node.id;
  }

  void Issue(CommSpec spec) {
    const std::uint64_t issue = Step(AnyThread(), OpKind::kMetadata);
    Node& node = Add("transfer", {Actor::Kind::kGroup, 0, -1});
    node.kind = OpKind::kComm;
    node.op_class = OpClass::kComm;
    node.type = spec.kind == CommKind::kSend   ? NodeType::kCommSend
                : spec.kind == CommKind::kRecv ? NodeType::kCommRecv
                                               : NodeType::kCommColl;
    node.transfer_ns = node.duration_ns;
    AddDep(node, issue, EdgeReason::kLaunch);
    if (!last_of_stream_.empty() && draw_.Chance(50)) {
      AddDep(node, last_of_stream_[Any(last_of_stream_)], EdgeReason::kEvent);
    }
    node.comm = std::move(spec);
    batch_.push_back(node.id);
  }

  // All of the batch are issued: from here on they may be waited for.
  void EndBatch() {
    for (const std::uint64_t transfer : batch_) {
      earlier_.push_back(transfer);
      pending_.push_back(transfer);
    }
    batch_.clear();
    const int percent = static_cast<int>(draw_.Of(std::vector<int>{0, 30, 100}));
    std::erase_if(pending_, [&](std::uint64_t transfer) {
      if (!draw_.Chance(percent)) {
        return false;
      }
      const std::size_t thread = AnyThread();
      Node& wait = AddOnThread(thread, OpKind::kWait);
      AddDep(wait, transfer, EdgeReason::kCommWait);
      last_of_thread_[thread] = wait.id;
      return true;
    });
  }

  std::vector<Node> Take() { return std::move(nodes_); }

 private:
  template <typename T>
  std::size_t Any(const std::vector<T>& list) {
    return static_cast<std::size_t>(draw_.Below(static_cast<std::int64_t>(list.size())));
  }
  std::size_t AnyThread() { return Any(last_of_thread_); }

  static void AddDep(Node& node, std::uint64_t on, EdgeReason reason) {
    const bool there = std::any_of(node.deps.begin(), node.deps.end(),
                                   [on](const Dependency& dep) { return dep.node_id == on; });
    if (on != 0 && on != node.id && !there) {
      node.deps.push_back({on, reason, false});
    }
  }

  Node& AddOnThread(std::size_t thread, OpKind kind) {
    Node& node = Add("host", {Actor::Kind::kThread, static_cast<std::int64_t>(thread), -1});
    node.kind = kind;
    AddDep(node, last_of_thread_[thread], EdgeReason::kThread);
    return node;
  }
  std::uint64_t Step(std::size_t thread, OpKind kind) {
    return last_of_thread_[thread] = AddOnThread(thread, kind).id;
  }

  // Delays are what makes ranks drift apart: mostly none, at times long against a transfer.
  Node& Add(const std::string& name, Actor actor) {
    Node& node = nodes_.emplace_back();
    node.id = nodes_.size() + 10;
    node.name = name;
    node.type = NodeType::kComp;
    node.actor = actor;
    node.step = 0;
    node.start_ns = static_cast<std::int64_t>(nodes_.size()) * 1000;
    node.duration_ns = draw_.Below(2'000);
    node.delay_ns = draw_.Chance(5) ? draw_.Below(150'000) : draw_.Below(500);
    return node;
  }

  Draw& draw_;
  std::vector<Node> nodes_;
  std::vector<std::uint64_t> last_of_thread_;
  std::vector<std::uint64_t> last_of_stream_;
  std::vector<std::uint64_t> batch_;
  std::vector<std::uint64_t> earlier_;  // transfers that a new node may depend on
  std::vector<std::uint64_t> pending_;  // of them, those that nothing on the host waits for yet
};

class SetBuilder {
 public:
  SetBuilder(std::uint64_t seed, int ranks) : draw_(seed) {
    set_.seed = seed;
    set_.nodes.resize(ranks > 0 ? static_cast<std::size_t>(ranks)
                                : static_cast<std::size_t>(1 + draw_.Below(5)));
  }

  RandomSet Build() {
    DrawGroups();
    DrawOptions();
    std::vector<RankTrace> traces;
    for (int rank = 0; rank < set_.ranks(); ++rank) {
      traces.emplace_back(draw_, 1 + draw_.Below(3), draw_.Below(3));
    }
    const std::int64_t batches = 2 + draw_.Below(6);
    for (std::int64_t batch = 0; batch < batches; ++batch) {
      AddBatch(traces);
    }
    for (std::size_t rank = 0; rank < traces.size(); ++rank) {
      set_.nodes[rank] = traces[rank].Take();
    }
    return std::move(set_);
  }

 private:
  void DrawGroups() {
    std::vector<std::int32_t> all(set_.nodes.size());
    std::iota(all.begin(), all.end(), 0);
    set_.groups["0"] = all;
    const std::int64_t more = draw_.Below(4);
    for (std::int64_t g = 1; g <= more; ++g) {
      std::vector<std::int32_t> ranks = all;
      draw_.Shuffle(ranks);
      ranks.resize(
          static_cast<std::size_t>(1 + draw_.Below(static_cast<std::int64_t>(all.size()))));
      set_.groups[std::to_string(g)] = ranks;
    }
    for (const auto& [id, ranks] : set_.groups) {
      group_ids_.push_back(id);
    }
  }

  void DrawOptions() {
    ReplayOptions& options = set_.options;
    options.backend = "host";
    options.check = true;
    options.default_op_mode = ReplayMode::kTimed;
    options.warmup = 0;
    options.iterations = static_cast<std::int32_t>(1 + draw_.Below(2));
    options.host_gaps = draw_.Chance(20) ? HostGaps::kDrop : HostGaps::kKeep;
    if (draw_.Chance(20)) {
      options.comm_modes[CommKind::kAllReduce] = ReplayMode::kTimed;
    }
    if (draw_.Chance(10)) {
      options.comm_modes[CommKind::kBroadcast] = ReplayMode::kSkip;
    }
  }

  Meeting DrawMeeting() {
    static const std::vector<CommKind> kKinds = {
        CommKind::kAllReduce, CommKind::kReduce,    CommKind::kAllGather,     CommKind::kGather,
        CommKind::kScatter,   CommKind::kBroadcast, CommKind::kReduceScatter, CommKind::kAllToAll,
        CommKind::kBarrier,   CommKind::kSend,      CommKind::kAllReduce,     CommKind::kSend};
    static const std::vector<DType> kDTypes = {DType::kFloat32, DType::kBFloat16, DType::kInt64,
                                               DType::kUInt8};
    Meeting meeting{.number = next_number_++, .group = draw_.Of(group_ids_)};
    const auto size = static_cast<std::int64_t>(set_.groups.at(meeting.group).size());
    Case& what = meeting.what;
    what.kind = draw_.Of(kKinds);
    if (size < 2 && IsPointToPoint(what.kind)) {
      what.kind = CommKind::kAllReduce;
    }
    what.dtype = draw_.Of(kDTypes);
    what.elements = draw_.Chance(5) ? 0 : 1 + draw_.Below(draw_.Chance(10) ? 5000 : 60);
    what.uneven = draw_.Chance(20);
    what.root = static_cast<int>(draw_.Below(size));
    if (IsPointToPoint(what.kind)) {
      meeting.source = static_cast<int>(draw_.Below(size));
      meeting.destination = static_cast<int>((meeting.source + 1 + draw_.Below(size - 1)) % size);
    }
    return meeting;
  }

  // What `rank` does in a meeting; nothing where it has no part in it.
  std::vector<CommSpec> SpecsOf(const Meeting& meeting, std::int32_t rank) {
    const std::vector<std::int32_t>& ranks = set_.groups.at(meeting.group);
    const auto it = std::find(ranks.begin(), ranks.end(), rank);
    if (it == ranks.end()) {
      return {};
    }
    const int position = static_cast<int>(it - ranks.begin());
    CommSpec spec;
    if (IsPointToPoint(meeting.what.kind)) {
      if (position != meeting.source && position != meeting.destination) {
        return {};
      }
      const bool sends = position == meeting.source;
      const std::int64_t bytes = meeting.what.elements * SizeOf(meeting.what.dtype);
      spec.kind = sends ? CommKind::kSend : CommKind::kRecv;
      spec.dtype = meeting.what.dtype;
      spec.peer = ranks[static_cast<std::size_t>(sends ? meeting.destination : meeting.source)];
      (sends ? spec.in_bytes : spec.out_bytes) = bytes;
    } else {
      spec = SpecOf(meeting.what, {.ranks = ranks, .rank = position});
    }
    spec.group = meeting.group;
    spec.sequence = meeting.number;
    spec.op_recorded = true;
    spec.async = true;
    const std::string sequence =
        IsPointToPoint(spec.kind)
            ? meeting.group + std::string(Name(spec.kind)) + std::to_string(spec.peer)
            : meeting.group;
    spec.index = next_index_[{rank, sequence}]++;
    return {spec};
  }

  void AddBatch(std::vector<RankTrace>& traces) {
    std::vector<Meeting> batch;
    const std::int64_t size = 1 + draw_.Below(4);
    for (std::int64_t i = 0; i < size; ++i) {
      batch.push_back(DrawMeeting());
    }
    for (std::size_t rank = 0; rank < traces.size(); ++rank) {
      std::vector<CommSpec> specs;
      for (const Meeting& meeting : batch) {
        for (CommSpec& spec : SpecsOf(meeting, static_cast<std::int32_t>(rank))) {
          specs.push_back(std::move(spec));
        }
      }
      draw_.Shuffle(specs);  // of one sequence, too: two threads may be ready in any order
      for (CommSpec& spec : specs) {
        AddWork(traces[rank]);
        traces[rank].Issue(std::move(spec));
      }
      traces[rank].EndBatch();
      AddWork(traces[rank]);
    }
  }

  void AddWork(RankTrace& trace) {
    for (std::int64_t k = draw_.Below(4); k > 0; --k) {
      if (draw_.Chance(50)) {
        trace.AddKernel();
      } else {
        trace.AddHostWork();
      }
    }
  }

  Draw draw_;
  RandomSet set_;
  std::vector<std::string> group_ids_;
  std::int64_t next_number_ = 0;
  std::map<std::pair<std::size_t, std::string>, std::int64_t> next_index_;
};

}  // namespace

TraceMetadata RandomSet::Metadata(int rank) const {
  TraceMetadata metadata;
  metadata.rank = rank;
  metadata.world_size = ranks();
  metadata.source = "test";
  std::int64_t end_ns = 1;
  for (const Node& node : nodes[static_cast<std::size_t>(rank)]) {
    end_ns = std::max(end_ns, node.start_ns + node.duration_ns);
  }
  metadata.steps = {{"ProfilerStep#1", 0, end_ns}};
  return metadata;
}

Status RandomSet::Write(const std::string& directory) const {
  for (int rank = 0; rank < ranks(); ++rank) {
    REPRISE_ASSIGN(
        auto writer,
        EtWriter::Create(directory + "/random." + std::to_string(rank) + ".et", Metadata(rank)));
    for (const Node& node : nodes[static_cast<std::size_t>(rank)]) {
      REPRISE_TRY(writer->Write(node));
    }
    REPRISE_TRY(writer->Close());
  }
  std::map<std::string, ProcessGroup> written;
  for (const auto& [id, members] : groups) {
    written[id] = {id, id == "0" ? "default_pg" : "random", members};
  }
  return WriteGroups(directory, written);
}

RandomSet DrawSet(std::uint64_t seed, int ranks) { return SetBuilder(seed, ranks).Build(); }

}  // namespace reprise::testing
