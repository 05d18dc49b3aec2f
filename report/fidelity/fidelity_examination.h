// Finds FidelityDetails. Only report/ sees this.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "report/fidelity/run_timing.h"
#include "report/fidelity/top_differences.h"
#include "report/nodes/measured.h"
#include "report/nodes/transfers.h"
#include "report/values/fidelity_values.h"

namespace reprise {

// Relative errors of nodes with the recorded times that weigh them. Quantiles of more than
// kMostExact nodes are of bins of replayed / recorded, each 2^-14 wide.
class NodeErrorSums {
 public:
  static constexpr std::int64_t kMostExact = 1 << 20;

  // One node that was measured.
  struct Node {
    double recorded_ns = 0;
    double apart_ns = 0;  // replayed − recorded
  };
  [[nodiscard]] static std::vector<Node> NodesOf(const MeasuredRank& rank);
  void Add(std::span<const Node> nodes);
  [[nodiscard]] std::optional<NodeErrors> Finish();

 private:
  void Add(double error, double weight);
  void AddToBin(double error, double weight);

  std::int64_t count_ = 0;
  std::vector<std::pair<double, double>> errors_;
  std::vector<double> bins_;  // weights; empty: errors_ has all
  double recorded_ns_ = 0, apart_ns_ = 0, within_ns_ = 0;
};

// Of a part of a run's ranks. What is empty was not found.
struct PartTimes {
  std::optional<Difference> difference;
  std::vector<PathRow> critical_path;
  std::vector<GainRow> gains;
  std::vector<ActorRow> actors;
  std::vector<OverlapRow> overlap;
  std::string why_not;  // there is no difference
};

// Takes ranks in any number of parts. The difference and the critical path want all of them in one
// part; with them, actors and overlap are of the iteration whose pass time is the median. Nodes and
// top differences are of medians over all iterations.
class FidelityExamination {
 public:
  // `outline` has all ranks' steps. Both must outlive it; `oversubscribed` is named as a cause.
  FidelityExamination(std::span<const MeasuredRank> outline, const RunManifest& manifest);

  // Of several parts at once.
  [[nodiscard]] PartTimes TimesOf(std::span<const MeasuredRank> ranks) const;
  // Parts in order, each rank once.
  void Add(PartTimes times);
  // Likewise, what was found of one rank.
  void Add(std::span<const NodeErrorSums::Node> nodes, TopDifferences differences);
  [[nodiscard]] FidelityDetails Finish();

 private:
  [[nodiscard]] Status FindTimes(std::span<const MeasuredRank> ranks, PartTimes& times) const;

  std::span<const MeasuredRank> outline_;
  const RunManifest& manifest_;
  std::optional<MedianPass> pass_;
  NodeErrorSums errors_;
  TopDifferences top_differences_;
  FidelityDetails details_;
};

}  // namespace reprise
