#include "predict/rescale/periodic_run.h"

#include <algorithm>
#include <map>

namespace reprise {
namespace {

using Index = Graph::Index;

// Periods that are looked at, of each step.
constexpr std::size_t kMostPeriods = 256;
// How often the rarest work may come in a period: once in a micro-batch, of which as many come
// together as a pipeline with several chunks a rank has ranks.
constexpr std::size_t kMostInPeriod = 64;
// Kinds of work that say which they are: those that come least often, since what comes once in a
// micro-batch comes again after its period.
constexpr std::size_t kMostWorks = 256;
constexpr std::size_t kMostPlaces = 200'000;  // of them all

// Weights that nodes of a run name, and those of them that several of its periods name.
struct NamedWeights {
  std::size_t all = 0, again = 0;
};
enum class By : std::uint8_t { kProducts, kAny };

Result<NamedWeights> WeightsOf(const Graph& graph, const ProgramOrder& order,
                               const PeriodicRun& run, const std::set<std::int64_t>& weights,
                               By by) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::set<std::uint32_t>> periods;  // by tensor
  for (std::uint32_t at = run.begin; at < run.end; ++at) {
    if (by == By::kProducts && graph.op_class(order.NodeOf(at)) != OpClass::kGemm) {
      continue;
    }
    REPRISE_ASSIGN(const TensorPlaces tensors, TensorsOf(graph, order.NodeOf(at)));
    for (const auto& tensor : tensors) {
      if (weights.contains(tensor.first)) {
        periods[tensor].insert((run.end - 1 - at) / run.period);
      }
    }
  }
  const auto again =
      std::ranges::count_if(periods, [](const auto& of) { return of.second.size() > 1; });
  return NamedWeights{periods.size(), static_cast<std::size_t>(again)};
}

class StepSearch {
 public:
  StepSearch(const Graph& graph, const ProgramOrder& order, const std::vector<Phase>& phases,
             const KnownStorages& weights, std::int32_t step, Repeated what, Passes passes)
      : graph_(graph),
        order_(order),
        phases_(phases),
        weights_(weights),
        step_(step),
        what_(what),
        passes_(passes) {
    for (std::uint32_t at = 0; at < order.MainCount(); ++at) {
      if (IsOfStep(at)) {
        begin_ = end_ == 0 ? at : begin_;
        end_ = at + 1;
        has_products_ = has_products_ || graph.op_class(order.NodeOf(at)) == OpClass::kGemm;
      }
    }
  }

  // Empty: nothing comes again.
  [[nodiscard]] Result<PeriodicRun> Longest() const {
    PeriodicRun longest;
    for (const std::uint32_t period : Periods()) {
      const PeriodicRun run = LongestOf(period);
      const bool longer = run.size() > longest.size() ||
                          (run.size() == longest.size() && run.period < longest.period);
      if (longer && run.size() >= 2 * period && HasPasses(run)) {
        REPRISE_ASSIGN(const bool wanted,
                       what_ == Repeated::kLayers ? IsOfOtherLayers(run) : IsOfSameLayers(run));
        longest = wanted ? run : longest;
      }
    }
    return longest;
  }

 private:
  [[nodiscard]] bool IsOfStep(std::uint32_t at) const {
    return graph_.step(order_.NodeOf(at)) == step_;
  }
  [[nodiscard]] Phase PhaseAt(std::uint32_t at) const { return phases_[order_.NodeOf(at)]; }

