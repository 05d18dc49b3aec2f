#include "core/timing/clock_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "core/timing/difference_bounds.h"

namespace reprise {
namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

// A constraint between two clocks, times relative to the reference:
//   (end + o_a + d_a·end) − (start + o_b + d_b·start) >= 0.
struct Bound {
  std::int32_t a, b;  // clocks, not ranks
  WideNs end_ns, start_ns;
};

struct Line {
  WideNs offset_ns = 0;
  double drift = 0;
};

// drift × time in whole ns. |drift| is at most 1 and |time| below 2^65, as FitClocks checks.
WideNs Drifted(double drift, WideNs time_ns) {
  return drift == 0 ? 0 : static_cast<WideNs>(std::round(drift * static_cast<double>(time_ns)));
}

WideNs Slack(const Bound& bound, const std::vector<Line>& lines) {
  const Line& a = lines[bound.a];
  const Line& b = lines[bound.b];
  return bound.end_ns + a.offset_ns + Drifted(a.drift, bound.end_ns) -
         (bound.start_ns + b.offset_ns + Drifted(b.drift, bound.start_ns));
}

WideNs WorstViolation(const std::vector<Bound>& bounds, const std::vector<Line>& lines) {
  WideNs worst = 0;
  for (const Bound& bound : bounds) {
    worst = std::max(worst, -Slack(bound, lines));
  }
  return worst;
}

// With drifts fixed, offsets are a system of differences.
std::vector<ClockDifference> Differences(const std::vector<Bound>& bounds,
                                         const std::vector<Line>& lines) {
  std::map<std::pair<std::int32_t, std::int32_t>, WideNs> tightest;
  for (const Bound& bound : bounds) {
    const WideNs weight_ns = bound.start_ns + Drifted(lines[bound.b].drift, bound.start_ns) -
                             (bound.end_ns + Drifted(lines[bound.a].drift, bound.end_ns));
    const auto [at, inserted] = tightest.try_emplace({bound.a, bound.b}, weight_ns);
    at->second = std::max(at->second, weight_ns);
  }
  std::vector<ClockDifference> differences;
  differences.reserve(tightest.size());
  for (const auto& [pair, weight_ns] : tightest) {
    differences.push_back({pair.first, pair.second, weight_ns});
  }
  return differences;
}

// The middles of all intervals together are feasible, as the mean of the lowest and the highest
// solution; where one side is open, the closed end nearest to 0 is taken.
void FitOffsets(const std::vector<Bound>& bounds, std::vector<Line>& lines) {
  const auto clocks = static_cast<std::int32_t>(lines.size());
  const std::vector<ClockDifference> differences = Differences(bounds, lines);
  const WideNs violation_ns = LeastViolation(clocks, differences);
  const std::vector<OffsetInterval> intervals = Intervals(clocks, differences, violation_ns);
  for (std::int32_t c = 0; c < clocks; ++c) {
    const OffsetInterval& interval = intervals[c];
    lines[c].offset_ns = interval.Bounded()
                             ? interval.low_ns + (interval.high_ns - interval.low_ns) / 2
                             : std::clamp(WideNs{0}, interval.low_ns, interval.high_ns);
  }
}

// How badly drift d of clock b against clock a fits, whatever the offset: half the gap between the
// bounds from both sides, negative where they leave room. Convex in d. Offsets are taken against
// the first bound's, so that doubles are exact enough however far the clocks are apart.
double PairMisfit(const std::vector<Bound>& bounds, std::int32_t a, std::int32_t b, double drift) {
  double low = -kUnbounded;
  double high = kUnbounded;
  const auto apart = [](const Bound& bound, bool b_ends) {
    return b_ends ? bound.start_ns - bound.end_ns : bound.end_ns - bound.start_ns;
  };
  const WideNs first_ns = bounds.empty() ? 0 : apart(bounds[0], bounds[0].a == b);
  for (const Bound& bound : bounds) {
    if (bound.a == b && bound.b == a) {  // o_b >= start − end − d·end
      low = std::max(low, static_cast<double>(apart(bound, true) - first_ns) -
                              drift * static_cast<double>(bound.end_ns));
    } else if (bound.a == a && bound.b == b) {  // o_b <= end − start − d·start
      high = std::min(high, static_cast<double>(apart(bound, false) - first_ns) -
                                drift * static_cast<double>(bound.start_ns));
    }
  }
  return (low - high) / 2;
}

double FitPairDrift(const std::vector<Bound>& bounds, std::int32_t a, std::int32_t b,
                    double max_drift) {
  double low = -max_drift;
  double high = max_drift;
  for (int round = 0; round < 80; ++round) {
    const double left = low + (high - low) / 3;
    const double right = high - (high - low) / 3;
    if (PairMisfit(bounds, a, b, left) <= PairMisfit(bounds, a, b, right)) {
      high = right;
    } else {
      low = left;
    }
  }
  return (low + high) / 2;
}

// Drifts along a spanning tree from clock 0: pairs bound from both sides, tightest first (Prim).
void FitDrifts(const std::vector<Bound>& bounds, std::vector<Line>& lines, double max_drift) {
  std::map<std::pair<std::int32_t, std::int32_t>, std::vector<Bound>> pairs;
  for (const Bound& bound : bounds) {
    pairs[std::minmax(bound.a, bound.b)].push_back(bound);
  }
  struct Link {
    std::int32_t a, b;
    double drift, misfit_ns;
  };
  std::vector<Link> links;
  for (const auto& [pair, own] : pairs) {
    const auto [a, b] = pair;
    if (PairMisfit(own, a, b, 0) > -kUnbounded) {
      const double drift = FitPairDrift(own, a, b, max_drift);
      links.push_back({a, b, drift, PairMisfit(own, a, b, drift)});
    }
  }
  std::sort(links.begin(), links.end(),
            [](const Link& x, const Link& y) { return x.misfit_ns > y.misfit_ns; });
  std::vector<bool> reached(lines.size());
  reached[0] = true;
  for (bool grown = true; grown;) {
    grown = false;
    for (const Link& link : links) {
      if (reached[link.a] != reached[link.b]) {
        const bool forward = reached[link.a];
        const std::int32_t to = forward ? link.b : link.a;
        lines[to].drift =
            lines[forward ? link.a : link.b].drift + (forward ? link.drift : -link.drift);
        reached[to] = grown = true;
        break;
      }
    }
  }
}

// The simplest lines that leave no violation over the noise, else those with the least.
std::vector<Line> FitLines(const std::vector<Bound>& bounds, std::int32_t clocks,
                           const ClockFitOptions& options) {
  std::vector<Line> best(clocks);
  WideNs best_ns = WorstViolation(bounds, best);
  for (const bool with_drift : {false, true}) {
    if (best_ns <= options.noise_ns) {
      break;
    }
    std::vector<Line> lines(clocks);
    if (with_drift) {
      FitDrifts(bounds, lines, options.max_drift);
    }
    FitOffsets(bounds, lines);
    if (const WideNs worst_ns = WorstViolation(bounds, lines); worst_ns < best_ns) {
      best_ns = worst_ns;
      best = std::move(lines);
    }
  }
  return best;
}

// Dense clock numbers, rank 0's first.
Result<std::vector<std::int32_t>> ClockOfRank(std::int32_t ranks, const ClockFitOptions& options) {
  std::vector<std::int32_t> clock(ranks);
  if (options.host_of_rank.empty()) {
    for (std::int32_t r = 0; r < ranks; ++r) {
      clock[r] = r;
    }
    return clock;
  }
  if (options.host_of_rank.size() != static_cast<std::size_t>(ranks)) {
    return BadInput(
        fmt::format("clock fit: {} hosts given for {} ranks", options.host_of_rank.size(), ranks));
  }
  std::map<std::int32_t, std::int32_t> numbers;
  for (std::int32_t r = 0; r < ranks; ++r) {
    clock[r] = numbers.try_emplace(options.host_of_rank[r], static_cast<int>(numbers.size()))
                   .first->second;
  }
  return clock;
}

Result<std::vector<Bound>> Relative(std::span<const ClockConstraint> constraints,
                                    const std::vector<std::int32_t>& clock,
                                    std::int64_t reference_ns) {
  const auto ranks = static_cast<std::int32_t>(clock.size());
  std::vector<Bound> bounds;
  bounds.reserve(constraints.size());
  for (const ClockConstraint& c : constraints) {
    for (const std::int32_t rank : {c.rank_a, c.rank_b}) {
      if (rank < 0 || rank >= ranks) {
        return BadInput(fmt::format("clock fit: rank {} of {} ranks", rank, ranks));
      }
    }
    bounds.push_back({clock[c.rank_a], clock[c.rank_b], WideNs{c.end_ns_a} - reference_ns,
                      WideNs{c.start_ns_b} - reference_ns});
  }
  return bounds;
}

// The nearest int64: 292 years either way.
std::int64_t Clamp(WideNs ns) {
  return static_cast<std::int64_t>(std::clamp<WideNs>(ns, std::numeric_limits<std::int64_t>::min(),
                                                      std::numeric_limits<std::int64_t>::max()));
}

// Uncertainties and what is left violated, for the lines chosen.
void Assess(const std::vector<Bound>& bounds, const std::vector<Line>& lines, ClockFit& fit,
            const std::vector<std::int32_t>& clock) {
  const auto clocks = static_cast<std::int32_t>(lines.size());
  std::vector<WideNs> touching_ns(lines.size(), 0);
  WideNs worst_ns = 0;
  for (const Bound& bound : bounds) {
    const WideNs violation_ns = -Slack(bound, lines);
    if (violation_ns > 1) {  // beyond rounding
      ++fit.violated;
      touching_ns[bound.a] = std::max(touching_ns[bound.a], violation_ns);
      touching_ns[bound.b] = std::max(touching_ns[bound.b], violation_ns);
      worst_ns = std::max(worst_ns, violation_ns);
    }
  }
  fit.worst_violation_ns = Clamp(worst_ns);
  const std::vector<OffsetInterval> intervals =
      Intervals(clocks, Differences(bounds, lines), worst_ns + 1);
  for (std::size_t r = 0; r < clock.size(); ++r) {
    const Line& line = lines[clock[r]];
    const OffsetInterval& interval = intervals[clock[r]];
    ClockModel& model = fit.clocks[r];
    model.offset_ns = Clamp(line.offset_ns);
    model.drift = line.drift;
    model.known = interval.Bounded();
    WideNs uncertainty_ns = touching_ns[clock[r]];
    if (clock[r] != 0 && model.known) {
      uncertainty_ns = std::max(
          {uncertainty_ns, interval.high_ns - line.offset_ns, line.offset_ns - interval.low_ns});
    }
    model.uncertainty_ns = r == 0 ? 0 : Clamp(uncertainty_ns);
    fit.zero_offsets = fit.zero_offsets && model.offset_ns == 0 && model.drift == 0;
  }
}

}  // namespace

