#include "report/energy/energy_split.h"

#include <algorithm>

namespace reprise {
namespace {

// One meter on its way through the sweep.
struct Walk {
  const SplitMeter* meter = nullptr;
  std::size_t point = 0, gap = 0;
  double joules = 0;

  // Whether the meter was read just after `time_ns`.
  [[nodiscard]] bool InGap(std::int64_t time_ns) {
    const std::vector<Interval>& gaps = meter->curve->gaps();
    while (gap < gaps.size() && gaps[gap].second <= time_ns) {
      ++gap;
    }
    return gap < gaps.size() && gaps[gap].first <= time_ns;
  }
};

class Sweep {
 public:
  // `idle_only`: of each meter its idle power, and nothing else.
  Sweep(std::span<const SplitMeter> meters, std::span<const Interval> operations, bool idle_only)
      : operations_(operations), idle_only_(idle_only), window_(meters.front().curve->window()) {
    for (const SplitMeter& meter : meters) {
      walks_.push_back({.meter = &meter});
      for (const Interval& gap : meter.curve->gaps()) {
        bounds_.insert(bounds_.end(), {gap.first, gap.second});
      }
    }
    bounds_.push_back(window_.second);
    std::ranges::sort(bounds_);
    split_.operations.resize(operations.size());
    split_.meters.resize(meters.size());
  }

  EnergySplit Run() {
    SortOperations();
    std::size_t begun = 0, ended = 0, bound = 0;
    now_ns_ = window_.first;
    while (bound < bounds_.size()) {
      std::int64_t next_ns = bounds_[bound];
      if (begun < by_begin_.size()) {
        next_ns = std::min(next_ns, by_begin_[begun].time_ns);
      }
      if (ended < by_end_.size()) {
        next_ns = std::min(next_ns, by_end_[ended].time_ns);
      }
      Advance(next_ns, begun - ended);
      for (; ended < by_end_.size() && by_end_[ended].time_ns == now_ns_; ++ended) {
        EnergyShare& share = split_.operations[by_end_[ended].operation];
        share = {share_.joules - share.joules, share_.above_idle_joules - share.above_idle_joules};
      }
      for (; begun < by_begin_.size() && by_begin_[begun].time_ns == now_ns_; ++begun) {
        split_.operations[by_begin_[begun].operation] =
            share_;  // until it ends: what had been given before
      }
      for (; bound < bounds_.size() && bounds_[bound] == now_ns_; ++bound) {
      }
    }
    return std::move(split_);
  }

 private:
  // Where an operation begins or ends.
  struct Bound {
    std::int64_t time_ns = 0;
    std::uint32_t operation = 0;
  };

  // Operations that last some time within the window.
  void SortOperations() {
    by_begin_.reserve(operations_.size());
    by_end_.reserve(operations_.size());
    for (std::uint32_t i = 0; i < operations_.size(); ++i) {
      const std::int64_t begin_ns = std::max(operations_[i].first, window_.first);
      const std::int64_t end_ns = std::min(operations_[i].second, window_.second);
      if (begin_ns < end_ns) {
        by_begin_.push_back({begin_ns, i});
        by_end_.push_back({end_ns, i});
      }
    }
    for (auto* bounds : {&by_begin_, &by_end_}) {
      if (!std::ranges::is_sorted(*bounds, {},
                                  &Bound::time_ns)) {  // those of one stream mostly are
        std::ranges::sort(*bounds, {}, &Bound::time_ns);
      }
    }
  }

  // Gives away what the meters counted from now to `next_ns`.
  void Advance(std::int64_t next_ns, std::size_t running) {
    const double seconds = static_cast<double>(next_ns - now_ns_) * 1e-9;
    for (std::size_t m = 0; m < walks_.size() && next_ns > now_ns_; ++m) {
      Walk& walk = walks_[m];
      const double idle = walk.meter->idle_watts * seconds;
      const double until =
          idle_only_ ? walk.joules + idle : walk.meter->curve->JoulesUntil(next_ns, walk.point);
      const double joules = until - walk.joules;
      walk.joules = until;
      if (walk.InGap(now_ns_)) {
        split_.meters[m].gap_joules += joules;
      } else if (running == 0) {
        split_.meters[m].idle_joules += joules;
      } else {
        share_.joules += joules / static_cast<double>(running);
        share_.above_idle_joules += (joules - idle) / static_cast<double>(running);
      }
    }
    now_ns_ = next_ns;
  }

  std::span<const Interval> operations_;
  const bool idle_only_;
  Interval window_;
  std::vector<Walk> walks_;
  std::vector<std::int64_t> bounds_;
  std::vector<Bound> by_begin_, by_end_;
  std::int64_t now_ns_ = 0;
  EnergyShare share_;  // of an operation that runs all the time
  EnergySplit split_;
};

}  // namespace

EnergySplit SplitEnergy(std::span<const SplitMeter> meters, std::span<const Interval> operations,
                        std::span<const double> above_idle_joules) {
  if (meters.empty()) {
    return {.operations = std::vector<EnergyShare>(operations.size())};
  }
  EnergySplit split = Sweep(meters, operations, !above_idle_joules.empty()).Run();
  for (std::size_t i = 0; i < above_idle_joules.size(); ++i) {
    split.operations[i].joules += above_idle_joules[i];
    split.operations[i].above_idle_joules = above_idle_joules[i];
  }
  return split;
}

}  // namespace reprise
