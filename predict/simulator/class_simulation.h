// A set whose files are programs of classes of ranks, on a described machine: equal ranks are found
// and simulated once. Such a file names a group by its role and a peer or root by its position in
// the group; its nodes have work (FLOPs, bytes) and no times.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "core/timing/dry_run.h"
#include "et_schema/graph.h"
#include "predict/machine/machine.h"
#include "predict/simulator/network.h"
#include "predict/simulator/operator_times.h"
#include "predict/simulator/refine.h"
#include "predict/simulator/scale.h"
#include "predict/simulator/time_change.h"

namespace reprise {

struct ProgramSet {
  std::span<const Graph> programs;
  std::vector<std::uint32_t> program_of;  // by rank
  // By role. Members in group order; every rank is in at most one group of a role. Groups of one
  // role are used at the same time.
  std::map<std::string, std::vector<std::vector<std::int32_t>>> groups;
  // Peers and roots are ranks of the job, as in the files of single ranks, and no positions.
  bool peers_are_ranks = false;
  // Roles whose groups are used at the same time, too, by role a name of them all; a role that is
  // not here stands for itself.
  std::map<std::string, std::string> alike;
  // By program and node, what becomes of modelled times; an empty list: nothing. Transfers of
  // NetworkModel::kFlow take what their links give them.
  std::vector<std::vector<TimeChange>> changes;
};

struct ClassOptions {
  MachineModel machine;
  std::vector<SlowRank> slow_ranks;
  std::vector<SlowLink> slow_links;
  // False: every rank is a class of its own. The times are the same.
  bool fold = true;
  NetworkModel network = NetworkModel::kAlphaBeta;
  // Ranks in another row of a node's air, or behind unlike ranks, are no equals
  // (predict/simulator/power/thermal.h).
  bool slots = false;
};

// Work of a node; by default num_ops and tensor_bytes.
using WorkOfNode = std::function<OperatorWork(const Graph& program, Graph::Index i)>;

struct RankClassTimes {
  std::uint32_t program = 0;
  std::int32_t first_rank = 0;
  std::int64_t ranks = 0;        // how many there are of it
  std::uint32_t first_node = 0;  // its nodes' place in `timing`; as many as the program has
};

struct ClassSimulation {
  std::vector<std::uint32_t> class_of;  // by rank
  std::vector<RankClassTimes> classes;
  // Nodes of all classes, and behind them nodes that no program has: launch latencies.
  TimingGraph timing;
  std::vector<TimeSource> source;  // by node of `timing`
  Schedule schedule;
  // Latest end minus earliest start, of all ranks.
  [[nodiscard]] std::int64_t step_ns() const { return schedule.makespan_ns; }
};

// Which ranks of a job are equal on a machine, as a simulation found it.
struct EqualRanks;

// What takes time: nodes of streams what RooflineOf says (of programs without streams, work of
// threads), and nodes of threads that launch the machine's launch time; other host nodes none. A
// kernel starts when its launch has ended for the launch latency, and what it depends on has ended.
// A collective ends for all members when the last one has arrived and the network's time has
// passed; a receive when its send was issued and that time has passed; a send does not wait.
// Kernels beside transfers, and with NetworkModel::kFlow transfers that share links, take longer
// (predict/simulator/event_schedule.h).
//
// Bad input: a machine with too few devices or without a link, a transfer of a role that the rank
// is not in, a position that its group lacks, members that do not agree on their number of
// transfers, a cycle. Usage: a slow rank or link that is not there.
//
// `known`, where given: set by the first simulation, and used by others with the same options whose
// set has the same ranks and groups, and programs that transfer among the same.
[[nodiscard]] Result<ClassSimulation> SimulateClasses(const ProgramSet& set,
                                                      const ClassOptions& options,
                                                      const WorkOfNode& work = {},
                                                      std::shared_ptr<EqualRanks>* known = nullptr);

}  // namespace reprise