std::int64_t ClockFit::OffsetAt(std::int32_t rank, std::int64_t at_ns) const {
  const ClockModel& model = clocks[rank];
  return Clamp(model.offset_ns + Drifted(model.drift, WideNs{at_ns} - reference_ns));
}

std::int64_t ClockFit::ToRank0(std::int32_t rank, std::int64_t time_ns) const {
  const ClockModel& model = clocks[rank];
  return Clamp(WideNs{time_ns} + model.offset_ns +
               Drifted(model.drift, WideNs{time_ns} - reference_ns));
}

Result<ClockFit> FitClocks(std::int32_t ranks, std::span<const ClockConstraint> constraints,
                           const ClockFitOptions& options) {
  ClockFit fit;
  fit.clocks.resize(std::max(ranks, 0));
  if (ranks <= 0) {
    return fit;
  }
  REPRISE_ASSIGN(const std::vector<std::int32_t> clock, ClockOfRank(ranks, options));
  for (std::size_t i = 0; i < constraints.size(); ++i) {
    const std::int64_t earliest_ns = std::min(constraints[i].end_ns_a, constraints[i].start_ns_b);
    fit.reference_ns = i == 0 ? earliest_ns : std::min(fit.reference_ns, earliest_ns);
  }
  REPRISE_ASSIGN(const std::vector<Bound> bounds, Relative(constraints, clock, fit.reference_ns));
  const std::int32_t clocks = *std::max_element(clock.begin(), clock.end()) + 1;
  Assess(bounds, FitLines(bounds, clocks, options), fit, clock);
  return fit;
}

}  // namespace reprise
