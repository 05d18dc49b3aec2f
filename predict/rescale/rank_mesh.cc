#include "predict/rescale/rank_mesh.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "core/counted.h"

namespace reprise {
namespace {

struct StridedAxis {
  std::int64_t stride = 1, size = 1;
};

// {0, 1, 4, 5} → two of stride 1, two of stride 4. None: no product of axes.
std::optional<std::vector<StridedAxis>> AxesOf(const std::vector<std::int32_t>& members) {
  std::vector<StridedAxis> axes;
  std::size_t period = 1;  // members that the axes so far describe
  while (period < members.size()) {
    const std::int64_t stride = members[period] - members[0];
    std::size_t size = 1;
    while ((size + 1) * period <= members.size() &&
           members[size * period] - members[0] == static_cast<std::int64_t>(size) * stride) {
      ++size;
    }
    if (size == 1) {
      return std::nullopt;
    }
    for (std::size_t i = 0; i < size * period; ++i) {
      if (members[i] - members[i % period] != static_cast<std::int64_t>(i / period) * stride) {
        return std::nullopt;
      }
    }
    axes.push_back({stride, static_cast<std::int64_t>(size)});
    period *= size;
  }
  return period == members.size() ? std::optional(axes) : std::nullopt;
}

std::size_t RanksIn(const JobRole& role) {
  std::size_t ranks = 0;
  for (const auto& group : role.groups) {
    ranks += group.size();
  }
  return ranks;
}

tl::unexpected<Error> NoMesh(const JobRole& role, std::string_view what) {
  return BadInput(fmt::format(
      "process groups \"{}\" ({}): {}; a set is rescaled along the axis of a mesh of ranks",
      role.name, Counted(role.groups.size(), "group"), what));
}

// Whether every group is what one rank's place on the other axes leaves.
bool LieSo(const RankMesh& mesh, const MeshRole& at, const JobRole& role) {
  return std::ranges::all_of(role.groups, [&](const std::vector<std::int32_t>& group) {
    if (static_cast<std::int64_t>(group.size()) != mesh.GroupSize(at)) {
      return false;
    }
    std::int64_t base = group.front();
    for (const std::size_t axis : at.axes) {
      base -= mesh.PlaceOf(group.front(), axis) * mesh.StrideOf(axis);
    }
    for (std::size_t i = 0; i < group.size(); ++i) {
      std::int64_t rank = base;
      std::int64_t rest = static_cast<std::int64_t>(i);
      for (const std::size_t axis : at.axes) {
        const std::int64_t places =
            at.at.empty() ? mesh.sizes[axis] : static_cast<std::int64_t>(at.at.size());
        const std::int64_t place = rest % places;
        rank +=
            mesh.StrideOf(axis) * (at.at.empty() ? place : at.at[static_cast<std::size_t>(place)]);
        rest /= places;
      }
      if (group[i] != rank) {
        return false;
      }
    }
    return true;
  });
}

// A role that covers all ranks.
MeshRole AxesIn(const RankMesh& mesh, const std::vector<StridedAxis>& strided) {
  MeshRole role;
  for (std::size_t axis = 0; axis < mesh.sizes.size(); ++axis) {
    const std::int64_t stride = mesh.StrideOf(axis);
    if (std::ranges::any_of(strided, [stride](const StridedAxis& one) {
          return stride >= one.stride && stride < one.stride * one.size;
        })) {
      role.axes.push_back(axis);
    }
  }
  return role;
}

// A role of some places of one axis.
MeshRole PlacesIn(const RankMesh& mesh, const std::vector<std::int32_t>& group) {
  const std::int64_t span = group.back() - group.front();
  for (std::size_t axis = mesh.sizes.size(); axis-- > 0;) {
    if (span >= mesh.StrideOf(axis)) {
      MeshRole role{.axes = {axis}};
      for (const std::int32_t rank : group) {
        role.at.push_back(mesh.PlaceOf(rank, axis));
      }
      return role;
    }
  }
  return {};
}

// "TENSOR_MODEL_PARALLEL_GROUP" and "mesh_tp" as they are; what a folded set can't have as a role
// is left out.
std::string NameOf(const std::string& description, const std::vector<JobRole>& taken) {
  std::string name;
  for (const char c : description) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '_' || c == '-' || c == '.';
    name += plain ? c : '_';
  }
  if (name.empty() || name.find_first_not_of("0123456789") == std::string::npos) {
    name = "group" + name;
  }
  const auto is_taken = [&taken](const std::string& candidate) {
    return std::ranges::find(taken, candidate, &JobRole::name) != taken.end();
  };
  std::string unique = name;
  for (int number = 2; is_taken(unique); ++number) {
    unique = fmt::format("{}_{}", name, number);
  }
  return unique;
}

}  // namespace

