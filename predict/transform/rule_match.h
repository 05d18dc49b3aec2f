// The nodes of one rank that rules are about.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "et_schema/graph.h"
#include "predict/transform/rule.h"

namespace reprise {

// A process group: all that it is called (id, role, description), and how many members it has.
struct RuleGroup {
  std::vector<std::string> names;
  std::int64_t members = 1;
};
using FindRuleGroup = std::function<RuleGroup(const std::string& id)>;

// By rule, ascending indices: operations of devices and transfers; with thread=, what the host
// thread does. Of captures without a device, operations are those of the threads. Bad input: a node
// whose arguments cannot be decoded.
[[nodiscard]] Result<std::vector<std::vector<Graph::Index>>> MatchRules(
    const Graph& graph, std::int32_t rank, std::span<const Rule> rules,
    const FindRuleGroup& find_group);

}  // namespace reprise
