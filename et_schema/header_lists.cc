#include "et_schema/header_lists.h"

#include <algorithm>

#include "et_schema/range_lists.h"

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

void AddLink(const LinkReport& link, HeaderLists& lists) {
  lists.link_method = link.method;
  lists.link_choice = link.choice;
  const auto numbers = LinkNumbers(link);
  lists.link_numbers.assign(numbers.begin(), numbers.end());
  for (const LinkReport::Thread& thread : link.threads) {
    const auto row = LinkNumbers(thread);
    lists.link_threads.insert(lists.link_threads.end(), row.begin(), row.end());
  }
  lists.link_unmatched = link.unmatched;
}

void SetLink(const HeaderLists& lists, LinkReport& link) {
  link.method = lists.link_method;
  link.choice = lists.link_choice;
  SetLinkNumbers(lists.link_numbers, link);
  SetLinkThreads(lists.link_threads, link);
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
  RangeLists ranges = ListsOf(metadata.ranges);
  lists.range_names = std::move(ranges.names);
  lists.ranges = std::move(ranges.numbers);
  for (const IndexRange& range : metadata.index_ranges) {
    lists.index_ranges.insert(lists.index_ranges.end(), {range.incarnation, range.low, range.high});
  }
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
  metadata.ranges = RangesOf({lists.range_names, lists.ranges});
  const std::vector<std::int64_t>& numbers = lists.index_ranges;
  for (std::size_t i = 0; i + 2 < numbers.size(); i += 3) {
    metadata.index_ranges.push_back({numbers[i], numbers[i + 1], numbers[i + 2]});
  }
  metadata.groups = GroupsOf(lists);
  const std::size_t counters =
      std::min(lists.diagnostics_names.size(), lists.diagnostics_counts.size());
  for (std::size_t i = 0; i < counters; ++i) {
    metadata.diagnostics.emplace_back(lists.diagnostics_names[i], lists.diagnostics_counts[i]);
  }
  SetLink(lists, metadata.link);
}

}  // namespace reprise
