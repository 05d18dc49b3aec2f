// cli/replay/rank_watch.h: how long a rank is stopped, and which processes are ranks.
#include "cli/replay/rank_watch.h"

#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

namespace reprise {
namespace {

TEST(StoppedTimes, CountFromTheStopWithoutABreak) {
  const std::vector<RankProcess> stopped = {{.rank = 0, .pid = 10, .stopped = false},
                                            {.rank = 1, .pid = 11, .stopped = true}};
  const std::vector<RankProcess> running = {{.rank = 0, .pid = 10, .stopped = false},
                                            {.rank = 1, .pid = 11, .stopped = false}};
  StoppedTimes times;
  times.Add(stopped, 100);  // it may have stopped only now
  EXPECT_FALSE(times.StoppedFor(stopped, 1));
  times.Add(stopped, 3);
  times.Add(stopped, 4);
  EXPECT_FALSE(times.StoppedFor(stopped, 8));
  ASSERT_TRUE(times.StoppedFor(stopped, 7));
  EXPECT_EQ(times.StoppedFor(stopped, 7)->rank, 1);
  times.Add(running, 5);
  times.Add(stopped, 5);
  EXPECT_FALSE(times.StoppedFor(stopped, 1));
}

TEST(FindRankProcesses, HaveARankAndAState) {
  char name[] = "sleep", seconds[] = "600", rank[] = "OMPI_COMM_WORLD_RANK=3";
  char* arguments[] = {name, seconds, nullptr};
  char* environment[] = {rank, nullptr};
  pid_t pid = 0;
  ASSERT_EQ(posix_spawnp(&pid, name, nullptr, nullptr, arguments, environment), 0);
  const auto own = [](pid_t parent, std::string_view /*environment*/) {
    return parent == getpid();
  };
  // A process that has just been spawned has no environment for a moment.
  std::vector<RankProcess> found;
  for (int tries = 0; found.empty() && tries < 1000; ++tries) {
    found = FindRankProcesses(own);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_FALSE(IsStopped(pid));
  kill(pid, SIGSTOP);
  waitpid(pid, nullptr, WUNTRACED);
  const std::vector<RankProcess> stopped = FindRankProcesses(own);
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.front().rank, 3);
  EXPECT_EQ(found.front().pid, pid);
  ASSERT_EQ(stopped.size(), 1U);
  EXPECT_TRUE(stopped.front().stopped);
  EXPECT_TRUE(FindRankProcesses(own).empty());
}

}  // namespace
}  // namespace reprise
