#include "predict/calibration/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/counted.h"
#include "predict/calibration/least_squares.h"
#include "predict/simulator/device_operations.h"

namespace reprise {
namespace {

// Standard deviations in log space of what is expected without data: of all operations, of a class
// against all, of a type against its class; and of a point against the model.
constexpr double kAllDeviation = 1.0;
constexpr double kClassDeviation = 0.5;
constexpr double kTypeDeviation = 0.25;
constexpr double kPointDeviation = 0.3;
// A start of 0 has no logarithm; CPUs have no least kernel time.
constexpr double kMinStartNs = 500;
// Fewer cases than this say nothing about a launch.
constexpr std::size_t kFewestCases = 20;

// The parts of one operation's time at the peaks; ns.
struct PeakTimes {
  double compute_ns = 0, memory_ns = 0;
};

PeakTimes PeakTimesOf(const DeviceModel& device, const OperatorWork& work) {
  DeviceModel peak = device;
  for (SourcedNumber* const efficiency : {&peak.gemm_efficiency, &peak.attention_efficiency,
                                          &peak.conv_efficiency, &peak.memory_efficiency}) {
    efficiency->value = 1;
  }
  peak.classes.clear();
  peak.kernel_least_ns.value = 0;
  OperatorWork compute = work;
  compute.bytes = 0;
  OperatorWork memory = work;
  memory.flops = 0;
  return {RooflineOf(peak, compute).ns, RooflineOf(peak, memory).ns};
}

double DefaultRate(const DeviceModel& device, OpClass op_class) {
  const SourcedNumber* const efficiency = MatrixEfficiency(device, op_class);
  return efficiency != nullptr ? efficiency->value : 1;
}

// Which parameters are whose: deviations in log space from the base's numbers.
struct Places {
  static constexpr std::size_t kRate = 0, kMemory = 1, kStart = 2, kEach = 3;
  static constexpr std::size_t kOtherRate = 3, kAll = 4;     // of all: products' rate is kRate
  std::map<OpClass, std::size_t> of_class;                   // its kEach; 0: of all
  std::map<std::pair<OpClass, DType>, std::size_t> of_type;  // rate and memory alike
  std::vector<double> deviation;                             // by parameter
};

Places PlacesOf(std::span<const CaptureTimes> captures) {
  Places places;
  places.deviation.assign(Places::kAll, kAllDeviation);
  for (const CaptureTimes& capture : captures) {
    for (const FitPoint& point : capture.points) {
      const auto [of_class, new_class] =
          places.of_class.try_emplace(point.work.op_class, places.deviation.size());
      places.deviation.resize(places.deviation.size() + (new_class ? Places::kEach : 0),
                              kClassDeviation);
      const auto [of_type, new_type] = places.of_type.try_emplace(
          {point.work.op_class, point.work.dtype}, places.deviation.size());
      places.deviation.resize(places.deviation.size() + (new_type ? 1 : 0), kTypeDeviation);
    }
  }
  return places;
}

// A point as the fit sees it.
struct WeighedPoint {
  PeakTimes base;  // at the base's parts of the peaks
  double log_ns = 0;
  double weight = 1;  // of its residual
  std::size_t rate_of_all = 0, of_class = 0, of_type = 0;
};

class MachineFit {
 public:
  MachineFit(const MachineModel& base, std::span<const CaptureTimes> captures)
      : places_(PlacesOf(captures)),
        start_ns_(std::max(base.device.kernel_least_ns.value, kMinStartNs)) {
    double roots = 0;
    for (const CaptureTimes& capture : captures) {
      for (const FitPoint& point : capture.points) {
        Add(base.device, point);
        roots += points_.back().weight;
      }
    }
    const double mean = roots / static_cast<double>(points_.size());
    for (WeighedPoint& point : points_) {
      point.weight = std::sqrt(point.weight / mean) / kPointDeviation;
    }
    parameters_ = MinimizeSquares([this](std::span<const double> at) { return ResidualsOf(at); },
                                  std::vector<double>(places_.deviation.size()));
  }

  [[nodiscard]] const Places& places() const { return places_; }
  // `what`: Places::kRate, …; of all operations, or of one class.
  [[nodiscard]] double Deviation(std::size_t what, OpClass op_class) const {
    const auto at = places_.of_class.find(op_class);
    return parameters_[OfAll(what, op_class)] +
           (at == places_.of_class.end() ? 0 : parameters_[at->second + what]);
  }
  [[nodiscard]] double TypeDeviation(OpClass op_class, DType dtype) const {
    return parameters_[places_.of_type.at({op_class, dtype})];
  }
  [[nodiscard]] double start_ns() const { return start_ns_; }

