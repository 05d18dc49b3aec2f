#include "predict/simulator/link_loads.h"

#include <algorithm>
#include <map>

namespace reprise {
namespace {

// Members of one domain, sorted by device.
struct DomainMembers {
  std::int64_t domain = 0;
  std::span<const std::int32_t> devices;
};

class LoadList {
 public:
  LoadList(const Network& network, const TransferOnLinks& transfer)
      : network_(network),
        transfer_(transfer),
        sorted_(transfer.devices.begin(), transfer.devices.end()) {
    std::ranges::sort(sorted_);
    top_ = network.LevelOf(sorted_.front(), sorted_.back());
  }

  std::vector<LinkLoad> Run() {
    if (IsPointToPoint(transfer_.kind)) {
      AddPair(transfer_.devices.front(), transfer_.devices.back());
      return Sorted();
    }
    for (std::size_t level = 0; level <= top_; ++level) {
      // Inside a node only messages between its domains cross a level, outside all that leave.
      if (!network_.InNode(level) || level == top_) {
        AddLevel(level, sorted_);
        continue;
      }
      for (const DomainMembers& around : DomainsOf(level + 1, sorted_)) {
        AddLevel(level, around.devices);
      }
    }
    return Sorted();
  }

 private:
  [[nodiscard]] std::vector<DomainMembers> DomainsOf(std::size_t level,
                                                     std::span<const std::int32_t> devices) const {
    std::vector<DomainMembers> domains;
    for (std::size_t begin = 0; begin < devices.size();) {
      const std::int64_t domain = network_.DomainOf(devices[begin], level);
      std::size_t end = begin + 1;
      while (end < devices.size() && network_.DomainOf(devices[end], level) == domain) {
        ++end;
      }
      domains.push_back({domain, devices.subspan(begin, end - begin)});
      begin = end;
    }
    return domains;
  }

  // `devices`: the members that exchange over this level.
  void AddLevel(std::size_t level, std::span<const std::int32_t> devices) {
    const std::vector<DomainMembers> domains = DomainsOf(level, devices);
    if (domains.size() < 2) {
      return;
    }
    const bool all = devices.size() == sorted_.size();
    if (transfer_.algorithm == TransferAlgorithm::kDirect) {
      AddMessages(level, domains, static_cast<double>(devices.size()));
      return;
    }
    if (transfer_.algorithm == TransferAlgorithm::kInSwitch) {
      for (const DomainMembers& domain : domains) {
        AddBoth(level, domain, transfer_.bytes, transfer_.bytes);
      }
      return;
    }
    const auto n = static_cast<double>(sorted_.size());
    const auto count = static_cast<double>(domains.size());
    double of_edge = transfer_.bytes;
    bool closed = false;
    if (transfer_.algorithm == TransferAlgorithm::kTree) {
      of_edge *= 2;
    } else if (transfer_.kind != CommKind::kBroadcast && transfer_.kind != CommKind::kReduce) {
      of_edge *= (n - 1) / n * (transfer_.kind == CommKind::kAllReduce ? 2 : 1);
      closed = true;
    }
    const double bytes = of_edge * (closed && all ? 1 : (count - 1) / count);
    for (const DomainMembers& domain : domains) {
      AddBoth(level, domain, bytes, bytes);
    }
  }

  void AddMessages(std::size_t level, const std::vector<DomainMembers>& domains, double joined) {
    const double of_message = transfer_.bytes / static_cast<double>(sorted_.size());
    if (transfer_.kind == CommKind::kAllToAll) {
      for (const DomainMembers& domain : domains) {
        const auto inside = static_cast<double>(domain.devices.size());
        const double bytes = inside * (joined - inside) * of_message;
        AddBoth(level, domain, bytes, bytes);
      }
      return;
    }
    const std::int32_t root = transfer_.devices[static_cast<std::size_t>(transfer_.root)];
    const std::int64_t of_root = network_.DomainOf(root, level);
    const auto home = std::ranges::find(domains, of_root, &DomainMembers::domain);
    if (home == domains.end()) {
      return;  // of another node: its messages to the root cross the levels above
    }
    const bool gathers = transfer_.kind == CommKind::kGather;
    for (const DomainMembers& domain : domains) {
      const auto inside = static_cast<double>(domain.devices.size());
      if (domain.domain != of_root) {
        const double bytes = inside * of_message;
        AddBoth(level, domain, gathers ? bytes : 0, gathers ? 0 : bytes);
      } else {
        const double bytes = (joined - inside) * of_message;
        const std::span<const std::int32_t> own = {&root, 1};
        AddBoth(level, {of_root, own}, gathers ? 0 : bytes, gathers ? bytes : 0);
      }
    }
  }

  void AddPair(std::int32_t sender, std::int32_t receiver) {
    for (std::size_t level = network_.FirstCrossed(top_); level <= top_; ++level) {
      AddBoth(level, {network_.DomainOf(sender, level), {&sender, 1}}, transfer_.bytes, 0);
      AddBoth(level, {network_.DomainOf(receiver, level), {&receiver, 1}}, 0, transfer_.bytes);
    }
  }

  // Of the members' adapters, each as much as the others.
  void AddBoth(std::size_t level, const DomainMembers& from, double out_bytes, double in_bytes) {
    const auto at = static_cast<std::uint32_t>(level);
    const auto add = [this](const LinkPlace& link, double bytes) {
      if (bytes > 0) {
        loads_[link] += bytes;
      }
    };
    if (!network_.HasAdapters(level)) {
      add({at, false, false, from.domain}, out_bytes);
      add({at, false, true, from.domain}, in_bytes);
      return;
    }
    const auto adapters = static_cast<double>(from.devices.size());
    for (const std::int32_t device : from.devices) {
      add({at, true, false, device}, out_bytes / adapters);
      add({at, true, true, device}, in_bytes / adapters);
    }
  }

  [[nodiscard]] std::vector<LinkLoad> Sorted() const {
    std::vector<LinkLoad> loads;
    for (const auto& [link, bytes] : loads_) {
      loads.push_back({link, bytes});
    }
    return loads;
  }

  const Network& network_;
  const TransferOnLinks& transfer_;
  std::vector<std::int32_t> sorted_;
  std::size_t top_ = 0;
  std::map<LinkPlace, double> loads_;
};

}  // namespace

std::vector<LinkLoad> LoadsOf(const Network& network, const TransferOnLinks& transfer) {
  if (transfer.devices.size() < 2 || network.levels() == 0) {
    return {};
  }
  return LoadList(network, transfer).Run();
}

}  // namespace reprise
