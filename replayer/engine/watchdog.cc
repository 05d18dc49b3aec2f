#include "replayer/engine/watchdog.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/clock.h"

namespace reprise {
namespace {

// Notes begin with what they are.
constexpr char kPleaseLook = 'l';
constexpr char kAwake = 'w';
constexpr char kAsk = 'a';     // round
constexpr char kAnswer = 's';  // round, line feed, RankState

// A rank that was itself stopped, or got no core, for this long has seen nothing meanwhile.
constexpr std::int64_t kSleptNs = 1'000'000'000;
// What a kernel may take against its estimate.
constexpr std::int64_t kBacklogFactor = 10;
// Of the time in which tasks wait for a core, two thirds do not count.
constexpr std::int64_t kMostAllowed = 2, kOfBusyTime = 3;

}  // namespace

Watchdog::Watchdog(Communicator& communicator, const WatchdogOptions& options,
                   RanksOfGroup ranks_of_group, Callbacks callbacks)
    : communicator_(communicator),
      options_{.limit_ns = options.limit_ns,
               .tick_ns = std::min(options.tick_ns,
                                   std::max<std::int64_t>(options.limit_ns / 20, 5'000'000))},
      answer_ns_(std::clamp<std::int64_t>(options.limit_ns / 4, 1'000'000'000, 15'000'000'000)),
      ranks_of_group_(std::move(ranks_of_group)),
      callbacks_(std::move(callbacks)),
      thread_([this](const std::stop_token& stop) { Loop(stop); }) {}

Watchdog::~Watchdog() = default;

void Watchdog::Loop(const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any stopped;
  std::unique_lock lock(mutex);
  changed_ns_ = last_tick_ns_ = MonotonicNs();
  // Wakes as soon as it is stopped, so that the end of a run does not wait for its sleep.
  while (!stopped.wait_for(lock, stop, std::chrono::nanoseconds(options_.tick_ns),
                           [&stop] { return stop.stop_requested(); })) {
    if (!over_) {
      Tick(MonotonicNs());
    }
  }
}

void Watchdog::Tick(std::int64_t now_ns) {
  if (callbacks_.interrupted) {
    if (const std::optional<Error> why = callbacks_.interrupted()) {
      GiveUp(*why, *why);
      return;
    }
  }
  Observe(now_ns);
  TakeNotes(now_ns);
  if (!over_) {
    Act(now_ns);
  }
}

void Watchdog::Observe(std::int64_t now_ns) {
  if (const std::int64_t slept_ns = now_ns - last_tick_ns_ - options_.tick_ns;
      slept_ns > kSleptNs) {
    changed_ns_ += slept_ns;
    next_ns_ += slept_ns;
  }
  const std::int64_t passed_ns = now_ns - last_tick_ns_;
  last_tick_ns_ = now_ns;
  const std::uint64_t before = progress_.mark;
  progress_ = callbacks_.progress();
  if (progress_.mark != before) {
    changed_ns_ = now_ns;
  }
  AllowForPressure(now_ns, passed_ns);
}

// The ranks' own threads wait for cores, too: a standstill in which they spin on too few cores is
// found after three times the limit.
void Watchdog::AllowForPressure(std::int64_t now_ns, std::int64_t passed_ns) {
  const auto pressure_ns = callbacks_.pressure_ns ? callbacks_.pressure_ns() : std::nullopt;
  const auto before_ns = std::exchange(last_pressure_ns_, pressure_ns);
  if (now_ns <= std::max(changed_ns_, progress_.due_ns)) {
    allowed_ns_ = 0;
  } else if (pressure_ns && before_ns) {
    allowed_ns_ += kMostAllowed *
                   std::clamp<std::int64_t>(*pressure_ns - *before_ns, 0, passed_ns) / kOfBusyTime;
  }
}

std::int64_t Watchdog::QuietNs(std::int64_t now_ns) const {
  // Kernels are not seen to complete one by one: what is enqueued may take ten times its estimate.
  if (now_ns < changed_ns_ + kBacklogFactor * progress_.backlog_ns) {
    return 0;
  }
  return std::max<std::int64_t>(now_ns - std::max(changed_ns_, progress_.due_ns) - allowed_ns_, 0);
}

RankState Watchdog::OwnState(std::int64_t now_ns) const {
  RankState state = callbacks_.state();
  state.rank = communicator_.rank();
  state.host = communicator_.host();
  state.quiet_ns = QuietNs(now_ns);
  return state;
}

void Watchdog::Answer(int to, std::string_view round, std::int64_t now_ns) {
  std::string text = kAnswer + std::string(round) + "\n";
  text += OwnState(now_ns).Encode(Communicator::kNoteBytes - text.size());
  communicator_.PostNote(to, std::move(text));
}

void Watchdog::TakeNotes(std::int64_t now_ns) {
  while (const std::optional<Note> note = communicator_.TakeNote()) {
    const std::string_view text = note->text;
    if (text.empty()) {
      continue;
    }
    switch (text.front()) {
      case kPleaseLook:
        communicator_.PostNote(note->from, std::string(1, kAwake));
        break;
      case kAwake:
        if (role_ == Role::kAsksToLook && note->from == looker_) {
          role_ = Role::kTrusts;
          next_ns_ = now_ns + options_.limit_ns;
        }
        break;
      case kAsk:
        Answer(note->from, text.substr(1), now_ns);
        break;
      case kAnswer: {
        const std::size_t end = text.find('\n');
        if (role_ == Role::kAsksAll && end != std::string_view::npos &&
            text.substr(1, end - 1) == std::to_string(round_)) {
          RankState& state = states_[static_cast<std::size_t>(note->from)];
          answers_ += state.answered ? 0 : 1;
          state = RankState::Decode(text.substr(end + 1));
          state.rank = note->from;
        }
        break;
      }
      default:
        break;
    }
  }
}

void Watchdog::Act(std::int64_t now_ns) {
  if (QuietNs(now_ns) < options_.limit_ns) {
    role_ = Role::kNone;
    return;
  }
  switch (role_) {
    case Role::kNone:
      // The others came to their stand at about the same time: let them be quiet as long, too.
      if (QuietNs(now_ns) >= options_.limit_ns + 4 * options_.tick_ns) {
        AskToLook(0, now_ns);
      }
      break;
    case Role::kAsksToLook:
      if (now_ns >= next_ns_) {
        AskToLook(looker_ + 1, now_ns);
      }
      break;
    case Role::kTrusts:
      if (now_ns >= next_ns_) {
        AskToLook(0, now_ns);
      }
      break;
    case Role::kAsksAll:
      if (answers_ == communicator_.size() || now_ns >= next_ns_) {
        EndRound(now_ns);
      }
      break;
    case Role::kWaitsToAsk:
      if (now_ns >= next_ns_) {
        AskAll(now_ns);
      }
      break;
  }
}

void Watchdog::AskToLook(int looker, std::int64_t now_ns) {
  if (looker >= communicator_.rank()) {
    AskAll(now_ns);
    return;
  }
  role_ = Role::kAsksToLook;
  looker_ = looker;
  next_ns_ = now_ns + answer_ns_;
  communicator_.PostNote(looker, std::string(1, kPleaseLook));
}

void Watchdog::AskAll(std::int64_t now_ns) {
  role_ = Role::kAsksAll;
  next_ns_ = now_ns + answer_ns_;
  ++round_;
  states_.assign(static_cast<std::size_t>(communicator_.size()), {});
  for (int rank = 0; rank < communicator_.size(); ++rank) {
    RankState& state = states_[static_cast<std::size_t>(rank)];
    state.rank = rank;
    state.answered = false;
    if (rank != communicator_.rank()) {
      communicator_.PostNote(rank, kAsk + std::to_string(round_));
    }
  }
  states_[static_cast<std::size_t>(communicator_.rank())] = OwnState(now_ns);
  answers_ = 1;
}

void Watchdog::EndRound(std::int64_t now_ns) {
  std::int64_t least_ns = options_.limit_ns;
  for (const RankState& state : states_) {
    if (state.answered) {
      least_ns = std::min(least_ns, state.quiet_ns);
    }
  }
  if (least_ns >= options_.limit_ns) {
    GiveUpStandstill();
    return;
  }
  // Not before all can have been quiet for as long.
  role_ = Role::kWaitsToAsk;
  next_ns_ = now_ns + std::max(options_.limit_ns - least_ns, 2 * options_.tick_ns);
}

void Watchdog::GiveUpStandstill() {
  const StandstillReport report = ReportStandstill(states_, ranks_of_group_);
  const std::string reported =
      fmt::format("no progress on any rank for {:.3g} s: {}",
                  static_cast<double>(options_.limit_ns) * 1e-9, report.headline);
  GiveUp({ErrorKind::kCheckFailed, reported},
         {ErrorKind::kCheckFailed, reported + "\n" + report.table});
}

void Watchdog::GiveUp(const Error& reported, const Error& found) {
  over_ = true;
  callbacks_.give_up(reported, found);
}

}  // namespace reprise
