// The watchdogs of several ranks, as threads, with ranks that are only pretended.
#include "replayer/engine/watchdog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <thread>

#include "core/clock.h"

namespace reprise {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::int64_t kLimitNs = 300'000'000;
constexpr std::int64_t kTickNs = 10'000'000;

std::vector<std::int32_t> AllThree(const std::string& /*group*/) { return {0, 1, 2}; }

// Passes everything on and counts notes.
class CountingCommunicator final : public Communicator {
 public:
  explicit CountingCommunicator(std::unique_ptr<Communicator> inner) : inner_(std::move(inner)) {}
  [[nodiscard]] int rank() const override { return inner_->rank(); }
  [[nodiscard]] int size() const override { return inner_->size(); }
  [[nodiscard]] std::string_view transport() const override { return inner_->transport(); }
  [[nodiscard]] const std::string& host() const override { return inner_->host(); }
  [[nodiscard]] int local_rank() const override { return inner_->local_rank(); }
  [[nodiscard]] int local_size() const override { return inner_->local_size(); }
  [[nodiscard]] std::span<const std::int32_t> nodes() const override { return inner_->nodes(); }
  Result<std::unique_ptr<GroupComm>> CreateGroup(const std::vector<std::int32_t>& ranks) override {
    return inner_->CreateGroup(ranks);
  }
  Result<std::vector<std::string>> AllGather(const std::string& mine) override {
    return inner_->AllGather(mine);
  }
  Status Barrier() override { return inner_->Barrier(); }
  void RaiseAbort(const Error& why) override { inner_->RaiseAbort(why); }
  std::optional<Error> PollAbort() override { return inner_->PollAbort(); }
  void PostNote(int to, std::string text) override {
    ++notes;
    inner_->PostNote(to, std::move(text));
  }
  std::optional<Note> TakeNote() override { return inner_->TakeNote(); }
  void AbortNow(int exit_code, std::string_view unsaid) override {
    inner_->AbortNow(exit_code, unsaid);
  }

  std::atomic<int> notes = 0;

 private:
  std::unique_ptr<Communicator> inner_;
};

class WatchdogTest : public ::testing::Test {
 protected:
  struct Rank {
    std::unique_ptr<CountingCommunicator> communicator;
    std::atomic<std::uint64_t> mark = 1;
    std::atomic<std::int64_t> due_ns = 0;
    std::atomic<std::int64_t> backlog_ns = 0;
    std::atomic<bool> interrupted = false;
    std::atomic<bool> busy_host = false;
    RankState state;
    std::unique_ptr<Watchdog> watchdog;
  };

  void SetUp() override {
    for (auto& inner : CreateLocalCommunicators(3)) {
      Rank& rank = *ranks_.emplace_back(std::make_unique<Rank>());
      rank.communicator = std::make_unique<CountingCommunicator>(std::move(inner));
      rank.state.nodes_left = 7;
      rank.state.last = "node 80 aten::mm";
    }
  }
  void TearDown() override {
    for (auto& rank : ranks_) {
      rank->watchdog.reset();
    }
  }

  void Start(int number) {
    Rank& rank = At(number);
    rank.watchdog = std::make_unique<Watchdog>(
        *rank.communicator, WatchdogOptions{.limit_ns = kLimitNs, .tick_ns = kTickNs}, AllThree,
        Watchdog::Callbacks{
            .progress =
                [&rank] {
                  return Progress{rank.mark.load(), rank.due_ns.load(), rank.backlog_ns.load()};
                },
            .state = [&rank] { return rank.state; },
            .give_up =
                [this, number](const Error& reported, const Error& found) {
                  At(number).communicator->RaiseAbort(reported);
                  const std::lock_guard lock(mutex_);
                  found_.push_back(found.message);
                },
            .interrupted = [&rank]() -> std::optional<Error> {
              return rank.interrupted
                         ? std::optional<Error>({ErrorKind::kCheckFailed, "ended by SIGTERM"})
                         : std::nullopt;
            },
            .pressure_ns = [&rank]() -> std::optional<std::int64_t> {
              return rank.busy_host ? std::optional(MonotonicNs()) : std::nullopt;
            }});
  }
  void StartAll() {
    for (int number = 0; number < 3; ++number) {
      Start(number);
    }
  }
  Rank& At(int number) { return *ranks_.at(static_cast<std::size_t>(number)); }

