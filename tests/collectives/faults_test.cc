// What a run looks like from outside when one of its ranks fails: it ends, soon, with the right
// exit code, and every survivor knows why.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "core/clock.h"

namespace reprise::testing {
namespace {

using ::testing::HasSubstr;

struct FaultOutcome {
  int exit_code = -1;
  std::string output;
  std::int64_t wall_ns = 0;
};

FaultOutcome RunRanks(int ranks, const std::string& fault) {
  // A clean environment: this process may itself be an MPI rank.
  const char* path = std::getenv("PATH");
  const char* library_path = std::getenv("LD_LIBRARY_PATH");
  const std::string command =
      "env -i PATH='" + std::string(path == nullptr ? "/usr/bin:/bin" : path) +
      "' LD_LIBRARY_PATH='" + std::string(library_path == nullptr ? "" : library_path) +
      "' OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 " + REPRISE_MPIEXEC +
      " --oversubscribe -n " + std::to_string(ranks) + " " + REPRISE_FAULT_RANKS + " " + fault +
      " 2>&1";
  FaultOutcome outcome;
  const std::int64_t start_ns = MonotonicNs();
  std::FILE* pipe = popen(command.c_str(), "r");
  std::array<char, 4096> buffer{};
  while (pipe != nullptr && std::fgets(buffer.data(), buffer.size(), pipe) != nullptr) {
    outcome.output += buffer.data();
  }
  const int status = pipe == nullptr ? -1 : pclose(pipe);
  outcome.wall_ns = MonotonicNs() - start_ns;
  outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return outcome;
}

// The grace for the others' results, MPI's start and end, and a busy machine; half of what a rank
// that hangs would take.
constexpr std::int64_t kSoonNs = 60'000'000'000;

TEST(Faults, RankGivesUpWhileOthersTransfer) {
  const FaultOutcome outcome = RunRanks(3, "transfer");
  EXPECT_EQ(outcome.exit_code, 4) << outcome.output;
  EXPECT_LT(outcome.wall_ns, kSoonNs);
  for (const char* line : {"rank 0 sees: rank 2: disk full", "rank 1 sees: rank 2: disk full",
                           "rank 2 sees: rank 2: disk full"}) {
    EXPECT_THAT(outcome.output, HasSubstr(line));
  }
}

TEST(Faults, NothingOutstandingEndsInGoodOrder) {
  const FaultOutcome outcome = RunRanks(3, "barrier");
  EXPECT_EQ(outcome.exit_code, 4) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("rank 0 sees: rank 2: disk full"));
  EXPECT_THAT(outcome.output, ::testing::Not(HasSubstr("MPI_ABORT")));
}

TEST(Faults, AbsentRankIsNotWaitedForForEver) {
  const FaultOutcome outcome = RunRanks(3, "absent");
  EXPECT_EQ(outcome.exit_code, 1) << outcome.output;
  EXPECT_LT(outcome.wall_ns, kSoonNs);
  EXPECT_THAT(outcome.output, HasSubstr("no progress for 1 s"));
}

TEST(Faults, DestructorAloneEndsTheRun) {
  const FaultOutcome outcome = RunRanks(2, "destructor");
  EXPECT_NE(outcome.exit_code, 0) << outcome.output;
  EXPECT_LT(outcome.wall_ns, kSoonNs);
  EXPECT_THAT(outcome.output, HasSubstr("rank 0 sees: rank 1: disk full"));
}

TEST(Faults, KilledRankEndsTheRun) {
  const FaultOutcome outcome = RunRanks(3, "killed");
  EXPECT_NE(outcome.exit_code, 0) << outcome.output;
  EXPECT_LT(outcome.wall_ns, kSoonNs);
}

}  // namespace
}  // namespace reprise::testing
