// Rules applied to the trace of one rank.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/result.h"
#include "et_schema/graph.h"
#include "predict/simulator/time_change.h"
#include "predict/transform/edited_edges.h"
#include "predict/transform/rule.h"
#include "predict/transform/rule_match.h"

namespace reprise {

// What a rule found and did, over all nodes of all ranks seen.
struct RuleEffect {
  std::string rule;
  std::int64_t nodes = 0;
  std::int64_t nodes_without_time = 0;           // of these: no time was recorded
  std::int64_t recorded_ns = 0, changed_ns = 0;  // sums of the others
};

// The graph must outlive it.
class GraphEdit {
 public:
  using Index = Graph::Index;

  // Where times change: in the nodes, as a set has them, or in changes(), as a simulation needs
  // them, whose report shows what was recorded. Times that were not recorded are always in
  // changes().
  enum class Times : std::uint8_t { kInNodes, kBeside };

  // `rank`: of the recorded job. `effects` has one entry a rule, and is added to. Bad input: nodes
  // that a rule is not for, as another size for what is no transfer.
  [[nodiscard]] static Result<GraphEdit> Create(const Graph& graph, std::int32_t rank,
                                                std::span<const Rule> rules,
                                                const FindRuleGroup& find_group, Times times,
                                                std::vector<RuleEffect>& effects);

  // Of a node as the graph has it: false where it is gone.
  bool Change(Index i, Node& node) const;
  [[nodiscard]] Result<Graph> Edited() const;
  // By id: what becomes of a node's time, which a recording or a model gives it.
  [[nodiscard]] const std::unordered_map<std::uint64_t, TimeChange>& changes() const {
    return changes_;
  }

 private:
  GraphEdit(const Graph& graph, std::int32_t rank, std::span<const Rule> rules,
            FindRuleGroup find_group, Times times);

  Status Apply(std::vector<RuleEffect>& effects);
  Status ApplyRule(const Rule& rule, std::span<const Index> nodes);
  Status CheckTransfers(const Rule& rule, std::span<const Index> nodes) const;
  void Bucket(const Rule& rule, std::span<const Index> nodes);
  void CountTimes(const Rule& rule, std::span<const Index> nodes, RuleEffect& effect) const;
  void NumberTransfers();
  [[nodiscard]] bool HasTime(Index i) const { return timed_ && !graph_->untimed(i); }
  [[nodiscard]] bool IsBeside(Index i) const { return times_ == Times::kBeside || !HasTime(i); }
  void ChangeBeside(const Rule& rule, std::span<const Index> nodes);
  void ChangeNode(const Rule& rule, Index i, Node& node) const;
  // Of a transfer, once all members have come.
  [[nodiscard]] std::int64_t OwnNs(Index i) const;

  const Graph* graph_;
  std::int32_t rank_;
  std::span<const Rule> rules_;
  FindRuleGroup find_group_;
  Times times_;
  bool timed_;                              // the graph has recorded times
  bool structure_ = false;                  // some rule that found nodes changes more than times
  std::vector<std::vector<bool>> matched_;  // by rule and node
  EditedEdges edges_;
  std::unordered_map<Index, std::int64_t> index_;  // of transfers that move up in their sequences
  struct Sum {
    std::int64_t bytes = 0, duration_ns = 0, transfer_ns = 0;
  };
  std::unordered_map<Index, Sum> buckets_;  // what the others of a bucket add to its last
  std::unordered_map<std::uint64_t, TimeChange> changes_;
};

}  // namespace reprise
