// What operations say beyond a report: how the steps passed, inference, imbalance, what aligns.
#include <optional>

#include "report/compare/kinds.h"
#include "report/operations/inference.h"

namespace reprise {
namespace {

using Values = QuantityValues;

constexpr double kSecondsOfNs = 1e-9;

// Of one pass, sums of ranks.
struct TimeKind {
  const char* name;
  const char* label;
  bool (*is_known)(const SideTotals&);
  std::int64_t (*ns)(const SideTotals&);
};
bool Always(const SideTotals& /*of*/) { return true; }
bool RunsOnDevice(const SideTotals& of) { return of.on_device; }
bool HasLaunches(const SideTotals& of) { return of.on_device && of.LaunchesKnown(); }
bool HasTransfers(const SideTotals& of) { return of.activity.transfers_ns > 0; }

constexpr TimeKind kTimes[] = {
    {"device_work", "device work", RunsOnDevice, [](const SideTotals& of) { return of.device_ns; }},
    {"busy", "operations ran", Always, [](const SideTotals& of) { return of.activity.busy_ns; }},
    {"idle", "nothing ran", Always,
     [](const SideTotals& of) {
       return of.activity.launch_wait_ns + of.activity.latency_ns + of.activity.other_idle_ns;
     }},
    {"launch_wait", "waiting for launches", HasLaunches,
     [](const SideTotals& of) { return of.activity.launch_wait_ns; }},
    {"launch_latency", "from launch to start", HasLaunches,
     [](const SideTotals& of) { return of.activity.latency_ns; }},
    {"transfers", "transfers", HasTransfers,
     [](const SideTotals& of) { return of.activity.transfers_ns; }},
    {"waited", "waiting for ranks", HasTransfers,
     [](const SideTotals& of) { return of.activity.waited_ns; }},
};

// Of the first rank's decode loop.
struct InferenceKind {
  const char* name;
  const char* label;
  const char* unit;
  Better better;
  std::optional<double> (*value)(const InferencePhases&);
};
std::optional<double> Scaled(const std::optional<std::int64_t>& number, double factor) {
  return number ? std::optional(static_cast<double>(*number) * factor) : std::nullopt;
}

constexpr InferenceKind kInference[] = {
    {"first_token", "first token", "seconds", Better::kLower,
     [](const InferencePhases& of) { return Scaled(of.first_token_ns, kSecondsOfNs); }},
    {"per_token", "each token", "seconds", Better::kLower,
     [](const InferencePhases& of) { return Scaled(of.per_token_ns, kSecondsOfNs); }},
    {"prefill_tokens_per_second", "tokens per second, prefill", "1/s", Better::kHigher,
     [](const InferencePhases& of) { return std::optional(of.prefill_tokens_per_second); }},
    {"decode_tokens_per_second", "tokens per second, decode", "1/s", Better::kHigher,
     [](const InferencePhases& of) { return std::optional(of.decode_tokens_per_second); }},
    {"cache_growth", "cache growth of a pass", "bytes", Better::kNeither,
     [](const InferencePhases& of) { return Scaled(of.cache_growth_bytes, 1); }},
};

QuantityKind Summary(const char* name, const char* label, const char* unit, Better better,
                     Basis basis, std::function<Values(const ComparedRun&)> values) {
  return {name, label, "summary", unit, better, basis, std::move(values)};
}

}  // namespace

std::vector<QuantityKind> OperationKinds() {
  std::vector<QuantityKind> kinds;
  for (const TimeKind& kind : kTimes) {
    kinds.push_back(
        Summary(kind.name, kind.label, "seconds", Better::kLower, Basis::kTime,
                [&kind](const ComparedRun& run) {
                  const auto totals =
                      run.operations ? std::optional(TotalsOf(*run.operations)) : std::nullopt;
                  return totals && kind.is_known(*totals)
                             ? Values{static_cast<double>(kind.ns(*totals)) * kSecondsOfNs}
                             : Values{};
                }));
  }
  for (const InferenceKind& kind : kInference) {
    kinds.push_back(Summary(kind.name, kind.label, kind.unit, kind.better, Basis::kTime,
                            [&kind](const ComparedRun& run) {
                              const bool any = run.operations && !run.operations->ranks.empty();
                              const auto phases =
                                  any ? FindInference(run.operations->ranks.front()) : std::nullopt;
                              const auto value = phases ? kind.value(*phases) : std::nullopt;
                              return value ? Values{*value} : Values{};
                            }));
  }
  kinds.push_back(Summary("imbalance", "most loaded rank over mean", "fraction", Better::kLower,
                          Basis::kTime, [](const ComparedRun& run) {
                            const bool several = run.operations && run.operations->ranks.size() > 1;
                            return several ? Values{CompareRanksOf(*run.operations).imbalance}
                                           : Values{};
                          }));
  kinds.push_back(Summary("aligned", "operations that align", "fraction", Better::kHigher,
                          Basis::kMeasured, [](const ComparedRun& run) {
                            return run.difference ? Values{run.difference->share()} : Values{};
                          }));
  return kinds;
}

}  // namespace reprise
