#include "predict/extended_job.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <type_traits>
#include <vector>

#include "predict/micro_batch_jobs.h"
#include "predict/simulator/power/extended_temperatures.h"
#include "predict/workload/schedule.h"
#include "report/text/verdict_warnings.h"

namespace reprise {
namespace {

constexpr std::size_t kJobs = 4;
// Of sums of joules and the like, which round.
constexpr double kRounding = 1e-9;

// Micro-batches of the small jobs: first, and how many more each next one has.
struct SmallJobs {
  std::int64_t first = 0, each = 1;
  [[nodiscard]] std::int64_t Batches(std::size_t i) const {
    return first + each * static_cast<std::int64_t>(i);
  }
};

// Whether they together take not much longer than the job itself. A little longer is worth it: each
// takes a part of the job's memory.
bool AreWorthIt(const SmallJobs& small, std::int64_t batches) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < kJobs; ++i) {
    sum += small.Batches(i);
  }
  return sum <= batches + batches / 4;
}

// Nothing: they are not worth it, or the schedule is none that becomes periodic.
std::optional<SmallJobs> SmallJobsOf(const Workload& workload) {
  // The first stage has most micro-batches under way.
  const auto passes = RepeatedPassesOf(workload, 0);
  if (!passes) {
    return std::nullopt;
  }
  const SmallJobs small{.first = passes->batches, .each = passes->more_batches};
  return AreWorthIt(small, workload.micro_batches()) ? std::optional(small) : std::nullopt;
}

// The same with `times` as many micro-batches from one job to the next, three times of them in the
// first. Nothing: they are not worth it.
std::optional<SmallJobs> Longer(const SmallJobs& small, std::int64_t times, std::int64_t batches) {
  const std::int64_t each = small.each * times;
  const std::int64_t repeated = (batches - small.first - 3 * each) / each;
  const SmallJobs longer{.first = batches - repeated * each, .each = each};
  const bool some = repeated >= static_cast<std::int64_t>(kJobs);
  return some && AreWorthIt(longer, batches) ? std::optional(longer) : std::nullopt;
}

using SmallPredictions = std::array<Prediction, kJobs>;

// How often more micro-batches the small jobs need, so that windows of a limiter lie between their
// first and last ones.
std::int64_t TimesForWindow(const SmallPredictions& small) {
  const auto& power = small.back().power;
  const std::int64_t grown_ns = small.back().step_time_ns - small.front().step_time_ns;
  if (!power || !power->limit_window_ns || grown_ns <= 0) {
    return 1;
  }
  return std::max<std::int64_t>((*power->limit_window_ns + grown_ns - 1) / grown_ns, 1);
}

template <typename Number>
bool IsLine(const std::array<Number, kJobs>& values) {
  const Number step = values[1] - values[0];
  for (std::size_t i = 2; i < kJobs; ++i) {
    const Number difference = values[i] - values[i - 1] - step;
    if constexpr (std::is_floating_point_v<Number>) {
      if (std::abs(difference) > kRounding * std::max<double>(std::abs(values[i]), 1)) {
        return false;
      }
    } else if (difference != 0) {
      return false;
    }
  }
  return true;
}

// As far as both have operations.
bool EndAlike(const Prediction& a, const Prediction& b) {
  return std::ranges::equal(a.last_starts, b.last_starts, [](const auto& x, const auto& y) {
    const auto common = static_cast<std::ptrdiff_t>(std::min(x.size(), y.size()));
    return std::equal(x.begin(), x.begin() + common, y.begin());
  });
}

// The fields of predictions of small jobs, and of the one that is extended.
class Extension {
 public:
  // `times`: how often the difference of two small jobs is added to the last one's values.
  Extension(SmallPredictions small, std::int64_t times, const DeviceModel& device)
      : small_(std::move(small)), times_(times), device_(device), out_(small_.back()) {}

