#include "predict/simulator/moving_transfers.h"

#include <algorithm>

#include "core/nanoseconds.h"
#include "predict/simulator/event_schedule.h"

namespace reprise {

void MovingTransfers::Touch(std::uint32_t match) {
  if (!states_[match].touched) {
    states_[match].touched = true;
    touched_.push_back(match);
  }
}

void MovingTransfers::Advance(State& state, std::int64_t now_ns) {
  state.progress_ns += static_cast<double>(now_ns - state.since_ns) * state.part;
  state.since_ns = now_ns;
}

bool MovingTransfers::Join(std::int32_t match, std::uint32_t node, std::int64_t own_ns,
                           std::int64_t from_ns, std::int64_t now_ns, const MatchFlow& flow) {
  const auto number = static_cast<std::uint32_t>(match);
  State& state = states_[number];
  const bool begins = !state.open;
  if (begins) {
    state.open = true;
    state.route = flow.route;
    state.progress_ns = 0;
    state.part = 1;
    state.since_ns = from_ns;
  }
  Advance(state, now_ns);
  const double at_ns = state.progress_ns + static_cast<double>(own_ns - (now_ns - from_ns));
  const auto place = std::ranges::find_if(
      state.milestones, [at_ns](const Milestone& other) { return other.at_ns < at_ns; });
  state.milestones.insert(place, {at_ns, node});
  Touch(number);
  return begins;
}

void MovingTransfers::Moves(std::uint32_t match) {
  if (states_[match].open && !states_[match].moves) {
    states_[match].moves = true;
    starting_.push_back(match);
  }
}

bool MovingTransfers::Reaches(std::uint32_t match, std::uint32_t version, std::int64_t now_ns,
                              std::vector<std::uint32_t>& ended) {
  State& state = states_[match];
  if (!state.open || state.version != version) {
    return false;
  }
  // Exactly: what rounding to a nanosecond adds or takes is not carried on.
  state.progress_ns = std::max(state.milestones.back().at_ns, state.progress_ns);
  state.since_ns = now_ns;
  while (!state.milestones.empty() && state.milestones.back().at_ns <= state.progress_ns) {
    ended.push_back(state.milestones.back().node);
    state.milestones.pop_back();
  }
  ++state.version;
  if (!state.milestones.empty()) {
    Touch(match);
    return true;
  }
  state.open = false;
  const auto starts = std::ranges::find(starting_, match);
  if (starts != starting_.end()) {
    starting_.erase(starts);
  } else if (state.moves) {
    ending_.push_back(state.flow);
  }
  state.moves = false;
  return true;
}

void MovingTransfers::Settle(std::int64_t now_ns, const Expect& expect) {
  if (links_ == nullptr || (touched_.empty() && starting_.empty() && ending_.empty())) {
    return;
  }
  for (const SharedLinks::Flow flow : ending_) {
    links_->End(flow);
  }
  for (const std::uint32_t match : starting_) {
    State& state = states_[match];
    state.flow = links_->Begin(static_cast<SharedLinks::Route>(state.route));
    match_of_.resize(std::max<std::size_t>(match_of_.size(), state.flow + 1));
    match_of_[state.flow] = match;
  }
  if (!starting_.empty() || !ending_.empty()) {
    for (const SharedLinks::Flow flow : links_->Solve()) {
      State& state = states_[match_of_[flow]];
      const double part = links_->PartOf(flow);
      if (part != state.part) {
        Advance(state, now_ns);
        state.part = part;
        Touch(match_of_[flow]);
      }
    }
  }
  starting_.clear();
  ending_.clear();
  for (const std::uint32_t match : touched_) {
    State& state = states_[match];
    state.touched = false;
    if (!state.open) {
      continue;
    }
    Advance(state, now_ns);
    const double left_ns = std::max(state.milestones.back().at_ns - state.progress_ns, 0.0);
    expect(match, now_ns + NsOf(left_ns / state.part), ++state.version);
  }
  touched_.clear();
}

}  // namespace reprise
