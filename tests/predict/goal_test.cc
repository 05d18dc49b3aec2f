// GOAL's schedules: cpus, text and the bytes of the binary form. Whole sets:
// tests/e2e/goal_test.py.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <map>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "collectives/algorithms/algorithm.h"
#include "collectives/algorithms/messages.h"
#include "converters/goal/schedule.h"
#include "predict/goal/check.h"
#include "predict/goal/cpus.h"
#include "predict/goal/transfers.h"

namespace reprise {
namespace {

using goal::OperationKind;
using testing::ElementsAre;

goal::RankSchedules TwoRanks() {
  goal::RankSchedules ranks(2);
  ranks[0].operations = {{.size = 5},
                         {.kind = OperationKind::kSend, .cpu = 2, .peer = 1, .tag = 7, .size = 16},
                         {.size = 0}};
  ranks[0].edges = {{1, 0}, {2, 0}, {2, 1}};
  ranks[1].operations = {{.kind = OperationKind::kRecv, .cpu = 1, .peer = 0, .tag = 7, .size = 16}};
  return ranks;
}

TEST(GoalSchedules, AreText) {
  std::ostringstream out;
  goal::WriteText(TwoRanks(), out);
  EXPECT_EQ(out.str(), R"(num_ranks 2

rank 0 {
l0: calc 5 cpu 0
l1: send 16b to 1 tag 7 cpu 2
l2: calc 0 cpu 0
l1 requires l0
l2 requires l0
l2 requires l1
}

rank 1 {
l0: recv 16b from 0 tag 7 cpu 1
}
)");
}

// What txt2bin of LogGOPSim (76451de) makes of that text.
TEST(GoalSchedules, AreTheBytesOfTxt2bin) {
  const std::string expected =
      "7f100000000000000200000002002600000000000000b300000000000000b300000000000000e600000000000000"
      "03000000010000000000000000000000030000000005000000000000000000000000000200000000000000000000"
      "00020000000100000001010000001000000000000000070000000200010000000200000000000000030000000200"
      "00000300000000000000000000000000000000000000000000030000000000000003000000010000000200000002"
      "00000001000000010000000000000000000000020000000010000000000000000700000001000000000000000000"
      "0000000000000000";
  std::ostringstream out;
  goal::WriteBinary(TwoRanks(), out);
  std::string hex;
  for (const unsigned char byte : out.str()) {
    constexpr char kDigits[] = "0123456789abcdef";
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  EXPECT_EQ(hex, expected);
}

TEST(GoalSchedules, RunToTheirEnd) {
  goal::RankSchedules ranks = TwoRanks();
  EXPECT_TRUE(CheckEnds(ranks));
  // Rank 1 answers, and rank 0 waits for the answer before it asks.
  ranks[1].operations.push_back({.kind = OperationKind::kSend, .peer = 0, .tag = 8, .size = 1});
  ranks[1].edges = {{1, 0}};
  ranks[0].operations[0] = {.kind = OperationKind::kRecv, .peer = 1, .tag = 8, .size = 1};
  const Status stuck = CheckEnds(ranks);
  ASSERT_FALSE(stuck);
  EXPECT_EQ(stuck.error().kind, ErrorKind::kBadInput);
  EXPECT_THAT(stuck.error().message, testing::HasSubstr("5 operations"));
}

CpuUse Use(std::int64_t thread, std::int64_t begin_ns, std::int64_t end_ns) {
  return {{CpuOwner::Kind::kThread, thread}, begin_ns, end_ns};
}

TEST(CpusOfGoal, AreOfOneOwner) {
  // By begin: the first of thread 7, then those of thread 3.
  const std::vector<CpuUse> uses = {Use(3, 5, 9), Use(7, 0, 4), Use(3, 9, 12), Use(7, 4, 6)};
  EXPECT_THAT(AssignCpus(uses).cpu_of, ElementsAre(1, 0, 1, 0));
}

TEST(CpusOfGoal, AreSeveralWhereUsesOverlap) {
  const std::vector<CpuUse> uses = {Use(1, 0, 10), Use(1, 5, 7), Use(1, 7, 20), Use(1, 10, 11)};
  const AssignedCpus assigned = AssignCpus(uses);
  EXPECT_THAT(assigned.cpu_of, ElementsAre(0, 1, 1, 0));
  EXPECT_EQ(assigned.crowded, 0);
}

TEST(CpusOfGoal, AreSharedWhereThereAreNoMore) {
  std::vector<CpuUse> uses;
  uses.reserve(300);
  for (std::int64_t i = 0; i < 300; ++i) {
    uses.push_back(Use(i, i, 1000 + i));
  }
  const AssignedCpus assigned = AssignCpus(uses);
  EXPECT_EQ(assigned.crowded, 300 - goal::kMostCpus);
  EXPECT_EQ(assigned.cpu_of[256], 0);  // which is free soonest
  EXPECT_EQ(assigned.cpu_of[257], 1);
}

// What one channel carries from one rank to another, in order: by channel and ranks, sizes.
using Carried = std::map<std::tuple<std::size_t, std::int32_t, std::int32_t>, std::vector<int>>;

void Collect(std::int32_t rank, const MemberMessages& messages, Carried& sent, Carried& received) {
  for (std::size_t c = 0; c < messages.size(); ++c) {
    for (const auto& round : messages[c]) {
      for (const PlannedMessage& message : round) {
        const auto bytes = static_cast<int>(message.bytes);
        if (message.sends) {
          sent[{c, rank, message.peer}].push_back(bytes);
        } else {
          received[{c, message.peer, rank}].push_back(bytes);
        }
      }
    }
  }
}

CommSpec SpecOf(CommKind kind, int members) {
  CommSpec spec{.kind = kind, .group = "g", .dtype = DType::kFloat32};
  if (kind != CommKind::kBarrier) {
    const std::int64_t own = std::int64_t{44} * members;
    spec.in_bytes = IsScattering(kind) ? own * members : own;
    spec.out_bytes = IsGathering(kind) ? own * members : own;
  }
  spec.root = HasRoot(kind) ? 10 : -1;
  return spec;
}

// Each kind by what --to goal takes for it, and by every algorithm that knows it.
TEST(MessagesOfMembers, HaveReceives) {
  for (const CommKind kind : kCommKinds) {
    for (int members = 2; members <= 9 && !IsPointToPoint(kind); ++members) {
      std::vector<std::int32_t> ranks(static_cast<std::size_t>(members));
      for (int i = 0; i < members; ++i) {
        ranks[static_cast<std::size_t>(i)] = 10 * (members - i);  // the root is last
      }
      std::vector<std::string> algorithms = {""};
      for (const auto& algorithm : BuiltinAlgorithms()) {
        if (algorithm->Supports(kind)) {
          algorithms.push_back(
              fmt::format("{}={},chunk=64,channels=3", Name(kind), algorithm->name()));
        }
      }
      for (const std::string& algorithm : algorithms) {
        SCOPED_TRACE(fmt::format("{} of {} by {}", Name(kind), members, algorithm));
        const auto choices =
            GoalAlgorithms(algorithm.empty() ? std::vector<std::string>() : std::vector{algorithm});
        ASSERT_TRUE(choices);
        Carried sent;
        Carried received;
        for (int position = 0; position < members; ++position) {
          const CommSpec spec = SpecOf(kind, members);
          const auto messages =
              MessagesOfMember(spec, ranks, position, *ChoiceFor(*choices, spec, ranks), 100'000);
          ASSERT_TRUE(messages) << messages.error().message;
          Collect(ranks[static_cast<std::size_t>(position)], *messages, sent, received);
        }
        EXPECT_EQ(sent, received);
        EXPECT_FALSE(sent.empty());
      }
    }
  }
}

TEST(MessagesOfMembers, AreNotMoreThanAskedFor) {
  const std::vector<std::int32_t> ranks = {0, 1, 2, 10};
  const CommSpec spec = SpecOf(CommKind::kAllReduce, 4);
  const auto choices = GoalAlgorithms(std::vector<std::string>{"ring,chunk=1"});
  ASSERT_TRUE(choices);
  const auto messages = MessagesOfMember(spec, ranks, 0, *ChoiceFor(*choices, spec, ranks), 20);
  ASSERT_FALSE(messages);
  EXPECT_EQ(messages.error().kind, ErrorKind::kUsage);
}

}  // namespace
}  // namespace reprise
