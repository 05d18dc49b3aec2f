#include "predict/transform/rule_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/counted.h"

namespace reprise {

Result<RuleSet> RuleSet::Create(const std::vector<std::string>& texts, const std::string& origin,
                                const std::string& file) {
  RuleSet set;
  if (!file.empty()) {
    REPRISE_ASSIGN(set.rules_, ReadRules(file));
  }
  for (const std::string& text : texts) {
    REPRISE_ASSIGN(set.rules_.emplace_back(), ParseRule(text, origin));
  }
  for (const Rule& rule : set.rules_) {
    set.effects_.push_back({.rule = rule.text});
  }
  return set;
}

Result<GraphEdit> RuleSet::Edit(const Graph& graph, std::int32_t rank, const TraceSet& set,
                                GraphEdit::Times times) {
  const FindRuleGroup find_group = [&set](const std::string& id) {
    RuleGroup group{.names = {id}, .members = set.world_size};
    if (id.empty() || id == "0") {
      group.names.emplace_back("all");
    }
    if (const auto found = set.FindGroup(id)) {
      group.names.push_back(found->description);
      group.members = static_cast<std::int64_t>(found->ranks.size());
    }
    if (set.classes) {
      group.names.emplace_back(set.classes->RoleOf(id));
    }
    return group;
  };
  REPRISE_ASSIGN(GraphEdit edit,
                 GraphEdit::Create(graph, rank, rules_, find_group, times, effects_));
  for (const auto& [id, change] : edit.changes()) {
    const auto at = graph.FindId(id);
    changes_transfer_times_ = changes_transfer_times_ || (at && graph.comm(*at) != nullptr);
  }
  changes_[rank] = edit.changes();
  return edit;
}

Status RuleSet::ForEachEdited(const Graph& graph, std::int32_t rank, const TraceSet& set,
                              const Visit& visit) {
  REPRISE_ASSIGN(const GraphEdit edit, Edit(graph, rank, set, GraphEdit::Times::kInNodes));
  for (Graph::Index i = 0; i < graph.size(); ++i) {
    REPRISE_ASSIGN(Node node, graph.Decode(i));
    if (edit.Change(i, node)) {
      REPRISE_TRY(visit(node));
    }
  }
  return {};
}

Result<Graph> RuleSet::Edited(const Graph& graph, std::int32_t rank, const TraceSet& set) {
  REPRISE_ASSIGN(const GraphEdit edit, Edit(graph, rank, set, GraphEdit::Times::kBeside));
  return edit.Edited();
}

std::vector<TimeChange> RuleSet::TimeChanges(const Graph& edited, std::int32_t rank) const {
  std::vector<TimeChange> changes;
  const auto of_rank = changes_.find(rank);
  if (of_rank == changes_.end() || of_rank->second.empty()) {
    return changes;
  }
  changes.resize(edited.size());
  for (const auto& [id, change] : of_rank->second) {
    if (const auto at = edited.FindId(id)) {
      changes[*at] = change;
    }
  }
  return changes;
}

Result<RankClasses> RuleSet::Divided(const RankClasses& classes) const {
  std::vector<RankClass> divided;
  for (const RankClass& one : classes.classes()) {
    std::map<std::vector<bool>, std::vector<std::int32_t>> ranks;  // by the rules that are theirs
    for (const RankRange& range : one.ranks) {
      for (std::int32_t rank = range.first; rank <= range.last; rank += range.stride) {
        std::vector<bool> theirs;
        for (const Rule& rule : rules_) {
          theirs.push_back(HoldsNumber(rule.condition.ranks, rank));
        }
        ranks[theirs].push_back(rank);
      }
    }
    for (auto& [rules, of_class] : ranks) {
      std::ranges::sort(of_class);
      divided.push_back(
          {fmt::format("{}.class{}.et", classes.SetName(), divided.size()), RangesOf(of_class)});
    }
  }
  return RankClasses::Create(classes.world_size(), std::move(divided), classes.roles());
}

Status RuleSet::CheckEffects() const {
  for (std::size_t r = 0; r < rules_.size(); ++r) {
    if (effects_[r].nodes == 0) {
      return BadInput(fmt::format(
          "rule \"{}\": no node is like this; `reprise stats` names classes, streams and groups, "
          "`reprise export --to json` every node",
          rules_[r].text));
    }
  }
  return {};
}

std::string EffectText(const RuleEffect& effect) {
  constexpr double kMs = 1e6;
  std::string text = fmt::format("{}: {}", effect.rule, Counted(effect.nodes, "node"));
  if (effect.nodes > effect.nodes_without_time) {
    text += fmt::format(", {:.3f} ms recorded", static_cast<double>(effect.recorded_ns) / kMs);
    if (effect.changed_ns != effect.recorded_ns) {
      text += fmt::format(", {:.3f} ms now", static_cast<double>(effect.changed_ns) / kMs);
    }
  }
  return text;
}

}  // namespace reprise
