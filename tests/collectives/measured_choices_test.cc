// Which algorithm is fastest, measured: the classes of transfers, the file, and that all ranks
// measure and decide alike.
#include "collectives/bench/measured_choices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <mutex>

#include "collectives/algorithms/algorithm.h"
#include "collectives/bench/measured_file.h"
#include "tests/collectives/spmd.h"
#include "tests/et_schema/scratch_directory.h"

namespace reprise::testing {
namespace {

using ::testing::HasSubstr;

ChosenTransfer AllReduce(std::optional<std::int64_t> bytes) {
  return {.kind = CommKind::kAllReduce, .members = 4, .hosts = 1, .bytes = bytes};
}

TEST(MeasuredChoices, ClassesArePowersOfFour) {
  const auto bytes = [](std::int64_t of) { return ClassOf(AllReduce(of)).value().bytes; };
  EXPECT_FALSE(ClassOf(AllReduce((8 << 10) - 1)));
  EXPECT_EQ(bytes(8 << 10), 16 << 10);
  EXPECT_EQ(bytes((32 << 10) - 1), 16 << 10);
  EXPECT_EQ(bytes(32 << 10), 64 << 10);
  EXPECT_EQ(bytes(std::int64_t{1} << 40), kMostMeasuredBytes);
  EXPECT_FALSE(ClassOf(AllReduce(std::nullopt)));
  for (const CommKind kind : {CommKind::kSend, CommKind::kBarrier, CommKind::kUnknown}) {
    EXPECT_FALSE(ClassOf({.kind = kind, .members = 2, .hosts = 1, .bytes = 1 << 20}));
  }
  EXPECT_FALSE(ClassOf({.kind = CommKind::kAllReduce, .members = 1, .hosts = 1, .bytes = 1 << 20}));
}

// Every size of a class gets what was measured for it, and no other group does.
TEST(MeasuredChoices, ChoicesAreOfTheirClass) {
  const CollectiveClass small{CommKind::kAllReduce, 4, 1, 64 << 10};
  const CollectiveClass large{CommKind::kAllReduce, 4, 1, 256 << 10};
  const AlgorithmChoices choices =
      ChoicesOf({{small, {.algorithm = "ring"}}, {large, {.algorithm = "mpi"}}});
  const auto found = [&](std::int64_t bytes) { return choices.Find(AllReduce(bytes)); };
  EXPECT_FALSE(found((32 << 10) - 1));
  EXPECT_EQ(found(32 << 10)->algorithm->name(), "ring");
  EXPECT_EQ(found((128 << 10) - 1)->algorithm->name(), "ring");
  EXPECT_EQ(found(128 << 10)->algorithm, nullptr);
  ChosenTransfer other = AllReduce(64 << 10);
  other.members = 2;
  EXPECT_FALSE(choices.Find(other));
}

class MeasuredFile : public ::testing::Test {
 protected:
  ScratchDirectory scratch_;
  std::string path_ = scratch_.path() + "/cache/collectives.json";
  MeasuredMachine machine_{.mpi = "MPI 1", .processor = "CPU", .cores = 2, .ranks_per_host = 2};
  CollectiveClass of_{CommKind::kAllGather, 2, 1, 64 << 10};
  MeasuredTable table_{{of_, {.algorithm = "ring", .time_ns = 5, .mpi_ns = 9}}};
};

TEST_F(MeasuredFile, KeepsEachMachineApart) {
  EXPECT_TRUE(ReadMeasured(path_, machine_).value().empty());
  ASSERT_TRUE(KeepMeasured(path_, machine_, table_));
  MeasuredMachine other = machine_;
  other.ranks_per_host = 4;
  EXPECT_TRUE(ReadMeasured(path_, other).value().empty());
  ASSERT_TRUE(KeepMeasured(path_, other, {}));
  CollectiveClass later = of_;
  later.bytes = 1 << 20;
  ASSERT_TRUE(KeepMeasured(path_, machine_, {{later, {}}}));
  MeasuredTable both = table_;
  both[later] = {};
  EXPECT_EQ(ReadMeasured(path_, machine_).value(), both);
}

TEST_F(MeasuredFile, ForgetsTheOldestMachine) {
  for (int cores = 1; cores <= 65; ++cores) {
    machine_.cores = cores;
    ASSERT_TRUE(KeepMeasured(path_, machine_, table_));
  }
  machine_.cores = 1;
  EXPECT_TRUE(ReadMeasured(path_, machine_).value().empty());
  machine_.cores = 2;
  EXPECT_EQ(ReadMeasured(path_, machine_).value(), table_);
}

TEST_F(MeasuredFile, RefusesWhatItDidNotWrite) {
  ASSERT_TRUE(KeepMeasured(path_, machine_, table_));
  std::ifstream whole_file(path_);
  const std::string whole((std::istreambuf_iterator<char>(whole_file)), {});
  const auto changed = [&](std::string_view from, std::string_view to) {
    std::string text = whole;
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  for (const std::string& text :
       {std::string("{"), std::string("[]"), std::string("{}"), changed("all_gather", "gathering"),
        changed("\"ring\"", "\"star\""), changed("\"ring\"", "7"), changed(": 1,", ": 2,"),
        changed("\"measured\"", "\"found\"")}) {
    std::ofstream(path_) << text;
    const auto read = ReadMeasured(path_, machine_);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().kind, ErrorKind::kBadInput);
    EXPECT_THAT(read.error().message, HasSubstr(path_));
  }
}

// Two groups of two and one of four, of which two overlap; every rank gets one table.
TEST(MeasuredChoices, AllRanksMeasureAlike) {
  std::mutex mutex;
  std::vector<MeasuredTable> tables;
  const Status outcome = OnThreads(4, [&](Communicator& communicator) -> Status {
    GroupMaker maker(communicator, {});
    std::vector<std::unique_ptr<GroupComm>> comms;
    std::vector<MeasuredGroup> groups;
    for (const std::vector<std::int32_t>& ranks :
         std::vector<std::vector<std::int32_t>>{{0, 1}, {1, 2}, {2, 3}, {0, 1, 2, 3}}) {
      REPRISE_ASSIGN(auto comm, maker.Create(ranks, "group"));
      groups.push_back({ranks, 1, comms.emplace_back(std::move(comm)).get()});
    }
    const std::vector<CollectiveClass> classes = {{CommKind::kAllReduce, 2, 1, 16 << 10},
                                                  {CommKind::kAllReduce, 3, 1, 16 << 10},
                                                  {CommKind::kAllToAll, 4, 1, 16 << 10},
                                                  {CommKind::kBroadcast, 4, 1, 256 << 10}};
    constexpr std::int64_t kLongNs = 60'000'000'000;
    REPRISE_ASSIGN(auto table, MeasureAlgorithms(communicator, maker, groups, classes, kLongNs));
    REPRISE_ASSIGN(const auto none, MeasureAlgorithms(communicator, maker, groups, classes, -1));
    const std::lock_guard lock(mutex);
    tables.push_back(std::move(table));
    return none.empty() ? Status() : CheckFailed("no time is left, and yet something was measured");
  });
  ASSERT_TRUE(outcome) << outcome.error().message;
  ASSERT_EQ(tables.size(), 4U);
  EXPECT_EQ(tables[0].size(), 3U);  // no group has three members
  for (const MeasuredTable& table : tables) {
    EXPECT_EQ(table, tables[0]);
    for (const auto& [of, measured] : table) {
      EXPECT_GT(measured.time_ns, 0);
      EXPECT_LE(measured.time_ns, measured.mpi_ns);
      EXPECT_TRUE(measured.algorithm != "mpi" || measured.time_ns == measured.mpi_ns);
    }
  }
}

}  // namespace
}  // namespace reprise::testing
