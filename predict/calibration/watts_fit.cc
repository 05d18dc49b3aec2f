#include "predict/calibration/watts_fit.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "core/median.h"
#include "predict/calibration/loop_power.h"

namespace reprise {
namespace {

// A table's rows share their mistakes, so that all of them count as so many independent ones.
constexpr double kIndependentRows = 100;
// A fit takes at most so many rows of a table, evenly chosen.
constexpr std::size_t kMostWattsRows = 1000;
constexpr double kLeastDeviation = 0.03;

// Rows of middling size are many: every decade of FLOPs weighs the same, unless it has few rows.
std::vector<double> WeightsOf(const std::vector<WattsRow>& rows) {
  std::map<std::pair<std::size_t, int>, double> of_decade;
  std::map<std::size_t, double> of_table;
  const auto decade = [](const WattsRow& row) {
    return std::pair(row.table, static_cast<int>(std::log10(std::max(row.row->work.flops, 1.0))));
  };
  for (const WattsRow& row : rows) {
    ++of_decade[decade(row)];
    ++of_table[row.table];
  }
  constexpr double kFewest = 0.02;  // of the table's rows
  std::vector<double> weights;
  std::map<std::size_t, double> sums;
  for (const WattsRow& row : rows) {
    weights.push_back(1 / std::max(of_decade[decade(row)], kFewest * of_table[row.table]));
    sums[row.table] += weights.back();
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    weights[i] = std::sqrt(weights[i] / sums[rows[i].table] * kIndependentRows);
  }
  return weights;
}

std::vector<WattsRow> EvenlyChosen(const std::vector<WattsRow>& rows, std::size_t tables) {
  std::vector<WattsRow> chosen;
  for (std::size_t table = 0; table < tables; ++table) {
    std::vector<WattsRow> of_table;
    std::ranges::copy_if(rows, std::back_inserter(of_table),
                         [table](const WattsRow& row) { return row.table == table; });
    const std::size_t step = (of_table.size() + kMostWattsRows - 1) / kMostWattsRows;
    for (std::size_t i = 0; i < of_table.size(); i += step) {
      chosen.push_back(of_table[i]);
    }
  }
  return chosen;
}

}  // namespace

Reading ReadingOf(const PowerState& state, const WattsRow& row) {
  const DType dtype = row.row->work.dtype;
  const LoopPower loop = row.row->experts
                             ? LoopPowerOf(state.device, *FindExperts(state.device, dtype),
                                           WorkOf(*row.row->experts, dtype), dtype, row.limit_watts)
                             : LoopPowerOf(state.device, row.row->work, row.limit_watts);
  const double idle = state.device.power.idle_watts->value;
  const double settle_ns = state.settle_ns[row.table];
  const double came = settle_ns > 0 ? 1 - std::exp(-loop.ns / settle_ns) : 1;
  return {loop.ns, idle + (loop.watts - idle) * came};
}

Reading OffOf(const PowerState& state, const WattsRow& row) {
  const Reading reading = ReadingOf(state, row);
  return {std::log(reading.ns / row.row->ns), std::log(reading.watts / *row.row->watts)};
}

std::vector<double> WattsFit::Found(const std::vector<WattsRow>& all,
                                    std::vector<double> start) const {
  const std::vector<WattsRow> rows = EvenlyChosen(all, deviations_.size());
  const std::vector<double> weights = WeightsOf(rows);
  return MinimizeSquares([&](std::span<const double> at) { return ResidualsOf(rows, weights, at); },
                         std::move(start));
}
std::vector<double> WattsFit::Open(const std::vector<WattsRow>& all,
                                   std::span<const double> at) const {
  const std::vector<WattsRow> rows = EvenlyChosen(all, deviations_.size());
  return DeviationsOf(ResidualsOf(rows, WeightsOf(rows), at), at.size());
}
void WattsFit::DropOutliers(std::vector<WattsRow>& rows, const PowerState& state,
                            std::vector<WattsErrors>& errors) {
  std::erase_if(rows, [&](const WattsRow& row) {
    const bool odd = std::abs(OffOf(state, row).watts) > std::log(kOutlierFactor);
    errors[row.kind].outliers += odd ? 1 : 0;
    return odd;
  });
  for (double Reading::*const what : {&Reading::ns, &Reading::watts}) {
    std::vector<std::vector<double>> offs(deviations_.size());
    for (const WattsRow& row : rows) {
      offs[row.table].push_back(std::abs(OffOf(state, row).*what));
    }
    for (std::size_t table = 0; table < offs.size(); ++table) {
      constexpr double kOfNormal = 1.48;  // standard deviation over median distance
      deviations_[table].*what =
          std::max(kLeastDeviation, kOfNormal * Median(offs[table]).value_or(kRowDeviation));
    }
  }
}

std::vector<Residual> WattsFit::ResidualsOf(const std::vector<WattsRow>& rows,
                                            const std::vector<double>& weights,
                                            std::span<const double> at) const {
  const auto readings = [&](std::span<const double> point) {
    const PowerState state = parameters_.StateAt(point);
    std::vector<Reading> all;
    all.reserve(rows.size());
    for (const WattsRow& row : rows) {
      const Reading reading = ReadingOf(state, row);
      all.push_back({std::log(reading.ns), std::log(reading.watts)});
    }
    return all;
  };
  constexpr double kStep = 0.01;  // the model is no closed form: its slopes are differences
  const std::vector<Reading> here = readings(at);
  std::vector<std::vector<Reading>> beside;
  for (std::size_t i = 0; i < at.size(); ++i) {
    std::vector<double> moved(at.begin(), at.end());
    moved[i] += kStep;
    beside.push_back(readings(moved));
  }
  std::vector<Residual> residuals;
  const auto add = [&](std::size_t i, double Reading::*what, double measured) {
    const double deviation = deviations_[rows[i].table].*what;
    Residual residual{(here[i].*what - std::log(measured)) / deviation, {}};
    for (std::size_t number = 0; number < at.size(); ++number) {
      residual.slopes.emplace_back(number,
                                   (beside[number][i].*what - here[i].*what) / kStep / deviation);
    }
    SoftenBeyondOne(residual);
    residual.value *= weights[i];
    for (auto& [number, slope] : residual.slopes) {
      slope *= weights[i];
    }
    residuals.push_back(std::move(residual));
  };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    add(i, &Reading::watts, *rows[i].row->watts);
    add(i, &Reading::ns, rows[i].row->ns);
  }
  parameters_.AddExpected(at, residuals);
  return residuals;
}

}  // namespace reprise
