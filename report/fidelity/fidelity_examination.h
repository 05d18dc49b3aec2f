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
  static constexpr std::int64_t kMostExact = 1 << 16;

  NodeErrorSums() = default;
  // Of one rank's nodes that were measured.
  explicit NodeErrorSums(const MeasuredRank& rank);
  // The next ranks'.
  void Add(const NodeErrorSums& others);
  [[nodiscard]] std::optional<NodeErrors> Finish() const;

  template <typename Self, typename Visit>
  static void VisitMembers(Self& self, Visit& visit) {
    visit(self.count_);
    visit(self.recorded_ns_);
    visit(self.apart_ns_);
    visit(self.within_ns_);
    visit(self.nodes_);
    visit(self.filled_);
  }

 private:
  // One node.
  struct Node {
    std::int64_t recorded_ns = 0;
    std::int64_t apart_ns = 0;  // replayed − recorded
  };
  using Bin = std::pair<std::uint32_t, std::int64_t>;  // its number, the weight in it

  void AddNode(const Node& node);
  void AddToBin(const Node& node);
  void AddToBins(const std::vector<Bin>& filled);
  [[nodiscard]] std::vector<Bin> FilledBins() const;

  std::int64_t count_ = 0;
  std::int64_t recorded_ns_ = 0, apart_ns_ = 0, within_ns_ = 0;
  // All nodes; or of many, once they are all there, the bins with any weight.
  std::vector<Node> nodes_;
  std::vector<Bin> filled_;
  std::vector<std::int64_t> bins_;  // weights, while many are added
};

// Of a part of a run's ranks, or of all. What is empty was not found.
struct PartTimes {
  std::optional<Difference> difference;
  std::vector<PathRow> critical_path;
  std::vector<GainRow> gains;
  std::vector<ActorRow> actors;
  std::vector<OverlapRow> overlap;
  std::string why_not;  // there is no difference
};

// What the iteration took whose pass time is the median. `whole`: these are all ranks of the run.
[[nodiscard]] PartTimes FindPartTimes(std::span<const MeasuredRank> ranks,
                                      const RunManifest& manifest, const MedianPass& pass,
                                      bool whole);

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
  void Add(const NodeErrorSums& errors, TopDifferences differences);
  [[nodiscard]] FidelityDetails Finish();
  // Nothing: no iteration was finished on every rank.
  [[nodiscard]] const std::optional<MedianPass>& pass() const { return pass_; }

 private:
  std::span<const MeasuredRank> outline_;
  const RunManifest& manifest_;
  std::optional<MedianPass> pass_;
  NodeErrorSums errors_;
  TopDifferences top_differences_;
  FidelityDetails details_;
};

}  // namespace reprise
