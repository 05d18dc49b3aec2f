#include "replayer/plan/work_cap.h"

#include <algorithm>
#include <array>
#include <map>

#include "replayer/plan/known_work.h"

namespace reprise {
namespace {

constexpr double kOverBestRate = 3;
// Old captures have times in whole microseconds: what took less is recorded as 0.
constexpr std::int64_t kMinNs = 1000;

struct NamedPeak {
  std::string_view name;
  double tera_flops;
  double gb_per_s;
};

constexpr NamedPeak kPeaks[] = {
#define PEAK(name, tera_flops, gb_per_s) {name, tera_flops, gb_per_s},
#include "replayer/plan/device_peaks.def"
};

double Seconds(const Graph& graph, Graph::Index i) {
  return static_cast<double>(std::max(graph.duration_ns(i), kMinNs)) * 1e-9;
}

void Raise(WorkRates& best, const Cost& cost, double seconds) {
  best.flops_per_second = std::max(best.flops_per_second, cost.flops / seconds);
  best.bytes_per_second = std::max(best.bytes_per_second, cost.bytes / seconds);
}

// The best rates that operations with a kernel reached in the recording: their work is exact.
class BestRates {
 public:
  BestRates(const Graph& graph, const Plan& plan) {
    for (Graph::Index i = 0; i < graph.size(); ++i) {
      const Work& work = plan.work[i];
      if (work.type == WorkType::kCompute && work.exact && graph.duration_ns(i) > 0) {
        Raise(of_class_[graph.op_class(i)], work.cost, Seconds(graph, i));
        Raise(of_all_, work.cost, Seconds(graph, i));
      }
    }
  }
  // A rate of 0 is none: the class has no such work to compare with.
  [[nodiscard]] WorkRates LimitOf(OpClass op_class) const {
    const auto found = of_class_.find(op_class);
    const WorkRates own = found == of_class_.end() ? WorkRates{} : found->second;
    const auto limit = [](double mine, double all) {
      return kOverBestRate * (mine > 0 ? mine : all);
    };
    return {limit(own.flops_per_second, of_all_.flops_per_second),
            limit(own.bytes_per_second, of_all_.bytes_per_second)};
  }

 private:
  std::map<OpClass, WorkRates> of_class_;
  WorkRates of_all_;
};

bool Cut(double& amount, double most) {
  const bool beyond = most > 0 && amount > most;
  amount = beyond ? most : amount;
  return beyond;
}

}  // namespace

std::optional<WorkRates> PeakOf(std::string_view device) {
  const auto* const found = std::find_if(
      std::begin(kPeaks), std::end(kPeaks),
      [device](const NamedPeak& peak) { return device.find(peak.name) != std::string_view::npos; });
  if (found == std::end(kPeaks)) {
    return std::nullopt;
  }
  return WorkRates{found->tera_flops * 1e12, found->gb_per_s * 1e9};
}

void CapSurrogates(const Graph& graph, Plan& plan) {
  if (!HasDurations(graph)) {
    return;
  }
  const BestRates best(graph, plan);
  const auto peak = PeakOf(graph.metadata().machine.device);
  for (Graph::Index i = 0; i < graph.size(); ++i) {
    Work& work = plan.work[i];
    if (work.type != WorkType::kCompute || work.mode != ReplayMode::kSurrogate) {
      continue;
    }
    const bool on_device = graph.actor(i).kind == Actor::Kind::kStream;
    const WorkRates limit = peak && on_device ? *peak : best.LimitOf(graph.op_class(i));
    const double seconds = Seconds(graph, i);
    const bool flops_cut = Cut(work.cost.flops, limit.flops_per_second * seconds);
    const bool bytes_cut = Cut(work.cost.bytes, limit.bytes_per_second * seconds);
    work.capped = flops_cut || bytes_cut;
  }
}

}  // namespace reprise
