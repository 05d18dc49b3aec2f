#include "report/nodes/node_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reprise {
namespace {

using testing::Eq;
using testing::Optional;

std::vector<NodeInfo> Nodes(const std::vector<std::uint64_t>& ids) {
  std::vector<NodeInfo> nodes;
  for (const std::uint64_t id : ids) {
    nodes.push_back({.node_id = id});
  }
  return nodes;
}

// Dense ids take the table, those far apart the search.
TEST(NodeIndex, FindsTheFirstNodeOfAnId) {
  for (const std::uint64_t stride : {1ULL, 2ULL, 1'000ULL, 1ULL << 60}) {
    const auto nodes = Nodes({3 * stride, 7 * stride, 3 * stride, 5 * stride});
    const NodeIndex index(nodes);
    EXPECT_THAT(index.Find(3 * stride), Optional(0U)) << stride;
    EXPECT_THAT(index.Find(7 * stride), Optional(1U)) << stride;
    EXPECT_THAT(index.Find(5 * stride), Optional(3U)) << stride;
    for (const std::uint64_t id : {std::uint64_t{0}, 4 * stride, 8 * stride, UINT64_MAX}) {
      EXPECT_THAT(index.Find(id), Eq(std::nullopt)) << stride << ": " << id;
    }
  }
}

TEST(NodeIndex, HasNothingOfNothing) {
  EXPECT_THAT(NodeIndex().Find(0), Eq(std::nullopt));
  EXPECT_THAT(NodeIndex(Nodes({})).Find(0), Eq(std::nullopt));
}

}  // namespace
}  // namespace reprise