 private:
  // The parameter of all operations, of what and of which kind.
  static std::size_t OfAll(std::size_t what, OpClass op_class) {
    return what == Places::kRate && !IsProduct(op_class) ? Places::kOtherRate : what;
  }

  void Add(const DeviceModel& device, const FitPoint& point) {
    const OpClass op_class = point.work.op_class;
    PeakTimes times = PeakTimesOf(device, point.work);
    times.compute_ns /= DefaultRate(device, op_class);
    times.memory_ns /= device.memory_efficiency.value;
    points_.push_back({times, std::log(point.ns), std::sqrt(point.ns * point.calls),
                       OfAll(Places::kRate, op_class), places_.of_class.at(op_class),
                       places_.of_type.at({op_class, point.work.dtype})});
  }

  [[nodiscard]] std::vector<Residual> ResidualsOf(std::span<const double> at) const {
    std::vector<Residual> residuals;
    residuals.reserve(points_.size() + at.size());
    for (const WeighedPoint& point : points_) {
      const auto both = [&](std::size_t what) { return at[what] + at[point.of_class + what]; };
      const double rate = at[point.rate_of_all] + at[point.of_class + Places::kRate];
      const double compute_ns = point.base.compute_ns * std::exp(-rate - at[point.of_type]);
      const double memory_ns =
          point.base.memory_ns * std::exp(-both(Places::kMemory) - at[point.of_type]);
      const double start_ns = start_ns_ * std::exp(both(Places::kStart));
      const bool computes = compute_ns > memory_ns;
      const double work_ns = computes ? compute_ns : memory_ns;
      const double ns = start_ns + work_ns;
      const double by_work = point.weight * work_ns / ns;
      const double by_start = -point.weight * start_ns / ns;
      const std::size_t what = computes ? Places::kRate : Places::kMemory;
      Residual residual{point.weight * (point.log_ns - std::log(ns)),
                        {{computes ? point.rate_of_all : what, by_work},
                         {point.of_class + what, by_work},
                         {point.of_type, by_work},
                         {Places::kStart, by_start},
                         {point.of_class + Places::kStart, by_start}}};
      residuals.push_back(std::move(residual));
    }
    for (std::size_t i = 0; i < at.size(); ++i) {
      residuals.push_back({at[i] / places_.deviation[i], {{i, 1 / places_.deviation[i]}}});
    }
    return residuals;
  }

