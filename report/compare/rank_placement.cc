#include "report/compare/rank_placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

#include "core/shown_text.h"
#include "core/text.h"

namespace reprise {
namespace {

using Others = std::vector<const RankPlacement*>;

// Whether a list of the kernel, "0-3,8", has the number. nullopt: it is no such list.
std::optional<bool> ListHas(std::string_view list, std::int32_t number) {
  bool has = false;
  for (const std::string_view part : SplitText(list, ',')) {
    const std::size_t dash = part.find('-');
    const std::string_view first = part.substr(0, dash);
    const std::string_view last = dash == std::string_view::npos ? first : part.substr(dash + 1);
    constexpr std::size_t kMaxDigits = 9;
    if (!IsNumber(first) || !IsNumber(last) || first.size() > kMaxDigits ||
        last.size() > kMaxDigits) {
      return std::nullopt;
    }
    has =
        has || (std::stoi(std::string(first)) <= number && number <= std::stoi(std::string(last)));
  }
  return has;
}

// The device and the process share no NUMA node. nullopt: not known of one of them.
std::optional<bool> ApartInNuma(const RankPlacement& of) {
  if (of.device.numa_node < 0 || of.process_numa_nodes.empty()) {
    return std::nullopt;
  }
  const auto together = ListHas(of.process_numa_nodes, of.device.numa_node);
  return together ? std::optional(!*together) : std::nullopt;
}

void CompareHosts(const RankPlacement& of, const Others& others, std::vector<std::string>& out) {
  std::map<std::string, int> hosts;
  int known = 0;
  for (const RankPlacement* other : others) {
    if (!other->host.empty()) {
      ++known;
      ++hosts[other->host];
    }
  }
  const bool share = known == 1 || static_cast<int>(hosts.size()) < known;
  if (!of.host.empty() && share && !hosts.contains(of.host)) {
    out.push_back(known == 1
                      ? fmt::format("the other rank is on {}", ShownText(hosts.begin()->first))
                      : fmt::format("none of the {} other ranks is on that host", known));
  }
}

void CompareNuma(const RankPlacement& of, const Others& others, std::vector<std::string>& out) {
  int known = 0;
  int apart = 0;
  for (const RankPlacement* other : others) {
    if (const auto found = ApartInNuma(*other)) {
      ++known;
      apart += *found ? 1 : 0;
    }
  }
  if (ApartInNuma(of).value_or(false) && 2 * apart < known) {
    out.push_back(fmt::format(
        "its device is on NUMA node {}, its process on {}; {} of {} other ranks have both on one",
        of.device.numa_node, of.process_numa_nodes, known - apart, known));
  }
}

// What more than half of the others have; nullopt: nothing, or less is not less than it.
template <typename NumberOf>
std::optional<std::int32_t> MostHaveMore(const RankPlacement& of, const Others& others,
                                         std::int32_t least, const NumberOf& number_of) {
  std::map<std::int32_t, std::size_t> counts;
  std::size_t known = 0;
  for (const RankPlacement* other : others) {
    if (number_of(*other) >= least) {
      ++counts[number_of(*other)];
      ++known;
    }
  }
  const auto usual =
      std::ranges::find_if(counts, [known](const auto& entry) { return 2 * entry.second > known; });
  const std::int32_t own = number_of(of);
  return usual != counts.end() && own >= least && own < usual->first ? std::optional(usual->first)
                                                                     : std::nullopt;
}

}  // namespace

std::vector<std::string> PlacementDifferences(const RankPlacement& of, const Others& others) {
  std::vector<std::string> out;
  CompareHosts(of, others, out);
  CompareNuma(of, others, out);
  const auto links = [](const RankPlacement& rank) { return rank.device.links; };
  if (const auto usual = MostHaveMore(of, others, 0, links)) {
    out.push_back(fmt::format("its device has {} {} links up, most others {}", links(of),
                              ShownText(of.device.link_kind), *usual));
  }
  const auto lanes = [](const RankPlacement& rank) { return rank.device.pcie_lanes; };
  if (const auto usual = MostHaveMore(of, others, 1, lanes)) {
    out.push_back(fmt::format("its device has {} PCIe lanes, most others {}", lanes(of), *usual));
  }
  return out;
}

}  // namespace reprise
