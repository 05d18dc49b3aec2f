// Whether one trace set is another under new names (docs/policies.md, "Equivalence").
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>

#include "core/result.h"
#include "et_schema/graph.h"
#include "et_schema/trace_set.h"

namespace reprise {

// One-to-one: what was paired once is always paired so.
template <typename T>
class Renaming {
 public:
  // False: one of the two was paired with another before.
  [[nodiscard]] bool Pair(const T& a, const T& b) {
    return to_.try_emplace(a, b).first->second == b && from_.try_emplace(b, a).first->second == a;
  }

 private:
  std::unordered_map<T, T> to_, from_;
};

// Compares a set with what became of it, rank by rank: nodes in order, dependencies with reasons,
// kinds and classes, actors, times relative to each other, transfers, arguments; names, numbers and
// groups must be the same up to one renaming. The first difference is returned as a sentence.
// Not thread-safe.
class SetComparison {
 public:
  // Files, world size, groups and classes: as many, of the same ranks, in the same order. Both sets
  // must outlive the comparison.
  [[nodiscard]] std::optional<std::string> Groups(const TraceSet& a, const TraceSet& b);
  // Of one rank, after Groups. Bad input: arguments that can't be decoded.
  [[nodiscard]] Result<std::optional<std::string>> Rank(const Graph& a, const Graph& b);

 private:
  // Header fields that a replay goes by.
  [[nodiscard]] std::optional<std::string> Headers(const TraceMetadata& a, const TraceMetadata& b);
  // A transfer's group became this one before, or may, having the same ranks in the same order.
  [[nodiscard]] bool SameGroup(const std::string& a, const std::string& b);

  friend class AnonymizedRank;
  const TraceSet *a_ = nullptr, *b_ = nullptr;
  std::map<std::pair<std::string, std::string>, bool> same_groups_;  // by their ids
  Renaming<std::string> names_, group_ids_;
  std::optional<std::int64_t> shift_ns_;
};

}  // namespace reprise
