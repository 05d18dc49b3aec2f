// Ends a run that stands still on every rank; reports which ranks wait for which (docs/faults.md).
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "collectives/communicator.h"
#include "core/result.h"
#include "replayer/engine/rank_state.h"

namespace reprise {

// A rank's progress, which its watchdog reads some 20 times a second.
struct Progress {
  std::uint64_t mark = 0;       // another one whenever a node has completed
  std::int64_t due_ns = 0;      // MonotonicNs until when the rank waits on purpose (recorded time)
  std::int64_t backlog_ns = 0;  // estimate of what is on the device and not known to be finished
};

struct WatchdogOptions {
  std::int64_t limit_ns = 60'000'000'000;  // of quiet on every rank
  std::int64_t tick_ns = 50'000'000;       // at most; a short limit has shorter ones
};

// One per rank, on its own thread, while transfers may be outstanding. Constructed and destroyed
// where all ranks meet, because a rank without one does not answer. While any rank makes progress
// the run continues, and a rank sends at most one note per `limit_ns`. Protocol: a rank without
// progress for `limit_ns` asks the lowest rank that answers to check. Once that rank has no
// progress either, it asks all, and ends the run if all have been quiet for as long or do not
// answer. On a busy host time counts for less, at most for a third, by how long tasks wait there
// for a core.
class Watchdog {
 public:
  struct Callbacks {
    std::function<Progress()> progress;
    std::function<RankState()> state;  // rank, host and quiet_ns are filled in by the watchdog
    // On the rank that finds the standstill: `reported` is for all ranks, `found` has the table
    // too.
    std::function<void(const Error& reported, const Error& found)> give_up;
    // Whether the user or the system wants the run to end, and why; may be empty.
    std::function<std::optional<Error>()> interrupted;
    // Total time in which some task of the host waited for a core; nothing: unknown. May be empty.
    std::function<std::optional<std::int64_t>()> pressure_ns;
  };
  Watchdog(Communicator& communicator, const WatchdogOptions& options, RanksOfGroup ranks_of_group,
           Callbacks callbacks);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  // This rank's state while it has no progress.
  enum class Role : std::uint8_t {
    kNone,        // not quiet for long
    kAsksToLook,  // has asked `looker_`, no answer yet
    kTrusts,      // `looker_` is awake
    kAsksAll,     // no lower rank answers: a round is under way
    kWaitsToAsk,  // a round found progress somewhere
  };

  void Loop(const std::stop_token& stop);
  void Tick(std::int64_t now_ns);
  void Observe(std::int64_t now_ns);
  void AllowForPressure(std::int64_t now_ns, std::int64_t passed_ns);
  void TakeNotes(std::int64_t now_ns);
  void Act(std::int64_t now_ns);
  void AskToLook(int looker, std::int64_t now_ns);
  void AskAll(std::int64_t now_ns);
  void EndRound(std::int64_t now_ns);
  void Answer(int to, std::string_view round, std::int64_t now_ns);
  void GiveUp(const Error& reported, const Error& found);
  void GiveUpStandstill();
  [[nodiscard]] std::int64_t QuietNs(std::int64_t now_ns) const;
  [[nodiscard]] RankState OwnState(std::int64_t now_ns) const;

  Communicator& communicator_;
  const WatchdogOptions options_;
  const std::int64_t answer_ns_;  // how long an answer may take
  const RanksOfGroup ranks_of_group_;
  const Callbacks callbacks_;

  Progress progress_;
  std::int64_t changed_ns_ = 0;  // when the mark was seen to change
  std::int64_t last_tick_ns_ = 0;
  std::optional<std::int64_t> last_pressure_ns_;
  std::int64_t allowed_ns_ = 0;  // of the quiet time: the host was busy
  Role role_ = Role::kNone;
  std::int64_t next_ns_ = 0;  // when the role's time limit ends
  int looker_ = 0;
  std::uint64_t round_ = 0;
  int answers_ = 0;
  std::vector<RankState> states_;  // of the round
  bool over_ = false;
  std::jthread thread_;  // last: it uses everything above
};

}  // namespace reprise
