#include "predict/simulator/event_schedule.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>
#include <vector>

#include "core/timing/wiring.h"
#include "predict/simulator/moving_transfers.h"
#include "predict/simulator/slowed_kernels.h"

namespace reprise {
namespace {

using Index = std::uint32_t;
constexpr std::int64_t kNotYetNs = INT64_MIN;

// What has not arrived of one match, and when the last did.
struct MatchArrivals {
  Index members = 0, roots = 0;
  std::int64_t last_ns = kNotYetNs, last_root_ns = kNotYetNs;
};

class EventScheduler {
 public:
  EventScheduler(TimingGraph& timing, const Interplay& interplay)
      : timing_(timing),
        wiring_(WiringOf(timing)),
        interplay_(interplay),
        matches_(wiring_.members.keys()),
        moving_(interplay.links, matches_.size()),
        kernels_(interplay.device) {
    const auto n = static_cast<Index>(timing.size());
    schedule_.start_ns.assign(n, kNotYetNs);
    schedule_.end_ns.assign(n, kNotYetNs);
    waiting_.resize(n);
    began_.resize(n);
    for (Index i = 0; i < n; ++i) {
      waiting_[i] = static_cast<Index>(timing.DepsOf(i).size());
      if (const std::int32_t match = MatchOf(timing, i); match >= 0) {
        ++matches_[match].members;
        matches_[match].roots += IsRoot(timing, i) ? 1 : 0;
      }
    }
  }

  Schedule Run() {
    for (Index i = 0; i < timing_.size(); ++i) {
      if (waiting_[i] == 0) {
        Expect(timing_.delay_ns[i], Event::Kind::kStart, i);
      }
    }
    while (!queue_.empty() || !due_.empty()) {
      if (due_.empty()) {
        // In recordings that contradict causality something may belong before now.
        now_ns_ = std::max(now_ns_, queue_.top().ns);
      }
      while (!queue_.empty() && queue_.top().ns <= now_ns_) {
        due_.push_back(queue_.top());
        queue_.pop();
      }
      while (!due_.empty()) {
        const Event event = due_.back();
        due_.pop_back();
        Happen(event);
      }
      Settle();
    }
    for (Index i = 0; i < timing_.size(); ++i) {
      KeepTimes(i);
    }
    if (timing_.size() > 0) {
      const std::vector<std::int64_t>& start = schedule_.start_ns;
      const std::vector<std::int64_t>& end = schedule_.end_ns;
      schedule_.makespan_ns = *std::ranges::max_element(end) - *std::ranges::min_element(start);
    }
    return std::move(schedule_);
  }

 private:
  struct Event {
    enum class Kind : std::uint8_t { kStart, kEnd, kKernelEnd, kMoves, kMilestone };
    std::int64_t ns = 0;
    Index index = 0;            // node, or match
    std::uint32_t version = 0;  // of what changes its mind; an old one is void
    Kind kind = Kind::kStart;
    bool operator>(const Event& other) const { return ns > other.ns; }
  };

  void Expect(std::int64_t ns, Event::Kind kind, Index index, std::uint32_t version = 0) {
    // What happens now needs no place in the queue: most kernels follow what has just ended.
    if (ns <= now_ns_) {
      due_.push_back({ns, index, version, kind});
    } else {
      queue_.push({ns, index, version, kind});
    }
  }

  void Happen(const Event& event) {
    switch (event.kind) {
      case Event::Kind::kStart:
        return Start(event.index, event.ns);
      case Event::Kind::kEnd:
        return End(event.index, event.ns);
      case Event::Kind::kKernelEnd:
        if (kernels_.Ends(event.index, event.version)) {
          End(event.index, event.ns);
        }
        return;
      case Event::Kind::kMoves:
        return moving_.Moves(event.index);
      case Event::Kind::kMilestone:
        if (moving_.Reaches(event.index, event.version, now_ns_, ended_)) {
          for (const Index node : ended_) {
            End(node, now_ns_);
          }
          ended_.clear();
        }
        return;
    }
  }

  void Start(Index i, std::int64_t ns) {
    schedule_.start_ns[i] = ns;
    const std::int32_t match = MatchOf(timing_, i);
    if (match < 0) {
      const std::int64_t duration_ns = timing_.duration_ns[i];
      if (!interplay_.beside.empty() && interplay_.beside[i] > 1 && duration_ns > 0) {
        kernels_.Begin(i, duration_ns, interplay_.beside[i], now_ns_);
      } else {
        Expect(ns + duration_ns, Event::Kind::kEnd, i);
      }
      return;
    }
    MatchArrivals& arrivals = matches_[match];
    --arrivals.members;
    arrivals.last_ns = std::max(arrivals.last_ns, ns);
    if (IsRoot(timing_, i)) {
      --arrivals.roots;
      arrivals.last_root_ns = std::max(arrivals.last_root_ns, ns);
    }
    if (arrivals.members == 0 || (arrivals.roots == 0 && IsRoot(timing_, i))) {
      for (const Index member : wiring_.members.Of(match)) {
        TransferIfReady(member, match);
      }
    } else {
      TransferIfReady(i, match);
    }
  }

