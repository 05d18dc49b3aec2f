// Folded sets: one file for all ranks that do the same, and ranks.json, which says for which ranks
// a file stands (docs/et_format.md, "Folded sets"). In such a file a transfer names its group by
// the group's role ("tp"), and peer and root by their position in the group.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "et_schema/node.h"

namespace reprise {

inline constexpr const char* kRanksFile = "ranks.json";

// first, first + stride, … not beyond last.
struct RankRange {
  std::int32_t first = 0, last = 0, stride = 1;
  [[nodiscard]] bool Holds(std::int32_t rank) const {
    return rank >= first && rank <= last && (rank - first) % stride == 0;
  }
  [[nodiscard]] std::int64_t size() const { return (last - first) / stride + 1; }
  bool operator==(const RankRange&) const = default;
};
// Ranks in ascending order, as few ranges as a single pass finds.
[[nodiscard]] std::vector<RankRange> RangesOf(const std::vector<std::int32_t>& ranks);
// "7", "0-7", "64-127:8", as ranks.json and reports write them.
[[nodiscard]] std::string RangeText(const RankRange& range);
[[nodiscard]] Result<RankRange> ParseRangeText(const std::string& text);
// Of ascending numbers: "0-7, 64-127:8".
[[nodiscard]] std::string RangesText(const std::vector<std::int32_t>& numbers);

// The groups of one role. Every rank is in at most one of them.
struct GroupRole {
  std::string role, description;
  // By rule: the ranks are a mesh of these sizes, innermost first, and each group varies along
  // `axes`, the first of them fastest. With `at`, only these places of the one axis are members.
  std::vector<std::int64_t> mesh;
  std::vector<std::size_t> axes;
  std::vector<std::int64_t> at;  // ascending
  // Without a mesh: the members of each group, in group order.
  std::vector<std::vector<RankRange>> lists;
  bool operator==(const GroupRole&) const = default;
};

struct RankClass {
  std::string file;  // in the directory of ranks.json
  std::vector<RankRange> ranks;
  bool operator==(const RankClass&) const = default;
};

using RoleMembers = std::map<std::string, std::vector<std::vector<std::int32_t>>>;

// Immutable; safe to read from many threads.
class RankClasses {
 public:
  // Bad input: a rank without a class or with two, two classes of one file, groups that overlap,
  // ranks outside the world, more ranks or roles than InputLimits has.
  static Result<RankClasses> Create(std::int32_t world_size, std::vector<RankClass> classes,
                                    std::vector<GroupRole> roles);
  static Result<RankClasses> Read(const std::string& directory);
  // The same, read once as long as someone holds the result: each file of a set needs it.
  // Thread-safe.
  static Result<std::shared_ptr<const RankClasses>> ReadShared(const std::string& directory);
  [[nodiscard]] static bool Present(const std::string& directory);
  // Lists of groups are written as lists while they are short, else by rule.
  [[nodiscard]] Status Write(const std::string& directory) const;

  [[nodiscard]] std::int32_t world_size() const { return world_size_; }
  [[nodiscard]] const std::vector<RankClass>& classes() const { return classes_; }
  [[nodiscard]] const std::vector<GroupRole>& roles() const { return roles_; }
  [[nodiscard]] const RankClass& ClassOf(std::int32_t rank) const;
  [[nodiscard]] std::size_t IndexOf(std::int32_t rank) const { return class_of_[rank]; }
  // "gpt" of gpt.class0.et.
  [[nodiscard]] std::string SetName() const;

  // All process groups, with the ids that Resolve uses; "0" are all ranks.
  [[nodiscard]] std::map<std::string, ProcessGroup> Groups() const;
  // Those that one of `ranks` is in, and one of them by its id.
  [[nodiscard]] std::map<std::string, ProcessGroup> GroupsOf(
      const std::vector<std::int32_t>& ranks) const;
  [[nodiscard]] std::optional<ProcessGroup> GroupById(std::string_view id) const;
  // The members of each group of a role of roles(), each group once, in the order of the groups'
  // first ranks. And of all roles.
  [[nodiscard]] std::vector<std::vector<std::int32_t>> GroupsOfRole(std::size_t role) const;
  [[nodiscard]] RoleMembers MembersByRole() const;
  // Of a role of roles(): how many groups, the ranks of one, whether a rank is in one of them.
  [[nodiscard]] std::int64_t GroupCount(std::size_t role) const { return index_[role].groups; }
  [[nodiscard]] std::int64_t GroupSize(std::size_t role, std::int64_t group) const;
  [[nodiscard]] bool IsMember(std::size_t role, std::int32_t rank) const {
    return GroupNumber(role, rank) >= 0;
  }
  // The role of a group by its id; empty: "0", or no such group.
  [[nodiscard]] std::string_view RoleOf(std::string_view group_id) const;
  // The rank's group of that role; none: no such role, or it is no member.
  [[nodiscard]] std::optional<ProcessGroup> GroupOf(std::string_view role, std::int32_t rank) const;
  // Turns a transfer of a class file into that of a rank. Bad input: no such group or position.
  [[nodiscard]] Status Resolve(std::int32_t rank, CommSpec& spec) const;
  // Undoes Resolve: the group by its role, peer and root by position.
  [[nodiscard]] Status Unresolve(std::int32_t rank, CommSpec& spec) const;

 private:
  struct RoleIndex {
    std::int64_t first_id = 1;          // of its groups
    std::int64_t groups = 0;            // how many
    std::vector<std::int32_t> by_rank;  // lists: index of the rank's group, -1: none
    std::vector<bool> varies;           // mesh: by axis, whether it is one of `axes`
  };
  [[nodiscard]] Status CheckCounts() const;
  [[nodiscard]] Status Index();
  [[nodiscard]] std::optional<std::size_t> RoleNamed(std::string_view name) const;
  [[nodiscard]] std::optional<std::size_t> RoleNumberOf(std::string_view group_id) const;
  [[nodiscard]] std::int64_t GroupNumber(std::size_t role, std::int32_t rank) const;
  [[nodiscard]] std::vector<std::int32_t> Members(std::size_t role, std::int64_t group) const;
  [[nodiscard]] ProcessGroup GroupAt(std::size_t role, std::int64_t group) const;
  // Of one member, without a list of all: −1 stands for no such position or member.
  [[nodiscard]] std::int32_t MemberAt(std::size_t role, std::int64_t group,
                                      std::int64_t position) const;
  [[nodiscard]] std::int64_t PositionIn(std::size_t role, std::int64_t group,
                                        std::int32_t member) const;

  std::int32_t world_size_ = 0;
  std::vector<RankClass> classes_;
  std::vector<GroupRole> roles_;
  std::vector<std::uint32_t> class_of_;
  std::vector<RoleIndex> index_;
};

// A rank's trace in a folded set. The path names a file that does not exist: "<dir>/gpt.12.et".
struct FoldedRank {
  std::string file;  // its class's
  std::int32_t rank = 0;
  std::shared_ptr<const RankClasses> classes;
};
// None if `path` exists or its directory holds no ranks.json. Bad input: ranks.json is damaged, or
// has no such rank; or `path` is a class's file, which is no rank's.
[[nodiscard]] Result<std::optional<FoldedRank>> FindFoldedRank(const std::string& path);

}  // namespace reprise
