// Meshes of ranks from process groups, what groups are for, and the axis of data parallelism.
#include <gmock/gmock.h>

#include <numeric>
#include <string>
#include <vector>

#include "predict/rescale/data_axis.h"
#include "predict/rescale/group_kinds.h"
#include "predict/rescale/rank_mesh.h"

namespace reprise {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(RankMesh, FollowsFromGroups) {
  const std::vector<JobRole> roles = {
      {.name = "tp", .groups = {{0, 1}, {2, 3}, {4, 5}, {6, 7}, {8, 9}, {10, 11}}},
      {.name = "pp", .groups = {{0, 4, 8}, {1, 5, 9}, {2, 6, 10}, {3, 7, 11}}},
      {.name = "mp", .groups = {{0, 1, 4, 5, 8, 9}, {2, 3, 6, 7, 10, 11}}},
      {.name = "ends", .groups = {{0, 8}, {1, 9}, {2, 10}, {3, 11}}}};
  const auto mesh = FindMesh(12, roles);
  ASSERT_TRUE(mesh) << mesh.error().message;
  EXPECT_THAT(mesh->sizes, ElementsAre(2, 2, 3));
  EXPECT_THAT(mesh->roles[0].axes, ElementsAre(0));
  EXPECT_THAT(mesh->roles[1].axes, ElementsAre(2));
  EXPECT_THAT(mesh->roles[2].axes, ElementsAre(0, 2));
  EXPECT_THAT(mesh->roles[3].axes, ElementsAre(2));
  EXPECT_THAT(mesh->roles[3].at, ElementsAre(0, 2));
  EXPECT_THAT(mesh->roles[0].at, IsEmpty());
  EXPECT_EQ(mesh->PlaceOf(11, 2), 2);
  EXPECT_EQ(mesh->StrideOf(2), 4);
}

TEST(RankMesh, IsRefusedWhereGroupsFollowNone) {
  const auto message_of = [](std::int32_t ranks, const std::vector<JobRole>& roles) {
    const auto mesh = FindMesh(ranks, roles);
    EXPECT_FALSE(mesh);
    return mesh ? "" : mesh.error().message;
  };
  EXPECT_THAT(message_of(4, {{.name = "x", .groups = {{1, 0}, {2, 3}}}}), HasSubstr("ascending"));
  EXPECT_THAT(message_of(4, {{.name = "x", .groups = {{0, 1, 3, 2}}}}), HasSubstr("ascending"));
  EXPECT_THAT(message_of(6, {{.name = "x", .groups = {{0, 1, 3}, {2, 4, 5}}}}),
              HasSubstr("no part of a mesh"));
  EXPECT_THAT(message_of(6, {{.name = "x", .groups = {{0, 1}, {2, 3}, {4, 5}}},
                             {.name = "y", .groups = {{0, 1, 2}, {3, 4, 5}}}}),
              HasSubstr("no one mesh of 6"));
  EXPECT_THAT(message_of(8, {{.name = "x", .groups = {{0, 1}, {2, 3}, {4, 6}, {5, 7}}}}),
              HasSubstr("in the same way everywhere"));
}

TEST(GroupKinds, FollowFromDescriptions) {
  const auto kind = [](const char* text) { return KindOfDescription(text); };
  EXPECT_EQ(kind("DATA_PARALLEL_GROUP_WITH_CP"), GroupKind::kData);
  EXPECT_EQ(kind("EXPERT_DATA_PARALLEL_GROUP"), GroupKind::kData);
  EXPECT_EQ(kind("FSDP_SHARD_GROUP"), GroupKind::kData);
  EXPECT_EQ(kind("mesh_fsdp"), GroupKind::kData);
  EXPECT_EQ(kind("TENSOR_MODEL_PARALLEL_GROUP"), GroupKind::kTensor);
  EXPECT_EQ(kind("mesh_tp"), GroupKind::kTensor);
  EXPECT_EQ(kind("PIPELINE_MODEL_PARALLEL_GROUP"), GroupKind::kPipeline);
  EXPECT_EQ(kind("CONTEXT_PARALLEL_GROUP"), GroupKind::kContext);
  EXPECT_EQ(kind("EXPERT_MODEL_PARALLEL_GROUP"), GroupKind::kExpert);
  EXPECT_EQ(kind("TENSOR_AND_DATA_PARALLEL_GROUP"), GroupKind::kOther);
  EXPECT_EQ(kind("MODEL_PARALLEL_GROUP"), std::nullopt);
  EXPECT_EQ(kind("default_pg"), std::nullopt);
  EXPECT_EQ(kind("adapter"), std::nullopt);
}

SeenTransfers SeenOf(CommKind kind, const std::vector<std::int64_t>& shape) {
  Node node;
  node.comm = CommSpec{.kind = kind};
  if (!shape.empty()) {
    TensorDesc tensor{.incarnation = 1, .elements = ElementCount(shape), .shape = shape};
    node.inputs.push_back(Value{tensor});
  } else {
    node.comm->in_bytes = 1 << 20;
  }
  SeenTransfers seen;
  seen.Add(node);
  return seen;
}

TEST(GroupKinds, FollowFromTransfers) {
  EXPECT_EQ(KindOfTransfers(SeenOf(CommKind::kAllReduce, {4096})), GroupKind::kData);
  EXPECT_EQ(KindOfTransfers(SeenOf(CommKind::kAllReduce, {2, 64, 64})), GroupKind::kTensor);
  EXPECT_EQ(KindOfTransfers(SeenOf(CommKind::kAllToAll, {64, 64})), GroupKind::kExpert);
  EXPECT_EQ(KindOfTransfers(SeenOf(CommKind::kSend, {64, 64})), GroupKind::kPipeline);
  EXPECT_EQ(KindOfTransfers(SeenOf(CommKind::kAllReduce, {2})), GroupKind::kOther);
  EXPECT_EQ(KindOfTransfers(SeenOf(CommKind::kAllReduce, {})), GroupKind::kUnknown);
}

TEST(DataAxis, IsThatOfReplicasAlone) {
  const RankMesh mesh{.sizes = {2, 4, 3}, .roles = {{.axes = {0}}, {.axes = {1}}, {.axes = {2}}}};
  const auto axis = FindDataAxis(mesh, {GroupKind::kTensor, GroupKind::kData, GroupKind::kPipeline},
                                 GroupKind::kOther);
  ASSERT_TRUE(axis);
  EXPECT_EQ(axis->axis, 1);
  EXPECT_EQ(axis->data_parallel, 4);
  const auto none = FindDataAxis(
      mesh, {GroupKind::kTensor, GroupKind::kExpert, GroupKind::kPipeline}, GroupKind::kData);
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("--group NAME=dp"));
}