  // Distances at which work of a pass comes again, of the rarest works first.
  [[nodiscard]] std::vector<std::uint32_t> Periods() const {
    const Phase of_pass = passes_ == Passes::kBackward ? Phase::kBackward : Phase::kForward;
    std::map<std::uint32_t, std::vector<std::uint32_t>> places;  // by work
    for (std::uint32_t at = begin_; at < end_; ++at) {
      if (IsOfStep(at) && PhaseAt(at) == of_pass) {
        places[order_.WorkOf(at)].push_back(at);
      }
    }
    std::vector<const std::vector<std::uint32_t>*> rarest;
    for (const auto& [work, of_work] : places) {
      if (of_work.size() > 1) {
        rarest.push_back(&of_work);
      }
    }
    std::ranges::stable_sort(rarest, {}, [](const auto* of_work) { return of_work->size(); });
    rarest.resize(std::min(rarest.size(), kMostWorks));
    std::map<std::uint32_t, std::size_t> votes;
    std::size_t looked_at = 0;
    for (const auto* const of_work : rarest) {
      if (looked_at > kMostPlaces) {
        break;
      }
      looked_at += of_work->size();
      for (std::size_t apart = 1; apart <= std::min(kMostInPeriod, of_work->size() - 1); ++apart) {
        for (const std::uint32_t distance : UsualDistances(*of_work, apart)) {
          ++votes[distance];
        }
      }
    }
    std::vector<std::pair<std::uint32_t, std::size_t>> by_votes(votes.begin(), votes.end());
    std::ranges::stable_sort(by_votes, std::ranges::greater(),
                             &std::pair<std::uint32_t, std::size_t>::second);
    std::vector<std::uint32_t> periods;
    for (const auto& [distance, count] : by_votes) {
      if (periods.size() < kMostPeriods) {
        periods.push_back(distance);
      }
    }
    return periods;
  }

  // Of places that are `apart` places of a work from each other: distances that are at least half
  // as frequent as the most frequent one. While a pipeline fills, forward passes are closer.
  [[nodiscard]] static std::vector<std::uint32_t> UsualDistances(
      const std::vector<std::uint32_t>& places, std::size_t apart) {
    std::map<std::uint32_t, std::size_t> counts;
    std::size_t most = 0;
    for (std::size_t k = apart; k < places.size(); ++k) {
      most = std::max(most, ++counts[places[k] - places[k - apart]]);
    }
    std::vector<std::uint32_t> usual;
    for (const auto& [distance, count] : counts) {
      if (2 * count >= most) {
        usual.push_back(distance);
      }
    }
    return usual;
  }

  [[nodiscard]] PeriodicRun LongestOf(std::uint32_t period) const {
    PeriodicRun longest{.period = period};
    std::uint32_t begin = begin_;
    for (std::uint32_t at = begin_; at + period < end_; ++at) {
      if (order_.WorkOf(at) != order_.WorkOf(at + period) || !IsOfStep(at)) {
        begin = at + 1;
      } else if (at + 1 + period - begin > longest.size()) {
        longest.begin = begin;
        longest.end = at + 1 + period;
      }
    }
    return longest;
  }

  // Layers have their own weights. With both passes these are layers that are computed again in the
  // backward pass: most weights that the step trains are then of one period, if not all, since a
  // period may begin within a layer. What FSDP gathers anew for each micro-batch is no such weight.
  // A forward or backward pass of a layer names a weight once.
  [[nodiscard]] Result<bool> IsOfSameLayers(const PeriodicRun& run) const {
    const bool both = passes_ == Passes::kBoth;
    REPRISE_ASSIGN(
        const NamedWeights named,
        WeightsOf(graph_, order_, run, both ? weights_.trained : weights_.all, By::kProducts));
    return both ? 2 * named.again >= named.all : named.again > 0;
  }

  // A period may begin within a layer, and layers may share what is computed once. FSDP's products
  // name what was gathered, and its all-gathers the shards.
  [[nodiscard]] Result<bool> IsOfOtherLayers(const PeriodicRun& run) const {
    const auto& weights = weights_.trained.empty() ? weights_.all : weights_.trained;
    REPRISE_ASSIGN(const NamedWeights named, WeightsOf(graph_, order_, run, weights, By::kAny));
    return 2 * named.again < named.all;
  }

