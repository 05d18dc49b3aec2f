// A captured set on another machine: its recorded times, each scaled by what models of the two
// machines say. docs/simulation.md describes it to users.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/timing/dry_run.h"
#include "et_schema/graph.h"
#include "predict/machine/machine.h"
#include "predict/simulator/network.h"
#include "predict/simulator/operator_times.h"

namespace reprise {

struct SlowRank {
  std::int32_t rank = 0;
  double factor = 1;
};
// "--slow RANK=F": of the rank's operations, the time times F. Usage error for anything else.
[[nodiscard]] Result<SlowRank> ParseSlowRank(const std::string& text);
// By rank, the product of its factors. Usage error: a rank that is not there; `what`: "ranks".
[[nodiscard]] Result<std::vector<double>> SlowFactors(std::span<const SlowRank> slow_ranks,
                                                      std::size_t ranks, std::string_view what);

struct ScaleOptions {
  // Both absent: the machine that the set was captured on, whatever it is; no link can be slow
  // then.
  std::optional<MachineModel> from, to;
  std::vector<SlowRank> slow_ranks;
  std::vector<SlowLink> slow_links;
  NetworkModel network = NetworkModel::kAlphaBeta;  // kFlow: predict/simulator/captured_flows.h
  // Each operation's time varies by this coefficient (lognormal, mean 1); 0: not at all.
  double jitter = 0;
  std::uint64_t seed = 0;
};

// A set in memory; indices are the timing graph's.
struct CapturedSet {
  std::span<const Graph> graphs;         // by rank
  std::span<const std::uint32_t> first;  // of each rank's first node, and the end
  std::span<const OperatorWork> work;    // by node
  std::map<std::string, std::vector<std::int32_t>> groups;  // by id, their ranks
  // Where `graphs` are those of some ranks that stand for a job: which, and how many it has. The
  // groups are then whole, and peers in nodes are indices of graphs.
  std::vector<std::int32_t> rank_of;
  std::int64_t job_ranks = 0;

  [[nodiscard]] std::int32_t RankOf(std::size_t graph) const {
    // A peer that is not among the graphs keeps its number.
    return graph < rank_of.size() ? rank_of[graph] : static_cast<std::int32_t>(graph);
  }
};

// Times are sums over all ranks. Operations: device nodes; of a capture without device, work of
// host threads.
struct ScaleSummary {
  std::int64_t operations_recorded_ns = 0, operations_ns = 0;
  std::int64_t known_recorded_ns = 0, known_ns = 0;  // of those whose operation is known
  std::int64_t by_default_ns = 0;  // of the simulated ones, what rests on default efficiencies
  double whole_ratio = 1;          // known_ns / known_recorded_ns
  // Nodes without a recorded time: those that the machine's model times, and those that stay at 0
  // because nothing says what they take.
  std::int64_t modelled = 0, without_time = 0;
};

// Replaces durations, delays and transfer times of `timing`; `source` gets one entry a node. With
// equal machines, and nothing slow, no recorded time changes. Nodes that have none (Node::untimed),
// or one of another size (Node::rescaled), take what the model of `to` says. Bad input: a machine
// that lacks a link or devices, a set of which no operation is known, a set of host threads for a
// GPU or the reverse. Usage: a slow rank or link that is not there.
[[nodiscard]] Result<ScaleSummary> ScaleTimes(const CapturedSet& set, const ScaleOptions& options,
                                              TimingGraph& timing, std::vector<TimeSource>& source);

}  // namespace reprise
