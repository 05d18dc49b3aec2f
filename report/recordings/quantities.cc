#include "report/recordings/quantities.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "report/compare/rows.h"
#include "report/recordings/inference.h"
#include "report/text/verdict_warnings.h"

namespace reprise {
namespace {

constexpr double kSecondsOfNs = 1e-9;

class QuantityList {
 public:
  // Of one pass, times in nanoseconds.
  void AddTime(const char* name, const char* label, double ns) {
    Add(name, label, "summary", "seconds", Better::kLower, ns * kSecondsOfNs);
  }
  void AddTime(const char* name, const char* label, std::int64_t ns) {
    AddTime(name, label, static_cast<double>(ns));
  }
  void Add(std::string name, std::string label, const char* group, const char* unit, Better better,
           double value) {
    out_.push_back({{.name = std::move(name),
                     .label = std::move(label),
                     .group = group,
                     .unit = unit,
                     .better = better,
                     .cells = {},
                     .note = {}},
                    value});
  }
  void AddRows(const char* group, const std::vector<AlignedRow>& rows, bool first) {
    for (const AlignedRow& row : rows) {
      const OperationSum& sum = first ? row.a : row.b;
      if (sum.count > 0 || sum.ns > 0) {
        Add(fmt::format("{}.{}", group, row.name), row.name, group, "seconds", Better::kLower,
            static_cast<double>(sum.ns) * kSecondsOfNs);
      }
    }
  }
  std::vector<RecordedQuantity> Take() { return std::move(out_); }

