// Small jobs of pipeline, tensor and data parallelism, for tests of simulated classes.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "predict/machine/catalogue.h"
#include "predict/simulator/class_simulation.h"

namespace reprise {

// One rank's program: a thread that launches, a compute stream, and a stream for each kind of
// transfer.
class Program {
 public:
  void Compute(std::int64_t flops, OpClass op_class = OpClass::kElementwise) {
    Node node = OnStream(7, "kernel");
    node.op_class = op_class;
    node.num_ops = flops;
    node.tensor_bytes = flops / 100;
    Add(std::move(node), 7);
  }
  // Starts after the compute stream's work so far; the compute stream goes on after it.
  void Collective(CommKind kind, const std::string& role, std::int64_t bytes) {
    CommSpec spec;
    spec.kind = kind;
    spec.group = role;
    spec.in_bytes = spec.out_bytes = bytes;
    spec.index = next_[role]++;
    Transfer(spec, 20);
    waits_.push_back(last_.at(20));
  }
  void Send(std::int32_t to, std::int64_t bytes) { Pair(CommKind::kSend, to, bytes); }
  void Receive(std::int32_t from, std::int64_t bytes) {
    Pair(CommKind::kRecv, from, bytes);
    waits_.push_back(last_.at(22 + from));
  }

  [[nodiscard]] Graph Build() const {
    Result<Graph> graph = Graph::Build(TraceMetadata{}, nodes_);
    EXPECT_TRUE(graph) << graph.error().message;
    return std::move(*graph);
  }

 private:
  void Pair(CommKind kind, std::int32_t peer, std::int64_t bytes) {
    CommSpec spec;
    spec.kind = kind;
    spec.group = "pp";
    spec.peer = peer;
    spec.in_bytes = kind == CommKind::kSend ? bytes : 0;
    spec.out_bytes = kind == CommKind::kRecv ? bytes : 0;
    spec.index = next_[std::string(Name(kind)) + std::to_string(peer)]++;
    Transfer(spec, (kind == CommKind::kSend ? 40 : 22) + peer);
  }
  void Transfer(const CommSpec& spec, std::int64_t stream) {
    Node node = OnStream(stream, "transfer");
    node.kind = OpKind::kComm;
    node.op_class = OpClass::kComm;
    node.comm = spec;
    node.type = spec.kind == CommKind::kSend   ? NodeType::kCommSend
                : spec.kind == CommKind::kRecv ? NodeType::kCommRecv
                                               : NodeType::kCommColl;
    if (spec.kind != CommKind::kRecv && last_.contains(7)) {
      node.deps.push_back({last_.at(7), EdgeReason::kEvent});
    }
    Add(std::move(node), stream);
  }
  Node OnStream(std::int64_t stream, const std::string& name) {
    Node launch;
    launch.id = ++id_;
    launch.name = "launch";
    launch.type = NodeType::kComp;
    launch.kind = OpKind::kMetadata;
    launch.start_ns = static_cast<std::int64_t>(id_);
    if (last_.contains(-1)) {
      launch.deps.push_back({last_.at(-1), EdgeReason::kThread});
    }
    last_[-1] = launch.id;
    nodes_.push_back(launch);
    Node node;
    node.id = ++id_;
    node.name = name;
    node.type = NodeType::kComp;
    node.start_ns = static_cast<std::int64_t>(id_);
    node.actor = {Actor::Kind::kStream, stream, 0};
    node.deps.push_back({launch.id, EdgeReason::kLaunch});
    if (last_.contains(stream)) {
      node.deps.push_back({last_.at(stream), EdgeReason::kStream});
    }
    return node;
  }
  void Add(Node node, std::int64_t stream) {
    if (stream == 7) {
      for (const std::uint64_t wait : waits_) {
        node.deps.push_back({wait, EdgeReason::kEvent});
      }
      waits_.clear();
    }
    last_[stream] = node.id;
    nodes_.push_back(std::move(node));
  }

