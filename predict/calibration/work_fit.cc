#include "predict/calibration/work_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/counted.h"
#include "core/median.h"
#include "predict/calibration/log_fit.h"
#include "predict/calibration/values_left_out.h"

namespace reprise {
namespace {

using Key = double (*)(const KernelRow&);
using Rows = std::span<const KernelRow>;

// What a kind of operation is to a fit.
struct KindOfWork {
  std::vector<double> expected, deviation;
  std::function<double(const KernelRow&, std::span<const double>)> ns;
  std::function<double(const KernelRow&)> peak_ns;
  std::vector<Key> keys;  // that are left out
};

class WorkFit {
 public:
  WorkFit(const KindOfWork& kind, std::vector<KernelRow> rows)
      : kind_(kind), rows_(std::move(rows)) {}

  Status Fit(const std::string& table, DType dtype) {
    errors_.type = Name(dtype);
    const std::size_t before = rows_.size();
    if (before >= kFewestRows) {
      const std::vector<double> first = Fitted(rows_);
      errors_.outliers = std::erase_if(
          rows_, [&](const KernelRow& row) { return IsOutlier(kind_.ns(row, first), row.ns); });
    }
    if (rows_.size() < kFewestRows || 2 * rows_.size() < before) {
      return BadInput(fmt::format(
          "{}: {} of type {} that a fit can use, of {}; at least {} and half of all are needed "
          "(docs/kernel_tables.md): is the machine the table's, and the unit of time right?",
          table, Counted(rows_.size(), "row"), Name(dtype), before, kFewestRows));
    }
    numbers_ = Fitted(rows_);
    errors_.rows = rows_.size();
    std::vector<double> fitted;
    std::vector<double> peaks;
    for (const KernelRow& row : rows_) {
      fitted.push_back(RelativeError(kind_.ns(row, numbers_), row.ns));
      peaks.push_back(RelativeError(kind_.peak_ns(row), row.ns));
    }
    errors_.fitted = Median(fitted).value_or(0);
    errors_.peaks = Median(peaks).value_or(0);
    LeaveValuesOut();
    reference_ = fmt::format("{} of {}, type {}; `fits` has the errors",
                             Counted(rows_.size(), "row"), table, Name(dtype));
    return {};
  }

  [[nodiscard]] const TableErrors& errors() const { return errors_; }
  // Of a logarithm; at most `most`.
  [[nodiscard]] SourcedNumber Sourced(std::size_t number, const char* unit, double most) const {
    return {std::min(std::exp(numbers_[number]), most), unit, NumberSource::kFitted, reference_};
  }

 private:
  [[nodiscard]] std::vector<double> Fitted(Rows rows) const {
    // A fit takes at most so many rows, evenly chosen: the numbers of a type are few.
    constexpr std::size_t kMostFitted = 1500;
    const std::size_t step = (rows.size() + kMostFitted - 1) / kMostFitted;
    std::vector<const KernelRow*> chosen;
    std::vector<double> measured;
    for (std::size_t i = 0; i < rows.size(); i += step) {
      chosen.push_back(&rows[i]);
      measured.push_back(rows[i].ns);
    }
    LogModel model{kind_.expected, kind_.deviation, {}};
    model.ns = [&](std::span<const double> at) {
      std::vector<double> ns;
      ns.reserve(chosen.size());
      for (const KernelRow* const row : chosen) {
        ns.push_back(kind_.ns(*row, at));
      }
      return ns;
    };
    return FitLogTimes(model, measured);
  }

  void LeaveValuesOut() {
    std::vector<double> model;
    std::vector<double> null_model;
    ForEachLeftOut(Rows(rows_), kind_.keys, kLeftOutParts, kLeftOutParts,
                   [&](Rows seen, Rows unseen) {
                     const std::vector<double> numbers = Fitted(seen);
                     std::vector<double> ratios;
                     for (const KernelRow& row : seen) {
                       ratios.push_back(row.ns / kind_.peak_ns(row));
                     }
                     const double constant = Median(ratios).value_or(1);
                     for (const KernelRow& row : unseen) {
                       model.push_back(RelativeError(kind_.ns(row, numbers), row.ns));
                       null_model.push_back(RelativeError(kind_.peak_ns(row) * constant, row.ns));
                     }
                   });
    errors_.left_out = Median(model);
    errors_.constant = Median(null_model);
  }

