// The rule of each Field: those of the tables, and of what has no row in them.
#pragma once

#include <algorithm>
#include <array>

#include "et_schema/header_fields.h"
#include "et_schema/node_fields.h"

namespace reprise {

struct SharedField {
  std::string_view name;  // as policies have it
  SharingRule sharing;
};
constexpr SharingRule Own(Field field, std::string_view may, std::string_view presets) {
  return {.field = field, .may = may, .presets = presets, .kept = Kept::kOwn};
}

inline constexpr SharedField kOtherFields[] = {
    // Of nodes.
    {.name = "id", .sharing = Own(Field::kId, "m", "mmm")},
    {.name = "name", .sharing = Own(Field::kName, "kmc", "mcc")},
    {.name = "type", .sharing = Own(Field::kType, "k", "kkk")},
    {.name = "data_deps", .sharing = Own(Field::kDataDeps, "kd", "kkd")},
    // Of Node::actor and Node::deps.
    {.name = "actor", .sharing = Own(Field::kActor, "k", "kkk")},
    {.name = "tid", .sharing = Own(Field::kTid, "km", "mmm")},
    {.name = "stream", .sharing = Own(Field::kStream, "km", "kmm")},
    {.name = "device", .sharing = Own(Field::kDevice, "km", "mmm")},
    {.name = "dep_reasons", .sharing = Own(Field::kDepReasons, "kd", "kkd")},
    // Of transfers.
    {.name = "comm_bytes", .sharing = Own(Field::kCommBytes, "kd", "kkk")},
    {.name = "comm_splits", .sharing = Own(Field::kCommSplits, "kd", "kkd")},
    // Of storage: parts of Node::storage (storage_fields.h).
    {.name = "storage_op", .sharing = Own(Field::kStorageOp, "kd", "kkk")},
    {.name = "storage_bytes", .sharing = Own(Field::kStorageBytes, "kd", "kkd")},
    {.name = "storage_flags", .sharing = Own(Field::kStorageFlags, "kd", "kdd")},
    {.name = "storage_place", .sharing = Own(Field::kStoragePlace, "kd", "ddd")},
    // Of arguments.
    {.name = "tensors", .sharing = Own(Field::kTensors, "kd", "kdd")},
    {.name = "tensor_ids", .sharing = Own(Field::kTensorIds, "kmd", "ddd")},
    {.name = "tensor_incarnations", .sharing = Own(Field::kTensorIncarnations, "kmd", "mdd")},
    {.name = "tensor_offsets", .sharing = Own(Field::kTensorOffsets, "kd", "kdd")},
    {.name = "tensor_strides", .sharing = Own(Field::kTensorStrides, "kd", "kdd")},
    {.name = "tensor_devices", .sharing = Own(Field::kTensorDevices, "kmd", "mdd")},
    {.name = "integers", .sharing = Own(Field::kIntegers, "kd", "kdd")},
    {.name = "floats", .sharing = Own(Field::kFloats, "kcd", "cdd")},
    {.name = "strings", .sharing = Own(Field::kStrings, "kmd", "mdd")},
    {.name = "result_values", .sharing = Own(Field::kResultValues, "kd", "ddd")},
    // Of the set and the header.
    {.name = "set_name", .sharing = Own(Field::kSetName, "kd", "ddd")},
    {.name = "version", .sharing = Own(Field::kVersion, "kd", "kkk")},
    {.name = "machine", .sharing = Own(Field::kMachine, "kd", "kkd")},
    {.name = "placement", .sharing = Own(Field::kPlacement, "md", "mmd")},
    {.name = "clock", .sharing = Own(Field::kClock, "kmd", "mmd")},
    {.name = "step_names", .sharing = Own(Field::kStepNames, "kmd", "mmd")},
    {.name = "step_times", .sharing = Own(Field::kStepTimes, "kd", "kkk")},
    {.name = "ranges", .sharing = Own(Field::kRanges, "kmd", "mdd")},
    {.name = "index_ranges", .sharing = Own(Field::kIndexRanges, "md", "mdd")},
    {.name = "samples", .sharing = Own(Field::kSamples, "md", "mmd")},
    {.name = "group_description", .sharing = Own(Field::kGroupDescription, "kmd", "ddd")},
    {.name = "group_ranks", .sharing = Own(Field::kGroupRanks, "k", "kkk")},
    {.name = "diagnostics", .sharing = Own(Field::kDiagnostics, "kd", "ddd")},
    {.name = "link", .sharing = Own(Field::kLink, "kd", "ddd")},
};

// By Field.
inline constexpr std::array<SharedField, kFieldCount> kSharedFields = [] {
  std::array<SharedField, kFieldCount> fields{};
  const auto add = [&](const auto& row) {
    if (!row.sharing.may.empty()) {
      fields.at(static_cast<std::size_t>(row.sharing.field)) = {row.name, row.sharing};
    }
  };
  for (const SharedField& other : kOtherFields) {
    add(other);
  }
  ForEachMember(kNodeFields, add);
  ForEachMember(kDeviceFields, add);
  ForEachMember(kTransferFields, add);
  ForEachMember(kHeaderFields, add);
  return fields;
}();
static_assert(std::ranges::none_of(kSharedFields, &std::string_view::empty, &SharedField::name),
              "a Field has no rule, or two rows have the same");

// Whether a policy can keep values of the row's type as its rule says.
template <typename Row>
constexpr bool CanBeKept(const Row& row) {
  const Kept kept = row.sharing.kept;
  return kept == Kept::kPlain || kept == Kept::kOwn ||
         (kept == Kept::kName ? std::is_same_v<typename Row::Value, std::string>
                              : std::is_same_v<typename Row::Value, std::int64_t>);
}
static_assert(
    [] {
      bool all = true;
      const auto check = [&](const auto& row) { all = all && CanBeKept(row); };
      ForEachMember(kNodeFields, check);
      ForEachMember(kDeviceFields, check);
      ForEachMember(kTransferFields, check);
      ForEachMember(kHeaderFields, check);
      return all;
    }(),
    "a rule that does not fit its member's type");

}  // namespace reprise
