#include "predict/calibration/table_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <span>

#include "core/counted.h"
#include "core/median.h"
#include "predict/calibration/least_squares.h"
#include "predict/calibration/values_left_out.h"

namespace reprise {
namespace {

// A fit takes at most so many rows, evenly chosen: the numbers of a type are few.
constexpr std::size_t kMostFitted = 4000;

// The numbers of one type, as the fit moves them: logarithms, of `waves` the logit.
enum Number : std::size_t { kRate, kMemory, kHalfM, kHalfN, kHalfK, kWaves, kStart, kNumbers };
using Numbers = std::array<double, kNumbers>;
// A number that no row depends on stays here. The deviation is in the same measure.
constexpr Numbers kExpected = {-0.5, -0.2, 3.5, 3.5, 4.5, 0, 8.5};
constexpr double kDeviation = 2;

bool IsUsed(OpClass op_class, std::size_t number) {
  // Attention is cut along its queries alone, and has no result of m x n.
  return op_class == OpClass::kGemm || (number != kHalfN && number != kWaves);
}

struct Row {
  const KernelRow* row = nullptr;
  double peak_ns = 0;    // FLOPs at the peak
  double memory_ns = 0;  // bytes at the bandwidth
  double waves = 0;      // what whole waves cost more, of the FLOPs' time

  [[nodiscard]] double size(std::size_t half) const {
    const WorkShape& shape = row->work.shape;
    return half == kHalfM ? shape.m : half == kHalfN ? shape.n : shape.k;
  }
};

// The model's time and its logarithm's slopes by the numbers.
struct Modelled {
  double ns = 0;
  Numbers slopes = {};
};

Modelled ModelOf(const Row& row, const Numbers& at, OpClass op_class) {
  double compute_ns = row.peak_ns / std::exp(at[kRate]);
  Numbers of_compute = {};
  of_compute[kRate] = -1;
  for (const std::size_t half : {kHalfM, kHalfN, kHalfK}) {
    if (IsUsed(op_class, half)) {
      const double more = std::exp(at[half]) / row.size(half);
      compute_ns *= 1 + more;
      of_compute[half] = more / (1 + more);
    }
  }
  if (IsUsed(op_class, kWaves)) {
    const double part = Logistic(at[kWaves]);
    const double factor = 1 + part * row.waves;
    compute_ns *= factor;
    of_compute[kWaves] = row.waves * part * (1 - part) / factor;
  }
  const double memory_ns = row.memory_ns / std::exp(at[kMemory]);
  const double start_ns = std::exp(at[kStart]);
  Modelled modelled{start_ns + std::max(compute_ns, memory_ns)};
  if (compute_ns > memory_ns) {
    for (std::size_t i = 0; i < kNumbers; ++i) {
      modelled.slopes[i] = of_compute[i] * compute_ns / modelled.ns;
    }
  } else {
    modelled.slopes[kMemory] = -memory_ns / modelled.ns;
  }
  modelled.slopes[kStart] = start_ns / modelled.ns;
  return modelled;
}

Numbers Fitted(std::span<const Row> rows, OpClass op_class) {
  const std::size_t step = (rows.size() + kMostFitted - 1) / kMostFitted;
  const auto residuals = [&](std::span<const double> parameters) {
    Numbers at;
    std::ranges::copy(parameters, at.begin());
    std::vector<Residual> all;
    for (std::size_t i = 0; i < rows.size(); i += step) {
      const Modelled modelled = ModelOf(rows[i], at, op_class);
      Residual& residual = all.emplace_back();
      residual.value = std::log(modelled.ns / rows[i].row->ns) / kRowDeviation;
      for (std::size_t number = 0; number < kNumbers; ++number) {
        if (modelled.slopes[number] != 0) {
          residual.slopes.emplace_back(number, modelled.slopes[number] / kRowDeviation);
        }
      }
      SoftenBeyondOne(residual);
    }
    for (std::size_t number = 0; number < kNumbers; ++number) {
      all.push_back({(at[number] - kExpected[number]) / kDeviation, {{number, 1 / kDeviation}}});
    }
    return all;
  };
  const std::vector<double> found =
      MinimizeSquares(residuals, {kExpected.begin(), kExpected.end()});
  Numbers numbers;
  std::ranges::copy(found, numbers.begin());
  return numbers;
}

double MedianOf(std::vector<double> values) { return Median(values).value_or(0); }

double ErrorOf(const Row& row, const Numbers& numbers, OpClass op_class) {
  return RelativeError(ModelOf(row, numbers, op_class).ns, row.row->ns);
}

double PeaksNs(const Row& row) { return std::max(row.peak_ns, row.memory_ns); }

// The errors of rows that the fit has not seen.
struct LeftOut {
  std::vector<double> model, constant;
};

LeftOut LeaveValuesOut(std::span<const Row> rows, OpClass op_class) {
  LeftOut errors;
  using Key = std::function<double(const Row&)>;
  std::vector<Key> keys;
  for (const std::size_t half : {kHalfM, kHalfN, kHalfK}) {
    if (IsUsed(op_class, half)) {
      keys.emplace_back([half](const Row& row) { return row.size(half); });
    }
  }
  ForEachLeftOut(rows, keys, kLeftOutParts, kLeftOutParts,
                 [&](std::span<const Row> seen, std::span<const Row> unseen) {
                   const Numbers numbers = Fitted(seen, op_class);
                   std::vector<double> ratios;
                   ratios.reserve(seen.size());
                   for (const Row& row : seen) {
                     ratios.push_back(row.row->ns / PeaksNs(row));
                   }
                   const double constant = MedianOf(std::move(ratios));
                   for (const Row& row : unseen) {
                     errors.model.push_back(ErrorOf(row, numbers, op_class));
                     errors.constant.push_back(RelativeError(PeaksNs(row) * constant, row.row->ns));
                   }
                 });
  return errors;
}

class TypeFit {
 public:
  TypeFit(const DeviceModel& device, const KernelTable& table, DType dtype)
      : table_(table), dtype_(dtype) {
    errors_.type = Name(dtype);
    for (const KernelRow& row : table.rows) {
      if (row.work.dtype == dtype) {
        rows_.push_back({&row, ProductNsAtPeak(device, row.work),
                         row.work.bytes / device.memory_bytes_per_second.value * kSecondNs,
                         WavesFactor(device, row.work.shape) - 1});
      }
    }
  }