std::vector<JobRole> RolesOf(const TraceSet& set) {
  std::vector<JobRole> roles;
  if (set.classes) {
    for (std::size_t i = 0; i < set.classes->roles().size(); ++i) {
      const GroupRole& role = set.classes->roles()[i];
      roles.push_back({role.role, role.description, {}, set.classes->GroupsOfRole(i)});
    }
    return roles;
  }
  std::vector<std::set<std::int32_t>> members;  // parallel to roles
  std::vector<const ProcessGroup*> groups;
  for (const auto& [id, group] : set.groups) {
    if (id != "0" && group.ranks.size() > 1) {
      groups.push_back(&group);
    }
  }
  std::ranges::stable_sort(groups, {}, [](const ProcessGroup* group) { return group->ranks; });
  for (const ProcessGroup* const group : groups) {
    std::size_t at = 0;
    while (at < roles.size() && (roles[at].description != group->description ||
                                 roles[at].groups.front().size() != group->ranks.size() ||
                                 std::ranges::any_of(group->ranks, [&](auto rank) {
                                   return members[at].contains(rank);
                                 }))) {
      ++at;
    }
    if (at == roles.size()) {
      roles.push_back({NameOf(group->description, roles), group->description, {}, {}});
      members.emplace_back();
    }
    roles[at].ids.push_back(group->id);
    roles[at].groups.push_back(group->ranks);
    members[at].insert(group->ranks.begin(), group->ranks.end());
  }
  return roles;
}

std::int64_t RankMesh::StrideOf(std::size_t axis) const {
  std::int64_t stride = 1;
  for (std::size_t i = 0; i < axis; ++i) {
    stride *= sizes[i];
  }
  return stride;
}

std::int64_t RankMesh::PlaceOf(std::int64_t rank, std::size_t axis) const {
  return rank / StrideOf(axis) % sizes[axis];
}

std::int64_t RankMesh::GroupSize(const MeshRole& role) const {
  std::int64_t size = 1;
  for (const std::size_t axis : role.axes) {
    size *= role.at.empty() ? sizes[axis] : static_cast<std::int64_t>(role.at.size());
  }
  return size;
}

Result<RankMesh> FindMesh(std::int32_t world_size, const std::vector<JobRole>& roles) {
  std::set<std::int64_t> cuts = {1, world_size};
  std::vector<std::optional<std::vector<StridedAxis>>> strided(roles.size());
  for (std::size_t i = 0; i < roles.size(); ++i) {
    const JobRole& role = roles[i];
    for (const auto& group : role.groups) {
      if (!std::ranges::is_sorted(group)) {
        return NoMesh(role, "members are not in ascending order");
      }
    }
    if (static_cast<std::int64_t>(RanksIn(role)) < world_size) {
      continue;  // places of an axis, which other roles have
    }
    strided[i] = AxesOf(role.groups.front());
    if (!strided[i]) {
      return NoMesh(role, fmt::format("ranks {} are no part of a mesh",
                                      fmt::join(role.groups.front(), ", ")));
    }
    for (const StridedAxis& axis : *strided[i]) {
      cuts.insert({axis.stride, axis.stride * axis.size});
    }
  }
  RankMesh mesh;
  for (auto cut = std::next(cuts.begin()); cut != cuts.end(); ++cut) {
    const std::int64_t below = *std::prev(cut);
    if (*cut % below != 0) {
      return BadInput(fmt::format(
          "process groups of neighbours at distances {} and {} are parts of no one mesh of {} "
          "ranks, along whose axes a set is rescaled",
          below, *cut, world_size));
    }
    mesh.sizes.push_back(*cut / below);
  }
  if (mesh.sizes.empty()) {
    mesh.sizes.push_back(1);
  }
  for (std::size_t i = 0; i < roles.size(); ++i) {
    MeshRole at = strided[i] ? AxesIn(mesh, *strided[i]) : PlacesIn(mesh, roles[i].groups.front());
    if (at.axes.empty() || !LieSo(mesh, at, roles[i])) {
      return NoMesh(roles[i], "they do not divide the ranks in the same way everywhere");
    }
    const std::int64_t groups = world_size / mesh.GroupSize({at.axes, {}});
    if (static_cast<std::int64_t>(roles[i].groups.size()) != groups) {
      return NoMesh(roles[i], fmt::format("the mesh has {} of them", groups));
    }
    mesh.roles.push_back(std::move(at));
  }
  return mesh;
}

}  // namespace reprise
