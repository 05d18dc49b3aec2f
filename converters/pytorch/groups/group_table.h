// Which process group each transfer belongs to, over all ranks of a set.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "converters/pytorch/rank/rank_capture.h"
#include "core/diagnostics.h"
#include "et_schema/trace_set.h"

namespace reprise::pytorch {

// One group's name on each rank, and what it is for the set: ids are "1", "2", … in the order in
// which the ranks, lowest first, list them; "0" is the first that has all ranks.
class GroupTable {
 public:
  // Groups are the same if their ranks, their description and their place among the rank's groups
  // with these are the same; their names differ between ranks.
  explicit GroupTable(std::span<const RankCapture> ranks);

  [[nodiscard]] const std::vector<ProcessGroup>& groups() const { return groups_; }
  // Index into groups(), -1 if this rank knows no group of that name.
  [[nodiscard]] int Find(std::int32_t rank, const std::string& name) const;
  // The first group with the same ranks: twins are interchangeable.
  [[nodiscard]] int FirstTwin(int group) const;

 private:
  int Add(std::int32_t rank, const std::string& name, const std::string& description,
          const std::vector<std::int32_t>& ranks);

  std::size_t world_size_;
  bool has_world_ = false;
  std::vector<ProcessGroup> groups_;
  std::map<std::pair<std::int32_t, std::string>, int> by_name_;
};

// How many ranks there are, by the files and by what they say.
[[nodiscard]] std::int32_t WorldSizeOf(std::span<const RankCapture> ranks);

// Sets the ranks' groups (rank_groups.h), and group, certainty, index, root and peer of every
// transfer; infers groups where the capture names none. Counts `group_inferred`, `group_twins`
// (groups with equal ranks: transfers were given to the first of them), `group_unknown`.
[[nodiscard]] std::map<std::string, ProcessGroup> AssignGroups(std::span<RankCapture> ranks,
                                                               Diagnostics& diagnostics);

// For a rank's file that is written alone: groups are called by what they are (ranks, description,
// place among equal ones), so that the files of several ranks agree, except for "0", which is all
// ranks in each. Transfers are given the new names.
void NameByContent(std::span<RankCapture> ranks, std::map<std::string, ProcessGroup>& groups);

}  // namespace reprise::pytorch
