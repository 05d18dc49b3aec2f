// The formulas of network.h.
#include <algorithm>
#include <limits>

#include "core/nanoseconds.h"
#include "predict/simulator/network.h"

namespace reprise {
namespace {

constexpr double kNsPerSecond = 1e9;

// `latency_ns`: what no bandwidth shortens.
TransferTime Rounded(double ns, double latency_ns, TransferAlgorithm algorithm, bool short_protocol,
                     std::size_t level) {
  return {NsOf(ns), algorithm, short_protocol, level, std::max(ns - latency_ns, 0.0)};
}

std::int64_t CeilLog2(std::int64_t n) {
  std::int64_t log = 0;
  while ((std::int64_t{1} << log) < n) {
    ++log;
  }
  return log;
}

}  // namespace

// A domain's links carry the sharers alike. One member cannot use another device's adapter.
double Network::GroupBandwidth(const GroupShape& shape, std::size_t level,
                               std::int64_t senders) const {
  const LinkLevel& link = machine_.links[level];
  const LevelShape& at = shape.levels[level];
  double bandwidth = machine_.DomainBandwidth(level) / at.sharers;
  if (link.bytes_per_second && link.per == BandwidthPer::kDevice) {
    bandwidth = std::min(bandwidth, link.bytes_per_second->value * static_cast<double>(senders));
  }
  return bandwidth * link.efficiency.value * at.slowest;
}

double Network::Latency(std::size_t level, bool short_protocol) const {
  const LinkLevel& link = machine_.links[level];
  return short_protocol ? link.short_latency_ns->value : link.latency_ns.value;
}

double Network::Start(bool short_protocol, bool exchange) const {
  const CollectiveModel& collectives = machine_.collectives;
  const OptionalNumber& other =
      short_protocol ? collectives.short_start_ns : collectives.exchange_start_ns;
  return (short_protocol || exchange) && other ? other->value : collectives.start_ns.value;
}

double Network::Part(bool short_protocol, bool exchange) const {
  const CollectiveModel& collectives = machine_.collectives;
  const bool own = exchange && collectives.exchange_short_part;
  return !short_protocol ? 1
         : own           ? collectives.exchange_short_part->value
                         : collectives.short_part.value;
}

double Network::OwnShareNs(double bytes, const GroupShape& shape, double part) const {
  const OptionalNumber& share = machine_.collectives.own_share;
  const double bandwidth = GroupBandwidth(shape, 0, 1) * part;
  return share
             ? share->value * bytes / static_cast<double>(shape.members) / bandwidth * kNsPerSecond
             : 0;
}

bool Network::HasShortProtocol(const GroupShape& shape) const {
  for (std::size_t level = 0; level < shape.levels.size(); ++level) {
    if (!machine_.links[level].short_latency_ns) {
      return false;
    }
  }
  return true;
}

namespace {

// Edges of a ring that cross exactly this level, and steps of one pass along it.
std::int64_t StepsAt(const GroupShape& shape, std::size_t level) {
  const bool top = level + 1 == shape.levels.size();
  return shape.levels[level].domains - (top ? 1 : shape.levels[level + 1].domains);
}

}  // namespace

// Of the levels that a ring crosses, the one with the least bandwidth.
std::pair<double, std::size_t> Network::Narrowest(const GroupShape& shape,
                                                  bool short_protocol) const {
  double least = std::numeric_limits<double>::infinity();
  std::size_t narrowest = 0;
  for (std::size_t top = 0; top < shape.levels.size(); ++top) {
    if (StepsAt(shape, top) == 0) {
      continue;
    }
    for (std::size_t level = FirstCrossed(top); level <= top; ++level) {
      const double bandwidth = GroupBandwidth(shape, level, shape.levels[level].most);
      if (bandwidth < least) {
        least = bandwidth;
        narrowest = level;
      }
    }
  }
  return {least * Part(short_protocol), narrowest};
}

TransferTime Network::Ring(CommKind kind, double bytes, const GroupShape& shape,
                           bool short_protocol) const {
  const auto [bandwidth, narrowest] = Narrowest(shape, short_protocol);
  const auto n = static_cast<double>(shape.members);
  const bool pipelined = kind == CommKind::kBroadcast || kind == CommKind::kReduce;
  const double chunk = std::min(machine_.collectives.chunk_bytes.value, bytes);
  double latency_ns = 0;
  const double start_ns =
      Start(short_protocol) + (pipelined ? 0 : OwnShareNs(bytes, shape, Part(short_protocol)));
  double alone_ns = start_ns;
  for (std::size_t level = 0; level < shape.levels.size(); ++level) {
    const auto steps = static_cast<double>(StepsAt(shape, level));
    latency_ns += steps * Latency(level, short_protocol);
    latency_ns += pipelined ? steps * chunk / bandwidth * kNsPerSecond : 0;
    alone_ns += (kind == CommKind::kAllReduce ? 2 : 1) * steps * Latency(level, short_protocol);
  }
  const double passes = kind == CommKind::kAllReduce ? 2 : 1;
  const double moved = pipelined ? bytes - chunk : passes * (n - 1) / n * bytes;
  return Rounded(start_ns + passes * latency_ns + moved / bandwidth * kNsPerSecond, alone_ns,
                 TransferAlgorithm::kRing, short_protocol, narrowest);
}

TransferTime Network::Tree(double bytes, const GroupShape& shape, bool short_protocol) const {
  const auto [bandwidth, narrowest] = Narrowest(shape, short_protocol);
  const double chunk = std::min(machine_.collectives.chunk_bytes.value, bytes);
  double latency_ns = 0;
  double alone_ns = Start(short_protocol);
  for (std::size_t level = 0; level < shape.levels.size(); ++level) {
    const bool top = level + 1 == shape.levels.size();
    const std::int64_t below = shape.levels[level].domains;
    const std::int64_t above = top ? 1 : shape.levels[level + 1].domains;
    const std::int64_t fullest = (below + above - 1) / above;
    const std::int64_t depth = level == 0 ? fullest - 1 : CeilLog2(fullest);
    latency_ns += static_cast<double>(depth) *
                  (Latency(level, short_protocol) + chunk / bandwidth * kNsPerSecond);
    alone_ns += 2 * static_cast<double>(depth) * Latency(level, short_protocol);
  }
  return Rounded(
      Start(short_protocol) + 2 * latency_ns + 2 * (bytes - chunk) / bandwidth * kNsPerSecond,
      alone_ns, TransferAlgorithm::kTree, short_protocol, narrowest);
}

bool Network::SwitchesAdd(const GroupShape& shape, DType dtype) const {
  const bool narrow = dtype == DType::kInt8 || dtype == DType::kUInt8;
  return shape.levels.size() == 1 && machine_.links.front().in_switch && !narrow;
}

TransferTime Network::InSwitch(double bytes, const GroupShape& shape) const {
  const LinkLevel& link = machine_.links.front();
  const double alone_ns = Start(false) + link.in_switch_latency_ns->value;
  const double bandwidth =
      GroupBandwidth(shape, 0, 1) / link.efficiency.value * link.in_switch->value;
  return Rounded(alone_ns + bytes / bandwidth * kNsPerSecond, alone_ns,
                 TransferAlgorithm::kInSwitch, false, 0);
}

// All messages at once: the level whose links have most to carry for their bandwidth.
TransferTime Network::Direct(CommKind kind, double bytes, const GroupShape& shape,
                             bool short_protocol) const {
  const std::size_t top = shape.levels.size() - 1;
  const auto n = static_cast<double>(shape.members);
  const double part = Part(short_protocol, true);
  double slowest_ns = -1;
  std::size_t narrowest = top;
  for (std::size_t level = 0; level <= top; ++level) {
    const bool in_node = FirstCrossed(level) == level && InNode(level);
    const auto inside = static_cast<double>(shape.levels[level].most);
    const auto joined =
        !in_node || level == top ? n : static_cast<double>(shape.levels[level + 1].most);
    double volume = 0;
    std::int64_t senders = 1;
    if (IsPointToPoint(kind)) {
      volume = level < FirstCrossed(top) ? 0 : bytes;
    } else if (kind == CommKind::kAllToAll) {
      volume = inside * (joined - inside) / n * bytes;
      senders = shape.levels[level].most;
    } else {
      volume = (joined - inside) / n * bytes;
    }
    const double bandwidth = GroupBandwidth(shape, level, senders) * part;
    if (volume / bandwidth * kNsPerSecond > slowest_ns) {
      slowest_ns = volume / bandwidth * kNsPerSecond;
      narrowest = level;
    }
  }
  const double alone_ns = Start(short_protocol, true) + Latency(top, short_protocol) +
                          (kind == CommKind::kAllToAll ? OwnShareNs(bytes, shape, part) : 0);
  return Rounded(alone_ns + slowest_ns, alone_ns, TransferAlgorithm::kDirect, short_protocol,
                 narrowest);
}

TransferTime Network::TimeOf(CommKind kind, double bytes, const GroupShape& shape,
                             DType dtype) const {
  if (shape.levels.empty()) {
    return {};
  }
  TransferTime best{.ns = std::numeric_limits<std::int64_t>::max()};
  const auto consider = [&best](const TransferTime& time) {
    best = time.ns < best.ns ? time : best;
  };
  for (const bool short_protocol : {false, true}) {
    if (short_protocol && !HasShortProtocol(shape)) {
      continue;
    }
    switch (kind) {
      case CommKind::kAllReduce:
      case CommKind::kBarrier:
        consider(Ring(CommKind::kAllReduce, bytes, shape, short_protocol));
        consider(Tree(bytes, shape, short_protocol));
        if (!short_protocol && SwitchesAdd(shape, dtype)) {
          consider(InSwitch(bytes, shape));
        }
        break;
      case CommKind::kAllGather:
      case CommKind::kReduceScatter:
      case CommKind::kBroadcast:
      case CommKind::kReduce:
        consider(Ring(kind, bytes, shape, short_protocol));
        break;
      case CommKind::kAllToAll:
      case CommKind::kGather:
      case CommKind::kScatter:
      case CommKind::kSend:
      case CommKind::kRecv:
        consider(Direct(kind, bytes, shape, short_protocol));
        break;
      case CommKind::kUnknown:
        return {};  // cannot be modelled: callers take its recorded time
    }
  }
  return best;
}

}  // namespace reprise
