// A trace set as ASTRA-sim runs it: nodes of the types and sizes that it knows, times in whole
// microseconds without delays, and the files of a described machine.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "converters/astra_sim/machine_files.h"
#include "converters/operation_cost.h"
#include "core/diagnostics.h"
#include "core/result.h"
#include "et_schema/graph.h"
#include "et_schema/trace_set.h"

namespace reprise::astra_sim {

// What runs the nodes of host threads. A simulated rank has one CPU and one NPU, each of which does
// one node at a time; ASTRA-sim's statistics are only of ranks without CPU nodes.
enum class HostPlace : std::uint8_t {
  kAuto,  // kNpu, unless the set has device nodes
  kCpu,
  kNpu,
};

// What is exported: the graph of every rank, by rank, and the groups that they name.
struct Ranks {
  std::string directory, name;  // of the set
  std::map<std::string, ProcessGroup> groups;
  std::vector<Graph> graphs;
};

// All of a set; bad input if a rank's file is missing.
[[nodiscard]] Result<Ranks> LoadRanks(const std::string& directory);

struct Request {
  std::string output_directory;
  Machine machine;
  Mode mode = Mode::kNetwork;
  HostPlace host = HostPlace::kAuto;
  bool host_gaps = true;      // false: delays and host nodes that are no work take no time
  bool track_memory = false;  // lists of tensors, and local memory tracked
  bool force = false;
  CostTable costs;  // for work whose node has no num_ops and tensor_size
};

struct Report {
  std::int32_t ranks = 0;
  std::uint64_t nodes = 0;
  std::uint64_t delay_nodes = 0;                  // added for gaps before what is simulated
  std::map<std::string, std::uint64_t> replaced;  // "barrier as all_reduce" → collectives
  std::uint64_t modelled_work = 0;                // kRoofline: nodes with FLOPs and bytes
  std::uint64_t storage_nodes = 0;                // written as compute of their recorded time
  std::uint64_t timed_work = 0;                   // kRoofline: nodes that keep their recorded time
  std::int64_t recorded_us = 0;                   // the longest rank, by its own recording
  // Transfers that became timed work (`transfer_without_counterpart`, `transfer_of_one_rank`).
  Diagnostics diagnostics;
};

// Writes the set and the machine's files into a directory, or nothing. Usage error if the set has
// one rank, which ASTRA-sim refuses, or if the machine does not fit; bad input as the readers say.
[[nodiscard]] Result<Report> Export(const Ranks& ranks, const Request& request);

}  // namespace reprise::astra_sim
