#include "report/fidelity/other_programs.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace reprise {
namespace {

// Shares from which on an iteration counts as disturbed.
constexpr double kDisturbed = 0.1;
// /proc/stat counts in ticks: of each core one may be of before or after.
constexpr double kTickNs = 1e7;

// CPU time on the cores of a host's ranks.
struct CpuTime {
  double cores_ns = 0;  // what there was
  double own_ns = 0, busy_ns = 0, stolen_ns = 0;
  std::int64_t cores = 0, readings = 0;

  void Add(const CpuTime& other) {
    cores_ns += other.cores_ns;
    own_ns += other.own_ns;
    busy_ns += other.busy_ns;
    stolen_ns += other.stolen_ns;
    cores = std::max(cores, other.cores);
    readings += other.readings;
  }
  [[nodiscard]] double OthersNs() const { return std::max(busy_ns - own_ns, 0.0); }
  [[nodiscard]] CoreShares Shares() const {
    return {.others = OthersNs() / cores_ns, .stolen = stolen_ns / cores_ns};
  }
  [[nodiscard]] bool Disturbed() const {
    const double open_ns = kTickNs * static_cast<double>(cores * readings);
    return OthersNs() + stolen_ns > kDisturbed * cores_ns + open_ns;
  }
};

// They are kept in order.
const IterationLoad* LoadOf(const RankData& rank, std::int64_t iteration) {
  const auto& loads = rank.facts.iteration_loads;
  const auto found = std::ranges::lower_bound(loads, iteration, {}, &IterationLoad::iteration);
  return found == loads.end() || found->iteration != iteration ? nullptr : &*found;
}

using HostRanks = std::vector<const RankData*>;

// Nothing where a rank has no reading, or where ranks have a part of their cores in common.
std::optional<CpuTime> TimeOf(const HostRanks& ranks, std::int64_t iteration) {
  std::map<std::vector<std::int64_t>, CpuTime> by_cores;
  for (const RankData* rank : ranks) {
    const IterationLoad* const load = LoadOf(*rank, iteration);
    if (load == nullptr || load->busy_ns < 0 || rank->facts.cores.empty()) {
      return std::nullopt;
    }
    CpuTime& time = by_cores[rank->facts.cores];
    time.own_ns += static_cast<double>(load->own_cpu_ns);
    // The ranks of these cores read the same; the one that took longest has seen all of it.
    const auto cores = static_cast<std::int64_t>(rank->facts.cores.size());
    const double cores_ns = static_cast<double>(load->wall_ns * cores);
    if (cores_ns > time.cores_ns) {
      time.cores_ns = cores_ns;
      time.busy_ns = static_cast<double>(load->busy_ns);
      time.stolen_ns = static_cast<double>(load->stolen_ns);
      time.cores = cores;
    }
  }
  CpuTime all;
  std::set<std::int64_t> seen;
  for (const auto& [cores, time] : by_cores) {
    all.Add(time);
    seen.insert(cores.begin(), cores.end());
  }
  std::int64_t listed = 0;
  for (const auto& [cores, time] : by_cores) {
    listed += time.cores;
  }
  all.cores = static_cast<std::int64_t>(seen.size());
  all.readings = 1;
  return listed == all.cores && all.cores_ns > 0 ? std::optional(all) : std::nullopt;
}

// What needs no sums over a host's cores.
IterationUse UseWithoutShares(const RunData& run, std::int64_t iteration) {
  IterationUse use;
  const auto larger = [](std::optional<double>& most, double value) {
    most = std::max(most.value_or(value), value);
  };
  for (const RankData& rank : run.ranks) {
    if (const IterationLoad* const load = LoadOf(rank, iteration)) {
      use.involuntary_switches += load->involuntary_switches;
      if (load->pressure_ns >= 0 && load->wall_ns > 0) {
        larger(use.pressure,
               std::min(static_cast<double>(load->pressure_ns) / static_cast<double>(load->wall_ns),
                        1.0));
      }
      if (load->load_hundredths >= 0) {
        larger(use.load, static_cast<double>(load->load_hundredths) / 100);
      }
    }
  }
  return use;
}

}  // namespace

ProcessorUse ProcessorUseOf(const RunData& run, std::int64_t warmup, std::int64_t iterations) {
  std::map<std::string, HostRanks> hosts;
  bool loads = false;
  for (const RankData& rank : run.ranks) {
    hosts[rank.host].push_back(&rank);
    loads = loads || !rank.facts.iteration_loads.empty();
  }
  ProcessorUse use;
  if (!loads) {
    return use;
  }
  const auto busier = [](const CoreShares& a, const CoreShares& b) {
    return a.others.value_or(0) + a.stolen.value_or(0) >
           b.others.value_or(0) + b.stolen.value_or(0);
  };
  std::map<std::string, CpuTime> sums;
  for (std::int64_t i = 0; i < iterations; ++i) {
    IterationUse& one = use.iterations.emplace_back(UseWithoutShares(run, warmup + i));
    for (const auto& [host, ranks] : hosts) {
      if (const auto time = TimeOf(ranks, warmup + i)) {
        sums[host].Add(*time);
        one.disturbed = one.disturbed || time->Disturbed();
        if (!one.shares.others || busier(time->Shares(), one.shares)) {
          one.shares = time->Shares();
        }
      }
    }
    use.disturbed += one.disturbed ? 1 : 0;
  }
  for (const auto& [host, time] : sums) {
    if (!use.shares.others || busier(time.Shares(), use.shares)) {
      use.shares = time.Shares();
      use.cores = time.cores;
    }
  }
  return use;
}

}  // namespace reprise
