// The attributes of the header as tables, in the order in which files have them (see
// node_fields.h). Its lists: header_lists.h.
//
// A new attribute is a member and a row here, and an enumerator of Field (sharing.h).
#pragma once

#include "et_schema/field_rows.h"
#include "et_schema/node.h"

namespace reprise {

// What the file itself says, first and last: its format, and the count of its nodes in the eight
// bytes that a writer sets at the end.
template <typename Type>
struct HeaderMark {
  using As = Type;
  std::string_view name;
  Written written = Always();
};
inline constexpr HeaderMark<field::Int32> kFormatMark{.name = "reprise_format"};
inline constexpr HeaderMark<field::Fixed64> kNodeCountMark{.name = "node_count"};

// clang-format off

inline constexpr auto kHeaderFields = std::tuple{
    HeaderField<&TraceMetadata::rank>{
        .name = "rank", .written = Always(), .json = 1,
        .sharing = {.field = Field::kRank, .may = "k", .presets = "kkk"}},
    HeaderField<&TraceMetadata::world_size>{
        .name = "world_size", .written = Always(), .json = 2,
        .sharing = {.field = Field::kWorldSize, .may = "k", .presets = "kkk"}},
    HeaderField<&TraceMetadata::base_ns>{
        .name = "base_ns", .written = Always(), .json = 3,
        .sharing = {.field = Field::kBaseNs, .may = "kmd", .presets = "mmd", .kept = Kept::kOwn}},
    HeaderField<&TraceMetadata::source>{
        .name = "source", .written = Always(), .json = 4,
        .sharing = {.field = Field::kSource, .may = "kd", .presets = "kkd", .kept = Kept::kOwn}},
    HeaderField<&TraceMetadata::untraced_step_ns>{
        .name = "untraced_step_ns", .written = Always(), .json = 7,
        .sharing = {.field = Field::kUntracedStepNs, .may = "kd", .presets = "kkd",
                    .kept = Kept::kTime}},
    HeaderField<&TraceMetadata::tracing_call_ns>{
        .name = "tracing_call_ns", .json = 8,
        .sharing = {.field = Field::kTracingCallNs, .may = "kd", .presets = "kkd",
                    .kept = Kept::kTime}},
    HeaderField<&TraceMetadata::untraced_page_faults>{
        .name = "untraced_page_faults", .json = 100,
        .sharing = {.field = Field::kUntracedPageFaults, .may = "kd", .presets = "kkd"}}};

// Under the rule of Field::kMachine. JSON has the names without the prefix.
inline constexpr std::string_view kMachinePrefix = "machine_";
inline constexpr auto kMachineFields = std::tuple{
    HeaderField<&RecordedMachine::processor>{.name = "machine_processor"},
    HeaderField<&RecordedMachine::device>{.name = "machine_device"},
    HeaderField<&RecordedMachine::framework>{.name = "machine_framework"},
    HeaderField<&RecordedMachine::threads, field::Count>{.name = "machine_threads"},
    HeaderField<&RecordedMachine::cores, field::Count>{.name = "machine_cores"}};

// Under the rule of Field::kPlacement. JSON and rank<N>.meta.json have the names without the
// prefix.
inline constexpr std::string_view kPlacementPrefix = "placement_";
inline constexpr auto kPlacementFields = std::tuple{
    HeaderField<&RankPlacement::host>{.name = "placement_host"},
    HeaderField<&RankPlacement::slot>{.name = "placement_slot"},
    HeaderField<&RankPlacement::pci_bus_id>{.name = "placement_pci_bus_id"},
    HeaderField<Inner<&RankPlacement::device, &DevicePlacement::pcie_lanes>{}, field::Count>{
        .name = "placement_pcie_lanes"},
    HeaderField<Inner<&RankPlacement::device, &DevicePlacement::numa_node>{}>{
        .name = "placement_device_numa_node"},
    HeaderField<&RankPlacement::process_numa_nodes>{.name = "placement_process_numa_nodes"},
    HeaderField<&RankPlacement::memory_numa_nodes>{.name = "placement_memory_numa_nodes"},
    HeaderField<Inner<&RankPlacement::device, &DevicePlacement::links>{}>{
        .name = "placement_links"},
    HeaderField<Inner<&RankPlacement::device, &DevicePlacement::link_kind>{}>{
        .name = "placement_link_kind"},
    HeaderField<Inner<&RankPlacement::device, &DevicePlacement::link_neighbours>{}>{
        .name = "placement_link_neighbours"}};

// Under the rule of Field::kClock.
inline constexpr auto kClockFields = std::tuple{
    HeaderField<&TraceMetadata::clock_offset_ns>{
        .name = "clock_offset_ns", .written = Always(), .json = 10},
    HeaderField<&TraceMetadata::clock_drift>{
        .name = "clock_drift", .written = Always(), .json = 11},
    HeaderField<&TraceMetadata::clock_uncertainty_ns>{
        .name = "clock_uncertainty_ns", .written = Always(), .json = 12}};

// clang-format on

// But for version, steps, ranges, index_ranges, samples, groups, machine, placement, diagnostics
// and link.
static_assert(MemberRows(kHeaderFields) + MemberRows(kClockFields) + 10 ==
                  MemberCount<TraceMetadata>(),
              "a member of TraceMetadata has no row");
static_assert(MemberRows(kMachineFields) == MemberCount<RecordedMachine>(),
              "a member of RecordedMachine has no row");
// But for RankPlacement::device itself.
static_assert(MemberRows(kPlacementFields) + 1 ==
                  MemberCount<RankPlacement>() + MemberCount<DevicePlacement>(),
              "a member of RankPlacement or DevicePlacement has no row");

}  // namespace reprise
