#include "predict/rescale/repeated_times.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

namespace reprise {
namespace {

constexpr char kRangeLeftOut[] = "range_left_out";  // core/counters.def

// When the host comes to a place.
std::int64_t TimeAt(const Graph& graph, const ProgramOrder& order, std::uint32_t place) {
  for (std::uint32_t at = place; at < order.nodes.size(); ++at) {
    if (!order.launched[at]) {
      return graph.start_ns(order.nodes[at]);
    }
  }
  std::int64_t end_ns = 0;
  for (Graph::Index i = 0; i < graph.size(); ++i) {
    end_ns = std::max(end_ns, graph.start_ns(i) + graph.duration_ns(i));
  }
  return end_ns;
}

// Of what the host does in a part.
std::int64_t LastStart(const Graph& graph, const ProgramOrder& order,
                       const Repetition::Part& part) {
  std::int64_t last_ns = 0;
  for (std::uint32_t at = part.begin; at < part.end; ++at) {
    last_ns = order.launched[at] ? last_ns : std::max(last_ns, graph.start_ns(order.nodes[at]));
  }
  return last_ns;
}

}  // namespace

RepeatedTimes::RepeatedTimes(const Graph& graph, const Repetition& places) : places_(places) {
  const ProgramOrder& order = places.order();
  const auto time_at = [&](std::uint32_t place) { return TimeAt(graph, order, place); };
  std::int64_t before_ns = 0;
  for (std::size_t s = 0; s < places.parts().size(); ++s) {
    const RepeatedParts& parts = places.parts()[s];
    Growth& of = growth_.emplace_back();
    of.before_ns = before_ns;
    of.at_ns = time_at(order.PlaceOf(parts.end));
    of.left_out_from_ns = std::numeric_limits<std::int64_t>::max();
    std::int64_t next_ns = of.at_ns + before_ns;
    for (std::int64_t copy = 0; copy < places.more(); ++copy) {
      const Repetition::Part part = places.SourceOf(s, copy);
      const std::int64_t from_ns = time_at(part.begin);
      std::int64_t to_ns = time_at(part.end);
      if (part.back == 0) {  // what follows is no part, and may come later
        to_ns = std::max(
            from_ns + time_at(order.PlaceOf(parts.end)) - time_at(order.PlaceOf(parts.begin())),
            LastStart(graph, order, part) + 1);
      }
      of.parts.push_back({from_ns, to_ns, next_ns - from_ns});
      next_ns += to_ns - from_ns;
    }
    of.by_ns = next_ns - of.at_ns - before_ns;
    if (places.more() < 0) {
      of.left_out_from_ns = time_at(order.PlaceOf(static_cast<std::uint32_t>(
          parts.end + places.more() * static_cast<std::int64_t>(parts.length))));
      of.by_ns = of.left_out_from_ns - of.at_ns;
    }
    before_ns += of.by_ns;
  }
}

std::int64_t RepeatedTimes::ShiftOf(const RepeatedPlace& one) const {
  if (one.copy >= 0) {
    return growth_[*places_.PartsOf(one.place)].parts[static_cast<std::size_t>(one.copy)].shift_ns;
  }
  const std::size_t before = places_.PartsBefore(one.place);
  return before == 0 ? 0 : growth_[before - 1].before_ns + growth_[before - 1].by_ns;
}

std::int64_t RepeatedTimes::After(std::int64_t ns) const {
  std::int64_t after_ns = ns;
  for (const Growth& of : growth_) {
    if (ns >= of.at_ns) {
      after_ns += of.by_ns;
    } else if (ns > of.left_out_from_ns) {
      after_ns += of.left_out_from_ns - ns;
    }
  }
  return after_ns;
}

void RepeatedTimes::MoveRanges(TraceMetadata& header) const {
  const std::vector<Range> recorded = std::move(header.ranges);
  std::vector<Range>& ranges = header.ranges;
  ranges.clear();
  for (const Range& range : recorded) {
    const std::int64_t begin_ns = After(range.start_ns);
    const std::int64_t end_ns = After(range.start_ns + range.duration_ns);
    if (end_ns > begin_ns || range.duration_ns == 0) {
      ranges.push_back(range);
      ranges.back().start_ns = begin_ns;
      ranges.back().duration_ns = end_ns - begin_ns;
    }
    for (const Growth& of : growth_) {
      for (const Growth::Part& part : of.parts) {
        if (range.start_ns >= part.from_ns && range.start_ns + range.duration_ns <= part.to_ns) {
          ranges.push_back(range);
          ranges.back().start_ns += part.shift_ns;
        }
      }
    }
  }
  std::ranges::stable_sort(ranges, [](const Range& a, const Range& b) {
    return std::pair(a.start_ns, -a.duration_ns) < std::pair(b.start_ns, -b.duration_ns);
  });
  if (ranges.size() > kMaxRanges) {
    const auto counted = std::ranges::find(header.diagnostics, kRangeLeftOut,
                                           &std::pair<std::string, std::uint64_t>::first);
    (counted != header.diagnostics.end() ? *counted
                                         : header.diagnostics.emplace_back(kRangeLeftOut, 0))
        .second += ranges.size() - kMaxRanges;
    ranges.resize(kMaxRanges);
  }
}

}  // namespace reprise