  Status Fit() {
    const OpClass op_class = table_.op_class;
    if (rows_.size() < kFewestRows) {
      return BadInput(fmt::format(
          "{}: {} of type {}; at least {} are needed for {} numbers (docs/kernel_tables.md)",
          table_.name, Counted(rows_.size(), "row"), errors_.type, kFewestRows,
          static_cast<std::size_t>(kNumbers)));
    }
    const Numbers first = Fitted(rows_, op_class);
    errors_.outliers = std::erase_if(rows_, [&](const Row& row) {
      return IsOutlier(ModelOf(row, first, op_class).ns, row.row->ns);
    });
    if (rows_.size() < kFewestRows) {
      return BadInput(fmt::format(
          "{}: nearly all rows of type {} are off by more than a factor of {} from the model: is "
          "the machine the table's, and the unit of time right?",
          table_.name, errors_.type, kOutlierFactor));
    }
    numbers_ = Fitted(rows_, op_class);
    errors_.rows = rows_.size();
    std::vector<double> all;
    std::vector<double> large;
    std::vector<double> peaks;
    for (const Row& row : rows_) {
      all.push_back(ErrorOf(row, numbers_, op_class));
      peaks.push_back(std::abs(PeaksNs(row) / row.row->ns - 1));
      if (row.row->work.flops >= kLargeFlops) {
        large.push_back(all.back());
      }
    }
    errors_.fitted = MedianOf(std::move(all));
    errors_.peaks = MedianOf(std::move(peaks));
    errors_.fitted_large = Median(large);
    LeftOut left_out = LeaveValuesOut(rows_, op_class);
    errors_.left_out = Median(left_out.model);
    errors_.constant = Median(left_out.constant);
    return {};
  }

  [[nodiscard]] const TableErrors& errors() const { return errors_; }
  [[nodiscard]] double start_ns() const { return std::exp(numbers_[kStart]); }
  [[nodiscard]] SourcedNumber Sourced(double value, const char* unit) const {
    return {value, unit, NumberSource::kFitted,
            fmt::format("{} of {}, type {}; `fits` has the errors", Counted(errors_.rows, "row"),
                        table_.name, errors_.type)};
  }
  [[nodiscard]] ClassEfficiency::OfType Parts() const {
    // predict/machine/fields.cc: what they may be at most.
    constexpr double kMostPart = 16;
    constexpr double kMostHalf = 65536;
    const auto part = [&](std::size_t i) {
      return Sourced(std::min(std::exp(numbers_[i]), kMostPart), "1");
    };
    const auto half = [&](std::size_t i) -> OptionalNumber {
      if (!IsUsed(table_.op_class, i)) {
        return std::nullopt;
      }
      return Sourced(std::min(std::exp(numbers_[i]), kMostHalf), "1");
    };
    ClassEfficiency::OfType of_type{.dtype = dtype_, .parts = {part(kRate), part(kMemory)}};
    of_type.shape.half_m = half(kHalfM);
    of_type.shape.half_n = half(kHalfN);
    of_type.shape.half_k = half(kHalfK);
    if (IsUsed(table_.op_class, kWaves)) {
      of_type.shape.waves = Sourced(Logistic(numbers_[kWaves]), "1");
    }
    of_type.start_ns = Sourced(start_ns(), "ns");
    return of_type;
  }

 private:
  const KernelTable& table_;
  const DType dtype_;
  std::vector<Row> rows_;
  TableErrors errors_;
  Numbers numbers_ = kExpected;
};

}  // namespace

Result<TableFit> FitTable(const DeviceModel& device, const KernelTable& table) {
  std::map<DType, std::size_t> rows;
  for (const KernelRow& row : table.rows) {
    ++rows[row.work.dtype];
    if (LacksRate(device, row.work)) {
      return BadInput(fmt::format("{}: line {}: {} has no rate for products of {}", table.name,
                                  row.line, device.name, Name(row.work.dtype)));
    }
  }
  TableFit fit;
  fit.of_class.op_class = table.op_class;
  std::size_t most = 0;
  for (const auto& [dtype, count] : rows) {
    TypeFit of_type(device, table, dtype);
    REPRISE_TRY(of_type.Fit());
    fit.errors.push_back(of_type.errors());
    fit.of_class.types.push_back(of_type.Parts());
    // Numbers for types without their own are those of the most rows.
    if (count > most) {
      most = count;
      fit.of_class.start_ns = fit.of_class.types.back().start_ns;
      fit.of_class.parts = fit.of_class.types.back().parts;
      fit.of_class.shape = fit.of_class.types.back().shape;
    }
  }
  return fit;
}

}  // namespace reprise
