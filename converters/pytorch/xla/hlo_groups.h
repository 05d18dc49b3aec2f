// The forms in which messages of XLA's programs name groups of a transfer. Each is false where the
// message is malformed.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "converters/message_fields.h"
#include "converters/pytorch/xla/hlo_collective.h"

namespace reprise::pytorch {

// `repeated int64`, packed or one by one.
[[nodiscard]] bool AppendHloIntegers(const MessageField& field, std::vector<std::int64_t>& out);

// ReplicaGroup: one list.
[[nodiscard]] bool ReadHloGroup(std::string_view message,
                                std::vector<std::vector<std::int64_t>>& groups);
// IotaReplicaGroupListProto: a count that is reshaped and transposed.
[[nodiscard]] bool ReadHloIota(std::string_view message, HloCollective& out);
// MeshAxesReplicaGroupListProto: a mesh's sizes, and the axes that groups go along. Of axes in
// parts, and meshes with devices in an order of their own, the groups are not read.
[[nodiscard]] bool ReadHloMesh(std::string_view message, HloCollective& out);
// CollectiveDeviceListProto: lists, or as ReadHloIota.
[[nodiscard]] bool ReadHloDevices(std::string_view message, HloCollective& out);

}  // namespace reprise::pytorch
