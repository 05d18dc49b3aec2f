// What ASTRA-sim would not run, found without it.
#include "et_schema/astra_sim_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/et_schema/scratch_directory.h"
#include "tests/et_schema/trace_files.h"

namespace reprise {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Node Collective(std::uint64_t id, CommKind kind, std::int64_t bytes, const std::string& group) {
  Node node = MakeNode(id, static_cast<std::int64_t>(id) * 1000);
  node.name = "c10d::collective";
  node.type = NodeType::kCommColl;
  node.actor = {.kind = Actor::Kind::kGroup};
  node.comm = CommSpec{.kind = kind, .group = group, .in_bytes = bytes, .out_bytes = bytes};
  return node;
}

Node Message(std::uint64_t id, bool send, std::int32_t peer, std::int32_t tag, std::int64_t bytes) {
  Node node = Collective(id, send ? CommKind::kSend : CommKind::kRecv, 0, "0");
  node.type = send ? NodeType::kCommSend : NodeType::kCommRecv;
  (send ? node.comm->in_bytes : node.comm->out_bytes) = bytes;
  node.comm->peer = peer;
  node.comm->tag = tag;
  return node;
}

class AstraSimChecks : public ::testing::Test {
 protected:
  // A set of two ranks with those nodes.
  ReaderFindings Check(const std::vector<Node>& rank0, const std::vector<Node>& rank1,
                       const std::map<std::string, ProcessGroup>& groups = {}) {
    const ScratchDirectory scratch;
    EXPECT_TRUE(WriteTrace(scratch.File("x.0.et"), rank0, {.rank = 0, .world_size = 2}));
    EXPECT_TRUE(WriteTrace(scratch.File("x.1.et"), rank1, {.rank = 1, .world_size = 2}));
    EXPECT_TRUE(WriteGroups(scratch.path(), groups));
    const auto set = TraceSet::OpenPresent(scratch.path());
    EXPECT_TRUE(set);
    const auto findings = CheckForAstraSim(*set);
    EXPECT_TRUE(findings);
    return *findings;
  }
  // The same nodes on both ranks.
  std::vector<std::string> Errors(const std::vector<Node>& nodes) {
    return Check(nodes, nodes).errors;
  }
};

TEST_F(AstraSimChecks, AcceptsWhatItRuns) {
  const std::vector<Node> both = {MakeNode(1, 0), Collective(2, CommKind::kAllReduce, 64, "1"),
                                  Collective(3, CommKind::kAllGather, 64, "0")};
  std::vector<Node> rank0 = both;
  std::vector<Node> rank1 = both;
  rank0.push_back(Message(4, true, 1, 7, 32));
  rank1.push_back(Message(4, false, 0, 7, 32));
  EXPECT_THAT(Check(rank0, rank1, {{"1", {.id = "1", .ranks = {0, 1}}}}).errors, IsEmpty());
}

TEST_F(AstraSimChecks, NodesThatItStopsAt) {
  Node metadata = MakeNode(1, 0);
  metadata.type = NodeType::kMetadata;
  EXPECT_THAT(Errors({metadata}), Contains(HasSubstr("METADATA nodes (2 times): rank 0: node 1")));
  EXPECT_THAT(Errors({MakeNode(1, 0, {9})}), Contains(HasSubstr("node 1 waits for 9")));
  EXPECT_THAT(Errors({Collective(1, CommKind::kBarrier, 0, "0")}),
              Contains(HasSubstr("simulates no BARRIER")));
  EXPECT_THAT(Errors({Collective(1, CommKind::kAllGather, 3, "0")}),
              Contains(HasSubstr("fewer than 4 bytes")));
}

TEST_F(AstraSimChecks, MembersMustAgree) {
  const auto errors = Check({Collective(1, CommKind::kAllToAll, 64, "0")},
                            {Collective(1, CommKind::kAllToAll, 32, "0")})
                          .errors;
  EXPECT_THAT(errors, Contains(HasSubstr("rank 0 node 1 (ALL_TO_ALL, 64 bytes), rank 1 node 1 "
                                         "(ALL_TO_ALL, 32 bytes)")));
  EXPECT_THAT(Check({Collective(1, CommKind::kAllReduce, 64, "0")}, {}).errors,
              Contains(HasSubstr("1 of 2 ranks have any")));
}

TEST_F(AstraSimChecks, AllRanksAfterOtherGroups) {
  const std::map<std::string, ProcessGroup> groups = {{"1", {.id = "1", .ranks = {0, 1}}},
                                                      {"2", {.id = "2", .ranks = {1, 0}}}};
  const std::vector<Node> rank0 = {Collective(1, CommKind::kAllReduce, 64, "1"),
                                   Collective(2, CommKind::kAllReduce, 64, "0"),
                                   Collective(3, CommKind::kAllReduce, 64, "2")};
  std::vector<Node> rank1 = rank0;
  EXPECT_THAT(Check(rank0, rank1, groups).errors, IsEmpty());
  std::swap(rank1[1].comm, rank1[2].comm);
  EXPECT_THAT(Check(rank0, rank1, groups).errors,
              Contains(HasSubstr("number 0: after 1 of other groups on rank 0, 2 on rank 1")));
}

TEST_F(AstraSimChecks, MessagesNeedTheirOtherSide) {
  EXPECT_THAT(Check({Message(1, true, 1, 7, 32)}, {Message(1, false, 0, 8, 32)}).errors,
              Contains(HasSubstr("a receive without a send of its size and tag never ends: 1 of 1 "
                                 "from rank 0 to 1, tag 8, 32 bytes")));
  EXPECT_THAT(Check({Message(1, true, 1, 7, 0)}, {Message(1, false, 0, 7, 0)}).errors,
              Contains(HasSubstr("no bytes")));
}

TEST_F(AstraSimChecks, GroupsAsItReadsThem) {
  const std::vector<Node> nodes = {Collective(1, CommKind::kAllReduce, 64, "tp")};
  EXPECT_THAT(Check(nodes, nodes, {{"tp", {.id = "tp", .ranks = {0, 1}}}}).errors,
              Contains(HasSubstr("comm_groups.json has no group 'tp'")));
  const std::vector<Node> alone = {Collective(1, CommKind::kAllReduce, 64, "3")};
  EXPECT_THAT(Check(alone, {}, {{"3", {.id = "3", .ranks = {0}}}}).errors,
              Contains(HasSubstr("a collective of one rank never ends")));
  const std::vector<Node> far = {Collective(1, CommKind::kAllReduce, 64, "9999")};
  EXPECT_THAT(Check(far, far, {{"9999", {.id = "9999", .ranks = {0, 1}}}}).errors,
              Contains(HasSubstr("from 1 to 2147")));
}

TEST_F(AstraSimChecks, WhatItSimulatesOtherwiseIsAWarning) {
  Node node = MakeNode(1, 0);
  node.duration_ns = 1000;
  node.delay_ns = 500'000;
  Node device = MakeNode(2, 600'000);
  device.actor = {.kind = Actor::Kind::kStream, .id = 7, .device = 0};
  const ReaderFindings found = Check({node, device}, {node, device});
  EXPECT_THAT(found.errors, IsEmpty());
  EXPECT_THAT(found.warnings, Contains(HasSubstr("delay_ns")));
  EXPECT_THAT(found.warnings, Contains(HasSubstr("2 of 4 COMP nodes have is_cpu_op")));
  EXPECT_THAT(found.warnings,
              Contains(HasSubstr("unknown cost take next to no time: 2 COMP nodes")));
}

}  // namespace
}  // namespace reprise
