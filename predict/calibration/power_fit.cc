#include "predict/calibration/power_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "core/counted.h"
#include "core/median.h"
#include "predict/calibration/table_fit.h"
#include "predict/calibration/values_left_out.h"
#include "predict/calibration/watts_fit.h"

namespace reprise {
namespace {

// More than this, in log space, and the rows do not determine a number.
constexpr double kMostDeviation = 0.25;
// Watts from this part of the limit on are at it: meters show a little less.
constexpr double kAtLimit = 0.95;
constexpr double kMostBeyondLimit = 0.01;

class FitOfTables {
 public:
  FitOfTables(const DeviceModel& device, std::vector<const KernelTable*> tables, FittedPower what)
      : device_(device), tables_(std::move(tables)), what_(what) {}

  Result<PowerFit> Run() {
    REPRISE_TRY(ReadRows());
    out_.device = device_;
    if (rows_.empty()) {
      return std::move(out_);
    }
    WattsFit fit(PowerParameters(device_, tables_, Kinds(), what_), tables_.size());
    const std::vector<double> first = fit.Found(rows_, fit.parameters().Expected());
    fit.DropOutliers(rows_, fit.parameters().StateAt(first), out_.errors);
    for (;;) {
      DetermineByRows(fit);
      LeaveValuesOut(fit);
      if (!fit.parameters().KeepWorst(spread_, kMostDeviation)) {
        break;
      }
    }
    Finish(fit);
    return std::move(out_);
  }

 private:
  Status ReadRows() {
    std::map<std::pair<TableClass, DType>, std::vector<WattsRow>> of_kind;
    for (std::size_t table = 0; table < tables_.size(); ++table) {
      REPRISE_TRY(ReadTable(table, of_kind));
    }
    for (const auto& [key, rows] : of_kind) {
      if (rows.size() < kFewestRows) {
        out_.notes.push_back(fmt::format(
            "{} of {}, type {}, with watts: not fitted, at least {} "
            "are needed",
            Counted(rows.size(), "row"), Name(key.first), Name(key.second), kFewestRows));
        continue;
      }
      for (WattsRow row : rows) {
        row.kind = out_.errors.size();
        rows_.push_back(row);
      }
      out_.errors.push_back({.of_class = key.first, .dtype = key.second});
    }
    return {};
  }

  Status ReadTable(std::size_t at,
                   std::map<std::pair<TableClass, DType>, std::vector<WattsRow>>& of_kind) {
    const KernelTable& table = *tables_[at];
    const OptionalNumber& limit = device_.power.limit_watts;
    std::uint64_t beyond = 0;
    for (const KernelRow& row : table.rows) {
      const bool experts = row.experts && FindExperts(device_, row.work.dtype) != nullptr;
      if (!row.watts || !(row.work.known || experts)) {
        continue;
      }
      const double own = limit ? limit->value : *row.watts;
      if (!row.limit_watts && *row.watts > kMostOfLimit * own) {
        ++beyond;
        if (static_cast<double>(beyond) >
            kMostBeyondLimit * static_cast<double>(table.rows.size())) {
          return BadInput(fmt::format(
              "{}: line {}: {:g} W, and {} has a limit of {:g} W; expected watts, of this device",
              table.name, row.line, *row.watts, device_.name, own));
        }
        continue;
      }
      of_kind[{table.of_class, row.work.dtype}].push_back(
          {&row, at, 0, row.limit_watts.value_or(own)});
    }
    if (beyond > 0) {
      out_.notes.push_back(
          fmt::format("{}: {} without watts: {} W is the limit, and they have more", table.name,
                      Counted(beyond, "row"), limit->value));
    }
    return {};
  }

  [[nodiscard]] std::vector<WattsKind> Kinds() const {
    std::vector<WattsKind> kinds(out_.errors.size());
    for (const WattsRow& row : rows_) {
      const bool experts = row.row->experts.has_value();
      kinds[row.kind] = {row.row->work, experts, row.table};
      if (experts) {
        kinds[row.kind].work.op_class = OpClass::kGemm;
      }
    }
    return kinds;
  }

  // Numbers that the rows leave open stay the machine's, the worst first.
  void DetermineByRows(WattsFit& fit) {
    do {
      found_ = fit.Found(rows_, fit.parameters().Expected());
      open_ = fit.Open(rows_, found_);
    } while (fit.parameters().KeepWorst(open_, kMostDeviation));
  }

  void LeaveValuesOut(WattsFit& fit) {
    left_out_.assign(out_.errors.size(), {});
    constant_.assign(out_.errors.size(), {});
    std::vector<double> low = found_;
    std::vector<double> high = found_;
    for (std::size_t table = 0; table < tables_.size(); ++table) {
      for (const auto& size : SizesOf(tables_[table]->of_class)) {
        std::vector<double> sizes;
        for (const WattsRow& row : rows_) {
          if (row.table == table) {
            sizes.push_back(size(*row.row));
          }
        }
        for (const std::vector<bool>& unseen : PartsOfValues(sizes, kLeftOutParts, kLeftOutParts)) {
          const std::vector<double> without = WithoutThem(fit, table, unseen);
          for (std::size_t i = 0; i < without.size(); ++i) {
            low[i] = std::min(low[i], without[i]);
            high[i] = std::max(high[i], without[i]);
          }
        }
      }
    }
    spread_.resize(found_.size());
    for (std::size_t i = 0; i < found_.size(); ++i) {
      spread_[i] = std::max(open_[i], (high[i] - low[i]) / 2);
    }
  }
  // Attention has no result of m x n (predict/calibration/table_fit.cc).
  using SizeOfRow = std::function<double(const KernelRow& row)>;
  static std::vector<SizeOfRow> SizesOf(TableClass of_class) {
    const auto m = [](const KernelRow& row) { return row.work.shape.m; };
    const auto n = [](const KernelRow& row) { return row.work.shape.n; };
    const auto k = [](const KernelRow& row) { return row.work.shape.k; };
    switch (of_class) {
      case TableClass::kGemm:
        return {m, n, k};
      case TableClass::kReduction:
        return {[](const KernelRow& row) { return row.work.bytes; }};
      case TableClass::kExperts:
        return {[](const KernelRow& row) { return static_cast<double>(row.experts->tokens); },
                [](const KernelRow& row) { return static_cast<double>(row.experts->hidden); },
                [](const KernelRow& row) { return static_cast<double>(row.experts->experts); }};
      default:
        return {m, k};
    }
  }

