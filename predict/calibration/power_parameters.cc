#include "predict/calibration/power_parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "predict/simulator/power/power_work.h"

namespace reprise {
namespace {

// Weak: a factor of e^2 is one deviation.
constexpr double kExpectedDeviation = 2;
// Transistors do not switch at less than about a third of their highest voltage.
constexpr double kLowestVoltage = 0.4;
// A reading that was off by less than this kernel's time could not be seen.
constexpr double kExpectedSettleNs = 1'000;

double Logit(double part) { return std::log(part / (1 - part)); }

double ValueAt(double x, bool voltage) {
  return voltage ? kLowestVoltage + (1 - kLowestVoltage) * Logistic(x) : std::exp(x);
}
double PointOf(double value, bool voltage) {
  constexpr double kEdge = 0.01;  // at a bound itself the logit has no end
  const double part = (value - kLowestVoltage) / (1 - kLowestVoltage);
  return voltage ? Logit(std::clamp(part, kEdge, 1 - kEdge)) : std::log(value);
}

// The part of the peak rate that a type of a class reaches; of the class where the type has none.
SourcedNumber* RateOf(DeviceModel& device, OpClass op_class, DType dtype) {
  for (ClassEfficiency& of_class : device.classes) {
    if (of_class.op_class != op_class) {
      continue;
    }
    for (ClassEfficiency::OfType& of_type : of_class.types) {
      if (of_type.dtype == dtype && of_type.parts.rate) {
        return &*of_type.parts.rate;
      }
    }
    return of_class.parts.rate ? &*of_class.parts.rate : nullptr;
  }
  return nullptr;
}

SourcedNumber* ExpertRateOf(DeviceModel& device, DType dtype) {
  const auto at = std::ranges::find(device.experts, dtype, &ExpertNumbers::dtype);
  return &at->rate;
}

SourcedNumber* JoulesPerFlop(DeviceModel& device, UnitFormat unit) {
  PowerModel& power = device.power;
  OptionalNumber& joules =
      (unit.matrix ? power.matrix_joules_per_flop
                   : power.vector_joules_per_flop)[static_cast<std::size_t>(unit.format)];
  if (!joules) {
    joules = power.vector_joules_per_flop[static_cast<std::size_t>(RateFormat::kFloat32)];
  }
  return &*joules;
}

}  // namespace

PowerParameters::PowerParameters(const DeviceModel& device,
                                 std::span<const KernelTable* const> tables,
                                 const std::vector<WattsKind>& kinds, FittedPower what)
    : device_(device) {
  for (const KernelTable* const table : tables) {
    tables_.push_back(table->name);
  }
  const bool all = what == FittedPower::kAll;
  if (all) {
    Add("device.power.idle", Dimension::kPower,
        [](DeviceModel& d) { return &*d.power.idle_watts; });
    Add("device.power.memory", Dimension::kByteEnergy,
        [](DeviceModel& d) { return &*d.power.memory_joules_per_byte; });
    Add(
        "device.power.low_voltage", Dimension::kRatio,
        [](DeviceModel& d) { return &*d.power.low_voltage; }, true);
  }
  for (const WattsKind& kind : kinds) {
    const OpClass op_class = kind.work.op_class;
    const DType dtype = kind.work.dtype;
    const UnitFormat unit = UnitFormatOf(device, kind.work);
    if (all) {
      Add(fmt::format("device.power.{}.{}", unit.matrix ? "matrix" : "vector", Name(unit.format)),
          Dimension::kFlopEnergy, [unit](DeviceModel& d) { return JoulesPerFlop(d, unit); });
    }
    DeviceModel copy = device;
    if (kind.experts) {
      Add(fmt::format("device.experts.{}.rate", Name(dtype)), Dimension::kRatio,
          [dtype](DeviceModel& d) { return ExpertRateOf(d, dtype); });
    } else if (RateOf(copy, op_class, dtype) != nullptr) {
      Add(fmt::format("device.classes.{}.types.{}.rate", Name(op_class), Name(dtype)),
          Dimension::kRatio, [=](DeviceModel& d) { return RateOf(d, op_class, dtype); });
    }
    const bool is_new = std::ranges::none_of(parameters_, [&](const Parameter& parameter) {
      return !parameter.number && parameter.table == kind.table;
    });
    if (is_new) {
      parameters_.push_back(
          {.path = "", .table = kind.table, .expected = std::log(kExpectedSettleNs)});
    }
  }
}

void PowerParameters::Add(const std::string& path, Dimension dimension,
                          std::function<SourcedNumber*(DeviceModel&)> number, bool voltage) {
  // Two classes may compute in one format.
  if (std::ranges::any_of(parameters_,
                          [&](const Parameter& parameter) { return parameter.path == path; })) {
    return;
  }
  DeviceModel copy = device_;
  const double own = number(copy)->value;
  parameters_.push_back({.path = path,
                         .dimension = dimension,
                         .number = std::move(number),
                         .expected = PointOf(own, voltage),
                         .voltage = voltage});
}

std::vector<double> PowerParameters::Expected() const {
  std::vector<double> point;
  for (const Parameter& parameter : parameters_) {
    if (parameter.free) {
      point.push_back(parameter.expected);
    }
  }
  return point;
}

PowerState PowerParameters::StateAt(std::span<const double> point) const {
  PowerState state{device_, std::vector<double>(tables_.size())};
  std::size_t at = 0;
  for (const Parameter& parameter : parameters_) {
    if (!parameter.free) {
      continue;
    }
    const double value = ValueAt(point[at++], parameter.voltage);
    if (!parameter.number) {
      state.settle_ns[parameter.table] = value;
      continue;
    }
    SourcedNumber* const number = parameter.number(state.device);
    number->value = value;
  }
  return state;
}

void PowerParameters::AddExpected(std::span<const double> point,
                                  std::vector<Residual>& residuals) const {
  const std::vector<double> expected = Expected();
  for (std::size_t i = 0; i < point.size(); ++i) {
    residuals.push_back(
        {(point[i] - expected[i]) / kExpectedDeviation, {{i, 1 / kExpectedDeviation}}});
  }
}

bool PowerParameters::KeepWorst(std::span<const double> deviations, double most) {
  const auto worst = std::ranges::max_element(deviations);
  if (worst == deviations.end() || *worst <= most) {
    return false;
  }
  std::size_t at = static_cast<std::size_t>(worst - deviations.begin());
  for (Parameter& parameter : parameters_) {
    if (parameter.free && at-- == 0) {
      parameter.free = false;
      parameter.largest_deviation = *worst;
      break;
    }
  }
  return true;
}

void PowerParameters::Take(const PowerState& state, std::span<const double> deviations,
                           const std::string& reference, PowerFit& fit) const {
  fit.device = state.device;
  for (const std::string& table : tables_) {
    fit.meters.push_back({table, state.settle_ns[fit.meters.size()]});
  }
  std::size_t at = 0;
  for (const Parameter& parameter : parameters_) {
    const double deviation = parameter.free ? deviations[at++] : parameter.largest_deviation;
    if (!parameter.number) {
      continue;
    }
    DeviceModel own = device_;
    SourcedNumber before = *parameter.number(own);
    if (!parameter.free) {
      fit.numbers.push_back(
          {parameter.path, parameter.dimension, std::move(before), deviation, false});
      continue;
    }
    SourcedNumber* const number = parameter.number(fit.device);
    // A class's rate stands for the type with the most rows.
    for (ClassEfficiency& of_class : fit.device.classes) {
      if (of_class.parts.rate && !of_class.types.empty() &&
          parameter.path.starts_with(fmt::format("device.classes.{}.", Name(of_class.op_class))) &&
          of_class.parts.rate->value == before.value) {
        of_class.parts.rate->value = number->value;
        of_class.parts.rate->reference = reference;
      }
    }
    number->source = NumberSource::kFitted;
    number->reference = reference;
    fit.numbers.push_back({parameter.path, parameter.dimension, *number, deviation, true});
  }
}

}  // namespace reprise
