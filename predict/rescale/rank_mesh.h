// The ranks of a job as a mesh, concluded from its process groups.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.h"
#include "et_schema/trace_set.h"

namespace reprise {

// Groups that divide the ranks in one way: the tensor-parallel ones, say.
struct JobRole {
  std::string name;  // of a folded set the role, else made of the description; unique
  std::string description;
  std::vector<std::string> ids;                   // of `groups`; empty: of a folded set
  std::vector<std::vector<std::int32_t>> groups;  // members in group order, each rank at most once
};
// All groups of a set but that of all ranks. Groups of one description that share no rank are of
// one role.
[[nodiscard]] std::vector<JobRole> RolesOf(const TraceSet& set);

// Where the groups of a role lie in the mesh, as GroupRole has it.
struct MeshRole {
  std::vector<std::size_t> axes;  // ascending: the first varies fastest
  std::vector<std::int64_t> at;   // places on the one axis; empty: all
};
struct RankMesh {
  std::vector<std::int64_t> sizes;  // innermost axis first; their product is the world
  std::vector<MeshRole> roles;      // parallel to the roles given

  // On that axis.
  [[nodiscard]] std::int64_t PlaceOf(std::int64_t rank, std::size_t axis) const;
  // The distance of neighbours on that axis.
  [[nodiscard]] std::int64_t StrideOf(std::size_t axis) const;
  // Members of a group that lies so.
  [[nodiscard]] std::int64_t GroupSize(const MeshRole& role) const;
};

// The coarsest mesh of which all groups are parts. Bad input, which names the role: members that
// are not in ascending order, groups that follow no mesh, or not the same one.
[[nodiscard]] Result<RankMesh> FindMesh(std::int32_t world_size, const std::vector<JobRole>& roles);

}  // namespace reprise