  // New ranks, of which some progress for so long. Repeats it where a busy machine stopped this
  // thread for half of the watchdog's limit: what the watchdogs found then proves nothing.
  [[nodiscard]] bool Progresses(const std::vector<int>& numbers, std::int64_t for_ns) {
    for (int attempt = 0; attempt < 20; ++attempt) {
      TearDown();
      ranks_.clear();
      found_.clear();
      SetUp();
      StartAll();
      if (ProgressesWithoutPause(numbers, for_ns)) {
        return true;
      }
    }
    return false;
  }
  bool ProgressesWithoutPause(const std::vector<int>& numbers, std::int64_t for_ns) {
    std::int64_t last_ns = MonotonicNs();
    for (const std::int64_t end_ns = last_ns + for_ns; last_ns < end_ns;) {
      for (const int number : numbers) {
        ++At(number).mark;
      }
      Sleep(5'000'000);
      const std::int64_t now_ns = MonotonicNs();
      if (now_ns - last_ns > kLimitNs / 2) {
        return false;
      }
      last_ns = now_ns;
    }
    return true;
  }
  static void Sleep(std::int64_t ns) { std::this_thread::sleep_for(std::chrono::nanoseconds(ns)); }

  std::vector<std::string> Found() {
    const std::lock_guard lock(mutex_);
    return found_;
  }
  // What the first that gives up has found; empty after ten seconds without.
  std::string Await() {
    for (int i = 0; i < 1000 && Found().empty(); ++i) {
      Sleep(10'000'000);
    }
    Sleep(5 * kTickNs);  // whoever else would give up has done so
    return Found().empty() ? "" : Found().front();
  }

