#include "collectives/clock_exchange.h"

#include <algorithm>
#include <span>
#include <utility>

namespace reprise {
namespace {

// In so many rounds, at least one finds link and core idle; a busy host needs more rounds.
constexpr int kRounds = 40;
constexpr int kMaxRounds = 2'000;
constexpr std::int64_t kLongestNs = 500'000'000;
constexpr std::int64_t kGoodNs = 100'000;
constexpr std::int64_t kSpinNs = 2'000'000;
constexpr int kTag = 0;

enum Question : std::int64_t { kWhatTime, kThankYou };

std::span<std::byte> BytesOf(std::int64_t& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

}  // namespace

std::vector<std::int32_t> HostLeaders(const Communicator& communicator) {
  std::vector<std::int32_t> leaders(communicator.nodes().begin(), communicator.nodes().end());
  std::ranges::sort(leaders);
  leaders.erase(std::unique(leaders.begin(), leaders.end()), leaders.end());
  return leaders;
}

ClockExchange::ClockExchange(Communicator& communicator, std::unique_ptr<GroupComm> group,
                             bool leads, Clock clock)
    : communicator_(&communicator),
      group_(std::move(group)),
      leads_(leads),
      clock_(std::move(clock)) {}

Result<ClockExchange> ClockExchange::Create(Communicator& communicator,
                                            const std::vector<std::int32_t>& leaders, Clock clock) {
  const bool leads = std::ranges::find(leaders, communicator.rank()) != leaders.end();
  std::unique_ptr<GroupComm> group;
  if (leaders.size() > 1) {
    REPRISE_ASSIGN(group, communicator.CreateGroup(leaders));
  }
  return ClockExchange(communicator, std::move(group), leads, std::move(clock));
}

Status ClockExchange::Pass(Result<std::unique_ptr<Transfer>> started) {
  REPRISE_ASSIGN(const std::unique_ptr<Transfer> transfer, std::move(started));
  // Spins first: a rank that yields its core reads the answer a time slice late.
  for (const std::int64_t begin_ns = MonotonicNs(); MonotonicNs() - begin_ns < kSpinNs;) {
    REPRISE_ASSIGN(const bool done, transfer->Test());
    if (done) {
      return {};
    }
  }
  return communicator_->Await(*transfer);
}

Status ClockExchange::Answer(int leader) {
  for (;;) {
    std::int64_t value = 0;
    REPRISE_TRY(Pass(group_->Recv(leader, kTag, BytesOf(value))));
    if (value == kThankYou) {
      return {};
    }
    value = clock_();
    REPRISE_TRY(Pass(group_->Send(leader, kTag, BytesOf(value))));
  }
}

Result<ClockReading> ClockExchange::Ask() {
  ClockReading best{.uncertainty_ns = INT64_MAX};
  std::int64_t begin_ns = INT64_MAX - kLongestNs;  // first rank 0 comes to this leader
  const auto satisfied = [&](int rounds) {
    return rounds >= kMaxRounds || MonotonicNs() > begin_ns + kLongestNs ||
           (rounds >= kRounds && best.uncertainty_ns <= kGoodNs);
  };
  for (int round = 0; !satisfied(round); ++round) {
    std::int64_t value = kWhatTime;
    const std::int64_t asked_ns = clock_();
    REPRISE_TRY(Pass(group_->Send(0, kTag, BytesOf(value))));
    REPRISE_TRY(Pass(group_->Recv(0, kTag, BytesOf(value))));
    begin_ns = std::min(begin_ns, MonotonicNs());
    const std::int64_t half_ns = (clock_() - asked_ns + 1) / 2;
    if (half_ns < best.uncertainty_ns) {
      best = {asked_ns + half_ns, asked_ns + half_ns - value, half_ns};
    }
  }
  std::int64_t value = kThankYou;
  REPRISE_TRY(Pass(group_->Send(0, kTag, BytesOf(value))));
  return best;
}

Result<std::optional<ClockReading>> ClockExchange::Read() {
  if (!leads_) {
    return std::nullopt;
  }
  if (group_ == nullptr || group_->rank() == 0) {
    for (int leader = 1; group_ != nullptr && leader < group_->size(); ++leader) {
      REPRISE_TRY(Answer(leader));
    }
    return ClockReading{.at_ns = clock_()};
  }
  REPRISE_ASSIGN(const ClockReading reading, Ask());
  return reading;
}

}  // namespace reprise
