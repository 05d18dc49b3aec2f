// Rules of one set, over all its ranks: what they found, what they did, and which ranks they make
// different.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/result.h"
#include "et_schema/graph.h"
#include "et_schema/trace_set.h"
#include "predict/transform/graph_edit.h"
#include "predict/transform/rule.h"

namespace reprise {

// Not thread-safe.
class RuleSet {
 public:
  // `texts`: one rule each, from `origin` ("--rule "). `file`: of rules, or empty. Usage error, bad
  // input as ParseRule and ReadRules.
  [[nodiscard]] static Result<RuleSet> Create(const std::vector<std::string>& texts,
                                              const std::string& origin, const std::string& file);

  [[nodiscard]] bool empty() const { return rules_.empty(); }
  [[nodiscard]] const std::vector<Rule>& rules() const { return rules_; }
  [[nodiscard]] const std::vector<RuleEffect>& effects() const { return effects_; }

  // One rank's trace with names of groups, peers and roots resolved. Calls visit(node) for each
  // node that remains, in order of start, with its times changed.
  using Visit = std::function<Status(Node& node)>;
  [[nodiscard]] Status ForEachEdited(const Graph& graph, std::int32_t rank, const TraceSet& set,
                                     const Visit& visit);
  // For a simulation: the nodes that remain with their recorded times.
  [[nodiscard]] Result<Graph> Edited(const Graph& graph, std::int32_t rank, const TraceSet& set);
  // Of that graph, by node: what becomes of its times, recorded or modelled. Empty: nothing.
  [[nodiscard]] std::vector<TimeChange> TimeChanges(const Graph& edited, std::int32_t rank) const;

  // The classes of a folded set, divided where rules name ranks; files are named anew, as
  // "<set>.class<N>.et".
  [[nodiscard]] Result<RankClasses> Divided(const RankClasses& classes) const;

  // After all ranks. Bad input: a rule that found nothing.
  [[nodiscard]] Status CheckEffects() const;
  // Whether a rule changes times of transfers alone, as no model of shared links can.
  [[nodiscard]] bool ChangesTransferTimes() const { return changes_transfer_times_; }

 private:
  Result<GraphEdit> Edit(const Graph& graph, std::int32_t rank, const TraceSet& set,
                         GraphEdit::Times times);

  std::vector<Rule> rules_;
  std::vector<RuleEffect> effects_;
  std::map<std::int32_t, std::unordered_map<std::uint64_t, TimeChange>> changes_;
  bool changes_transfer_times_ = false;
};

// "class=gemm => scale 0.5: 48 nodes, 12.312 ms recorded, 6.156 ms now"
[[nodiscard]] std::string EffectText(const RuleEffect& effect);

}  // namespace reprise
