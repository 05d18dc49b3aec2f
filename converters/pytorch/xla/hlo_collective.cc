#include "converters/pytorch/xla/hlo_collective.h"

#include <algorithm>
#include <iterator>
#include <numeric>

namespace reprise::pytorch {
namespace {

constexpr std::pair<std::string_view, HloTransfer> kHloTransfers[] = {
    {"all-reduce", HloTransfer::kAllReduce},
    {"all-gather", HloTransfer::kAllGather},
    {"reduce-scatter", HloTransfer::kReduceScatter},
    {"all-to-all", HloTransfer::kAllToAll},
    {"ragged-all-to-all", HloTransfer::kAllToAll},
    {"collective-broadcast", HloTransfer::kBroadcast},
    {"collective-permute", HloTransfer::kPermute},
    {"send", HloTransfer::kSend},
    {"recv", HloTransfer::kRecv},
};

struct HloType {
  std::string_view name;
  int bits;
  DType dtype;
};
constexpr HloType kHloTypes[] = {
    {"pred", 8, DType::kBool},
    {"s8", 8, DType::kInt8},
    {"s16", 16, DType::kInt16},
    {"s32", 32, DType::kInt32},
    {"s64", 64, DType::kInt64},
    {"u8", 8, DType::kUInt8},
    {"f16", 16, DType::kFloat16},
    {"bf16", 16, DType::kBFloat16},
    {"f32", 32, DType::kFloat32},
    {"f64", 64, DType::kFloat64},
    {"c64", 64, DType::kComplex64},
    {"c128", 128, DType::kComplex128},
    {"f8e5m2", 8, DType::kFloat8E5M2},
    {"f8e4m3fn", 8, DType::kFloat8E4M3},
    {"u16", 16, DType::kUnknown},
    {"u32", 32, DType::kUnknown},
    {"u64", 64, DType::kUnknown},
    {"s4", 4, DType::kUnknown},
    {"u4", 4, DType::kUnknown},
    {"f8e4m3", 8, DType::kUnknown},
    {"f8e4m3b11fnuz", 8, DType::kUnknown},
    {"f8e5m2fnuz", 8, DType::kUnknown},
    {"f8e4m3fnuz", 8, DType::kUnknown},
    {"f8e3m4", 8, DType::kUnknown},
    {"f8e8m0fnu", 8, DType::kUnknown},
    {"f4e2m1fn", 4, DType::kUnknown},
};

const HloType* FindHloType(std::string_view name) {
  const auto* const found = std::ranges::find(kHloTypes, name, &HloType::name);
  return found == std::end(kHloTypes) ? nullptr : found;
}

constexpr std::int64_t kMostDevices = 1 << 17;

// Between ids of groups and devices, for the replica and the partition of one device.
class DeviceIds {
 public:
  DeviceIds(const HloCollective& collective, const HloAssignment& assignment, std::int64_t device)
      : collective_(collective), assignment_(assignment) {
    const auto own = std::ranges::find(assignment.devices, device);
    known_ = own != assignment.devices.end() && assignment.replicas > 0;
    if (known_) {
      const std::int64_t at = own - assignment.devices.begin();
      partition_ = at / assignment.replicas;
      replica_ = at % assignment.replicas;
    }
  }

  // Empty assignment: the id itself. Nothing: no such device.
  [[nodiscard]] std::optional<std::int64_t> DeviceOf(std::int64_t id) const {
    if (assignment_.devices.empty()) {
      return id;
    }
    if (!known_ || id < 0) {
      return std::nullopt;
    }
    if (collective_.flattened) {
      return At(id / assignment_.partitions, id % assignment_.partitions);
    }
    return collective_.has_channel && !CrossesReplicas() ? At(replica_, id) : At(id, partition_);
  }

  // A group of replicas that goes over all partitions.
  [[nodiscard]] bool SpansPartitions() const {
    return !assignment_.devices.empty() && collective_.has_channel && !collective_.flattened &&
           CrossesReplicas() && assignment_.partitions > 1;
  }
  [[nodiscard]] std::optional<std::int64_t> At(std::int64_t replica, std::int64_t partition) const {
    if (replica < 0 || replica >= assignment_.replicas || partition < 0 ||
        partition >= assignment_.partitions) {
      return std::nullopt;
    }
    return assignment_
        .devices[static_cast<std::size_t>(partition * assignment_.replicas + replica)];
  }

