#include "report/compare/ranks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "core/counted.h"
#include "report/compare/rank_placement.h"
#include "report/text/table.h"

namespace reprise {
namespace {

std::string TextOfNs(double ns) { return DurationText(static_cast<std::int64_t>(ns)); }

RankLoad LoadOf(const RankOperations& rank) {
  RankLoad load{.rank = rank.rank,
                .alike = rank.alike,
                .members = rank.members,
                .host = rank.host,
                .device = rank.device.empty() ? rank.processor : rank.device,
                .slot = rank.placement.slot};
  RankActivity sum;
  for (const RankActivity& of : rank.activity) {
    sum += of;
  }
  double work = 0;
  for (const TimedOperation& of : rank.operations) {
    work += of.transfer ? 0.0 : static_cast<double>(of.time_ns);
  }
  const double steps = std::max(rank.steps, 1);
  load.step_ns = static_cast<double>(sum.steps_ns) / steps;
  load.operations_ns = work / steps;
  load.waited_ns = static_cast<double>(sum.waited_ns) / steps;
  load.exposed_ns = static_cast<double>(sum.exposed_ns) / steps;
  load.idle_ns =
      static_cast<double>(sum.launch_wait_ns + sum.latency_ns + sum.other_idle_ns) / steps;
  return load;
}

// As recorded, or where a host has ranks without a recorded slot, the position among its ranks, if
// all ranks of the job are there.
void FindSlots(bool all_there, std::vector<RankLoad>& ranks) {
  std::map<std::string, std::vector<RankLoad*>> hosts;
  for (RankLoad& rank : ranks) {
    hosts[rank.host].push_back(&rank);
  }
  for (const auto& [host, here] : hosts) {
    if (host.empty() ||
        std::ranges::all_of(here, [](const RankLoad* rank) { return rank->slot >= 0; })) {
      continue;
    }
    for (std::size_t i = 0; i < here.size(); ++i) {
      here[i]->slot = all_there ? static_cast<std::int32_t>(i) : -1;
    }
  }
}

std::string PlaceText(const RankLoad& rank) {
  return rank.host.empty() ? ""
         : rank.slot < 0   ? ", on " + rank.host
                           : fmt::format(", on {} in slot {}", rank.host, rank.slot);
}

void ObserveStragglers(const JobOperations& job, RankComparison& out) {
  const auto is_straggler = [&out](std::size_t i) {
    return std::ranges::find(out.stragglers, out.ranks[i].rank) != out.stragglers.end();
  };
  std::vector<const RankPlacement*> others;
  for (std::size_t i = 0; i < job.ranks.size(); ++i) {
    if (!is_straggler(i)) {
      others.push_back(&job.ranks[i].placement);
    }
  }
  for (std::size_t i = 0; i < job.ranks.size(); ++i) {
    const auto differences = PlacementDifferences(job.ranks[i].placement, others);
    if (is_straggler(i) && !differences.empty()) {
      out.observations.push_back(fmt::format("rank {}{}: {}", out.ranks[i].rank,
                                             PlaceText(out.ranks[i]),
                                             fmt::join(differences, "; ")));
    }
  }
}

void AddGroups(const char* kind, const std::vector<RankLoad>& ranks, double mean_ns,
               const auto& name_of, std::vector<RankGroupLoad>& groups) {
  std::map<std::string, RankGroupLoad> found;
  for (const RankLoad& rank : ranks) {
    RankGroupLoad& group = found[name_of(rank)];
    const auto times = static_cast<double>(rank.alike);
    group.ranks += rank.alike;
    group.operations_ns += times * rank.operations_ns;
    group.waited_ns += times * rank.waited_ns;
  }
  if (found.size() < 2) {
    return;
  }
  for (auto& [name, group] : found) {
    group.kind = kind;
    group.name = name;
    group.operations_ns /= static_cast<double>(group.ranks);
    group.waited_ns /= static_cast<double>(group.ranks);
    group.to_all = mean_ns > 0 ? group.operations_ns / mean_ns : 1;
    groups.push_back(std::move(group));
  }
}

std::vector<ClassSpread> SpreadsOf(const JobOperations& job) {
  std::map<OpClass, std::map<std::int32_t, double>> sums;
  for (const RankOperations& rank : job.ranks) {
    for (const TimedOperation& of : rank.operations) {
      sums[of.op_class][rank.rank] +=
          static_cast<double>(of.time_ns) / static_cast<double>(std::max(rank.steps, 1));
    }
  }
  std::map<std::int32_t, double> alike;
  double all_ranks = 0;
  for (const RankOperations& rank : job.ranks) {
    alike[rank.rank] = static_cast<double>(rank.alike);
    all_ranks += alike[rank.rank];
  }
  std::vector<ClassSpread> out;
  for (const auto& [op_class, by_rank] : sums) {
    ClassSpread spread{.op_class = std::string(Name(op_class))};
    double total = 0;
    for (const auto& [rank, ns] : by_rank) {
      total += alike[rank] * ns;
      if (ns > spread.most_ns) {
        spread.most_ns = ns;
        spread.most_rank = rank;
      }
    }
    const bool all = by_rank.size() == job.ranks.size();
    spread.least_ns =
        all ? std::ranges::min_element(
                  by_rank, [](const auto& x, const auto& y) { return x.second < y.second; })
                  ->second
            : 0;
    spread.mean_ns = total / all_ranks;
    out.push_back(std::move(spread));
  }
  std::ranges::stable_sort(out, std::greater(),
                           [](const ClassSpread& of) { return of.most_ns - of.least_ns; });
  return out;
}

std::int64_t RanksIn(const std::vector<RankLoad>& ranks) {
  std::int64_t sum = 0;
  for (const RankLoad& rank : ranks) {
    sum += rank.alike;
  }
  return sum;
}

// Each rank counts for all that are like it.
double MedianWork(const std::vector<RankLoad>& ranks) {
  std::vector<std::pair<double, std::int64_t>> work;
  work.reserve(ranks.size());
  for (const RankLoad& rank : ranks) {
    work.emplace_back(rank.operations_ns, rank.alike);
  }
  std::ranges::sort(work);
  std::int64_t left = (RanksIn(ranks) - 1) / 2;
  for (const auto& [ns, alike] : work) {
    if (left < alike) {
      return ns;
    }
    left -= alike;
  }
  return 0;
}

std::string MoreStragglers(const RankComparison& of, const RankLoad& worst) {
  std::int64_t more = 0;
  for (const RankLoad& rank : of.ranks) {
    const bool straggles = std::ranges::find(of.stragglers, rank.rank) != of.stragglers.end();
    more += straggles && rank.rank != worst.rank ? rank.alike : 0;
  }
  return more > 0 ? fmt::format("; {} {} the median by over {:.0f} %", Counted(more, "more rank"),
                                more == 1 ? "exceeds" : "exceed", 100 * kStragglerExcess)
                  : "";
}

// Of transfers without operations, as recorders of communication libraries have them: the rank for
// which the others wait. Empty: there are operations, or nobody waits.
std::string LateRankText(const JobOperations& job, const RankComparison& of) {
  const bool works =
      std::ranges::any_of(of.ranks, [](const RankLoad& rank) { return rank.operations_ns > 0; });
  const auto last = std::ranges::min_element(of.ranks, {}, &RankLoad::waited_ns);
  double others = 0;
  for (const RankLoad& rank : of.ranks) {
    others += rank.rank == last->rank ? 0 : static_cast<double>(rank.alike) * rank.waited_ns;
  }
  if (works || others <= 0) {
    return {};
  }
  return fmt::format(
      "{}: transfers alone; {} arrives last: it waits {} a step for others, which wait {} in the "
      "mean",
      job.label, NameOf(*last), TextOfNs(last->waited_ns),
      TextOfNs(others / static_cast<double>(RanksIn(of.ranks) - last->alike)));
}

std::string VerdictOf(const JobOperations& job, const RankComparison& of) {
  const std::int64_t ranks = RanksIn(of.ranks);
  if (ranks < 2) {
    return fmt::format("{} has one rank: there is nothing to compare it with", job.label);
  }
  if (of.ranks.size() < 2) {
    return fmt::format("{}: all {} ranks are equal: there is nothing to compare", job.label, ranks);
  }
  if (std::string late = LateRankText(job, of); !late.empty()) {
    return late;
  }
  if (of.stragglers.empty()) {
    return fmt::format(
        "{}: no straggler; the most loaded of {} ranks works {:.1f} % longer than "
        "their mean",
        job.label, ranks, 100 * of.imbalance);
  }
  const auto worst = std::ranges::max_element(of.ranks, {}, &RankLoad::operations_ns);
  double others = 0;
  for (const RankLoad& rank : of.ranks) {
    others += rank.rank == worst->rank ? 0 : static_cast<double>(rank.alike) * rank.waited_ns;
  }
  others /= static_cast<double>(ranks - worst->alike);
  return fmt::format(
      "{}: {} work{} {:.2f}x as long as the median rank, {} a step{}; the others wait {} a "
      "step "
      "in transfers{}",
      job.label, NameOf(*worst), worst->alike > 1 ? "" : "s", worst->to_median,
      TextOfNs(worst->operations_ns), PlaceText(*worst), TextOfNs(others),
      MoreStragglers(of, *worst));
}

}  // namespace

std::string NameOf(const RankLoad& rank) {
  return rank.alike > 1 ? fmt::format("class {} ({} ranks)", rank.rank, rank.alike)
                        : fmt::format("rank {}", rank.members.empty() ? std::to_string(rank.rank)
                                                                      : rank.members);
}

RankComparison CompareRanksOf(const JobOperations& job) {
  RankComparison out;
  for (const RankOperations& rank : job.ranks) {
    out.ranks.push_back(LoadOf(rank));
  }
  FindSlots(static_cast<std::int32_t>(job.ranks.size()) >= job.world_size, out.ranks);
  double most = 0;
  double sum = 0;
  for (const RankLoad& rank : out.ranks) {
    most = std::max(most, rank.operations_ns);
    sum += static_cast<double>(rank.alike) * rank.operations_ns;
  }
  const double median = MedianWork(out.ranks);
  const double mean = out.ranks.empty() ? 0 : sum / static_cast<double>(RanksIn(out.ranks));
  for (RankLoad& rank : out.ranks) {
    rank.to_median = median > 0 ? rank.operations_ns / median : 1;
    if (rank.to_median > 1 + kStragglerExcess) {
      out.stragglers.push_back(rank.rank);
    }
  }
  ObserveStragglers(job, out);
  out.imbalance = mean > 0 ? most / mean - 1 : 0;
  AddGroups(
      "host", out.ranks, mean, [](const RankLoad& of) { return of.host; }, out.groups);
  AddGroups(
      "slot", out.ranks, mean,
      [](const RankLoad& of) { return of.slot < 0 ? "" : std::to_string(of.slot); }, out.groups);
  AddGroups(
      "device", out.ranks, mean, [](const RankLoad& of) { return of.device; }, out.groups);
  out.classes = SpreadsOf(job);
  out.verdict = VerdictOf(job, out);
  return out;
}

}  // namespace reprise
