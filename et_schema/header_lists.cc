#include "et_schema/header_lists.h"

#include <algorithm>
#include <map>
#include <set>
#include <type_traits>
#include <utility>

namespace reprise {
namespace {

void AddGroups(const std::vector<ProcessGroup>& groups, HeaderLists& lists) {
  for (const ProcessGroup& group : groups) {
    lists.group_ids.push_back(group.id);
    lists.group_descriptions.push_back(group.description);
    lists.group_sizes.push_back(static_cast<std::int64_t>(group.ranks.size()));
    lists.group_ranks.insert(lists.group_ranks.end(), group.ranks.begin(), group.ranks.end());
  }
}

// `group_ranks` holds the groups' lists one after the other. Damaged lists end where they stop to
// fit.
std::vector<ProcessGroup> GroupsOf(const HeaderLists& lists) {
  const std::vector<std::int64_t>& sizes = lists.group_sizes;
  const std::vector<std::int64_t>& ranks = lists.group_ranks;
  std::vector<ProcessGroup> groups;
  std::size_t at = 0;
  for (std::size_t i = 0; i < std::min(lists.group_ids.size(), sizes.size()); ++i) {
    if (sizes[i] < 0 || static_cast<std::size_t>(sizes[i]) > ranks.size() - at) {
      break;
    }
    ProcessGroup& group = groups.emplace_back();
    group.id = lists.group_ids[i];
    group.description = i < lists.group_descriptions.size() ? lists.group_descriptions[i] : "";
    for (std::int64_t k = 0; k < sizes[i]; ++k) {
      group.ranks.push_back(static_cast<std::int32_t>(ranks[at++]));
    }
  }
  return groups;
}

// Distinct names, and five numbers a range: name (index), thread, start, duration, step.
constexpr std::size_t kRangeNumbers = 5;

void AddRanges(const std::vector<Range>& ranges, HeaderLists& lists) {
  std::map<std::string, std::int64_t> index;
  for (const Range& range : ranges) {
    const auto [at, added] =
        index.try_emplace(range.name, static_cast<std::int64_t>(lists.range_names.size()));
    if (added) {
      lists.range_names.push_back(range.name);
    }
    lists.ranges.insert(lists.ranges.end(),
                        {at->second, range.thread, range.start_ns, range.duration_ns, range.step});
  }
}

// What names a missing or too long name, is no multiple of five, or beyond the bound is left out.
std::vector<Range> RangesOf(const HeaderLists& lists) {
  std::vector<Range> ranges;
  const std::vector<std::int64_t>& numbers = lists.ranges;
  const std::size_t end = std::min(numbers.size(), kRangeNumbers * kMaxRanges);
  for (std::size_t i = 0; i + kRangeNumbers <= end; i += kRangeNumbers) {
    const auto name = static_cast<std::uint64_t>(numbers[i]);
    if (name < lists.range_names.size() && lists.range_names[name].size() <= kLongestRangeName) {
      ranges.push_back({.name = lists.range_names[name],
                        .thread = numbers[i + 1],
                        .start_ns = numbers[i + 2],
                        .duration_ns = numbers[i + 3],
                        .step = static_cast<std::int32_t>(numbers[i + 4])});
    }
  }
  return ranges;
}

// A name, a device and a count for each series; times and values one series after the other.
void AddSamples(const std::vector<SampledSeries>& samples, HeaderLists& lists) {
  for (const SampledSeries& series : samples) {
    lists.sample_names.emplace_back(Name(series.quantity));
    lists.sample_devices.push_back(series.device);
    lists.sample_counts.push_back(static_cast<std::int64_t>(series.times_ns.size()));
    lists.sample_times_ns.insert(lists.sample_times_ns.end(), series.times_ns.begin(),
                                 series.times_ns.end());
    lists.sample_millionths.insert(lists.sample_millionths.end(), series.millionths.begin(),
                                   series.millionths.end());
  }
}

// Damaged lists end where they stop to fit. A series of a name that is not known, or of one that
// was there, is left out.
std::vector<SampledSeries> SamplesOf(const HeaderLists& lists) {
  std::vector<SampledSeries> samples;
  const std::size_t all =
      std::min({lists.sample_times_ns.size(), lists.sample_millionths.size(), kMaxSamples});
  const std::size_t series = std::min(
      {lists.sample_names.size(), lists.sample_devices.size(), lists.sample_counts.size()});
  std::set<std::pair<std::int64_t, std::string>> known;
  std::size_t at = 0;
  for (std::size_t i = 0; i < series; ++i) {
    const std::int64_t count = lists.sample_counts[i];
    if (count < 0 || static_cast<std::size_t>(count) > all - at) {
      break;
    }
    const auto begin = static_cast<std::ptrdiff_t>(at);
    const auto end = begin + static_cast<std::ptrdiff_t>(count);
    at = static_cast<std::size_t>(end);
    const auto quantity = ParseName<SampledQuantity>(lists.sample_names[i]);
    if (!quantity || !known.emplace(lists.sample_devices[i], lists.sample_names[i]).second) {
      continue;
    }
    samples.push_back(
        {.quantity = *quantity,
         .device = static_cast<std::int32_t>(lists.sample_devices[i]),
         .times_ns = {lists.sample_times_ns.begin() + begin, lists.sample_times_ns.begin() + end},
         .millionths = {lists.sample_millionths.begin() + begin,
                        lists.sample_millionths.begin() + end}});
  }
  return samples;
}

// The numbers of a link and of its threads as they are kept in files: append only.
void ForEachNumber(auto& link, auto visit) {
  visit(link.matched);
  visit(link.host_records);
  visit(link.timed_records);
  visit(link.repeats);
  visit(link.repeat);
  visit(link.repeat_ns);
  visit(link.repeat_median_ns);
}
constexpr std::size_t kThreadNumbers = 5;
void ForEachThreadNumber(auto& thread, auto visit) {
  visit(thread.host);
  visit(thread.timed);
  visit(thread.matched);
  visit(thread.host_records);
  visit(thread.timed_records);
}

void AddLink(const LinkReport& link, HeaderLists& lists) {
  lists.link_method = link.method;
  lists.link_choice = link.choice;
  const auto add_to = [](std::vector<std::int64_t>& list) {
    return [&list](auto number) { list.push_back(static_cast<std::int64_t>(number)); };
  };
  ForEachNumber(link, add_to(lists.link_numbers));
  for (const LinkReport::Thread& thread : link.threads) {
    ForEachThreadNumber(thread, add_to(lists.link_threads));
  }
  lists.link_unmatched = link.unmatched;
}

// Numbers that are missing stay as they are.
void SetLink(const HeaderLists& lists, LinkReport& link) {
  link.method = lists.link_method;
  link.choice = lists.link_choice;
  const auto take_from = [](const std::vector<std::int64_t>& list, std::size_t at) {
    return [&list, at](auto& number) mutable {
      number = at < list.size() ? static_cast<std::remove_reference_t<decltype(number)>>(list[at])
                                : number;
      ++at;
    };
  };
  ForEachNumber(link, take_from(lists.link_numbers, 0));
  for (std::size_t i = 0; i + kThreadNumbers <= lists.link_threads.size(); i += kThreadNumbers) {
    ForEachThreadNumber(link.threads.emplace_back(), take_from(lists.link_threads, i));
  }
  link.unmatched = lists.link_unmatched;
}

}  // namespace

HeaderLists ListsOf(const TraceMetadata& metadata) {
  HeaderLists lists;
  for (const Step& step : metadata.steps) {
    lists.step_names.push_back(step.name);
    lists.step_starts_ns.push_back(step.start_ns);
    lists.step_durations_ns.push_back(step.duration_ns);
  }
  AddRanges(metadata.ranges, lists);
  for (const IndexRange& range : metadata.index_ranges) {
    lists.index_ranges.insert(lists.index_ranges.end(), {range.incarnation, range.low, range.high});
  }
  AddSamples(metadata.samples, lists);
  AddGroups(metadata.groups, lists);
  for (const auto& [counter, count] : metadata.diagnostics) {
    lists.diagnostics_names.push_back(counter);
    lists.diagnostics_counts.push_back(count);
  }
  AddLink(metadata.link, lists);
  return lists;
}

void SetLists(const HeaderLists& lists, TraceMetadata& metadata) {
  const std::size_t steps = std::min(
      {lists.step_names.size(), lists.step_starts_ns.size(), lists.step_durations_ns.size()});
  for (std::size_t i = 0; i < steps; ++i) {
    metadata.steps.push_back(
        {lists.step_names[i], lists.step_starts_ns[i], lists.step_durations_ns[i]});
  }
  metadata.ranges = RangesOf(lists);
  const std::vector<std::int64_t>& numbers = lists.index_ranges;
  for (std::size_t i = 0; i + 2 < numbers.size(); i += 3) {
    metadata.index_ranges.push_back({numbers[i], numbers[i + 1], numbers[i + 2]});
  }
  metadata.samples = SamplesOf(lists);
  metadata.groups = GroupsOf(lists);
  const std::size_t counters =
      std::min(lists.diagnostics_names.size(), lists.diagnostics_counts.size());
  for (std::size_t i = 0; i < counters; ++i) {
    metadata.diagnostics.emplace_back(lists.diagnostics_names[i], lists.diagnostics_counts[i]);
  }
  SetLink(lists, metadata.link);
}

}  // namespace reprise
