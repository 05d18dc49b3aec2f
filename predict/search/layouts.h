// The layouts that a job may have on a number of ranks.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/result.h"
#include "predict/machine/machine.h"
#include "predict/workload/job/options.h"

namespace reprise {

struct Layouts {
  struct One {
    JobOptions options;  // the job's, with those that were chosen
    Workload workload;   // keeps all rules
  };
  std::vector<One> all;
  // What all of them have alike: names of options and their texts.
  std::vector<std::pair<std::string, std::string>> kept;
};

// Whether `job` leaves its layout open: a number of ranks, without both --tp and --pp.
[[nodiscard]] bool LeavesLayoutOpen(const JobOptions& job);

// All combinations that keep the rules of what `job` leaves open:
//   tp                     divides the ranks, within a node
//   pp                     divides the rest; layers that do not divide evenly are spread, fewer in
//                          the last and first stages
//   ep                     divides the experts
//   optimizer states       whole, divided, or fsdp (with parameters and gradients); what the
//                          description divides stays so
//   micro-batch            powers of two, to 16
//   schedule               1f1b, or interleaved with 2, 4, 8 chunks, or one layer a chunk
//   recompute              none, full; selective where attention writes its scores
//   sp                     with tp above 1
// Context parallelism, overlap and everything else is kept. Usage error: an option that has no
// effect, or no layout keeps the rules (with what the description alone breaks).
[[nodiscard]] Result<Layouts> LayoutsOf(const JobOptions& job, const MachineModel& machine);

// The options that `of` has and `job` has not: "--tp 4 --pp 8 --distributed-optimizer".
[[nodiscard]] std::string ChosenOptions(const JobOptions& job, const JobOptions& of);

}  // namespace reprise