 private:
  std::vector<RecordedQuantity> out_;
};

void AddActivity(const SideTotals& of, bool launches_known, QuantityList& list) {
  list.AddTime("time", "step time", of.step_ns);
  if (of.on_device) {
    list.AddTime("device_work", "device work", of.device_ns);
  }
  const RankActivity& activity = of.activity;
  list.AddTime("busy", of.on_device ? "device busy" : "operations", activity.busy_ns);
  list.AddTime("idle", "nothing ran",
               activity.launch_wait_ns + activity.latency_ns + activity.other_idle_ns);
  if (of.on_device && launches_known) {
    list.AddTime("launch_wait", "waiting for launches", activity.launch_wait_ns);
    list.AddTime("launch_latency", "from launch to start", activity.latency_ns);
  }
  if (activity.transfers_ns > 0) {
    list.AddTime("transfers", "transfers", activity.transfers_ns);
    list.AddTime("exposed_comm", "exposed communication (mean)",
                 static_cast<double>(activity.exposed_ns) /
                     static_cast<double>(std::max<std::int64_t>(of.ranks, 1)));
    list.AddTime("waited", "waiting for ranks", activity.waited_ns);
  }
}

void AddInference(const RecordedJob& job, QuantityList& list) {
  const auto found = job.ranks.empty() ? std::nullopt : FindInference(job.ranks.front());
  if (!found) {
    return;
  }
  if (found->first_token_ns) {
    list.AddTime("first_token", "first token", *found->first_token_ns);
  }
  if (found->per_token_ns) {
    list.AddTime("per_token", "each token", *found->per_token_ns);
  }
  const auto rate = [&list](const char* name, const char* label, double value) {
    list.Add(name, label, "summary", "1/s", Better::kHigher, value);
  };
  rate("prefill_tokens_per_second", "tokens per second, prefill", found->prefill_tokens_per_second);
  rate("decode_tokens_per_second", "tokens per second, decode", found->decode_tokens_per_second);
  if (found->cache_growth_bytes) {
    list.Add("cache_growth", "cache growth of a pass", "summary", "bytes", Better::kNeither,
             static_cast<double>(*found->cache_growth_bytes));
  }
}

void AddImbalance(const RecordedJob& job, QuantityList& list) {
  if (job.ranks.size() > 1) {
    list.Add("imbalance", "most loaded rank over mean", "summary", "fraction", Better::kLower,
             CompareRanksOf(job).imbalance);
  }
}

// Each name once, in the order of the groups and of the first recording that has it.
std::vector<ComparedRow> RowsOf(const std::vector<SideQuantities>& sides) {
  std::vector<ComparedRow> rows;
  std::set<std::string> known;
  for (const char* group : {"summary", "class", "phase", "collective"}) {
    for (const SideQuantities& side : sides) {
      for (const auto* list : {&side.base, &side.repeats}) {
        for (const auto& quantities : *list) {
          for (const RecordedQuantity& of : quantities) {
            if (of.like.group == group && known.insert(of.like.name).second) {
              rows.push_back(of.like);
            }
          }
        }
      }
    }
  }
  return rows;
}

std::vector<double> ValuesNamed(const std::string& name,
                                const std::vector<std::vector<RecordedQuantity>>& repeats) {
  std::vector<double> values;
  for (const auto& quantities : repeats) {
    const auto found = std::ranges::find_if(
        quantities, [&name](const RecordedQuantity& of) { return of.like.name == name; });
    if (found != quantities.end()) {
      values.push_back(found->value);
    }
  }
  return values;
}

}  // namespace

std::vector<RecordedQuantity> QuantitiesOf(const RecordedJob& job, const RecordingDifference& of,
                                           bool first) {
  QuantityList list;
  AddActivity(first ? of.totals_a : of.totals_b, of.launches_known, list);
  AddInference(job, list);
  AddImbalance(job, list);
  list.Add("aligned", "operations that align", "summary", "fraction", Better::kHigher,
           (first ? of.a : of.b).share());
  list.AddRows("class", of.classes, first);
  list.AddRows("phase", of.phases, first);
  list.AddRows("collective", of.collectives, first);
  return list.Take();
}

Comparison CompareRecordedSides(const std::vector<ComparedSide>& sides,
                                const std::vector<SideQuantities>& quantities) {
  Comparison out{.recorded = true};
  out.repeats_are_runs = std::ranges::all_of(
      quantities, [](const SideQuantities& of) { return of.repeats.size() > 1; });
  std::set<std::string> names;
  for (ComparedRow& like : RowsOf(quantities)) {
    std::vector<SideValues> values;
    for (std::size_t s = 0; s < sides.size(); ++s) {
      const bool dry = !sides[s].runs.empty() && IsSimulated(sides[s].runs.front().report.manifest);
      values.push_back({.values = ValuesNamed(like.name, quantities[s].repeats),
                        .base = ValuesNamed(like.name, quantities[s].base),
                        .modelled = dry && like.name != "aligned",
                        .why_no_ratio = {}});
    }
    names.insert(like.name);
    if (auto row = CompareValues(std::move(like), values, out.repeats_are_runs)) {
      out.rows.push_back(std::move(*row));
    }
  }
  // What only a run's report has, and what its report counts otherwise is left out.
  for (ComparedRow& row : CompareQuantities(sides, out.repeats_are_runs)) {
    const bool of_times = row.group == "class" || row.group == "phase" || row.group == "collective";
    if (!of_times && !names.contains(row.name)) {
      out.rows.push_back(std::move(row));
    }
  }
  out.differences.resize(sides.empty() ? 0 : sides.size() - 1);
  return out;
}

std::vector<PathPart> CriticalPathOf(const Report& report) {
  std::vector<PathPart> parts;
  for (const PathRow& row : report.details.critical_path) {
    if (row.replayed_ns != 0) {
      parts.push_back({row.name, row.replayed_ns});
    }
  }
  std::ranges::stable_sort(parts, std::greater(), &PathPart::ns);
  return parts;
}

ComparedCapture DescribeCapture(const RecordedJob& job) {
  ComparedCapture out{.path = job.path,
                      .devices = {},
                      .world_size = job.world_size,
                      .ranks = static_cast<std::int64_t>(job.ranks.size()),
                      .step_seconds = {}};
  std::map<std::string, std::int64_t> devices;
  std::set<std::string> hosts;
  for (const RankRecording& rank : job.ranks) {
    ++devices[rank.device.empty() ? rank.processor : rank.device];
    hosts.insert(rank.host);
    out.step_seconds.resize(std::max(out.step_seconds.size(), rank.step_ns.size()));
    for (std::size_t step = 0; step < rank.step_ns.size(); ++step) {
      out.step_seconds[step] =
          std::max(out.step_seconds[step], static_cast<double>(rank.step_ns[step]) * kSecondsOfNs);
    }
  }
  hosts.erase("");
  out.hosts = static_cast<std::int64_t>(hosts.size());
  std::vector<std::string> texts;
  for (const auto& [device, count] : devices) {
    if (!device.empty()) {
      texts.push_back(fmt::format("{} x {}", count, device));
    }
  }
  out.devices = fmt::format("{}", fmt::join(texts, ", "));
  return out;
}

HeatMap HeatOf(const RecordedJob& job, const RankComparison& ranks, const HeatMap& reported) {
  HeatMap out;
  for (const char* name :
       {"step time", "operations", "exposed communication", "waiting for ranks", "idle"}) {
    out.metrics.push_back({name, "seconds"});
  }
  std::vector<std::size_t> more;
  for (std::size_t m = 0; m < reported.metrics.size(); ++m) {
    const std::string& name = reported.metrics[m].name;
    if (name != "step time" && name != "exposed communication") {
      more.push_back(m);
      out.metrics.push_back(reported.metrics[m]);
    }
  }
  for (std::size_t i = 0; i < ranks.ranks.size(); ++i) {
    const RankLoad& rank = ranks.ranks[i];
    // As in a run's report: exposed time is of one pass.
    const double steps = std::max(job.ranks[i].steps, 1);
    HeatMap::Rank row{.rank = rank.rank, .host = rank.host, .device = rank.device, .values = {}};
    for (const double ns : {rank.step_ns, rank.operations_ns, rank.exposed_ns * steps,
                            rank.waited_ns, rank.idle_ns}) {
      row.values.emplace_back(ns * kSecondsOfNs);
    }
    const auto found = std::ranges::find(reported.ranks, rank.rank, &HeatMap::Rank::rank);
    for (const std::size_t m : more) {
      row.values.push_back(found == reported.ranks.end() ? std::nullopt : found->values[m]);
    }
    out.ranks.push_back(std::move(row));
  }
  return out;
}

}  // namespace reprise
