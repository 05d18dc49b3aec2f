#include "predict/rescale/expert_axes.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace reprise {
namespace {

bool LiesAlong(const MeshRole& role, std::size_t axis) {
  return std::ranges::find(role.axes, axis) != role.axes.end();
}

// Whether groups of such a kind lie along the axis.
bool IsAlso(const RankMesh& mesh, const std::vector<GroupKind>& kinds, std::size_t axis) {
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const bool other = kinds[i] == GroupKind::kTensor || kinds[i] == GroupKind::kPipeline ||
                       kinds[i] == GroupKind::kContext;
    if (other && LiesAlong(mesh.roles[i], axis)) {
      return true;
    }
  }
  return false;
}

}  // namespace

Result<ExpertAxes> FindExpertAxes(const RankMesh& mesh, const std::vector<GroupKind>& kinds,
                                  GroupKind all_ranks) {
  if (all_ranks == GroupKind::kExpert) {
    return BadInput(
        "all ranks of the job divide its experts, so none hold the same ones, and sum their "
        "gradients: what these sums would move at another number is not in the set");
  }
  std::optional<std::size_t> experts;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (kinds[i] != GroupKind::kExpert || mesh.GroupSize(mesh.roles[i]) < 2) {
      continue;
    }
    const std::vector<std::size_t>& axes = mesh.roles[i].axes;
    if (axes.size() != 1 || (experts && *experts != axes[0]) || IsAlso(mesh, kinds, axes[0])) {
      return BadInput(
          "expert-parallel ranks are of another kind, too, or lie along several axes of the mesh: "
          "which of them another number would change is not known");
    }
    experts = axes[0];
  }
  if (!experts) {
    return BadInput(
        "no transfers among expert-parallel ranks: what they would exchange is not in the set "
        "(--group NAME=ep names their groups, if there are any)");
  }
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (kinds[i] != GroupKind::kData || LiesAlong(mesh.roles[i], *experts)) {
      continue;
    }
    for (const std::size_t axis : mesh.roles[i].axes) {
      if (mesh.StrideOf(axis) == mesh.StrideOf(*experts) * mesh.sizes[*experts] &&
          mesh.sizes[axis] > 1 && !IsAlso(mesh, kinds, axis)) {
        return ExpertAxes{*experts, axis};
      }
    }
  }
  return BadInput(
      "no neighbours of expert-parallel ranks hold the same experts, and sum their gradients: what "
      "these sums would move at another number is not in the set");
}

Result<WidenedMesh> WidenExperts(const RankMesh& mesh, const ExpertAxes& axes,
                                 std::int64_t expert_parallel) {
  const std::int64_t before = mesh.sizes[axes.experts];
  const std::int64_t ranks = before * mesh.sizes[axes.replicas];
  std::vector<std::int64_t> possible;
  for (std::int64_t number = 2; number <= ranks / 2; ++number) {
    if (ranks % number == 0 && number != before) {
      possible.push_back(number);
    }
  }
  const std::string numbers =
      possible.empty()
          ? "no other number does"
          : fmt::format("give {}, if it divides the experts, too", fmt::join(possible, ", "));
  if (expert_parallel == before) {
    return UsageError(
        fmt::format("--ep {}: the set has as many expert-parallel ranks already", before));
  }
  if (expert_parallel == 1) {
    return BadInput(fmt::format(
        "--ep 1: a job without expert parallelism has other operators than this one, which are not "
        "in the set; {}",
        numbers));
  }
  if (ranks % expert_parallel != 0) {
    return BadInput(fmt::format("--ep {}: it does not divide the {} ranks that share experts; {}",
                                expert_parallel, ranks, numbers));
  }
  if (ranks == expert_parallel) {
    return BadInput(fmt::format(
        "--ep {}: one rank would hold each expert, without the sums of gradients that this set "
        "has; {}",
        expert_parallel, numbers));
  }
  return WidenedMesh(mesh, axes.experts, expert_parallel, axes.replicas, ranks / expert_parallel);
}

}  // namespace reprise
