// The same bodies over MPI. As plain test_collectives this process is rank 0 of 1; CTest also runs
// it under mpirun on several ranks, with --gtest_filter=Mpi*.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>

#include "collectives/algorithms/algorithm.h"
#include "tests/collectives/spmd.h"

// MPI's plug-ins leak and are unloaded before the leak sanitizer could name them for a suppression.
extern "C" const char* __asan_default_options();  // NOLINT: the sanitizer's name
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }  // NOLINT

namespace reprise::testing {
namespace {

// MPI runs once in a process: created by the first test, closed after the last.
class MpiEnvironment : public ::testing::Environment {
 public:
  void TearDown() override { communicator_.reset(); }
  Communicator* Get() {
    if (communicator_ == nullptr) {
      // Small in one of CTest's runs: every message is cut.
      const char* limit = std::getenv("REPRISE_TEST_MAX_MESSAGE_BYTES");
      auto created = CreateMpiCommunicator(
          nullptr, nullptr, limit == nullptr ? std::int64_t{1} << 30 : std::atoll(limit));
      if (created) {
        communicator_ = std::move(*created);
      }
    }
    return communicator_.get();
  }

 private:
  std::unique_ptr<Communicator> communicator_;
};

MpiEnvironment* const kEnvironment = static_cast<MpiEnvironment*>(
    ::testing::AddGlobalTestEnvironment(new MpiEnvironment));  // gtest owns and deletes it

class Mpi : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(kEnvironment->Get(), nullptr); }
  static void Run(const std::function<Status(Communicator&)>& body) {
    Communicator& communicator = *kEnvironment->Get();
    const Status mine = body(communicator);
    if (!mine) {
      communicator.RaiseAbort(mine.error());  // the others must not wait for this rank
    }
    EXPECT_TRUE(mine) << mine.error().message;
  }
};

TEST_F(Mpi, KnowsItsPlace) {
  Communicator& communicator = *kEnvironment->Get();
  const char* size = std::getenv("OMPI_COMM_WORLD_SIZE");
  EXPECT_EQ(communicator.size(), size == nullptr ? 1 : std::atoi(size));
  EXPECT_EQ(communicator.transport(), "mpi");
  EXPECT_FALSE(CreateMpiCommunicator(nullptr, nullptr)) << "MPI can be created only once";
}
TEST_F(Mpi, EveryCollectiveIsExact) {
  Run([](Communicator& c) { return ConformanceBody(c, false); });
}
TEST_F(Mpi, AlgorithmsAreExact) {
  for (const auto& algorithm : BuiltinAlgorithms()) {
    for (const char* options : {",chunk=1000,channels=3,node=2", ""}) {
      const std::string text = std::string(algorithm->name()) + options;
      Run([&](Communicator& c) { return AlgorithmBody(c, text); });
    }
  }
}

// Five ranks on every two processes: some have two, some three.
class MpiThreaded : public Mpi {
 protected:
  static void RunFolded(const std::function<Status(Communicator&)>& body) {
    Run([&](Communicator& processes) -> Status {
      const int ranks = processes.size() * 5 / 2;
      REPRISE_ASSIGN(const auto communicators, CreateThreadedCommunicators(processes, ranks));
      return OnEach(communicators, body);
    });
  }
};
TEST_F(MpiThreaded, EveryCollectiveIsExact) {
  RunFolded([](Communicator& c) { return ConformanceBody(c, false); });
}
TEST_F(MpiThreaded, GroupsOverlap) { RunFolded(OverlappingGroupsBody); }
TEST_F(MpiThreaded, MessagesKeepTheirOrder) { RunFolded(OrderedMessagesBody); }
TEST_F(MpiThreaded, PlansAreExchanged) { RunFolded(PlansBody); }
TEST_F(MpiThreaded, NotesArrive) { RunFolded(NotesBody); }
TEST_F(MpiThreaded, KnowsItsPlace) {
  RunFolded([](Communicator& c) -> Status {
    REPRISE_ASSIGN(const auto ranks, c.AllGather(std::to_string(c.rank())));
    for (int r = 0; r < c.size(); ++r) {
      if (ranks[static_cast<std::size_t>(r)] != std::to_string(r)) {
        return CheckFailed("AllGather is by rank");
      }
    }
    const bool one_host = c.local_size() == c.size() && c.local_rank() == c.rank();
    return one_host && c.transport() == "threaded" ? Status() : CheckFailed("one host holds all");
  });
}
TEST_F(MpiThreaded, RefusesWhatDoesNotFit) {
  Communicator& processes = *kEnvironment->Get();
  EXPECT_FALSE(CreateThreadedCommunicators(processes, processes.size() - 1));
  EXPECT_FALSE(CreateThreadedCommunicators(processes, processes.size() * 64 + 1));
}

TEST_F(Mpi, GroupsOverlap) { Run(OverlappingGroupsBody); }
TEST_F(Mpi, MessagesKeepTheirOrder) { Run(OrderedMessagesBody); }
TEST_F(Mpi, BarrierWaitsForAll) { Run(BarrierBody); }
TEST_F(Mpi, RanksCoordinate) { Run(CoordinationBody); }
TEST_F(Mpi, BadSpecsAreRefused) { Run(BadSpecsBody); }
TEST_F(Mpi, NotesArrive) { Run(NotesBody); }
TEST_F(Mpi, PlansAreExchanged) { Run(PlansBody); }

}  // namespace
}  // namespace reprise::testing