  Places places_;
  double start_ns_;
  std::vector<WeighedPoint> points_;
  std::vector<double> parameters_;
};

std::vector<double> Pooled(std::span<const CaptureTimes> captures,
                           std::vector<double> CaptureTimes::*cases) {
  std::vector<double> all;
  for (const CaptureTimes& capture : captures) {
    all.insert(all.end(), (capture.*cases).begin(), (capture.*cases).end());
  }
  return all;
}

double Quantile(std::vector<double>& values, double part) {
  const auto at =
      values.begin() + static_cast<std::ptrdiff_t>(part * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

// Replaces a time by a quantile of the cases, if these are enough.
void FitTime(SourcedNumber& number, std::vector<double> cases, double part,
             const std::string& what) {
  if (cases.size() >= kFewestCases) {
    const double ns = std::max(Quantile(cases, part), 0.0);
    number = {ns, "ns", NumberSource::kFitted,
              fmt::format("{} of {} cases of {}", part == 0.5 ? "median" : "5 % quantile",
                          cases.size(), what)};
  }
}

void FitLaunches(MachineModel& machine, std::span<const CaptureTimes> captures) {
  const std::string names = NamesOf(captures);
  FitTime(machine.device.launch_latency_ns, Pooled(captures, &CaptureTimes::launch_latency_ns), 0.5,
          "an idle stream in " + names);
  FitTime(machine.device.kernel_least_ns, Pooled(captures, &CaptureTimes::kernel_ns), 0.05,
          "kernels' own times in " + names);
  FitTime(machine.host.launch_ns, Pooled(captures, &CaptureTimes::launch_apart_ns), 0.5,
          "launch after launch of a thread in " + names);
}

// How many points speak for a number.
struct Support {
  std::size_t rate = 0, memory = 0;
};

class FittedClasses {
 public:
  FittedClasses(const MachineModel& base, std::span<const CaptureTimes> captures,
                const MachineFit& fit)
      : base_(base), fit_(fit), names_(NamesOf(captures)) {
    for (const CaptureTimes& capture : captures) {
      for (const FitPoint& point : capture.points) {
        Count(point.work);
      }
    }
  }

  [[nodiscard]] std::vector<ClassEfficiency> Classes() const {
    std::vector<ClassEfficiency> classes;
    for (std::size_t i = 0; i < kOpClassCount; ++i) {
      const auto op_class = static_cast<OpClass>(i);
      if (!WorksOnDevice(op_class) && !of_class_.contains(op_class)) {
        continue;
      }
      const Support support = SupportOf(op_class);
      ClassEfficiency of_class{.op_class = op_class};
      of_class.parts = PartsOf(op_class, 0, support);
      of_class.start_ns =
          Number(fit_.start_ns() * std::exp(fit_.Deviation(Places::kStart, op_class)), "ns",
                 support.rate + support.memory);
      for (const auto& [key, of_type] : of_type_) {
        if (key.first == op_class && key.second != DType::kUnknown) {
          of_class.types.push_back(
              {key.second, PartsOf(op_class, fit_.TypeDeviation(op_class, key.second), of_type)});
        }
      }
      classes.push_back(std::move(of_class));
    }
    return classes;
  }

 private:
  // Which part bounds it, at the fitted numbers.
  void Count(const OperatorWork& work) {
    const PeakTimes at_peaks = PeakTimesOf(base_.device, work);
    const bool computes =
        at_peaks.compute_ns / Rate(work.op_class) > at_peaks.memory_ns / Memory(work.op_class);
    for (Support* const support :
         {&of_class_[work.op_class], &of_type_[{work.op_class, work.dtype}]}) {
      ++(computes ? support->rate : support->memory);
    }
  }

  [[nodiscard]] Support SupportOf(OpClass op_class) const {
    const auto at = of_class_.find(op_class);
    return at == of_class_.end() ? Support{} : at->second;
  }
  [[nodiscard]] double Rate(OpClass op_class) const {
    return DefaultRate(base_.device, op_class) * std::exp(fit_.Deviation(Places::kRate, op_class));
  }
  [[nodiscard]] double Memory(OpClass op_class) const {
    return base_.device.memory_efficiency.value *
           std::exp(fit_.Deviation(Places::kMemory, op_class));
  }

  [[nodiscard]] ReachedParts PartsOf(OpClass op_class, double deviation,
                                     const Support& support) const {
    // predict/machine/fields.cc: what a part may be at most.
    constexpr double kMax = 16;
    const auto part = [&](double value, std::size_t points) {
      return Number(std::min(value * std::exp(deviation), kMax), "1", points);
    };
    return {part(Rate(op_class), support.rate), part(Memory(op_class), support.memory)};
  }

  [[nodiscard]] SourcedNumber Number(double value, const char* unit, std::size_t points) const {
    return points > 0
               ? SourcedNumber{value, unit, NumberSource::kFitted,
                               fmt::format("{} of {}", Counted(points, "point"), names_)}
               : SourcedNumber{value, unit, NumberSource::kDefault,
                               fmt::format("no point of {} is bound by it: as other operations "
                                           "there",
                                           names_)};
  }

  const MachineModel& base_;
  const MachineFit& fit_;
  std::string names_;
  std::map<OpClass, Support> of_class_;
  std::map<std::pair<OpClass, DType>, Support> of_type_;
};

}  // namespace

double NsAtPeaks(const DeviceModel& device, const OperatorWork& work) {
  const PeakTimes times = PeakTimesOf(device, work);
  return std::max(times.compute_ns, times.memory_ns);
}

Result<MachineModel> FitMachine(const MachineModel& base, std::span<const CaptureTimes> captures) {
  if (std::ranges::all_of(captures,
                          [](const CaptureTimes& capture) { return capture.points.empty(); })) {
    return BadInput(
        fmt::format("{}: no operation has known FLOPs or bytes and a time, so that there is "
                    "nothing to fit; capture with shapes (record_shapes=True)",
                    captures.empty() ? "no capture" : NamesOf(captures)));
  }
  MachineModel machine = base;
  machine.device.classes.clear();  // of an earlier fit
  FitLaunches(machine, captures);
  const MachineFit fit(base, captures);
  machine.device.classes = FittedClasses(base, captures, fit).Classes();
  return machine;
}

}  // namespace reprise
