// Every algorithm, on ranks as threads: registry x kinds x dtypes x sizes, cut into many chunks and
// not at all. mpi_test.cc has the same over MPI.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collectives/algorithms/algorithm.h"
#include "collectives/algorithms/group.h"
#include "tests/collectives/spmd.h"

namespace reprise::testing {
namespace {

using ::testing::HasSubstr;

class Algorithms : public ::testing::TestWithParam<int> {};

// Short messages, so that everything takes many lanes; two ranks a node; then as it is by default.
TEST_P(Algorithms, AreExact) {
  for (const auto& algorithm : BuiltinAlgorithms()) {
    for (const std::string options : {",chunk=700,channels=3,node=2", ",node=3"}) {
      const std::string text = std::string(algorithm->name()) + options;
      const Status outcome =
          OnThreads(GetParam(), [&](Communicator& c) { return AlgorithmBody(c, text); });
      EXPECT_TRUE(outcome) << text << ": " << outcome.error().message;
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Local, Algorithms, ::testing::Values(1, 2, 3, 5, 6, 8));

AlgorithmChoice FoundFor(const AlgorithmChoices& choices, CommKind kind, std::string_view group) {
  return choices.Find({.kind = kind, .group = group, .members = 2, .hosts = 1, .bytes = 1 << 20})
      .value_or(AlgorithmChoice());
}

TEST(AlgorithmChoices, LaterAndNarrowerWin) {
  AlgorithmChoices choices;
  EXPECT_TRUE(choices.empty());
  ASSERT_TRUE(choices.Add("ring"));
  ASSERT_TRUE(choices.Add("all_reduce@tp=tree,chunk=64KiB,channels=4"));
  ASSERT_TRUE(choices.Add("all_reduce=direct,chunk=1m"));
  EXPECT_EQ(FoundFor(choices, CommKind::kAllGather, "dp").algorithm->name(), "ring");
  EXPECT_EQ(FoundFor(choices, CommKind::kAllReduce, "dp").algorithm->name(), "direct");
  EXPECT_EQ(FoundFor(choices, CommKind::kAllReduce, "dp").chunk_bytes, 1 << 20);
  EXPECT_EQ(FoundFor(choices, CommKind::kAllReduce, "tp").algorithm->name(), "tree");
  EXPECT_EQ(FoundFor(choices, CommKind::kAllReduce, "tp").channels, 4);
  // The ring does not know it: the transport's own.
  EXPECT_EQ(FoundFor(choices, CommKind::kScatter, "dp").algorithm, nullptr);
  ASSERT_TRUE(choices.Add("mpi"));
  EXPECT_EQ(FoundFor(choices, CommKind::kAllGather, "dp").algorithm, nullptr);
  EXPECT_EQ(choices.Describe(),
            "ring all_reduce@tp=tree,chunk=64KiB,channels=4 all_reduce=direct,chunk=1m mpi");
}

TEST(AlgorithmChoices, RefusesWhatDoesNotExist) {
  const auto message = [](const char* text) {
    AlgorithmChoices choices;
    const Status status = choices.Add(text);
    EXPECT_TRUE(!status && status.error().kind == ErrorKind::kUsage) << text;
    return status ? "" : status.error().message;
  };
  EXPECT_THAT(message("star"), HasSubstr("there are measured, table, mpi, direct, ring"));
  EXPECT_THAT(message("all_reduce=star"), HasSubstr("star"));
  EXPECT_THAT(message("frobnicate=ring"), HasSubstr("reprise list collectives"));
  EXPECT_THAT(message("send=ring"), HasSubstr("no collective"));
  EXPECT_THAT(message("scatter=ring"), HasSubstr("it knows all_reduce, reduce"));
  EXPECT_THAT(message("ring,chunk=much"), HasSubstr("64KiB"));
  EXPECT_THAT(message("ring,chunk=0"), HasSubstr("64KiB"));
  EXPECT_THAT(message("ring,channels=17"), HasSubstr("from 1 to 16"));
  EXPECT_THAT(message("ring,colour=red"), HasSubstr("chunk=SIZE"));
  EXPECT_THAT(message("ring,from=0"), HasSubstr("64KiB"));
  EXPECT_THAT(message("ring,members=none"), HasSubstr("ranks of a group"));
  EXPECT_THAT(message("ring,hosts=0"), HasSubstr("hosts of a group"));
  EXPECT_THAT(message("from=1MiB"), HasSubstr("no collective"));
}

// What a choice says of sizes, members and hosts holds; without a size only choices for all hold.
TEST(AlgorithmChoices, HoldForSomeTransfers) {
  AlgorithmChoices choices;
  ASSERT_TRUE(choices.Add("all_reduce=tree"));
  ASSERT_TRUE(choices.Add("all_reduce=ring,from=1MiB,members=4"));
  ASSERT_TRUE(choices.Add("all_reduce=direct,hosts=2"));
  const auto name = [&](int members, int hosts, std::optional<std::int64_t> bytes) {
    const auto found = choices.Find(
        {.kind = CommKind::kAllReduce, .members = members, .hosts = hosts, .bytes = bytes});
    return found ? found->algorithm->name() : "";
  };
  EXPECT_EQ(name(4, 1, 1 << 20), "ring");
  EXPECT_EQ(name(4, 1, (1 << 20) - 1), "tree");
  EXPECT_EQ(name(2, 1, 1 << 20), "tree");
  EXPECT_EQ(name(4, 1, std::nullopt), "tree");
  EXPECT_EQ(name(4, 2, 1 << 20), "direct");
  EXPECT_FALSE(choices.Find({.kind = CommKind::kAllGather, .members = 2, .hosts = 1}));
  EXPECT_TRUE(choices.measures());
  ASSERT_TRUE(choices.Add("table"));
  EXPECT_FALSE(choices.measures());
}

// Every kind of collective can be had without MPI's own: ranks as threads rely on it.
TEST(AlgorithmRegistry, CoversEveryCollective) {
  for (const CommKind kind : kCommKinds) {
    const auto all = BuiltinAlgorithms();
    EXPECT_EQ(std::any_of(all.begin(), all.end(), [&](const auto& a) { return a->Supports(kind); }),
              !IsPointToPoint(kind))
        << Name(kind);
  }
}

}  // namespace
}  // namespace reprise::testing
