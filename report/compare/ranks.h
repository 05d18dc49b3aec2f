// The ranks of one execution beside each other: which are late, and where the load is uneven.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/operations/job_operations.h"

namespace reprise {

// Means of a rank's steps.
struct RankLoad {
  std::int32_t rank = 0;
  std::int64_t alike = 1;  // as RankOperations's
  std::string members;
  std::string host, device;
  std::int32_t slot = -1;  // number among the ranks of its host; -1: not known
  double step_ns = 0;
  double operations_ns = 0;                    // operations, without transfers
  double waited_ns = 0;                        // in transfers, for others to arrive
  double exposed_ns = 0;                       // transfers while nothing else ran
  double idle_ns = 0;                          // the device or the host did nothing
  double to_median = 1;                        // operations_ns to the median rank's
  std::vector<std::optional<double>> metrics;  // parallel to RankComparison::metrics
};

// Ranks with something in common: a host, a slot, a device.
struct RankGroupLoad {
  std::string kind, name;
  std::int64_t ranks = 0;
  double operations_ns = 0, waited_ns = 0;  // means
  double to_all = 1;                        // operations_ns to the mean of all ranks
};

// A class whose time differs most between ranks.
struct ClassSpread {
  std::string op_class;
  double least_ns = 0, most_ns = 0, mean_ns = 0;  // a step
  std::int32_t most_rank = 0;
};

struct RankMetric {
  std::string name, unit;
};

struct RankComparison {
  std::vector<RankLoad> ranks;        // by number
  std::vector<RankGroupLoad> groups;  // hosts, slots, devices; only kinds that distinguish ranks
  std::vector<ClassSpread> classes;
  std::vector<RankMetric> metrics;  // of runs, no times: power, temperature, …
  double imbalance = 0;             // most work / mean − 1
  std::vector<std::int32_t> stragglers;
  // "rank 3 on n7 …": of stragglers that run elsewhere than the others do. What was seen, and no
  // cause.
  std::vector<std::string> observations;
  std::string verdict;
};

// Work that exceeds the median rank's by more is a straggler's.
inline constexpr double kStragglerExcess = 0.05;

// "rank 3"; "class 1 (32 ranks)" of one that stands for others.
[[nodiscard]] std::string NameOf(const RankLoad& rank);

[[nodiscard]] RankComparison CompareRanksOf(const JobOperations& job);

}  // namespace reprise