  std::uint64_t id_ = 0;
  std::vector<Node> nodes_;
  std::map<std::int64_t, std::uint64_t> last_;  // by stream; −1: the thread
  std::vector<std::uint64_t> waits_;
  std::map<std::string, std::int64_t> next_;
};

struct Layout {
  std::int32_t tp = 1, pp = 1, dp = 1, micro_batches = 1;
};

// Rank = (dp · PP + pp) · TP + tp.
inline ProgramSet SetOf(const Layout& layout, const std::vector<Graph>& programs) {
  ProgramSet set;
  set.programs = programs;
  const auto rank = [&layout](std::int32_t d, std::int32_t p, std::int32_t t) {
    return (d * layout.pp + p) * layout.tp + t;
  };
  auto& tp = set.groups["tp"];
  auto& pp = set.groups["pp"];
  auto& dp = set.groups["dp"];
  for (std::int32_t d = 0; d < layout.dp; ++d) {
    for (std::int32_t p = 0; p < layout.pp; ++p) {
      tp.emplace_back();
      for (std::int32_t t = 0; t < layout.tp; ++t) {
        tp.back().push_back(rank(d, p, t));
        set.program_of.push_back(static_cast<std::uint32_t>(p));
      }
    }
  }
  for (std::int32_t t = 0; t < layout.tp; ++t) {
    for (std::int32_t d = 0; d < layout.dp; ++d) {
      pp.emplace_back();
      for (std::int32_t p = 0; p < layout.pp; ++p) {
        pp.back().push_back(rank(d, p, t));
      }
    }
    for (std::int32_t p = 0; p < layout.pp; ++p) {
      dp.emplace_back();
      for (std::int32_t d = 0; d < layout.dp; ++d) {
        dp.back().push_back(rank(d, p, t));
      }
    }
  }
  return set;
}

// GPipe: all forward passes, then all backward passes, which take twice as long.
inline Graph Stage(const Layout& layout, std::int32_t stage, std::int64_t flops,
                   std::int64_t bytes) {
  Program program;
  const bool first = stage == 0;
  const bool last = stage + 1 == layout.pp;
  for (std::int32_t m = 0; m < layout.micro_batches; ++m) {
    if (!first) {
      program.Receive(stage - 1, bytes);
    }
    program.Compute(flops);
    if (layout.tp > 1) {
      program.Collective(CommKind::kAllReduce, "tp", bytes);
    }
    if (!last) {
      program.Compute(0);
      program.Send(stage + 1, bytes);
    }
  }
  for (std::int32_t m = 0; m < layout.micro_batches; ++m) {
    if (!last) {
      program.Receive(stage + 1, bytes);
    }
    program.Compute(2 * flops);
    if (!first) {
      program.Send(stage - 1, bytes);
    }
  }
  if (layout.dp > 1) {
    program.Collective(CommKind::kAllReduce, "dp", 8 * bytes);
    program.Compute(flops / 7);
  }
  return program.Build();
}

inline MachineModel BuiltIn(const std::string& name) { return *LoadMachine(name); }

// Every float32 operation takes as many ns as it has FLOPs, and nothing else takes time.
inline MachineModel Ideal() {
  MachineModel machine = BuiltIn("h100-hgx");
  machine.device.classes.clear();
  machine.device.beside_compute.value = machine.device.beside_memory.value = 1;
  machine.device.vector_flops_per_second[static_cast<int>(RateFormat::kFloat32)]->value = 1e9;
  machine.device.kernel_least_ns.value = machine.device.launch_latency_ns.value = 0;
  machine.host.launch_ns.value = machine.collectives.start_ns.value = 0;
  for (OptionalNumber* const number :
       {&machine.collectives.short_start_ns, &machine.collectives.exchange_start_ns,
        &machine.collectives.exchange_short_part, &machine.collectives.own_share}) {
    number->reset();
  }
  for (LinkLevel& link : machine.links) {
    link.latency_ns.value = link.short_latency_ns->value = 0;
  }
  return machine;
}

// Free but for bandwidth, of which all is reached: 1 byte takes 1 ns into and out of every device
// of a node, and over its own adapter.
inline MachineModel PlainMachine() {
  MachineModel machine = Ideal();
  for (LinkLevel& link : machine.links) {
    link.bytes_per_second->value = 1e9;
    link.efficiency.value = 1;
    link.short_latency_ns.reset();
  }
  return machine;
}

inline ClassSimulation Simulate(const ProgramSet& set, const ClassOptions& options) {
  Result<ClassSimulation> simulation = SimulateClasses(set, options);
  EXPECT_TRUE(simulation) << simulation.error().message;
  return simulation ? std::move(*simulation) : ClassSimulation{};
}

// What each rank does, node by node, must be the same.
inline void ExpectEqual(const ProgramSet& set, const ClassSimulation& folded,
                        const ClassSimulation& unfolded, const std::string& what) {
  ASSERT_EQ(folded.step_ns(), unfolded.step_ns()) << what;
  for (std::size_t rank = 0; rank < set.program_of.size(); ++rank) {
    const RankClassTimes& of_class = folded.classes[folded.class_of[rank]];
    const RankClassTimes& own = unfolded.classes[unfolded.class_of[rank]];
    for (std::uint32_t i = 0; i < set.programs[set.program_of[rank]].size(); ++i) {
      ASSERT_EQ(folded.schedule.start_ns[of_class.first_node + i],
                unfolded.schedule.start_ns[own.first_node + i])
          << what << ", rank " << rank << ", node " << i;
      ASSERT_EQ(folded.schedule.end_ns[of_class.first_node + i],
                unfolded.schedule.end_ns[own.first_node + i])
          << what << ", rank " << rank << ", node " << i;
    }
  }
}

}  // namespace reprise
