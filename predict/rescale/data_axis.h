// The axis of a job's mesh along which data-parallel replicas or tensor-parallel ranks lie, and the
// same job with more or fewer of them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/result.h"
#include "et_schema/rank_classes.h"
#include "predict/rescale/group_kinds.h"
#include "predict/rescale/rank_mesh.h"

namespace reprise {

struct DataAxis {
  std::size_t axis = 0;
  std::int64_t data_parallel = 1;  // ranks that share a batch: of this axis and of experts' ones
};

// `kinds`: parallel to the roles; `all_ranks`: of the group of all. Bad input: no group of
// data-parallel ranks, or several axes that only they share, so that it is not known which to
// widen.
[[nodiscard]] Result<DataAxis> FindDataAxis(const RankMesh& mesh,
                                            const std::vector<GroupKind>& kinds,
                                            GroupKind all_ranks);

// The axis of tensor-parallel ranks. Bad input: there are none, there are several, or ranks of it
// are of another kind, too.
[[nodiscard]] Result<std::size_t> FindTensorAxis(const RankMesh& mesh,
                                                 const std::vector<GroupKind>& kinds,
                                                 GroupKind all_ranks);

// A mesh whose axis has another size.
class WidenedMesh {
 public:
  WidenedMesh(const RankMesh& mesh, std::size_t axis, std::int64_t size);
  // As many ranks: another axis, next to it, is as many times smaller or larger.
  WidenedMesh(const RankMesh& mesh, std::size_t axis, std::int64_t size, std::size_t other,
              std::int64_t other_size);

  [[nodiscard]] const RankMesh& before() const { return before_; }
  [[nodiscard]] const RankMesh& after() const { return after_; }
  [[nodiscard]] std::size_t axis() const { return axis_; }
  [[nodiscard]] std::int32_t world_size() const;
  // The captured rank that a rank of the result repeats: captured replicas come in turn, or it is
  // always the same one. With as many ranks each repeats itself.
  [[nodiscard]] std::int32_t SourceOf(std::int32_t rank,
                                      const std::optional<std::int64_t>& replica) const;
  // Of a member of a group that lies along `axes`: its position in the widened group. -1: that
  // replica is gone, or its place follows from no position.
  [[nodiscard]] std::int64_t PositionAfter(const MeshRole& role, std::int64_t position) const;
  // Its place on the widened axis; 0 if the group does not lie along it.
  [[nodiscard]] std::int64_t ReplicaAt(const MeshRole& role, std::int64_t position) const;
  // Its position in what remains of the group without that axis.
  [[nodiscard]] std::int64_t PositionWithout(const MeshRole& role, std::int64_t position) const;
  [[nodiscard]] bool Widens(const MeshRole& role) const;
  // The axis that changes, too; nothing: none.
  [[nodiscard]] const std::optional<std::size_t>& other_axis() const { return other_axis_; }

 private:
  RankMesh before_, after_;
  std::size_t axis_;
  std::optional<std::size_t> other_axis_;
};

}  // namespace reprise
