#include "predict/simulator/network.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "core/counted.h"
#include "core/nearest.h"
#include "core/shown_text.h"
#include "core/text.h"

namespace reprise {

Result<SlowLink> ParseSlowLink(const std::string& text) {
  const std::size_t equals = text.rfind('=');
  const std::size_t at = text.find('@');
  SlowLink slow;
  slow.name = text.substr(0, std::min(at, equals));
  slow.factor = ParseNumber<double>(text.substr(equals + 1)).value_or(0);
  if (at < equals) {
    slow.domain =
        ParseNumber<std::int64_t>(text.substr(at + 1, equals - at - 1)).value_or(slow.domain);
  }
  const bool domain_ok =
      at == std::string::npos || equals == std::string::npos || (at < equals && slow.domain >= 0);
  if (equals == std::string::npos || slow.name.empty() || !domain_ok || !(slow.factor > 0) ||
      !std::isfinite(slow.factor)) {
    return UsageError(fmt::format(
        "--link {}: expected NAME=F or NAME@DOMAIN=F with a factor above 0 on the bandwidth, as in "
        "infiniband=0.5 or infiniband@3=0.5 (of node 3)",
        ShownText(text)));
  }
  return slow;
}

std::string_view Name(TransferAlgorithm algorithm) {
  constexpr std::array<std::string_view, 5> kNames = {"none", "ring", "tree", "direct",
                                                      "in_switch"};
  return kNames.at(static_cast<std::size_t>(algorithm));
}

namespace {

// A machine is as large as its outermost link, and as its number of nodes.
std::string WayToMore(const MachineModel& machine, std::int64_t ranks) {
  const std::int64_t joined = machine.links.empty() ? 1 : machine.links.back().spans();
  if (joined == 0 || joined >= ranks) {
    return fmt::format("--set node.nodes={} makes it large enough",
                       std::ceil(static_cast<double>(ranks) / machine.node.devices.value));
  }
  return fmt::format(
      "{}; a link without `devices` joins as many as are needed (docs/machine_format.md)",
      machine.links.empty()
          ? std::string("it has no link")
          : fmt::format("its outermost link, {}, joins no more", machine.links.back().name));
}

}  // namespace

// A job of several domains gets the same number of devices of each.
Network::Network(const MachineModel& machine, std::int64_t ranks)
    : machine_(machine), ranks_(ranks) {
  for (LinkLevel& link : machine_.links) {
    if (link.job_devices && link.spans() != 0 && ranks > link.spans()) {
      link.devices = link.job_devices;
    }
  }
}

Result<Network> Network::Create(const MachineModel& machine, std::int64_t ranks,
                                std::span<const SlowLink> slow) {
  const std::int64_t limit = machine.DeviceLimit();
  if (limit != 0 && ranks > limit) {
    return BadInput(fmt::format("{}: {} has {}, and the job {}; {}", machine.file, machine.name,
                                Counted(limit, "device"), Counted(ranks, "rank"),
                                WayToMore(machine, ranks)));
  }
  Network network(machine, ranks);
  network.factors_.resize(machine.links.size());
  for (const SlowLink& link : slow) {
    const std::optional<std::size_t> level = machine.FindLink(link.name);
    if (!level && link.name == kAllLinks && !machine.links.empty()) {
      if (link.domain >= 0) {
        return UsageError(
            fmt::format("--link {}@{}: each link has domains of its own; name one, as in {}@{}=F",
                        kAllLinks, link.domain, machine.links.back().name, link.domain));
      }
      for (auto& of_level : network.factors_) {
        of_level.emplace_back(-1, link.factor);
      }
      continue;
    }
    if (!level) {
      std::vector<std::string> names;
      for (const LinkLevel& known : machine.links) {
        names.push_back(known.name);
      }
      if (names.empty()) {
        return UsageError(fmt::format("--link {}: {} is one device, and has no links",
                                      ShownText(link.name), machine.name));
      }
      return UsageError(fmt::format("--link {}: {} has the links {}{}; {} names all of them",
                                    ShownText(link.name), machine.name, fmt::join(names, ", "),
                                    DidYouMean(link.name, names), kAllLinks));
    }
    if (link.domain >= 0 && link.domain * network.machine_.DomainDevices(*level) >= ranks) {
      return UsageError(fmt::format("--link {}@{}: the set's ranks are in {} of them, from 0 on",
                                    link.name, link.domain,
                                    (ranks - 1) / network.machine_.DomainDevices(*level) + 1));
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

bool Network::HasAdapters(std::size_t level) const {
  const LinkLevel& link = machine_.links[level];
  return level > 0 && link.bytes_per_second && link.per == BandwidthPer::kDevice;
}

double Network::AdapterCapacity(std::size_t level, std::int64_t device) const {
  const LinkLevel& link = machine_.links[level];
  return link.bytes_per_second->value * link.efficiency.value *
         FactorOf(level, DomainOf(device, level));
}

GroupShape Network::ShapeOf(std::span<const std::int32_t> devices) const {
  GroupShape shape;
  shape.members = static_cast<std::int64_t>(devices.size());
  if (devices.size() < 2) {
    return shape;
  }
  std::vector<std::int64_t> domains;  // of the devices
  domains.reserve(devices.size());
  for (std::size_t level = 0; level < levels(); ++level) {
    domains.clear();
    for (const std::int32_t device : devices) {
      domains.push_back(DomainOf(device, level));
    }
    if (!std::ranges::is_sorted(domains)) {
      std::ranges::sort(domains);
    }
    LevelShape at;
    at.slowest = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < domains.size();) {
      const std::size_t first = i;
      while (i < domains.size() && domains[i] == domains[first]) {
        ++i;
      }
      ++at.domains;
      at.most = std::max(at.most, static_cast<std::int64_t>(i - first));
      at.slowest = std::min(at.slowest, FactorOf(level, domains[first]));
    }
    if (level > 0 && at.domains == 1) {
      break;  // the level below joins them all
    }
    const auto busy = static_cast<double>(std::min(machine_.DomainDevices(level), ranks_));
    at.sharers = std::max(1.0, busy / static_cast<double>(at.most));
    shape.levels.push_back(at);
  }
  return shape;
}

}  // namespace reprise