  std::vector<double> WithoutThem(WattsFit& fit, std::size_t table,
                                  const std::vector<bool>& is_unseen) {
    std::vector<WattsRow> seen;
    std::vector<WattsRow> unseen;
    std::size_t at = 0;
    for (const WattsRow& row : rows_) {
      (row.table == table && is_unseen[at++] ? unseen : seen).push_back(row);
    }
    std::map<std::size_t, std::pair<double, double>> watts;  // sum and rows, by kind
    for (const WattsRow& row : seen) {
      watts[row.kind].first += *row.row->watts;
      watts[row.kind].second += 1;
    }
    std::vector<double> found = fit.Found(seen, found_);
    const PowerState state = fit.parameters().StateAt(found);
    for (const WattsRow& row : unseen) {
      left_out_[row.kind].push_back(std::abs(std::expm1(OffOf(state, row).watts)));
      const auto& [sum, count] = watts[row.kind];
      if (count > 0) {
        constant_[row.kind].push_back(std::abs(sum / count / *row.row->watts - 1));
      }
    }
    return found;
  }

  void Finish(WattsFit& fit) {
    const PowerState state = fit.parameters().StateAt(found_);
    for (std::size_t kind = 0; kind < out_.errors.size(); ++kind) {
      WattsErrors& errors = out_.errors[kind];
      std::vector<double> all;
      std::vector<double> large;
      std::vector<double> times;
      for (const WattsRow& row : rows_) {
        if (row.kind != kind) {
          continue;
        }
        ++errors.rows;
        errors.at_limit += *row.row->watts >= kAtLimit * row.limit_watts ? 1 : 0;
        const Reading reading = ReadingOf(state, row);
        all.push_back(std::abs(reading.watts / *row.row->watts - 1));
        times.push_back(std::abs(reading.ns / row.row->ns - 1));
        if (row.row->work.flops >= kLargeFlops) {
          large.push_back(all.back());
        }
      }
      errors.fitted = Median(all).value_or(0);
      errors.time = Median(times).value_or(0);
      errors.fitted_large = Median(large);
      errors.left_out = Median(left_out_[kind]);
      errors.constant = Median(constant_[kind]);
    }
    fit.parameters().Take(state, spread_, Reference(), out_);
  }

  [[nodiscard]] std::string Reference() const {
    std::string names;
    std::string parts;
    for (const KernelTable* const table : tables_) {
      names += (names.empty() ? "" : ", ") + table->name;
    }
    for (const WattsErrors& errors : out_.errors) {
      parts +=
          fmt::format("; {} {}: median error {:.1f} % of the watts of {}", Name(errors.of_class),
                      Name(errors.dtype), 100 * errors.left_out.value_or(errors.fitted),
                      errors.left_out ? "sizes left out" : "these rows");
    }
    return fmt::format("{} with watts of {}{}", Counted(rows_.size(), "row"), names, parts);
  }

  const DeviceModel& device_;
  std::vector<const KernelTable*> tables_;
  FittedPower what_;
  std::vector<WattsRow> rows_;
  std::vector<double> found_, open_, spread_;
  std::vector<std::vector<double>> left_out_, constant_;  // by kind
  PowerFit out_;
};

}  // namespace

Result<std::optional<PowerFit>> FitPower(const DeviceModel& device,
                                         std::span<const KernelTable> tables) {
  // Products first, others after them.
  std::vector<const KernelTable*> first;
  std::vector<const KernelTable*> others;
  for (const KernelTable& table : tables) {
    if (std::ranges::any_of(table.rows,
                            [](const KernelRow& row) { return row.watts.has_value(); })) {
      (table.of_class == TableClass::kGemm ? first : others).push_back(&table);
    }
  }
  if (first.empty()) {
    first.swap(others);
  }
  if (first.empty()) {
    return std::nullopt;
  }
  if (!HasPower(device) || !HasClockCurve(device)) {
    return PowerFit{.device = device,
                    .notes = {fmt::format(
                        "watts: not fitted, {} has no numbers of power and clocks to begin with",
                        device.name)}};
  }
  REPRISE_ASSIGN(PowerFit fit, FitOfTables(device, first, FittedPower::kAll).Run());
  if (!others.empty()) {
    const DeviceModel so_far = fit.device;
    REPRISE_ASSIGN(PowerFit more, FitOfTables(so_far, others, FittedPower::kRates).Run());
    fit.device = std::move(more.device);
    const auto append = [](auto& to, auto& from) { to.insert(to.end(), from.begin(), from.end()); };
    append(fit.numbers, more.numbers);
    append(fit.errors, more.errors);
    append(fit.meters, more.meters);
    append(fit.notes, more.notes);
  }
  return fit;
}

}  // namespace reprise
