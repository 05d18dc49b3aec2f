#include "predict/goal/cpus.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "converters/goal/schedule.h"

namespace reprise {

AssignedCpus AssignCpus(std::span<const CpuUse> uses) {
  std::vector<std::uint32_t> order(uses.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(
      order, {}, [&](std::uint32_t i) { return std::tuple(uses[i].begin_ns, uses[i].end_ns); });
  AssignedCpus assigned;
  assigned.cpu_of.resize(uses.size());
  std::vector<std::int64_t> busy_until_ns;  // by cpu
  std::map<CpuOwner, std::vector<std::uint32_t>> cpus_of;
  const auto until = [&](std::uint32_t cpu) { return busy_until_ns[cpu]; };
  for (const std::uint32_t i : order) {
    std::vector<std::uint32_t>& own = cpus_of[uses[i].owner];
    auto free = std::ranges::find_if(
        own, [&](std::uint32_t cpu) { return until(cpu) <= uses[i].begin_ns; });
    std::uint32_t cpu = 0;
    if (free != own.end()) {
      cpu = *free;
    } else if (busy_until_ns.size() < goal::kMostCpus) {
      cpu = static_cast<std::uint32_t>(busy_until_ns.size());
      busy_until_ns.push_back(uses[i].begin_ns);
      own.push_back(cpu);
    } else {
      const auto soonest = std::ranges::min_element(busy_until_ns);
      cpu = own.empty() ? static_cast<std::uint32_t>(soonest - busy_until_ns.begin())
                        : *std::ranges::min_element(own, {}, until);
      assigned.crowded += until(cpu) > uses[i].begin_ns ? 1 : 0;
    }
    busy_until_ns[cpu] = std::max(until(cpu), uses[i].end_ns);
    assigned.cpu_of[i] = static_cast<std::uint8_t>(cpu);
  }
  return assigned;
}

}  // namespace reprise
