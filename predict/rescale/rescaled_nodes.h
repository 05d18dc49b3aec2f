// A rank's nodes as they are with another number of data-, tensor- or expert-parallel ranks.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/result.h"
#include "et_schema/node.h"
#include "predict/rescale/data_axis.h"
#include "predict/rescale/group_kinds.h"
#include "predict/rescale/rank_mesh.h"
#include "predict/rescale/tensors/divided_tensors.h"
#include "predict/rescale/tensors/shards.h"

namespace reprise {

// A set's roles in its mesh, before and after; the last one is the group of all ranks.
struct RescaledRoles {
  std::vector<JobRole> roles;
  std::vector<MeshRole> places;              // parallel to it
  std::map<std::string, std::size_t> by_id;  // of groups, or of roles in a folded set
  WidenedMesh mesh;
  GroupKind kind = GroupKind::kData;  // of the axis that changes: data, tensor or expert
  std::int64_t kv_heads = 0;          // as RescaleRequest has it
  // By role: whether its members divide buffers among them.
  std::vector<bool> divides;
  std::set<std::size_t> without_axis;  // those whose messages stay within a replica

  [[nodiscard]] std::int64_t SizeBefore(std::size_t role) const {
    return mesh.before().GroupSize(places[role]);
  }
  [[nodiscard]] std::int64_t SizeAfter(std::size_t role) const {
    return mesh.after().GroupSize(places[role]);
  }
  // Bad input: a group that the set does not have.
  [[nodiscard]] Result<std::size_t> RoleOf(const Node& node) const;
  // The ranks of one of its groups that are in one replica.
  [[nodiscard]] std::string NameWithoutAxis(std::size_t role) const;
};

// One file's nodes. Each pass shows all of them in order: Measure; EndMeasure; Follow, until it
// finds no more; Change.
class RescaledNodes {
 public:
  // `rank`: whose file it is, or the first of its class; `folded`: transfers name roles and
  // positions. `roles` must outlive it.
  RescaledNodes(RescaledRoles& roles, std::int32_t rank, bool folded);

  [[nodiscard]] Status Measure(const Node& node);
  // Bad input: as DividedTensors::Solve.
  [[nodiscard]] Status EndMeasure();
  // False without shards: a pass is then not needed.
  [[nodiscard]] bool follows() const { return !divided_ && !shards_.empty(); }
  [[nodiscard]] Result<bool> Follow(const Node& node) { return shards_.Follow(node); }
  // What changed; the node's group is its role's, as in a folded set.
  [[nodiscard]] Result<Rescaled> Change(Node& node);

 private:
  // Of a transfer: whom its group has, where tensors or experts are divided.
  [[nodiscard]] Result<AmongWhom> WhomOf(const Node& node) const;
  [[nodiscard]] Status MeasureSum(const Node& node);
  [[nodiscard]] bool of_experts() const { return roles_.kind == GroupKind::kExpert; }
  // Parts for other members of an even exchange.
  [[nodiscard]] static Status ChangeExchange(const Node& node, std::int64_t members,
                                             CommSpec& spec);
  // The sums of experts' gradients are of those that ranks divide.
  [[nodiscard]] Status CheckReplicaSum(const Node& node, const Node& before) const;
  [[nodiscard]] Result<std::optional<DividedAmong>> DivisionOf(const Node& node) const;
  // `before`: the node with its tensors as they were.
  [[nodiscard]] Status ChangeTransfer(Node& node, const Node& before, bool& changed);
  [[nodiscard]] Status ChangeShards(Node& node, const Node& before) const;
  // Bytes of the tensors that it moves.
  [[nodiscard]] Status ChangeTensors(Node& node, const Node& before) const;
  // `division`: of a buffer in parts for the members, of which one has these elements.
  static void ChangeBytes(CommSpec& spec, std::int64_t elements_before, std::int64_t elements_after,
                          const std::optional<DividedAmong>& division);
  [[nodiscard]] Status ChangePeer(const Node& node, std::size_t role, CommSpec& spec);
  [[nodiscard]] Result<std::int64_t> PositionOf(const Node& node, std::size_t role,
                                                std::int64_t member) const;
  [[nodiscard]] bool ChangeMean(Node& node) const;

  RescaledRoles& roles_;
  std::int32_t rank_;
  bool folded_;
  ShardedTensors shards_;                                  // of data-parallel ranks
  std::optional<DividedTensors> divided_;                  // of tensor- or expert-parallel ones
  std::unordered_map<std::int64_t, DividedAmong> summed_;  // storages of sums over replicas
};

}  // namespace reprise
