#include "recordings/ranks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "recordings/rank_placement.h"
#include "report/table.h"

namespace reprise {
namespace {

std::string TextOfNs(double ns) { return DurationText(static_cast<std::int64_t>(ns)); }

RankLoad LoadOf(const RankRecording& rank) {
  RankLoad load{.rank = rank.rank,
                .host = rank.host,
                .device = rank.device.empty() ? rank.processor : rank.device,
                .slot = rank.placement.slot};
  RankActivity sum;
  for (const RankActivity& of : rank.activity) {
    sum += of;
  }
  double work = 0;
  for (const RecordedOperation& of : rank.operations) {
    work += of.transfer ? 0.0 : static_cast<double>(of.time_ns);
  }
  const double steps = std::max(rank.steps, 1);
  load.step_ns = static_cast<double>(sum.steps_ns) / steps;
  load.work_ns = work / steps;
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
    if (host.empty() || std::all_of(here.begin(), here.end(),
                                    [](const RankLoad* rank) { return rank->slot >= 0; })) {
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

void ObserveStragglers(const RecordedJob& job, RankComparison& out) {
  const auto is_straggler = [&out](std::size_t i) {
    return std::find(out.stragglers.begin(), out.stragglers.end(), out.ranks[i].rank) !=
           out.stragglers.end();
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
    ++group.ranks;
    group.work_ns += rank.work_ns;
    group.waited_ns += rank.waited_ns;
  }
  if (found.size() < 2) {
    return;
  }
  for (auto& [name, group] : found) {
    group.kind = kind;
    group.name = name;
    group.work_ns /= static_cast<double>(group.ranks);
    group.waited_ns /= static_cast<double>(group.ranks);
    group.to_all = mean_ns > 0 ? group.work_ns / mean_ns : 1;
    groups.push_back(std::move(group));
  }
}

std::vector<ClassSpread> SpreadsOf(const RecordedJob& job) {
  std::map<OpClass, std::map<std::int32_t, double>> sums;
  for (const RankRecording& rank : job.ranks) {
    for (const RecordedOperation& of : rank.operations) {
      sums[of.op_class][rank.rank] +=
          static_cast<double>(of.time_ns) / static_cast<double>(std::max(rank.steps, 1));
    }
  }
  std::vector<ClassSpread> out;
  for (const auto& [op_class, by_rank] : sums) {
    ClassSpread spread{.op_class = std::string(Name(op_class))};
    double total = 0;
    for (const auto& [rank, ns] : by_rank) {
      total += ns;
      if (ns > spread.most_ns) {
        spread.most_ns = ns;
        spread.most_rank = rank;
      }
    }
    const bool all = by_rank.size() == job.ranks.size();
    spread.least_ns =
        all ? std::min_element(by_rank.begin(), by_rank.end(),
                               [](const auto& x, const auto& y) { return x.second < y.second; })
                  ->second
            : 0;
    spread.mean_ns = total / static_cast<double>(job.ranks.size());
    out.push_back(std::move(spread));
  }
  std::stable_sort(out.begin(), out.end(), [](const auto& x, const auto& y) {
    return x.most_ns - x.least_ns > y.most_ns - y.least_ns;
  });
  return out;
}

std::string VerdictOf(const RecordedJob& job, const RankComparison& of) {
  if (of.ranks.size() < 2) {
    return fmt::format("{} has one rank: there is nothing to compare it with", job.label);
  }
  if (of.stragglers.empty()) {
    return fmt::format(
        "{}: no straggler; the most loaded of {} ranks works {:.1f} % longer than "
        "their mean",
        job.label, of.ranks.size(), 100 * of.imbalance);
  }
  const auto worst =
      std::max_element(of.ranks.begin(), of.ranks.end(),
                       [](const RankLoad& x, const RankLoad& y) { return x.work_ns < y.work_ns; });
  double others = 0;
  for (const RankLoad& rank : of.ranks) {
    others += rank.rank == worst->rank ? 0 : rank.waited_ns;
  }
  others /= static_cast<double>(of.ranks.size() - 1);
  return fmt::format(
      "{}: rank {} works {:.2f}x as long as the median rank, {} a step{}; the others wait {} a "
      "step "
      "in transfers{}",
      job.label, worst->rank, worst->to_median, TextOfNs(worst->work_ns), PlaceText(*worst),
      TextOfNs(others),
      of.stragglers.size() > 1
          ? fmt::format("; {} the median by over {:.0f} %",
                        of.stragglers.size() == 2
                            ? "1 more rank exceeds"
                            : fmt::format("{} more ranks exceed", of.stragglers.size() - 1),
                        100 * kStragglerExcess)
          : "");
}

}  // namespace

RankComparison CompareRanksOf(const RecordedJob& job) {
  RankComparison out;
  for (const RankRecording& rank : job.ranks) {
    out.ranks.push_back(LoadOf(rank));
  }
  FindSlots(static_cast<std::int32_t>(job.ranks.size()) >= job.world_size, out.ranks);
  std::vector<double> work;
  double sum = 0;
  for (const RankLoad& rank : out.ranks) {
    work.push_back(rank.work_ns);
    sum += rank.work_ns;
  }
  std::sort(work.begin(), work.end());
  const double median = work.empty() ? 0 : work[(work.size() - 1) / 2];
  const double mean = work.empty() ? 0 : sum / static_cast<double>(work.size());
  for (RankLoad& rank : out.ranks) {
    rank.to_median = median > 0 ? rank.work_ns / median : 1;
    if (rank.to_median > 1 + kStragglerExcess) {
      out.stragglers.push_back(rank.rank);
    }
  }
  ObserveStragglers(job, out);
  out.imbalance = mean > 0 ? work.back() / mean - 1 : 0;
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