  const KindOfWork& kind_;
  std::vector<KernelRow> rows_;
  std::vector<double> numbers_;
  TableErrors errors_;
  std::string reference_;
};

std::map<DType, std::vector<KernelRow>> ByType(const KernelTable& table) {
  std::map<DType, std::vector<KernelRow>> rows;
  for (const KernelRow& row : table.rows) {
    rows[row.work.dtype].push_back(row);
  }
  return rows;
}

// predict/machine/fields.cc: what they may be at most.
constexpr double kMostPart = 16;
constexpr double kMostHalf = 65536;
constexpr double kMostNs = 1e12;

}  // namespace

void LeaveOutUnpredictable(const DeviceModel& device, KernelTable& table) {
  if (table.of_class != TableClass::kReduction) {
    return;
  }
  table.from_caches += std::erase_if(table.rows, [&](const KernelRow& row) {
    return row.work.bytes / device.memory_bytes_per_second.value * kSecondNs > row.ns;
  });
  table.below_least += std::erase_if(
      table.rows, [&](const KernelRow& row) { return row.ns < device.kernel_least_ns.value; });
}

Result<TableFit> FitMemoryBound(const DeviceModel& device, const KernelTable& table) {
  enum Number : std::size_t { kStart, kMemory };
  const double bandwidth = device.memory_bytes_per_second.value;
  const auto peak_ns = [bandwidth](const KernelRow& row) {
    return row.work.bytes / bandwidth * kSecondNs;
  };
  const KindOfWork kind{.expected = {std::log(2e3), std::log(0.8)},
                        .deviation = {2, 2},
                        .ns =
                            [&](const KernelRow& row, std::span<const double> at) {
                              return std::exp(at[kStart]) + peak_ns(row) / std::exp(at[kMemory]);
                            },
                        .peak_ns = peak_ns,
                        .keys = {[](const KernelRow& row) { return row.work.bytes; }}};
  TableFit fit;
  fit.of_class.op_class = table.op_class;
  std::size_t most = 0;
  for (const auto& [dtype, rows] : ByType(table)) {
    WorkFit of_type(kind, rows);
    REPRISE_TRY(of_type.Fit(table.name, dtype));
    fit.errors.push_back(of_type.errors());
    ClassEfficiency::OfType parts{.dtype = dtype};
    parts.parts.memory = of_type.Sourced(kMemory, "1", kMostPart);
    if (of_type.errors().rows > most) {
      most = of_type.errors().rows;
      fit.of_class.start_ns = of_type.Sourced(kStart, "ns", kMostNs);
      fit.of_class.parts.memory = parts.parts.memory;
    }
    fit.of_class.types.push_back(std::move(parts));
  }
  return fit;
}

Result<ExpertFit> FitExperts(const DeviceModel& device, const KernelTable& table) {
  enum Number : std::size_t { kRate, kHalfM, kMemory, kMoving, kStart };
  ExpertFit fit;
  for (const auto& [dtype, rows] : ByType(table)) {
    const SourcedNumber* const peak = PeakRate(device, dtype, true, false);
    if (peak == nullptr) {
      return BadInput(fmt::format("{}: line {}: {} has no rate for products of {}", table.name,
                                  rows.front().line, device.name, Name(dtype)));
    }
    const KindOfWork kind{
        .expected = {std::log(0.4), std::log(64), std::log(0.8), std::log(0.4), std::log(3e4)},
        .deviation = {1, 2, 1, 1, 2},
        .ns =
            [&, type = dtype](const KernelRow& row, std::span<const double> at) {
              ExpertNumbers numbers;
              numbers.rate.value = std::exp(at[kRate]);
              numbers.half_m.value = std::exp(at[kHalfM]);
              numbers.memory.value = std::exp(at[kMemory]);
              numbers.moving.value = std::exp(at[kMoving]);
              numbers.start_ns.value = std::exp(at[kStart]);
              return ExpertNs(device, numbers, WorkOf(*row.experts, type), type);
            },
        .peak_ns =
            [&, type = dtype](const KernelRow& row) {
              const ExpertWork work = WorkOf(*row.experts, type);
              return std::max(work.flops / peak->value, (work.product_bytes + work.moved_bytes) /
                                                            device.memory_bytes_per_second.value) *
                     kSecondNs;
            },
        .keys = {[](const KernelRow& row) { return static_cast<double>(row.experts->tokens); },
                 [](const KernelRow& row) { return static_cast<double>(row.experts->experts); },
                 [](const KernelRow& row) { return static_cast<double>(row.experts->hidden); }}};
    WorkFit of_type(kind, rows);
    REPRISE_TRY(of_type.Fit(table.name, dtype));
    fit.errors.push_back(of_type.errors());
    fit.types.push_back({.dtype = dtype,
                         .rate = of_type.Sourced(kRate, "1", kMostPart),
                         .half_m = of_type.Sourced(kHalfM, "1", kMostHalf),
                         .memory = of_type.Sourced(kMemory, "1", kMostPart),
                         .moving = of_type.Sourced(kMoving, "1", kMostPart),
                         .start_ns = of_type.Sourced(kStart, "ns", kMostNs)});
  }
  return fit;
}

}  // namespace reprise
