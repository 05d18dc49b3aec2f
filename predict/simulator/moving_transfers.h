// Transfers under way, each with its progress, as their shares of links change. Part of
// predict/simulator/event_schedule.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "predict/simulator/shared_links.h"

namespace reprise {

struct MatchFlow;

class MovingTransfers {
 public:
  using Expect = std::function<void(std::uint32_t match, std::int64_t ns, std::uint32_t version)>;

  // `links` may be null: then nothing else is called.
  MovingTransfers(SharedLinks* links, std::size_t matches)
      : links_(links), states_(links != nullptr ? matches : 0) {}

  [[nodiscard]] const SharedLinks* links() const { return links_; }

  // A member joins its match's transfer, which takes `own_ns` from `from_ns` on if nothing slows
  // it. True: it begins with that; its bytes move when Moves is called.
  bool Join(std::int32_t match, std::uint32_t node, std::int64_t own_ns, std::int64_t from_ns,
            std::int64_t now_ns, const MatchFlow& flow);
  // The latency is over.
  void Moves(std::uint32_t match);
  // A milestone that Settle announced: false if it is out of date. Else `ended` gets the members
  // that have got all.
  bool Reaches(std::uint32_t match, std::uint32_t version, std::int64_t now_ns,
               std::vector<std::uint32_t>& ended);
  // New rates, and the next milestone of each transfer that has another one now.
  void Settle(std::int64_t now_ns, const Expect& expect);

 private:
  struct Milestone {
    double at_ns = 0;  // of the transfer's progress
    std::uint32_t node = 0;
  };
  struct State {
    double progress_ns = 0;  // at `since_ns`, as time without sharing
    double part = 1;         // progress in a nanosecond
    std::int64_t since_ns = 0;
    std::int64_t route = -1;
    SharedLinks::Flow flow = 0;
    std::uint32_t version = 0;
    bool open = false, moves = false, touched = false;
    std::vector<Milestone> milestones;  // the next one last
  };

  void Touch(std::uint32_t match);
  static void Advance(State& state, std::int64_t now_ns);

  SharedLinks* links_;
  std::vector<State> states_;  // by match
  std::vector<std::uint32_t> touched_, starting_;
  std::vector<SharedLinks::Flow> ending_;
  std::vector<std::uint32_t> match_of_;  // by flow
};

}  // namespace reprise