  std::optional<Prediction> Extend() {
    if (!IsComparable()) {
      return std::nullopt;
    }
    // What the others are divided by comes last.
    Share([](Prediction& of) { return std::pair(of.mfu ? &*of.mfu : nullptr, StepOf(of)); });
    Share([](Prediction& of) { return std::pair(of.hfu ? &*of.hfu : nullptr, StepOf(of)); });
    const auto device_time = [](Prediction& of) { return static_cast<double>(of.device_time_ns); };
    Share([&](Prediction& of) { return std::pair(&of.unknown_share, device_time(of)); });
    Share([&](Prediction& of) { return std::pair(&of.default_share, device_time(of)); });
    ExtendPower();
    ExtendMemory();
    for (std::int64_t Prediction::*const member :
         {&Prediction::step_time_ns, &Prediction::tokens, &Prediction::samples,
          &Prediction::device_time_ns, &Prediction::linked_device_time_ns}) {
      Line([member](Prediction & of) -> auto& { return of.*member; });
    }
    Line([](Prediction & of) -> auto& { return of.exposed_sum_ns; });
    Line([](Prediction & of) -> auto& { return of.bubble_sum_ns; });
    const auto ranks = static_cast<double>(std::max<std::int64_t>(out_.ranks, 1));
    out_.exposed_communication_ns = std::llround(out_.exposed_sum_ns / ranks);
    out_.bubble_ns = std::llround(out_.bubble_sum_ns / ranks);
    FinishShares();
    out_.described["unknown_share"] = ShareOption(out_.unknown_share);
    out_.described["default_share"] = ShareOption(out_.default_share);
    out_.warnings = PredictionWarnings(out_.described);
    return fits_ ? std::optional(std::move(out_)) : std::nullopt;
  }

 private:
  static double StepOf(const Prediction& of) { return static_cast<double>(of.step_time_ns); }

  // Lists have the same rows, and nothing is limited.
  [[nodiscard]] bool IsComparable() const {
    return std::ranges::all_of(small_, [this](const Prediction& of) {
      const auto& power = of.power;
      const auto& last = small_.back();
      return of.classes == last.classes && EndAlike(of, last) &&
             of.memory.has_value() == last.memory.has_value() &&
             (!of.memory || of.memory->classes.size() == last.memory->classes.size()) &&
             power.has_value() == last.power.has_value() &&
             (!power ||
              (!power->until_steady && power->summary.throttled_share == 0 && power->limit_met &&
               power->heat_met && power->classes.size() == last.power->classes.size() &&
               power->devices.size() == last.power->devices.size() &&
               power->nodes.size() == last.power->nodes.size()));
    });
  }
  // A field that grows by the same with each micro-batch.
  template <typename Field>
  void Line(const Field& field) {
    using Number = std::decay_t<decltype(field(out_))>;
    std::array<Number, kJobs> values{};
    for (std::size_t i = 0; i < kJobs; ++i) {
      values[i] = field(small_[i]);
    }
    fits_ = fits_ && IsLine(values);
    field(out_) =
        values.back() + static_cast<Number>(times_) * (values[kJobs - 1] - values[kJobs - 2]);
  }
  // One that does not change.
  template <typename Field>
  void Constant(const Field& field) {
    for (Prediction& of : small_) {
      const auto value = static_cast<double>(field(of));
      fits_ = fits_ &&
              std::abs(value - static_cast<double>(field(out_))) <= kRounding * std::abs(value);
    }
  }
  // One whose product with another field is a line: `field` gives it and the other's value.
  template <typename Field>
  void Share(const Field& field) {
    if (field(out_).first == nullptr) {
      return;
    }
    std::array<double, kJobs> products{};
    for (std::size_t i = 0; i < kJobs; ++i) {
      const auto [share, whole] = field(small_[i]);
      products[i] = *share * whole;
    }
    fits_ = fits_ && IsLine(products);
    const double product =
        products.back() + static_cast<double>(times_) * (products[kJobs - 1] - products[kJobs - 2]);
    shares_.push_back([this, field, product] {
      const auto [share, whole] = field(out_);
      *share = whole > 0 ? product / whole : 0;
    });
  }
  void FinishShares() {
    for (const auto& finish : shares_) {
      finish();
    }
  }