  std::vector<std::unique_ptr<Rank>> ranks_;
  std::mutex mutex_;
  std::vector<std::string> found_;
};

TEST_F(WatchdogTest, QuietEverywhereIsFoundOnceAndTheCauseIsNamed) {
  const SequenceState waits{SequenceState::At::kIssued, "0", CommKind::kAllReduce, 5, -1, 81, 4096};
  At(0).state.sequences = At(1).state.sequences = {waits};
  At(2).state.sequences = {waits};
  At(2).state.sequences[0].at = SequenceState::At::kNotReached;
  At(2).state.at_hand = {"node 79 aten::bmm"};
  StartAll();
  const std::string found = Await();
  EXPECT_THAT(found,
              AllOf(HasSubstr("no progress on any rank for 0.3 s"),
                    HasSubstr("rank 2 has not come to all_reduce #5 of group 0 (node 81)"),
                    HasSubstr("it is in node 79 aten::bmm"),
                    HasSubstr("waits for rank 2 in all_reduce #5 of group 0 (node 81), 4096 bytes"),
                    HasSubstr("not reached: all_reduce #5"), HasSubstr("7 nodes left")));
  EXPECT_EQ(Found().size(), 1U);
}

TEST_F(WatchdogTest, NobodyGivesUpWhileOneRankProgresses) {
  for (const int slow : {0, 2}) {
    ASSERT_TRUE(Progresses({slow}, 5 * kLimitNs));
    EXPECT_THAT(Found(), ::testing::IsEmpty()) << slow;
    // Who waits asks once per limit, and is answered.
    for (int number = 0; number < 3; ++number) {
      EXPECT_LE(At(number).communicator->notes, 20) << number;
    }
    EXPECT_LE(At(1).communicator->notes, 10);
  }
}

TEST_F(WatchdogTest, NothingIsSentWhileAllProgress) {
  ASSERT_TRUE(Progresses({0, 1, 2}, 3 * kLimitNs));
  for (auto& rank : ranks_) {
    EXPECT_EQ(rank->communicator->notes, 0);
  }
}

TEST_F(WatchdogTest, ARankThatDoesNotAnswerIsNamed) {
  Start(0);
  Start(2);
  EXPECT_THAT(Await(), AllOf(HasSubstr("rank 1 does not answer"), HasSubstr("1  no answer"),
                             Not(HasSubstr("2  no answer"))));
}

TEST_F(WatchdogTest, TheLowestThatAnswersTakesOver) {
  Start(1);
  Start(2);
  EXPECT_THAT(Await(), AllOf(HasSubstr("rank 0 does not answer"), Not(HasSubstr("1  no answer"))));
}

TEST_F(WatchdogTest, KernelsMayTakeTenTimesTheirEstimate) {
  At(1).backlog_ns = 120'000'000;
  const std::int64_t begin_ns = MonotonicNs();
  StartAll();
  EXPECT_NE(Await(), "");
  EXPECT_GE(MonotonicNs() - begin_ns, 1'200'000'000);
}

TEST_F(WatchdogTest, RecordedTimeIsWaitedFor) {
  At(1).due_ns = MonotonicNs() + 1'000'000'000;
  const std::int64_t begin_ns = MonotonicNs();
  StartAll();
  EXPECT_NE(Await(), "");
  EXPECT_GE(MonotonicNs() - begin_ns, 1'000'000'000 + kLimitNs);
}

TEST_F(WatchdogTest, ABusyHostIsAllowedThreeTimesTheLimit) {
  At(1).busy_host = true;  // all of the time
  const std::int64_t begin_ns = MonotonicNs();
  StartAll();
  EXPECT_NE(Await(), "");
  EXPECT_GE(MonotonicNs() - begin_ns, 3 * kLimitNs - 3 * kTickNs);
}

TEST_F(WatchdogTest, AnInterruptEndsTheRunAtOnce) {
  StartAll();
  At(1).interrupted = true;
  EXPECT_EQ(Await(), "ended by SIGTERM");
  EXPECT_EQ(At(0).communicator->PollAbort()->message, "rank 1: ended by SIGTERM");
}

TEST(RankState, SurvivesTheWayAndIsCutWhereItIsLong) {
  RankState state;
  state.rank = 3;
  state.host = "node\tone";
  state.quiet_ns = 61'000'000'000;
  state.iteration = 2;
  state.nodes_left = 12;
  state.last = "node 80 aten::mm";
  state.at_hand = {"node 81 aten::bmm", "node 90 aten::add"};
  for (int i = 0; i < 100; ++i) {
    state.sequences.push_back(
        {SequenceState::At::kReady, std::to_string(i), CommKind::kRecv, i, 4, 1ULL << 60, 8});
  }
  RankState back = RankState::Decode(state.Encode(100'000));
  EXPECT_EQ(back.host, "node one");
  back.host = state.host;
  EXPECT_EQ(back, state);
  const std::string cut = state.Encode(600);
  EXPECT_LE(cut.size(), 600U);
  const RankState less = RankState::Decode(cut);
  EXPECT_GT(less.sequences.size(), 5U);
  EXPECT_EQ(less.sequences_left_out, 100 - static_cast<int>(less.sequences.size()));
  EXPECT_EQ(RankState::Decode("anything").nodes_left, 0U);
}

TEST(Standstill, TellsPairsAndCycles) {
  std::vector<RankState> states(2);
  states[0].rank = 0;
  states[1].rank = 1;
  states[0].nodes_left = states[1].nodes_left = 1;
  states[0].sequences = {{SequenceState::At::kIssued, "0", CommKind::kRecv, 2, 1, 70, 8}};
  states[1].sequences = {{SequenceState::At::kNotReached, "0", CommKind::kSend, 2, 0, 71, 8}};
  const auto pair = [](const std::string&) { return std::vector<std::int32_t>{0, 1}; };
  StandstillReport report = ReportStandstill(states, pair);
  EXPECT_THAT(report.headline,
              HasSubstr("rank 1 has not come to recv #2 from rank 1 of group 0 (node 70)"));
  EXPECT_THAT(report.table, HasSubstr("waits for rank 1 in recv #2"));
  // Each waits in a group for what the other would do afterwards.
  states[0].sequences = {{SequenceState::At::kIssued, "a", CommKind::kAllReduce, 0, -1, 70, 8},
                         {SequenceState::At::kNotReached, "b", CommKind::kBarrier, 0, -1, 72, 0}};
  states[1].sequences = {{SequenceState::At::kIssued, "b", CommKind::kBarrier, 0, -1, 71, 0},
                         {SequenceState::At::kNotReached, "a", CommKind::kAllReduce, 0, -1, 73, 8}};
  report = ReportStandstill(states, pair);
  EXPECT_EQ(report.headline, "ranks wait for each other");
  EXPECT_THAT(report.table, AllOf(HasSubstr("waits for rank 1 in all_reduce #0 of group a"),
                                  HasSubstr("waits for rank 0 in barrier #0 of group b")));
}

}  // namespace
}  // namespace reprise
