#include "simulator/network.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "core/nearest.h"
#include "core/shown_text.h"

namespace reprise {
namespace {

constexpr double kNsPerSecond = 1e9;

TransferTime Rounded(double ns, TransferAlgorithm algorithm, bool short_protocol,
                     std::size_t level) {
  return {std::llround(ns), algorithm, short_protocol, level};
}

std::int64_t CeilLog2(std::int64_t n) {
  std::int64_t log = 0;
  while ((std::int64_t{1} << log) < n) {
    ++log;
  }
  return log;
}

template <typename T>
bool ParseWhole(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

Result<SlowLink> ParseSlowLink(const std::string& text) {
  const std::size_t equals = text.rfind('=');
  const std::size_t at = text.find('@');
  SlowLink slow;
  slow.name = text.substr(0, std::min(at, equals));
  const bool domain_ok =
      at == std::string::npos || equals == std::string::npos ||
      (at < equals && ParseWhole(text.substr(at + 1, equals - at - 1), slow.domain) &&
       slow.domain >= 0);
  if (equals == std::string::npos || slow.name.empty() || !domain_ok ||
      !ParseWhole(text.substr(equals + 1), slow.factor) || !(slow.factor > 0) ||
      !std::isfinite(slow.factor)) {
    return UsageError(fmt::format(
        "--link {}: expected NAME=F or NAME@DOMAIN=F with a factor above 0 on the bandwidth, as in "
        "infiniband=0.5 or infiniband@3=0.5 (of node 3)",
        ShownText(text)));
  }
  return slow;
}

std::string_view Name(TransferAlgorithm algorithm) {
  switch (algorithm) {
    case TransferAlgorithm::kNone:
      return "none";
    case TransferAlgorithm::kRing:
      return "ring";
    case TransferAlgorithm::kTree:
      return "tree";
    case TransferAlgorithm::kDirect:
      return "direct";
  }
  return "";
}

Result<Network> Network::Create(const MachineModel& machine, std::int64_t ranks,
                                std::span<const SlowLink> slow) {
  const std::int64_t limit = machine.DeviceLimit();
  if (limit != 0 && ranks > limit) {
    return BadInput(fmt::format(
        "{}: {} has {} devices, and the set {} ranks; {}", machine.file, machine.name, limit, ranks,
        machine.node.nodes ? "--set node.nodes=N makes it larger"
                           : "a link without `devices` joins as many as are needed "
                             "(docs/machine_format.md)"));
  }
  Network network(machine, ranks);
  network.factors_.resize(machine.links.size());
  for (const SlowLink& link : slow) {
    const std::optional<std::size_t> level = machine.FindLink(link.name);
    if (!level) {
      std::vector<std::string> names;
      for (const LinkLevel& known : machine.links) {
        names.push_back(known.name);
      }
      return UsageError(fmt::format("--link {}: {} has the links {}{}", ShownText(link.name),
                                    machine.name, fmt::join(names, ", "),
                                    DidYouMean(link.name, names)));
    }
    if (link.domain >= 0 && link.domain * machine.DomainDevices(*level) >= ranks) {
      return UsageError(fmt::format("--link {}@{}: the set's ranks are in {} of them, from 0 on",
                                    link.name, link.domain,
                                    (ranks - 1) / machine.DomainDevices(*level) + 1));
    }
    network.factors_[*level].emplace_back(link.domain, link.factor);
  }
  return network;
}

bool Network::InNode(std::size_t level) const {
  const std::int64_t spans = machine_.links[level].spans();
  return spans != 0 && spans <= static_cast<std::int64_t>(machine_.node.devices.value);
}

std::size_t Network::FirstCrossed(std::size_t level) const {
  if (InNode(level)) {
    return level;
  }
  std::size_t first = level;
  while (first > 0 && !InNode(first - 1)) {
    --first;
  }
  return first;
}

std::size_t Network::LevelOf(std::int64_t a, std::int64_t b) const {
  std::size_t level = 0;
  while (level + 1 < levels() && DomainOf(a, level + 1) != DomainOf(b, level + 1)) {
    ++level;
  }
  return level;
}

double Network::FactorOf(std::size_t level, std::int64_t domain) const {
  double factor = 1;
  for (const auto& [of, by] : factors_[level]) {
    factor *= of < 0 || of == domain ? by : 1;
  }
  return factor;
}

double Network::Capacity(std::size_t level, std::int64_t domain) const {
  return machine_.DomainBandwidth(level) * machine_.links[level].efficiency.value *
         FactorOf(level, domain);
}

GroupShape Network::ShapeOf(std::span<const std::int32_t> devices) const {
  GroupShape shape;
  shape.members = static_cast<std::int64_t>(devices.size());
  if (devices.size() < 2) {
    return shape;
  }
  for (std::size_t level = 0; level < levels(); ++level) {
    std::unordered_map<std::int64_t, std::int64_t> members;
    for (const std::int32_t device : devices) {
      ++members[DomainOf(device, level)];
    }
    if (level > 0 && members.size() == 1) {
      break;  // the level below joins them all
    }
    LevelShape at;
    at.domains = static_cast<std::int64_t>(members.size());
    at.slowest = std::numeric_limits<double>::infinity();
    for (const auto& [domain, count] : members) {
      at.most = std::max(at.most, count);
      at.slowest = std::min(at.slowest, FactorOf(level, domain));
    }
    const auto busy = static_cast<double>(std::min(machine_.DomainDevices(level), ranks_));
    at.sharers = std::max(1.0, busy / static_cast<double>(at.most));
    shape.levels.push_back(at);
  }
  return shape;
}

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
  return {least * (short_protocol ? machine_.collectives.short_part.value : 1), narrowest};
}

TransferTime Network::Ring(CommKind kind, double bytes, const GroupShape& shape,
                           bool short_protocol) const {
  const auto [bandwidth, narrowest] = Narrowest(shape, short_protocol);
  const auto n = static_cast<double>(shape.members);
  const bool pipelined = kind == CommKind::kBroadcast || kind == CommKind::kReduce;
  const double chunk = std::min(machine_.collectives.chunk_bytes.value, bytes);
  double latency_ns = 0;
  for (std::size_t level = 0; level < shape.levels.size(); ++level) {
    const auto steps = static_cast<double>(StepsAt(shape, level));
    latency_ns += steps * Latency(level, short_protocol);
    latency_ns += pipelined ? steps * chunk / bandwidth * kNsPerSecond : 0;
  }
  const double passes = kind == CommKind::kAllReduce ? 2 : 1;
  const double moved = pipelined ? bytes - chunk : passes * (n - 1) / n * bytes;
  return Rounded(
      machine_.collectives.start_ns.value + passes * latency_ns + moved / bandwidth * kNsPerSecond,
      TransferAlgorithm::kRing, short_protocol, narrowest);
}

TransferTime Network::Tree(double bytes, const GroupShape& shape, bool short_protocol) const {
  const auto [bandwidth, narrowest] = Narrowest(shape, short_protocol);
  const double chunk = std::min(machine_.collectives.chunk_bytes.value, bytes);
  double latency_ns = 0;
  for (std::size_t level = 0; level < shape.levels.size(); ++level) {
    const bool top = level + 1 == shape.levels.size();
    const std::int64_t below = shape.levels[level].domains;
    const std::int64_t above = top ? 1 : shape.levels[level + 1].domains;
    const std::int64_t fullest = (below + above - 1) / above;
    const std::int64_t depth = level == 0 ? fullest - 1 : CeilLog2(fullest);
    latency_ns += static_cast<double>(depth) *
                  (Latency(level, short_protocol) + chunk / bandwidth * kNsPerSecond);
  }
  return Rounded(machine_.collectives.start_ns.value + 2 * latency_ns +
                     2 * (bytes - chunk) / bandwidth * kNsPerSecond,
                 TransferAlgorithm::kTree, short_protocol, narrowest);
}

// All messages at once: the level whose links have most to carry for their bandwidth.
TransferTime Network::Direct(CommKind kind, double bytes, const GroupShape& shape,
                             bool short_protocol) const {
  const std::size_t top = shape.levels.size() - 1;
  const auto n = static_cast<double>(shape.members);
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
    const double bandwidth = GroupBandwidth(shape, level, senders) *
                             (short_protocol ? machine_.collectives.short_part.value : 1);
    if (volume / bandwidth * kNsPerSecond > slowest_ns) {
      slowest_ns = volume / bandwidth * kNsPerSecond;
      narrowest = level;
    }
  }
  return Rounded(machine_.collectives.start_ns.value + Latency(top, short_protocol) + slowest_ns,
                 TransferAlgorithm::kDirect, short_protocol, narrowest);
}

TransferTime Network::TimeOf(CommKind kind, double bytes, const GroupShape& shape) const {
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
    }
  }
  return best;
}

}  // namespace reprise
