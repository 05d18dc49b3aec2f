// What XLA's instructions (HLO) say of a transfer, whether as text or as a message.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/dtype.h"

namespace reprise::pytorch {

enum class HloTransfer : std::uint8_t {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kBroadcast,
  kPermute,  // each member sends to one, and receives from one
  kSend,
  kRecv,
};
// As Kineto writes it; of a permute: of its sending half.
[[nodiscard]] std::string_view KinetoName(HloTransfer kind);

enum class HloPart : std::uint8_t { kWhole, kStart, kDone };
struct HloOpcode {
  std::optional<HloTransfer> transfer;  // nothing: it is work
  HloPart part = HloPart::kWhole;
};
// "all-reduce", "all-gather-start", "recv-done", "copy-start".
[[nodiscard]] HloOpcode ParseHloOpcode(std::string_view opcode);

// Bits of an element; 0: not known. `type`: "f32", "bf16", "pred".
[[nodiscard]] int HloTypeBits(std::string_view type);

struct HloCollective {
  HloTransfer kind = HloTransfer::kAllReduce;
  std::string type;                 // of the first operand
  std::int64_t operand_bytes = -1;  // of all operands; -1: not known
  std::int64_t result_bytes = -1;   // of an instruction that is no -start; -1: not known
  bool has_groups = false;          // they are said; none: all devices are one group
  std::vector<std::vector<std::int64_t>> groups;
  std::vector<std::pair<std::int64_t, std::int64_t>> pairs;  // source, target: of a permute
  bool has_channel = false;
  bool flattened = false;  // ids count replica by replica, and in it partition by partition
};

// What only moves elements moves bytes, where Reprise has no type like XLA's.
[[nodiscard]] DType DTypeOf(const HloCollective& collective);

// Which device runs each part of a program. Empty: not known, ids are taken as devices.
struct HloAssignment {
  std::int64_t replicas = 0, partitions = 0;
  std::vector<std::int64_t> devices;  // [partition * replicas + replica]
};

// The devices of the group that `device` is in, in the group's order; nothing: they are not said,
// or it is in none.
[[nodiscard]] std::optional<std::vector<std::int64_t>> GroupOf(const HloCollective& collective,
                                                               const HloAssignment& assignment,
                                                               std::int64_t device);
// To which device `device` sends, and from which it receives; -1: none.
struct HloPeers {
  std::int64_t target = -1, source = -1;
};
[[nodiscard]] HloPeers PeersOf(const HloCollective& collective, const HloAssignment& assignment,
                               std::int64_t device);

// All devices that its pairs name, which are one group; empty: it has none.
[[nodiscard]] std::vector<std::int64_t> DevicesOf(const HloCollective& collective,
                                                  const HloAssignment& assignment,
                                                  std::int64_t device);

// Bytes that a member puts in and gets; -1: not known.
struct HloBytes {
  std::int64_t in = -1, out = -1;
};
// `members`: of the group; 0: not known.
[[nodiscard]] HloBytes BytesOf(const HloCollective& collective, std::int64_t members);

// "[4,2]<=[2,4]T(1,0)" as lists: groups of a count that is reshaped and transposed. False: too
// large, or not whole.
[[nodiscard]] bool ExpandGroups(std::int64_t groups, std::int64_t members,
                                const std::vector<std::int64_t>& shape,
                                const std::vector<std::int64_t>& order,
                                std::vector<std::vector<std::int64_t>>& out);
// Groups that go along these axes of a mesh of these sizes, whose devices count in order.
[[nodiscard]] bool GroupsAlong(const std::vector<std::int64_t>& sizes,
                               const std::vector<std::int64_t>& axes,
                               std::vector<std::vector<std::int64_t>>& out);

}  // namespace reprise::pytorch
