// Lists with a tensor for each rank: what is cut into parts for them, or joined from theirs, along
// another dimension than the first one in memory.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "et_schema/node.h"
#include "predict/rescale/tensors/divided_among.h"

namespace reprise {

// Tensors of one storage and shape, equally far apart, as many as there are ranks.
struct RankList {
  TensorDesc first;
  std::int64_t distance = 0;
  // Of those that aten::cat joins: along which dimension, and the result.
  std::optional<std::size_t> joined_along;
  TensorDesc result;
};

// The buffer of all ranks' parts that a gather gives or a scatter takes.
struct WholeBuffer {
  TensorDesc part, whole;
  bool gathers = false;
  std::uint64_t node = 0;
  std::size_t op = 0;
};

// Shown each node: Collect. Then Choose, after which the others may be asked.
//
// Not every list of that length is one: halves of queries and keys are as many as two ranks. It is
// one if a gather gave its storage or a scatter takes what is joined from it, part for part; or if
// one alone of its tensors is used, the rank's own.
class RankLists {
 public:
  explicit RankLists(const DividedAmong& division) : division_(division) {}

  void Collect(const Node& node);
  void Choose(const std::vector<WholeBuffer>& wholes);

  [[nodiscard]] const std::vector<RankList>& chosen() const { return chosen_; }
  // Parts lie one behind the other in the buffer, not in a dimension of it.
  [[nodiscard]] bool IsStacked(const WholeBuffer& buffer) const;
  // The list is one of them, by its first tensors.
  [[nodiscard]] bool Contains(const ValueList& list) const;
  // As many tensors as there are ranks after; `list`: with the sizes after, `before`: as it was.
  void Resize(ValueList& list, const ValueList& before) const;

 private:
  using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t>;  // storage, offset, distance

  [[nodiscard]] static Key KeyOf(const RankList& list) {
    return {list.first.incarnation, list.first.offset, list.distance};
  }
  [[nodiscard]] std::optional<RankList> ListIn(const Value& value) const;
  void Count(const ValueList& values);
  [[nodiscard]] bool IsOwn(const RankList& list) const;

  DividedAmong division_;
  std::vector<RankList> cut_, joined_, chosen_;
  std::map<Key, std::int64_t> number_of_;                    // of the chosen ones
  std::set<std::pair<std::int64_t, std::int64_t>> stacked_;  // storage, elements of a part
  // How often tensors of a storage are named but where they are cut; by offset and elements.
  std::unordered_map<std::int64_t, std::map<std::pair<std::int64_t, std::int64_t>, int>> uses_;
  std::int64_t largest_id_ = 0;  // of a tensor
};

}  // namespace reprise
