#include "report/compare/kinds.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "report/text/verdict.h"
#include "report/text/verdict_warnings.h"

namespace reprise {
namespace {

using Values = QuantityValues;
using Extract = std::function<Values(const Report&)>;
using ExtractOfRun = std::function<Values(const ComparedRun&)>;

ExtractOfRun OfReport(Extract of) {
  return [of = std::move(of)](const ComparedRun& run) { return of(run.report); };
}

constexpr double kSeconds = 1e-9;

// The mean as the only value; none if there are none.
Values MeanValue(const Values& values) {
  double sum = 0;
  for (const double value : values) {
    sum += value;
  }
  return values.empty() ? Values{} : Values{sum / static_cast<double>(values.size())};
}

template <typename Row>
Values MostValue(const std::vector<Row>& rows, double Row::*member) {
  return rows.empty() ? Values{} : Values{std::ranges::max(rows, {}, member).*member};
}

Values StepSeconds(const Report& report) {
  Values values;
  for (const std::int64_t step_ns : report.iteration_step_ns) {
    values.push_back(static_cast<double>(step_ns) * kSeconds);
  }
  return values;
}

// Of one step: the mean over an iteration's steps.
Values StepJoules(const Report& report) {
  if (!report.attribution) {
    return {};
  }
  std::map<std::int32_t, Values> of_iteration;
  for (const StepEnergyRow& row : report.attribution->steps) {
    of_iteration[row.iteration].push_back(row.joules);
  }
  Values values;
  for (const auto& [iteration, joules] : of_iteration) {
    values.push_back(MeanValue(joules).front());
  }
  return values;
}

Values ExposedSeconds(const Report& report) {
  if (report.details.overlap.empty() || report.ranks.empty()) {
    return {};
  }
  std::map<std::int32_t, std::int64_t> alike;
  for (const RankRow& row : report.ranks) {
    alike[row.rank] = row.alike;
  }
  double sum_ns = 0;
  for (const OverlapRow& row : report.details.overlap) {
    sum_ns += static_cast<double>(alike[row.rank] * row.replayed_exposed_ns);
  }
  return {sum_ns * kSeconds / static_cast<double>(RanksOf(report))};
}

// Divides `amount` by each of `values`.
Values Per(const std::optional<StepAmount>& amount, Values values) {
  if (!amount) {
    return {};
  }
  std::erase_if(values, [](double value) { return value <= 0; });
  for (double& value : values) {
    value = amount->per_step / value;
  }
  return values;
}

Values GflopPerJoule(const Report& report) {
  double flops = 0;
  for (const ClassRow& row : report.classes) {
    flops += row.flops;
  }
  const bool known = report.attribution && report.attribution->joules > 0 && flops > 0;
  return known ? Values{flops * 1e-9 * report.iterations / report.attribution->joules} : Values{};
}

Values MeanOfPeaks(const Report& report,
                   const std::function<std::optional<double>(const PowerPeakRow&)>& value) {
  Values values;
  for (const PowerPeakRow& row : report.thermal.peaks) {
    if (const auto known = value(row)) {
      values.push_back(*known);
    }
  }
  return MeanValue(values);
}

Values ThrottledShare(const Report& report) {
  double throttled_ns = 0;
  double measured_ns = 0;
  for (const ThrottleRow& row : report.thermal.throttling) {
    throttled_ns += static_cast<double>(row.throttled_ns);
    measured_ns += static_cast<double>(row.measured_ns);
  }
  return measured_ns > 0 ? Values{throttled_ns / measured_ns} : Values{};
}

// Mean over devices of a metric's mean.
Extract MeanMetric(const std::string& metric) {
  return [metric](const Report& report) {
    Values means;
    for (const MetricRow& row : report.metrics) {
      if (row.metric == metric && !row.rate) {
        means.push_back(row.mean);
      }
    }
    return MeanValue(means);
  };
}

// The names of some rows, in the order in which the runs have them.
template <typename Row>
std::vector<std::string> NamesOf(const std::vector<ComparedSide>& sides,
                                 std::vector<Row> Report::*rows) {
  std::vector<std::string> all;
  for (const ComparedSide& side : sides) {
    for (const ComparedRun& run : side.runs) {
      for (const Row& row : run.report.*rows) {
        if (std::ranges::find(all, row.name) == all.end()) {
          all.push_back(row.name);
        }
      }
    }
  }
  return all;
}

// Time and energy of each class, or of each phase.
void AddParts(const std::vector<ComparedSide>& sides, const std::string& prefix,
              std::vector<ClassRow> Report::*times,
              std::vector<EnergyUseRow> EnergyAttribution::*uses,
              std::vector<QuantityKind>& kinds) {
  const auto names = NamesOf(sides, times);
  for (const std::string& name : names) {
    kinds.push_back({fmt::format("{}.{}", prefix, name), name, prefix, "seconds", Better::kLower,
                     Basis::kTime, OfReport([times, name](const Report& report) {
                       for (const ClassRow& row : report.*times) {
                         if (row.name == name && row.replayed_ns) {
                           return Values{static_cast<double>(*row.replayed_ns) * kSeconds};
                         }
                       }
                       return Values{};
                     })});
  }
  for (const std::string& name : names) {
    kinds.push_back({fmt::format("{}.{}.energy", prefix, name), name, prefix + " energy", "joules",
                     Better::kLower, Basis::kEnergy, OfReport([uses, name](const Report& report) {
                       if (report.attribution) {
                         for (const EnergyUseRow& row : *report.attribution.*uses) {
                           if (row.name == name && row.use.step_joules) {
                             return Values{row.use.step_joules->median};
                           }
                         }
                       }
                       return Values{};
                     })});
  }
}

// Time of all members in all transfers of a kind, from the last arrival on.
void AddCollectives(const std::vector<ComparedSide>& sides, std::vector<QuantityKind>& kinds) {
  for (const std::string& name : NamesOf(sides, &Report::collectives)) {
    kinds.push_back({"collective." + name, name, "collective", "seconds", Better::kLower,
                     Basis::kTime, OfReport([name](const Report& report) {
                       std::optional<double> ns;
                       for (const CollectiveRow& row : report.collectives) {
                         if (row.name == name && row.members_ns) {
                           ns = ns.value_or(0) + static_cast<double>(*row.members_ns);
                         }
                       }
                       return ns ? Values{*ns * kSeconds} : Values{};
                     })});
  }
}

}  // namespace

std::vector<QuantityKind> SummaryKinds() {
  using enum Better;
  const auto watts = [](const Report& r) {
    return r.energy_joules ? Values{r.mean_watts} : Values{};
  };
  const auto variation = [](const Report& r) {
    return MeanOfPeaks(r, [](const PowerPeakRow& row) -> std::optional<double> {
      return row.coefficient_of_variation;
    });
  };
  const auto burstiness = [](const Report& r) {
    return MeanOfPeaks(r, [](const PowerPeakRow& row) { return row.burstiness; });
  };
  const auto step_error = [](const Report& r) {
    return r.verdict.ratio ? Values{*r.verdict.ratio - 1} : Values{};
  };
  const auto amount_per_step = [](auto member, auto per) {
    return [member, per](const Report& r) { return Per(r.*member, per(r)); };
  };
  const auto summary = [](const char* name, const char* label, const char* unit, Better better,
                          Basis basis, Extract of) {
    return QuantityKind{name, label, "summary", unit, better, basis, OfReport(std::move(of))};
  };
  return {
      summary("time", "step time", "seconds", kLower, Basis::kTime, StepSeconds),
      summary("exposed_comm", "exposed communication (mean)", "seconds", kLower, Basis::kTime,
              ExposedSeconds),
      summary("tokens_per_second", "tokens per second", "1/s", kHigher, Basis::kTime,
              amount_per_step(&Report::tokens, StepSeconds)),
      summary("samples_per_second", "samples per second", "1/s", kHigher, Basis::kTime,
              amount_per_step(&Report::samples, StepSeconds)),
      summary("energy", "energy of a step", "joules", kLower, Basis::kEnergy, StepJoules),
      summary("tokens_per_joule", "tokens per joule", "1/J", kHigher, Basis::kEnergy,
              amount_per_step(&Report::tokens, StepJoules)),
      summary("samples_per_joule", "samples per joule", "1/J", kHigher, Basis::kEnergy,
              amount_per_step(&Report::samples, StepJoules)),
      summary("gflop_per_joule", "GFLOP per joule", "GFLOP/J", kHigher, Basis::kEnergy,
              GflopPerJoule),
      summary("power", "mean power", "watts", kNeither, Basis::kPower, watts),
      summary("peak_power", "highest power of a meter", "watts", kNeither, Basis::kPowerPeaks,
              [](const Report& r) { return MostValue(r.thermal.peaks, &PowerPeakRow::max_watts); }),
      summary("power_variation", "power, deviation / mean", "fraction", kLower, Basis::kPowerPeaks,
              variation),
      summary("burstiness", "burstiness of power peaks", "", kNeither, Basis::kPowerPeaks,
              burstiness),
      summary(
          "temperature", "highest temperature", "celsius", kLower, Basis::kHeating,
          [](const Report& r) { return MostValue(r.thermal.heating, &HeatingRow::max_celsius); }),
      summary("clock", "mean SM clock", "hertz", kHigher, Basis::kMeasured, MeanMetric("sm_clock")),
      summary("utilization", "GPU utilization", "fraction", kNeither, Basis::kMeasured,
              MeanMetric("gpu_utilization")),
      summary("throttled", "time throttled", "fraction", kLower, Basis::kThrottling,
              ThrottledShare),
      summary("coverage", "coverage, real", "fraction", kNeither, Basis::kTime,
              [](const Report& r) {
                const bool replayed = r.coverage.amount > 0 &&
                                      SimulatedMachine(r.manifest).empty() &&
                                      !IsRecorded(r.manifest);
                return replayed ? Values{r.coverage.real} : Values{};
              }),
      summary("step_error", "error of the step", "fraction", kNeither, Basis::kTime, step_error),
  };
}

std::vector<QuantityKind> FindQuantityKinds(const std::vector<ComparedSide>& sides) {
  std::vector<QuantityKind> kinds = SummaryKinds();
  for (QuantityKind& kind : OperationKinds()) {
    kinds.push_back(std::move(kind));
  }
  AddParts(sides, "class", &Report::classes, &EnergyAttribution::classes, kinds);
  AddParts(sides, "phase", &Report::phases, &EnergyAttribution::phases, kinds);
  AddCollectives(sides, kinds);
  return kinds;
}

}  // namespace reprise