  // Watts are joules over the time that all of them have in common.
  void ExtendPower() {
    if (!out_.power) {
      return;
    }
    const auto seconds = [](const Prediction& of) {
      return of.power->mean_watts > 0 ? of.power->joules / of.power->mean_watts : 0;
    };
    std::array<double, kJobs> times{};
    for (std::size_t i = 0; i < kJobs; ++i) {
      times[i] = seconds(small_[i]);
    }
    fits_ = fits_ && IsLine(times);
    // Of a limiter's windows some must be of micro-batches in the middle alone.
    fits_ = fits_ && times.back() - times.front() >=
                         static_cast<double>(LimitWindowNs(device_.power)) * 1e-9;
    const double extended =
        times.back() + static_cast<double>(times_) * (times[kJobs - 1] - times[kJobs - 2]);
    const double before = out_.power->mean_watts;
    ExtendHeat();
    Line([](Prediction& of) -> double& { return *of.energy_joules; });
    Line([](Prediction & of) -> auto& { return of.power->joules; });
    Line([](Prediction & of) -> auto& { return of.power->idle_joules; });
    if (out_.power->nodes_joules) {
      Line([](Prediction& of) -> double& { return *of.power->nodes_joules; });
    }
    const auto watts = [extended](double joules) { return extended > 0 ? joules / extended : 0; };
    out_.power->mean_watts = watts(out_.power->joules);
    if (out_.power->nodes_joules) {
      out_.power->nodes_watts = watts(*out_.power->nodes_joules);
    }
    for (std::size_t i = 0; i < out_.power->classes.size(); ++i) {
      Line([i](Prediction & of) -> auto& { return of.power->classes[i].above_idle_joules; });
      out_.power->classes[i].mean_watts = watts(out_.power->classes[i].above_idle_joules);
    }
    for (std::size_t i = 0; i < out_.power->devices.size(); ++i) {
      Line([i](Prediction & of) -> auto& { return of.power->devices[i].joules; });
      Line([i](Prediction & of) -> auto& { return of.power->devices[i].peak_at_ns; });
      Constant([i](Prediction& of) { return of.power->devices[i].peak_watts; });
      Constant([i](Prediction& of) { return of.power->devices[i].peak_ns; });
      out_.power->devices[i].mean_watts = watts(out_.power->devices[i].joules);
    }
    for (std::size_t i = 0; i < out_.power->nodes.size(); ++i) {
      Line([i](Prediction & of) -> auto& { return of.power->nodes[i].joules; });
      out_.power->nodes[i].mean_watts = watts(out_.power->nodes[i].joules);
      if (out_.power->nodes[i].total_joules) {
        Line([i](Prediction& of) -> double& { return *of.power->nodes[i].total_joules; });
        out_.power->nodes[i].total_watts = watts(*out_.power->nodes[i].total_joules);
      }
    }
    Constant([](Prediction& of) { return of.power->summary.peak_watts; });
    out_.power->summary.mean_watts *= before > 0 ? out_.power->mean_watts / before : 1;
  }

  // Of each device from its power over time in the last two jobs.
  void ExtendHeat() {
    if (!out_.power->summary.max_celsius) {
      return;
    }
    const ThermalModel& thermal = device_.thermal;
    const double idle_watts = device_.power.idle_watts->value;
    DeviceSummary& summary = out_.power->summary;
    double ranks = 0, sum = 0;
    summary.max_celsius.reset();
    for (std::size_t i = 0; i < out_.power->devices.size(); ++i) {
      PowerPrediction::OfDevice& device = out_.power->devices[i];
      const auto extended = ExtendTemperatures(
          thermal, *device.air_celsius,
          *device.air_celsius + thermal.kelvin_per_watt->value * idle_watts,
          small_[kJobs - 2].power->devices[i].stretches, device.stretches, times_);
      if (!extended) {
        fits_ = false;
        return;
      }
      device.mean_celsius = extended->mean;
      device.max_celsius = extended->max;
      const auto weight = static_cast<double>(device.ranks);
      ranks += weight;
      sum += weight * extended->mean;
      summary.max_celsius = std::max(summary.max_celsius.value_or(extended->max), extended->max);
    }
    summary.mean_celsius = sum / ranks;
    // Where it would be too hot, clocks fall, and nothing is periodic.
    fits_ = fits_ &&
            (!thermal.throttle_celsius || *summary.max_celsius < thermal.throttle_celsius->value);
  }

