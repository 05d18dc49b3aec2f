#include "predict/goal/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <tuple>
#include <vector>

#include "core/counted.h"
#include "core/grouped.h"

namespace reprise {
namespace {

using goal::OperationKind;

// An operation among those of all ranks.
using OperationPlace = std::uint64_t;
// Sender, receiver, tag; the n-th send of these is what the n-th receive takes.
using MessagePlace = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, OperationPlace>;

std::vector<MessagePlace> PlacesOf(const goal::RankSchedules& ranks,
                                   const std::vector<OperationPlace>& first, OperationKind kind) {
  std::vector<MessagePlace> places;
  for (std::uint32_t rank = 0; rank < ranks.size(); ++rank) {
    for (std::size_t i = 0; i < ranks[rank].operations.size(); ++i) {
      const goal::Operation& operation = ranks[rank].operations[i];
      if (operation.kind == kind) {
        const bool sends = kind == OperationKind::kSend;
        places.emplace_back(sends ? rank : operation.peer, sends ? operation.peer : rank,
                            operation.tag, first[rank] + i);
      }
    }
  }
  std::ranges::sort(places);
  return places;
}

class ScheduleRun {
 public:
  explicit ScheduleRun(const goal::RankSchedules& ranks) : ranks_(ranks), first_(1, 0) {
    for (const goal::RankSchedule& rank : ranks) {
      first_.push_back(first_.back() + rank.operations.size());
      successors_.push_back(GroupByKey(rank.operations.size(), [&](const auto& add) {
        for (const goal::Edge& edge : rank.edges) {
          add(edge.on, edge.waits);
        }
      }));
    }
    missing_.resize(first_.back(), 0);
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      for (const goal::Edge& edge : ranks[rank].edges) {
        ++missing_[first_[rank] + edge.waits];
      }
    }
    PairMessages();
  }

  Status ToTheEnd() {
    for (OperationPlace place = 0; place < missing_.size(); ++place) {
      if (missing_[place] == 0) {
        ready_.push_back(place);
      }
    }
    OperationPlace ended = 0;
    while (!ready_.empty()) {
      const OperationPlace place = ready_.back();
      ready_.pop_back();
      ++ended;
      const std::size_t rank = RankOf(place);
      for (const std::uint32_t waiting : successors_[rank].Of(place - first_[rank])) {
        Release(first_[rank] + waiting);
      }
      if (receive_of_[place] != kNoReceive) {
        Release(receive_of_[place]);
      }
    }
    if (ended == missing_.size()) {
      return {};
    }
    OperationPlace stuck = 0;
    while (missing_[stuck] == 0) {
      ++stuck;
    }
    return BadInput(fmt::format(
        "{} of the schedule would never start, the first of them on rank {}: the recording shows a "
        "collective that let a rank go before others came, and by its algorithm here they meet; "
        "choose another (--algo direct)",
        Counted(missing_.size() - ended, "operation"), RankOf(stuck)));
  }

 private:
  static constexpr OperationPlace kNoReceive = std::numeric_limits<OperationPlace>::max();

  void PairMessages() {
    receive_of_.resize(missing_.size(), kNoReceive);
    const std::vector<MessagePlace> sends = PlacesOf(ranks_, first_, OperationKind::kSend);
    const std::vector<MessagePlace> receives = PlacesOf(ranks_, first_, OperationKind::kRecv);
    for (const MessagePlace& receive : receives) {
      ++missing_[std::get<3>(receive)];
    }
    for (std::size_t i = 0; i < std::min(sends.size(), receives.size()); ++i) {
      receive_of_[std::get<3>(sends[i])] = std::get<3>(receives[i]);
    }
  }
  void Release(OperationPlace place) {
    if (--missing_[place] == 0) {
      ready_.push_back(place);
    }
  }
  [[nodiscard]] std::size_t RankOf(OperationPlace place) const {
    return static_cast<std::size_t>(std::ranges::upper_bound(first_, place) - first_.begin()) - 1;
  }

  const goal::RankSchedules& ranks_;
  std::vector<OperationPlace> first_;  // by rank, and the end
  std::vector<Grouped> successors_;
  std::vector<std::uint32_t> missing_;
  std::vector<OperationPlace> receive_of_;  // by send
  std::vector<OperationPlace> ready_;
};

}  // namespace

Status CheckEnds(const goal::RankSchedules& ranks) { return ScheduleRun(ranks).ToTheEnd(); }

}  // namespace reprise
