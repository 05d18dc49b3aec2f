// TraceMetadata's lists as files hold them: a list per member, parallel to each other, in the order
// in which files have them. Only et_schema sees this.
#pragma once

#include <string>
#include <vector>

#include "et_schema/field_rows.h"
#include "et_schema/node.h"

namespace reprise {

struct HeaderLists {
  std::vector<std::string> step_names;
  std::vector<std::int64_t> step_starts_ns;
  std::vector<std::int64_t> step_durations_ns;
  std::vector<std::string> range_names;
  std::vector<std::int64_t> ranges;
  std::vector<std::int64_t> index_ranges;
  std::vector<std::string> sample_names;
  std::vector<std::int64_t> sample_devices;
  std::vector<std::int64_t> sample_counts;
  std::vector<std::int64_t> sample_times_ns;
  std::vector<std::int64_t> sample_millionths;
  std::vector<std::string> group_ids;
  std::vector<std::string> group_descriptions;
  std::vector<std::int64_t> group_sizes;
  std::vector<std::int64_t> group_ranks;
  std::vector<std::string> diagnostics_names;
  std::vector<std::uint64_t> diagnostics_counts;
  std::string link_method;
  std::string link_choice;
  std::vector<std::int64_t> link_numbers;
  std::vector<std::int64_t> link_threads;
  std::vector<std::string> link_unmatched;
};

// Written all or none: metadata_codec.cc.
// clang-format off
inline constexpr auto kStepLists = std::tuple{
    HeaderField<&HeaderLists::step_names>{.name = "step_names", .written = Always()},
    HeaderField<&HeaderLists::step_starts_ns>{.name = "step_starts_ns", .written = Always()},
    HeaderField<&HeaderLists::step_durations_ns>{.name = "step_durations_ns", .written = Always()}};
inline constexpr auto kRangeLists = std::tuple{
    HeaderField<&HeaderLists::range_names>{.name = "range_names", .written = Always()},
    HeaderField<&HeaderLists::ranges>{.name = "ranges", .written = Always()}};
inline constexpr auto kIndexRangeLists = std::tuple{
    HeaderField<&HeaderLists::index_ranges>{.name = "index_ranges", .written = Always()}};
inline constexpr auto kSampleLists = std::tuple{
    HeaderField<&HeaderLists::sample_names>{.name = "sample_names", .written = Always()},
    HeaderField<&HeaderLists::sample_devices>{.name = "sample_devices", .written = Always()},
    HeaderField<&HeaderLists::sample_counts>{.name = "sample_counts", .written = Always()},
    HeaderField<&HeaderLists::sample_times_ns>{.name = "sample_times_ns", .written = Always()},
    HeaderField<&HeaderLists::sample_millionths>{
        .name = "sample_millionths", .written = Always()}};
inline constexpr auto kGroupLists = std::tuple{
    HeaderField<&HeaderLists::group_ids>{.name = "group_ids", .written = Always()},
    HeaderField<&HeaderLists::group_descriptions>{
        .name = "group_descriptions", .written = Always()},
    HeaderField<&HeaderLists::group_sizes>{.name = "group_sizes", .written = Always()},
    HeaderField<&HeaderLists::group_ranks>{.name = "group_ranks", .written = Always()}};
inline constexpr auto kDiagnosticsLists = std::tuple{
    HeaderField<&HeaderLists::diagnostics_names>{.name = "diagnostics_names", .written = Always()},
    HeaderField<&HeaderLists::diagnostics_counts>{
        .name = "diagnostics_counts", .written = Always()}};
inline constexpr auto kLinkLists = std::tuple{
    HeaderField<&HeaderLists::link_method>{.name = "link_method", .written = Always()},
    HeaderField<&HeaderLists::link_choice>{.name = "link_choice", .written = Always()},
    HeaderField<&HeaderLists::link_numbers>{.name = "link_numbers", .written = Always()},
    HeaderField<&HeaderLists::link_threads>{.name = "link_threads", .written = Always()},
    HeaderField<&HeaderLists::link_unmatched>{.name = "link_unmatched", .written = Always()}};
// clang-format on
inline constexpr auto kHeaderLists =
    std::tuple_cat(kStepLists, kRangeLists, kIndexRangeLists, kSampleLists, kGroupLists,
                   kDiagnosticsLists, kLinkLists);
static_assert(MemberRows(kHeaderLists) == MemberCount<HeaderLists>(),
              "a member of HeaderLists has no row");

[[nodiscard]] HeaderLists ListsOf(const TraceMetadata& metadata);
// The inverse. Of parallel lists the shortest decides; what does not fit together is left out.
void SetLists(const HeaderLists& lists, TraceMetadata& metadata);

}  // namespace reprise