  void ExtendMemory() {
    if (!out_.memory) {
      return;
    }
    Line([](Prediction & of) -> auto& { return of.memory->peak_bytes; });
    for (std::size_t i = 0; i < out_.memory->classes.size(); ++i) {
      for (std::int64_t MemorySums::*const member :
           {&MemorySums::parameters, &MemorySums::gradients, &MemorySums::optimizer,
            &MemorySums::activations, &MemorySums::layer_activations, &MemorySums::stack,
            &MemorySums::peak}) {
        Line([ i,
               member ](Prediction & of) -> auto& { return of.memory->classes[i].bytes.*member; });
      }
    }
  }

  SmallPredictions small_;
  std::int64_t times_;
  const DeviceModel& device_;
  Prediction out_;
  bool fits_ = true;
  std::vector<std::function<void()>> shares_;
};

Result<SmallPredictions> PredictSmall(const Workload& workload, const SmallJobs& jobs,
                                      const PredictWhole& predict) {
  SmallPredictions small;
  for (std::size_t i = 0; i < kJobs; ++i) {
    REPRISE_ASSIGN(small[i], predict(WithMicroBatches(workload, jobs.Batches(i))));
    if (i + 2 < kJobs) {  // power over time counts of the last two
      small[i].DropStretches();
    }
  }
  return small;
}

}  // namespace

Result<std::optional<Prediction>> PredictExtended(const Workload& workload,
                                                  const DeviceModel& device,
                                                  const PredictWhole& predict) {
  const auto shortest = SmallJobsOf(workload);
  if (!shortest || workload.steps != 1 || !workload.routing.balanced) {
    return std::nullopt;
  }
  SmallJobs jobs = *shortest;
  REPRISE_ASSIGN(SmallPredictions small, PredictSmall(workload, jobs, predict));
  const std::int64_t window = TimesForWindow(small);
  // The shortest jobs may have no period that comes twice on some device: then jobs of twice the
  // length are tried.
  for (const std::int64_t times : {window, 2 * window}) {
    if (times > 1) {
      const auto longer = Longer(*shortest, times, workload.micro_batches());
      if (!longer) {
        break;
      }
      jobs = *longer;
      REPRISE_ASSIGN(small, PredictSmall(workload, jobs, predict));
    }
    const std::int64_t more = workload.micro_batches() - jobs.Batches(kJobs - 1);
    auto extended = Extension(small, more / jobs.each, device).Extend();
    if (extended) {
      extended->job = workload;
      return extended;
    }
  }
  return std::nullopt;
}

Result<std::int64_t> NumberOfJob(
    const Workload& workload,
    const std::function<Result<std::int64_t>(const Workload& workload)>& number) {
  if (const auto jobs = SmallJobsOf(workload)) {
    std::array<std::int64_t, kJobs> values{};
    for (std::size_t i = 0; i < kJobs; ++i) {
      REPRISE_ASSIGN(values[i], number(WithMicroBatches(workload, jobs->Batches(i))));
    }
    if (IsLine(values)) {
      const std::int64_t more = workload.micro_batches() - jobs->Batches(kJobs - 1);
      return values.back() + more / jobs->each * (values[1] - values[0]);
    }
  }
  return number(workload);
}

}  // namespace reprise
