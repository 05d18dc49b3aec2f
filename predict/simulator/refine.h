// Classes of ranks that behave alike: same program, same kind of groups, and members of their
// groups that are alike, too. Partition refinement until nothing changes (colour refinement).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace reprise {

// The groups of one role: disjoint, each with its members in group order.
struct RoleGroups {
  std::vector<std::vector<std::int32_t>> groups;
  // Who is where matters: some transfer names a peer, a root, or a part for each member. Else only
  // who the members are does.
  bool ordered = false;
};

struct Refinement {
  std::vector<std::uint32_t> class_of;  // by rank; classes are numbered by their first rank
  std::uint32_t classes = 0;
  // By role and group: equal numbers where the groups' members are alike.
  std::vector<std::vector<std::uint32_t>> kind_of_group;
};

// `colours`: by rank, equal only where ranks may be alike. Exact: no hash decides. The result is
// the coarsest that fits.
[[nodiscard]] Refinement RefineClasses(const std::vector<std::uint32_t>& colours,
                                       std::span<const RoleGroups> roles);

}  // namespace reprise
