// The axes of a job's mesh along which ranks divide experts, and along which ranks hold the same
// ones.
#pragma once

#include <cstdint>
#include <vector>

#include "core/result.h"
#include "predict/rescale/data_axis.h"
#include "predict/rescale/group_kinds.h"
#include "predict/rescale/rank_mesh.h"

namespace reprise {

// Neighbours: with more expert-parallel ranks there are as many times fewer replicas of an expert.
struct ExpertAxes {
  std::size_t experts = 0, replicas = 0;
};

// `kinds`: parallel to the roles; `all_ranks`: of the group of all. Bad input: there are no
// expert-parallel ranks, they lie along several axes, are of another kind, too, or no ranks next to
// them hold the same experts.
[[nodiscard]] Result<ExpertAxes> FindExpertAxes(const RankMesh& mesh,
                                                const std::vector<GroupKind>& kinds,
                                                GroupKind all_ranks);

// As many ranks, of which others divide experts. Bad input: a number that does not allow this; the
// message says which numbers do.
[[nodiscard]] Result<WidenedMesh> WidenExperts(const RankMesh& mesh, const ExpertAxes& axes,
                                               std::int64_t expert_parallel);

}  // namespace reprise
