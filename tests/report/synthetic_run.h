// A small run whose answers can be worked out by hand: two ranks on one host, a warm-up and three
// iterations of a step of 1,000 ns.
#pragma once

#include <string>

#include "report/run/run.h"

namespace reprise {

inline constexpr std::int64_t kMs = 1'000'000;  // nanoseconds

inline constexpr std::int64_t kIterationNs = 10'000'000;  // from one iteration's start to the next

inline NodeInfo MakeNode(std::uint64_t id, OpClass op_class, OpKind kind, const std::string& actor,
                         std::int64_t start_ns, std::int64_t duration_ns) {
  NodeInfo node;
  node.node_id = id;
  node.name = "op" + std::to_string(id);
  node.op_class = op_class;
  node.kind = kind;
  node.actor = actor;
  node.recorded_start_ns = start_ns;
  node.recorded_duration_ns = duration_ns;
  node.counts_for_coverage = kind == OpKind::kWork || kind == OpKind::kComm;
  return node;
}

// Iteration i's record of a node, `after_ns` into it.
inline NodeRecord MakeRecord(std::uint64_t id, int iteration, ReplayMode mode,
                             std::int64_t after_ns, std::int64_t duration_ns) {
  return {.node_id = id,
          .iteration = iteration,
          .step = 0,
          .mode = mode,
          .start_ns = kIterationNs * (iteration + 1) + after_ns,
          .duration_ns = duration_ns};
}

inline CollectiveInfo MakeTransfer(std::uint64_t id, CommKind kind, std::int64_t bytes,
                                   int group_size) {
  CollectiveInfo info;
  info.node_id = id;
  info.spec.kind = kind;
  info.spec.group = "tp";
  info.spec.in_bytes = bytes;
  info.spec.out_bytes = bytes;
  info.group_size = group_size;
  return info;
}

// Recorded: gemm 0-600, elementwise 700-900 (so a gap of 100), wait 900-950, view 950-1000, and an
// all_gather 700-900 beside them. The gemm is real, the elementwise a surrogate.
inline RankData MakeRank(int rank) {
  RankData data;
  data.rank = rank;
  data.host = "h";
  data.closed = true;
  data.facts.recorded_step_ns = 1000;
  data.nodes = {
      MakeNode(1, OpClass::kGemm, OpKind::kWork, "thread 1", 0, 600),
      MakeNode(2, OpClass::kElementwise, OpKind::kWork, "thread 1", 700, 200),
      MakeNode(3, OpClass::kHost, OpKind::kWait, "thread 1", 900, 50),
      MakeNode(4, OpClass::kMetadata, OpKind::kMetadata, "thread 1", 950, 50),
      MakeNode(5, OpClass::kComm, OpKind::kComm, "group tp", 700, 200),
  };
  data.nodes[0].flops = 6'000;
  data.nodes[0].bytes = 1'200;
  data.nodes[1].mode = ReplayMode::kSurrogate;
  CollectiveInfo gather = MakeTransfer(5, CommKind::kAllGather, 1'100, 2);
  gather.spec.in_bytes = 550;
  data.collectives = {gather};
  const std::int64_t gemm_ns[] = {99'999, 1'900, 1'100, 1'200};
  const std::int64_t step_ns[2][4] = {{99'999, 1'500, 1'700, 1'600}, {99'999, 1'400, 1'800, 1'550}};
  for (int i = 0; i < 4; ++i) {
    data.records.push_back(MakeRecord(1, i, ReplayMode::kReal, 0, gemm_ns[i]));
    data.records.push_back(MakeRecord(2, i, ReplayMode::kSurrogate, 0, 400));
    // Rank 1 arrives 50 ns later; both are done 110 ns after that.
    data.records.push_back(
        MakeRecord(5, i, ReplayMode::kReal, rank == 0 ? 100 : 150, rank == 0 ? 160 : 110));
    data.steps.push_back({.iteration = i,
                          .warmup = i == 0,
                          .step = 0,
                          .start_ns = kIterationNs * (i + 1),
                          .duration_ns = step_ns[rank % 2][i]});
  }
  return data;
}

inline RunData MakeRun() {
  RunData run;
  run.manifest.world_size = 2;
  run.manifest.complete = true;
  run.manifest.hosts = {"h", "h"};
  run.manifest.devices = {"opencl: cpu", "opencl: cpu"};
  run.manifest.recorded_step_ns = 1'000;
  run.manifest.untraced_step_ns = 800;
  run.ranks = {MakeRank(0), MakeRank(1)};
  return run;
}

}  // namespace reprise