 private:
  // With a channel, ids of these are replicas', of others partitions'.
  [[nodiscard]] bool CrossesReplicas() const {
    return collective_.kind == HloTransfer::kAllReduce ||
           collective_.kind == HloTransfer::kAllGather ||
           collective_.kind == HloTransfer::kReduceScatter;
  }

  const HloCollective& collective_;
  const HloAssignment& assignment_;
  bool known_ = false;
  std::int64_t replica_ = 0, partition_ = 0;
};

}  // namespace

std::string_view KinetoName(HloTransfer kind) {
  switch (kind) {
    case HloTransfer::kAllReduce:
      return "allreduce";
    case HloTransfer::kAllGather:
      return "all_gather";
    case HloTransfer::kReduceScatter:
      return "reduce_scatter";
    case HloTransfer::kAllToAll:
      return "all_to_all";
    case HloTransfer::kBroadcast:
      return "broadcast";
    case HloTransfer::kPermute:
    case HloTransfer::kSend:
      return "send";
    case HloTransfer::kRecv:
      return "recv";
  }
  return "";
}

HloOpcode ParseHloOpcode(std::string_view opcode) {
  HloOpcode out;
  for (const auto& [ending, part] :
       {std::pair(std::string_view("-start"), HloPart::kStart), {"-done", HloPart::kDone}}) {
    if (opcode.ends_with(ending)) {
      opcode.remove_suffix(ending.size());
      out.part = part;
    }
  }
  const auto* const found =
      std::ranges::find(kHloTransfers, opcode, [](const auto& one) { return one.first; });
  if (found != std::end(kHloTransfers)) {
    out.transfer = found->second;
    const bool pair = found->second == HloTransfer::kSend || found->second == HloTransfer::kRecv;
    out.part = pair && out.part == HloPart::kWhole ? HloPart::kStart : out.part;
  }
  return out;
}

int HloTypeBits(std::string_view type) {
  const HloType* const found = FindHloType(type);
  return found == nullptr ? 0 : found->bits;
}

DType DTypeOf(const HloCollective& collective) {
  const HloType* const found = FindHloType(collective.type);
  const DType known = found == nullptr ? DType::kUnknown : found->dtype;
  const bool reduces =
      collective.kind == HloTransfer::kAllReduce || collective.kind == HloTransfer::kReduceScatter;
  return known == DType::kUnknown && found != nullptr && !reduces ? DType::kUInt8 : known;
}

std::optional<std::vector<std::int64_t>> GroupOf(const HloCollective& collective,
                                                 const HloAssignment& assignment,
                                                 std::int64_t device) {
  const DeviceIds ids(collective, assignment, device);
  std::vector<std::vector<std::int64_t>> all;
  if (collective.groups.empty()) {
    if (!collective.has_groups || assignment.devices.empty()) {
      return std::nullopt;
    }
    const bool replicas =
        !collective.has_channel || ids.SpansPartitions() || assignment.partitions == 1;
    all.emplace_back(
        static_cast<std::size_t>(replicas ? assignment.replicas : assignment.partitions));
    std::iota(all.front().begin(), all.front().end(), 0);
  }
  for (const std::vector<std::int64_t>& group : all.empty() ? collective.groups : all) {
    std::vector<std::int64_t> devices;
    bool whole = true;
    for (const std::int64_t id : group) {
      for (std::int64_t p = 0; p < (ids.SpansPartitions() ? assignment.partitions : 1); ++p) {
        const std::optional<std::int64_t> member =
            ids.SpansPartitions() ? ids.At(id, p) : ids.DeviceOf(id);
        whole = whole && member;
        devices.push_back(member.value_or(-1));
      }
    }
    if (whole && std::ranges::find(devices, device) != devices.end()) {
      return devices;
    }
  }
  return std::nullopt;
}

HloPeers PeersOf(const HloCollective& collective, const HloAssignment& assignment,
                 std::int64_t device) {
  HloPeers out;
  const DeviceIds ids(collective, assignment, device);
  for (const auto& [from, to] : collective.pairs) {
    const std::optional<std::int64_t> source = ids.DeviceOf(from);
    const std::optional<std::int64_t> target = ids.DeviceOf(to);
    if (source && target) {
      out.target = *source == device ? *target : out.target;
      out.source = *target == device ? *source : out.source;
    }
  }
  return out;
}

std::vector<std::int64_t> DevicesOf(const HloCollective& collective,
                                    const HloAssignment& assignment, std::int64_t device) {
  std::vector<std::int64_t> out;
  const DeviceIds ids(collective, assignment, device);
  for (const auto& [from, to] : collective.pairs) {
    for (const std::int64_t id : {from, to}) {
      if (const std::optional<std::int64_t> member = ids.DeviceOf(id)) {
        out.push_back(*member);
      }
    }
  }
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

HloBytes BytesOf(const HloCollective& collective, std::int64_t members) {
  HloBytes out{.in = collective.operand_bytes, .out = collective.result_bytes};
  constexpr std::int64_t kMost = std::int64_t{1} << 46;
  switch (collective.kind) {
    case HloTransfer::kAllGather:
      if (members > 0 && out.in >= 0) {
        out.out = out.in < kMost / members ? out.in * members : -1;
      } else if (members > 0 && out.out >= 0) {
        out.in = out.out / members;
      }
      return out;
    case HloTransfer::kReduceScatter:
      if (members > 0 && out.in >= 0) {
        out.out = out.in / members;
      } else if (members > 0 && out.out >= 0) {
        out.in = out.out < kMost / members ? out.out * members : -1;
      }
      return out;
    default:
      out.in = out.in >= 0 ? out.in : out.out;
      out.out = out.in;
      return out;
  }
}

bool ExpandGroups(std::int64_t groups, std::int64_t members, const std::vector<std::int64_t>& shape,
                  const std::vector<std::int64_t>& order,
                  std::vector<std::vector<std::int64_t>>& out) {
  if (groups < 1 || members < 1 || groups > kMostDevices / members || shape.empty() ||
      (!order.empty() && order.size() != shape.size())) {
    return false;
  }
  const std::int64_t all = groups * members;
  std::int64_t whole = 1;
  for (const std::int64_t size : shape) {
    if (size < 1 || whole > all / size) {
      return false;
    }
    whole *= size;
  }
  if (whole != all) {
    return false;
  }
  // Of each dimension in the order that it has after the transposition: its size and its step.
  std::vector<std::pair<std::int64_t, std::int64_t>> dims;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::int64_t dim = order.empty() ? static_cast<std::int64_t>(i) : order[i];
    if (dim < 0 || dim >= std::ssize(shape)) {
      return false;
    }
    std::int64_t step = 1;
    for (auto inner = static_cast<std::size_t>(dim) + 1; inner < shape.size(); ++inner) {
      step *= shape[inner];
    }
    dims.emplace_back(shape[static_cast<std::size_t>(dim)], step);
  }
  for (std::int64_t i = 0; i < all; ++i) {
    std::int64_t rest = i;
    std::int64_t id = 0;
    for (std::size_t d = dims.size(); d-- > 0;) {
      id += rest % dims[d].first * dims[d].second;
      rest /= dims[d].first;
    }
    if (i % members == 0) {
      out.emplace_back();
    }
    out.back().push_back(id);
  }
  return true;
}

bool GroupsAlong(const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& axes,
                 std::vector<std::vector<std::int64_t>>& out) {
  std::int64_t all = 1;
  std::int64_t members = 1;
  std::vector<std::int64_t> order;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 1 || all > kMostDevices / sizes[i]) {
      return false;
    }
    all *= sizes[i];
    if (std::ranges::find(axes, static_cast<std::int64_t>(i)) == axes.end()) {
      order.push_back(static_cast<std::int64_t>(i));
    }
  }
  for (const std::int64_t axis : axes) {
    if (axis < 0 || axis >= std::ssize(sizes) || std::ranges::count(axes, axis) > 1) {
      return false;
    }
    members *= sizes[static_cast<std::size_t>(axis)];
    order.push_back(axis);
  }
  return ExpandGroups(all / members, members, sizes, order, out);
}

}  // namespace reprise::pytorch
