#include "predict/transform/rule_match.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "predict/simulator/device_operations.h"
#include "replayer/plan/graph_steps.h"
#include "replayer/plan/node_origins.h"
#include "replayer/plan/selection.h"
#include "replayer/plan/shapes_text.h"

namespace reprise {
namespace {

using Index = Graph::Index;

class RuleMatcher {
 public:
  RuleMatcher(const Graph& graph, std::int32_t rank, std::span<const Rule> rules,
              const FindRuleGroup& find_group)
      : graph_(graph),
        rank_(rank),
        rules_(rules),
        find_group_(find_group),
        streams_(HasStreams({&graph, 1})) {}

  Result<std::vector<std::vector<Index>>> Run() {
    FindModules();
    std::vector<std::vector<Index>> matched(rules_.size());
    for (std::size_t r = 0; r < rules_.size(); ++r) {
      const RuleCondition& condition = rules_[r].condition;
      if (!HoldsNumber(condition.ranks, rank_)) {
        continue;
      }
      const std::optional<Selection> range = FindRange(condition.range);
      if (!condition.range.empty() && !range) {
        continue;  // another rank may have it
      }
      for (Index i = 0; i < graph_.size(); ++i) {
        if (range && range->piece[i] < 0) {
          continue;
        }
        REPRISE_ASSIGN(const bool holds, Holds(condition, i));
        if (holds) {
          matched[r].push_back(i);
        }
      }
    }
    return matched;
  }

 private:
  void FindModules() {
    if (std::ranges::any_of(rules_,
                            [](const Rule& rule) { return !rule.condition.module.empty(); })) {
      origins_.resize(graph_.size());
      FillModulePaths(graph_, origins_);
    }
  }

  [[nodiscard]] std::optional<Selection> FindRange(const std::string& range) const {
    if (range.empty()) {
      return std::nullopt;
    }
    PartOptions part;
    part.range = range;
    Result<Selection> selection = SelectNodes(graph_, part);
    return selection ? std::optional(std::move(*selection)) : std::nullopt;
  }

  // Of what a device does, the host node that launched it.
  [[nodiscard]] Index LauncherOf(Index i) const {
    const auto reasons = graph_.reasons(i);
    const auto launch = std::ranges::find(reasons, EdgeReason::kLaunch);
    return launch == reasons.end() ? i : graph_.deps(i)[launch - reasons.begin()];
  }

  [[nodiscard]] bool HoldsPlace(const RuleCondition& condition, Index i) const {
    const Actor actor = graph_.actor(i);
    if (condition.thread) {
      return actor.kind == Actor::Kind::kThread && actor.id == *condition.thread;
    }
    if (graph_.comm(i) == nullptr && !IsOperation(graph_, i, streams_)) {
      return false;
    }
    return (!condition.stream ||
            (actor.kind == Actor::Kind::kStream && actor.id == *condition.stream)) &&
           (!condition.device || actor.device == *condition.device);
  }

  [[nodiscard]] bool HoldsTransfer(const RuleCondition& condition, Index i) {
    const CommSpec* const spec = graph_.comm(i);
    if (!condition.kinds.empty() &&
        (spec == nullptr ||
         std::ranges::find(condition.kinds, spec->kind) == condition.kinds.end())) {
      return false;
    }
    if (condition.group.empty()) {
      return true;
    }
    if (spec == nullptr) {
      return false;
    }
    const auto [known, added] = in_group_.try_emplace({condition.group, spec->group});
    if (added) {
      known->second = std::ranges::any_of(
          find_group_(spec->group).names,
          [&](const std::string& name) { return MatchesPattern(condition.group, name); });
    }
    return known->second;
  }

  Result<bool> Holds(const RuleCondition& condition, Index i) {
    const OpClass op_class = graph_.comm(i) != nullptr ? OpClass::kComm : graph_.op_class(i);
    const bool holds =
        HoldsPlace(condition, i) && HoldsTransfer(condition, i) &&
        (condition.steps.empty() || HoldsNumber(condition.steps, StepOf(graph_, i))) &&
        (condition.classes.empty() ||
         std::ranges::find(condition.classes, op_class) != condition.classes.end()) &&
        (condition.name.empty() || MatchesPattern(condition.name, graph_.name(i)) ||
         (!graph_.op(i).empty() && MatchesPattern(condition.name, graph_.op(i)))) &&
        (condition.module.empty() ||
         MatchesPattern(condition.module, origins_[LauncherOf(i)].module));
    if (!holds || condition.shape.empty()) {
      return holds;
    }
    const auto call = graph_.Call(i);
    if (!call) {
      return BadInput(
          fmt::format("node {} ({}): {}", graph_.id(i), graph_.name(i), call.error().message));
    }
    return MatchesPattern(condition.shape, InputShapesText(*call));
  }

  const Graph& graph_;
  std::int32_t rank_;
  std::span<const Rule> rules_;
  const FindRuleGroup& find_group_;
  bool streams_;
  std::vector<NodeOrigin> origins_;                               // where a rule asks for modules
  std::map<std::pair<std::string, std::string>, bool> in_group_;  // by pattern and id
};

}  // namespace

Result<std::vector<std::vector<Index>>> MatchRules(const Graph& graph, std::int32_t rank,
                                                   std::span<const Rule> rules,
                                                   const FindRuleGroup& find_group) {
  return RuleMatcher(graph, rank, rules, find_group).Run();
}

}  // namespace reprise