  // Some of what comes again is no pass: what an optimizer does for each tensor, results that are
  // read one by one. Passes have products, if the trace has any.
  [[nodiscard]] bool HasPasses(const PeriodicRun& run) const {
    std::set<Phase> phases;
    bool products = !has_products_;
    for (std::uint32_t at = run.end - run.period; at < run.end; ++at) {
      phases.insert(PhaseAt(at));
      products = products || graph_.op_class(order_.NodeOf(at)) == OpClass::kGemm;
    }
    return products && phases.contains(Phase::kForward) == (passes_ != Passes::kBackward) &&
           phases.contains(Phase::kBackward) == (passes_ != Passes::kForward) &&
           !phases.contains(Phase::kOptimizer);
  }

  const Graph& graph_;
  const ProgramOrder& order_;
  const std::vector<Phase>& phases_;
  const KnownStorages& weights_;
  std::int32_t step_;
  Repeated what_;
  Passes passes_;
  std::uint32_t begin_ = 0, end_ = 0;  // of the step
  bool has_products_ = false;          // in the step
};

}  // namespace

Result<TensorPlaces> TensorsOf(const Graph& graph, Index i) {
  REPRISE_ASSIGN(const OpCall call, graph.Call(i));
  TensorPlaces tensors;
  for (const ValueList* const values : {&call.inputs, &call.outputs}) {
    for (const TensorDesc* const tensor : TensorsIn(*values)) {
      tensors.emplace_back(tensor->incarnation, tensor->offset);
    }
  }
  return tensors;
}

Result<KnownStorages> StoragesFromBefore(const Graph& graph, const ProgramOrder& order,
                                         const std::vector<Phase>& phases) {
  KnownStorages found;
  std::set<std::int64_t> made;
  for (const Index i : order.nodes) {
    REPRISE_ASSIGN(const OpCall call, graph.Call(i));
    for (const TensorDesc* const tensor : TensorsIn(call.inputs)) {
      if (!made.contains(tensor->incarnation)) {
        found.all.insert(tensor->incarnation);
        if (phases[i] == Phase::kOptimizer) {
          found.trained.insert(tensor->incarnation);
        }
      }
    }
    for (const TensorDesc* const tensor : TensorsIn(call.outputs)) {
      if (!found.all.contains(tensor->incarnation)) {
        made.insert(tensor->incarnation);
      }
    }
  }
  return found;
}

std::set<std::int32_t> StepsWithForward(const Graph& graph, const std::vector<Phase>& phases) {
  std::set<std::int32_t> steps;
  for (Index i = 0; i < graph.size(); ++i) {
    if (phases[i] == Phase::kForward && graph.step(i) >= 0) {
      steps.insert(graph.step(i));
    }
  }
  return steps;
}

Result<PeriodicRun> FindLongestRun(const Graph& graph, const ProgramOrder& order,
                                   const std::vector<Phase>& phases, const KnownStorages& weights,
                                   std::int32_t step, Repeated what, Passes passes) {
  return StepSearch(graph, order, phases, weights, step, what, passes).Longest();
}

Result<bool> HasMostWeights(const Graph& graph, const ProgramOrder& order,
                            const std::vector<Phase>& phases, const KnownStorages& weights,
                            const PeriodicRun& run) {
  const std::set<std::int64_t>& storages = weights.trained.empty() ? weights.all : weights.trained;
  std::set<std::pair<std::int64_t, std::int64_t>> in_run, in_all;
  for (std::uint32_t at = 0; at < order.MainCount(); ++at) {
    if (phases[order.NodeOf(at)] != Phase::kForward) {
      continue;
    }
    REPRISE_ASSIGN(const TensorPlaces named, TensorsOf(graph, order.NodeOf(at)));
    for (const auto& tensor : named) {
      if (storages.contains(tensor.first)) {
        in_all.insert(tensor);
        if (at >= run.begin && at < run.end) {
          in_run.insert(tensor);
        }
      }
    }
  }
  return !in_run.empty() && 2 * in_run.size() >= in_all.size();
}

}  // namespace reprise