TEST(WidenedMesh, RepeatsReplicasInTurn) {
  const RankMesh mesh{.sizes = {2, 2, 2}};
  const WidenedMesh widened(mesh, 1, 3);
  EXPECT_EQ(widened.world_size(), 12);
  std::vector<std::int32_t> sources(12), median(12);
  for (std::int32_t rank = 0; rank < 12; ++rank) {
    sources[rank] = widened.SourceOf(rank, std::nullopt);
    median[rank] = widened.SourceOf(rank, 1);
  }
  EXPECT_THAT(sources, ElementsAre(0, 1, 2, 3, 0, 1, 4, 5, 6, 7, 4, 5));
  EXPECT_THAT(median, ElementsAre(2, 3, 2, 3, 2, 3, 6, 7, 6, 7, 6, 7));
  const MeshRole all{.axes = {0, 1, 2}};
  EXPECT_EQ(widened.PositionAfter(all, 7), 9);
  EXPECT_EQ(widened.PositionWithout(all, 7), 3);
  EXPECT_EQ(WidenedMesh(mesh, 1, 1).PositionAfter(all, 7), -1);
  EXPECT_TRUE(widened.Widens(all));
  EXPECT_FALSE(widened.Widens({.axes = {0, 2}}));
}

}  // namespace
}  // namespace reprise