  // When a member begins to transfer, once all that it needs have come.
  [[nodiscard]] std::int64_t FromNs(Index i, std::int32_t match) const {
    const MatchArrivals& arrivals = matches_[match];
    const ArrivalNeed need = NeedOf(timing_, i);
    return need == ArrivalNeed::kAll    ? arrivals.last_ns
           : need == ArrivalNeed::kRoot ? std::max(schedule_.start_ns[i], arrivals.last_root_ns)
                                        : schedule_.start_ns[i];
  }

  // A member that has come, and has not begun to transfer.
  void TransferIfReady(Index i, std::int32_t match) {
    const MatchArrivals& arrivals = matches_[match];
    const ArrivalNeed need = NeedOf(timing_, i);
    const bool waits = (need == ArrivalNeed::kAll && arrivals.members > 0) ||
                       (need == ArrivalNeed::kRoot && arrivals.roots > 0);
    if (schedule_.start_ns[i] == kNotYetNs || began_[i] || waits) {
      return;
    }
    began_[i] = true;
    const std::int64_t from_ns = FromNs(i, match);
    if (timing_.transfer_ns[i] > 0) {
      kernels_.TransferBegins(i);
    }
    const bool flows = moving_.links() != nullptr && interplay_.flows[match].route >= 0 &&
                       timing_.transfer_ns[i] > 0;
    if (!flows) {
      Expect(from_ns + timing_.transfer_ns[i], Event::Kind::kEnd, i);
    } else if (need == ArrivalNeed::kOwn) {
      buffered_.push_back(i);  // the others may still come in this nanosecond
    } else {
      Join(i, match, from_ns);
    }
  }

  void Join(Index i, std::int32_t match, std::int64_t from_ns) {
    const MatchFlow& flow = interplay_.flows[match];
    if (moving_.Join(match, i, timing_.transfer_ns[i], from_ns, now_ns_, flow)) {
      Expect(from_ns + flow.latency_ns, Event::Kind::kMoves, static_cast<Index>(match));
    }
  }

  void End(Index i, std::int64_t ns) {
    schedule_.end_ns[i] = ns;
    if (MatchOf(timing_, i) >= 0 && timing_.transfer_ns[i] > 0) {
      kernels_.TransferEnds(i);
    }
    for (const Index dependent : wiring_.dependents.Of(i)) {
      if (--waiting_[dependent] == 0) {
        const std::span<const Index> deps = timing_.DepsOf(dependent);
        std::int64_t ready_ns = kNotYetNs;
        for (const Index dep : deps) {
          ready_ns = std::max(ready_ns, schedule_.end_ns[dep]);
        }
        Expect(ready_ns + timing_.delay_ns[dependent], Event::Kind::kStart, dependent);
      }
    }
  }

  // All that happens now has happened: new rates.
  void Settle() {
    for (const Index i : buffered_) {
      const std::int32_t match = timing_.match[i];
      if (matches_[match].members == 0) {
        Join(i, match, schedule_.start_ns[i]);
      } else {
        Expect(schedule_.start_ns[i] + timing_.transfer_ns[i], Event::Kind::kEnd, i);
      }
    }
    buffered_.clear();
    moving_.Settle(now_ns_, [this](Index match, std::int64_t ns, std::uint32_t version) {
      Expect(ns, Event::Kind::kMilestone, match, version);
    });
    kernels_.Settle(now_ns_, [this](Index node, std::int64_t ns, std::uint32_t version) {
      Expect(ns, Event::Kind::kKernelEnd, node, version);
    });
  }

  // What a dry run would need to get the same end.
  void KeepTimes(Index i) {
    const std::int32_t match = MatchOf(timing_, i);
    if (match < 0) {
      timing_.duration_ns[i] = schedule_.end_ns[i] - schedule_.start_ns[i];
    } else {
      timing_.transfer_ns[i] = schedule_.end_ns[i] - FromNs(i, match);
    }
  }

  TimingGraph& timing_;
  const Wiring wiring_;
  const Interplay& interplay_;
  std::vector<MatchArrivals> matches_;
  MovingTransfers moving_;
  SlowedKernels kernels_;
  std::vector<Index> waiting_;  // by node, how many dependencies
  std::vector<bool> began_;     // by node: it transfers, or has
  std::vector<Index> ended_;
  std::vector<Index> buffered_;  // began in this nanosecond, and need no other rank
  std::priority_queue<Event, std::vector<Event>, std::greater<>> queue_;
  std::vector<Event> due_;  // now
  std::int64_t now_ns_ = kNotYetNs;
  Schedule schedule_;
};

}  // namespace

Result<Schedule> ScheduleEvents(TimingGraph& timing, const Interplay& interplay) {
  REPRISE_TRY(EventOrder::Find(timing));
  REPRISE_TRY(CheckTimes(timing));
  Schedule schedule = EventScheduler(timing, interplay).Run();
  REPRISE_TRY(CheckLength(schedule));
  return schedule;
}

}  // namespace reprise
