#include "predict/rescale/micro_batches.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <utility>

#include "core/phase.h"
#include "replayer/plan/training_phases.h"

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

// From `begin` on, each main node does the same as the one `period` before it, up to `end`.
struct PeriodicRun {
  std::uint32_t begin = 0, end = 0, period = 0;

  [[nodiscard]] std::uint32_t size() const { return end - begin; }
};

class StepSearch {
 public:
  StepSearch(const Graph& graph, const ProgramOrder& order, const std::vector<Phase>& phases,
             std::int32_t step)
      : graph_(graph), order_(order), phases_(phases), step_(step) {}

  // Empty: nothing comes again.
  [[nodiscard]] PeriodicRun Longest() const {
    PeriodicRun longest;
    for (const std::uint32_t period : Periods()) {
      const PeriodicRun run = LongestOf(period);
      const bool longer = run.size() > longest.size() ||
                          (run.size() == longest.size() && run.period < longest.period);
      if (longer && run.size() >= 2 * period && IsTraining(run)) {
        longest = run;
      }
    }
    return longest;
  }

 private:
  [[nodiscard]] bool IsOfStep(std::uint32_t at) const {
    return graph_.step(order_.NodeOf(at)) == step_;
  }
  [[nodiscard]] Phase PhaseAt(std::uint32_t at) const { return phases_[order_.NodeOf(at)]; }

  // Distances at which forward work comes again, of the rarest works first.
  [[nodiscard]] std::vector<std::uint32_t> Periods() const {
    std::map<std::uint32_t, std::vector<std::uint32_t>> places;  // by work
    for (std::uint32_t at = 0; at < order_.MainCount(); ++at) {
      if (IsOfStep(at) && PhaseAt(at) == Phase::kForward) {
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
    for (const auto* const of_work : rarest) {
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
    std::uint32_t begin = 0;
    for (std::uint32_t at = 0; at + period < order_.MainCount(); ++at) {
      if (order_.WorkOf(at) != order_.WorkOf(at + period) || !IsOfStep(at)) {
        begin = at + 1;
      } else if (at + 1 + period - begin > longest.size()) {
        longest.begin = begin;
        longest.end = at + 1 + period;
      }
    }
    return longest;
  }

  // A layer comes again, too, but not with both passes; and an optimizer's tensors.
  [[nodiscard]] bool IsTraining(const PeriodicRun& run) const {
    std::set<Phase> phases;
    for (std::uint32_t at = run.end - run.period; at < run.end; ++at) {
      phases.insert(PhaseAt(at));
    }
    return phases.contains(Phase::kForward) && phases.contains(Phase::kBackward) &&
           !phases.contains(Phase::kOptimizer);
  }

  const Graph& graph_;
  const ProgramOrder& order_;
  const std::vector<Phase>& phases_;
  std::int32_t step_;
};

// Where the tensors of a node are, in the order in which it names them: storage and offset.
using TensorPlaces = std::vector<std::pair<std::int64_t, std::int64_t>>;
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

// Tensors of the node with the fewest.
std::size_t Fewest(const std::vector<TensorPlaces>& nodes) {
  return std::ranges::min(nodes, {}, &TensorPlaces::size).size();
}

// How many periods make a part: whatever several periods name, parameters above all, is the same
// in each part. More than 1 where equal chunks of layers take turns. 0: it is so in no two parts of
// the run.
Result<std::uint32_t> PeriodsOfPart(const Graph& graph, const ProgramOrder& order,
                                    const PeriodicRun& run) {
  constexpr std::uint32_t kMostNodes = 512;  // that are looked at, of each period
  const std::uint32_t count = run.size() / run.period;
  std::uint32_t periods = 1;
  for (std::uint32_t k = 0; k < run.period; k += run.period / kMostNodes + 1) {
    std::vector<TensorPlaces> tensors;  // by period, from the last one backwards
    for (std::uint32_t back = 1; back <= count; ++back) {
      REPRISE_ASSIGN(tensors.emplace_back(),
                     TensorsOf(graph, order.NodeOf(run.end - back * run.period + k)));
    }
    const auto same = [&](std::size_t ordinal, std::uint32_t apart) {
      for (std::uint32_t back = 0; back + apart < count; ++back) {
        if (tensors[back][ordinal] != tensors[back + apart][ordinal]) {
          return false;
        }
      }
      return true;
    };
    for (std::size_t ordinal = 0; ordinal < Fewest(tensors); ++ordinal) {
      std::set<std::pair<std::int64_t, std::int64_t>> different;
      for (const TensorPlaces& of_period : tensors) {
        different.insert(of_period[ordinal]);
      }
      if (2 * different.size() > count) {
        continue;  // of each micro-batch its own
      }
      while (periods <= count / 2 && !same(ordinal, periods)) {
        ++periods;
      }
    }
  }
  return periods <= count / 2 ? periods : 0;
}

// Where parts end: where a forward pass follows on a backward one, as late as may be, so that a
// part begins with what a program does first; else where the run ends. Always before a host node.
std::uint32_t EndOf(const ProgramOrder& order, const std::vector<Phase>& phases,
                    const PeriodicRun& run, std::uint32_t length) {
  std::uint32_t last = run.end;
  while (last < order.MainCount() && order.launched[order.main[last]]) {
    --last;
  }
  std::uint32_t end = last;
  Phase after = Phase::kOther;  // of the first node from here on that has one
  for (std::uint32_t at = last; at >= run.begin + 2 * length; --at) {
    const Phase before = phases[order.NodeOf(at - 1)];
    if (after == Phase::kForward && before == Phase::kBackward &&
        !order.launched[order.main[end]]) {
      return end;
    }
    if (before == Phase::kForward || before == Phase::kBackward) {
      after = before;
      end = at - 1;
    }
  }
  return last;
}

// How many forward passes a part has of each of its layers, by the most of its parameters: of
// chunks of layers that take turns each has several (Narayanan et al. 2021, "Efficient Large-Scale
// Language Model Training on GPU Clusters Using Megatron-LM", 2.2). 1 where no storages are known.
Result<std::int64_t> ForwardPassesIn(const Graph& graph, const ProgramOrder& order,
                                     const std::vector<Phase>& phases,
                                     const MicroBatchParts& part) {
  // By work and tensor.
  std::map<std::pair<std::uint32_t, std::pair<std::int64_t, std::int64_t>>, std::int64_t> reads;
  for (std::uint32_t at = part.begin(); at < part.end; ++at) {
    if (phases[order.NodeOf(at)] != Phase::kForward) {
      continue;
    }
    REPRISE_ASSIGN(const TensorPlaces now, TensorsOf(graph, order.NodeOf(at)));
    REPRISE_ASSIGN(const TensorPlaces before, TensorsOf(graph, order.NodeOf(at - part.length)));
    for (std::size_t k = 0; k < std::min(now.size(), before.size()); ++k) {
      if (now[k].first >= 0 && now[k] == before[k]) {
        ++reads[{order.WorkOf(at), now[k]}];
      }
    }
  }
  std::map<std::int64_t, std::size_t> parameters;  // by reads
  for (const auto& [read, times] : reads) {
    ++parameters[times];
  }
  const auto most =
      std::ranges::max_element(parameters, {}, &std::pair<const std::int64_t, std::size_t>::second);
  return most == parameters.end() ? 1 : most->first;
}

// How often a part's work is done in its step, by the most of its nodes.
std::int64_t PartsOf(const ProgramOrder& order, const MicroBatchParts& passes) {
  std::vector<std::int64_t> in_step(order.works), in_part(order.works);
  for (std::uint32_t at = 0; at < order.MainCount(); ++at) {
    ++in_step[order.WorkOf(at)];
    if (at >= passes.begin() && at < passes.end) {
      ++in_part[order.WorkOf(at)];
    }
  }
  std::map<std::int64_t, std::int64_t> nodes;  // by number of parts
  for (std::uint32_t work = 0; work < order.works; ++work) {
    if (in_part[work] > 0 && in_step[work] % in_part[work] == 0) {
      nodes[in_step[work] / in_part[work]] += in_part[work];
    }
  }
  const auto most = std::ranges::max_element(
      nodes, {}, [](const auto& parts_and_nodes) { return parts_and_nodes.second; });
  return most != nodes.end() && 2 * most->second > passes.length ? most->first : 0;
}

Result<MicroBatches> Find(const Graph& graph, const std::vector<Phase>& phases,
                          ProgramOrder::Sizes sizes) {
  MicroBatches found;
  REPRISE_ASSIGN(found.order, ProgramOrder::Of(graph, sizes));
  std::set<std::int32_t> steps;
  for (Index i = 0; i < graph.size(); ++i) {
    if (phases[i] == Phase::kForward && graph.step(i) >= 0) {
      steps.insert(graph.step(i));
    }
  }
  for (const std::int32_t step : steps) {
    const PeriodicRun run = StepSearch(graph, found.order, phases, step).Longest();
    if (run.size() == 0) {
      return BadInput(fmt::format(
          "step {}: no part of it with a forward and a backward pass comes a second time right "
          "after the first; a capture must have at least two micro-batches that are alike, and in "
          "a "
          "pipeline two more than this rank sends ahead before the first comes back",
          step));
    }
    REPRISE_ASSIGN(const std::uint32_t periods, PeriodsOfPart(graph, found.order, run));
    if (periods == 0) {
      return BadInput(fmt::format(
          "step {}: a part of {} nodes comes {} times one after the other with other layers each "
          "time, and all layers do not come twice; a capture with chunks of layers that take turns "
          "must have more micro-batches",
          step, run.period, run.size() / run.period));
    }
    MicroBatchParts passes{.step = step};
    passes.length = run.period * periods;
    passes.end = EndOf(found.order, phases, run, passes.length);
    passes.times = (passes.end - run.begin) / passes.length;
    const std::int64_t parts = PartsOf(found.order, passes);
    if (parts == 0 || passes.times < 2) {
      return BadInput(
          fmt::format("step {}: how many micro-batches it has does not follow from its nodes: a "
                      "part of {} nodes comes {} times one after the other, and its work does not "
                      "come in equal numbers",
                      step, passes.length, passes.times));
    }
    if (!found.steps.empty() && parts != found.parts) {
      return BadInput(
          fmt::format("step {} has {} micro-batches, an earlier one {}", step, parts, found.parts));
    }
    REPRISE_ASSIGN(found.together, ForwardPassesIn(graph, found.order, phases, passes));
    found.parts = parts;
    found.steps.push_back(passes);
  }
  if (found.steps.empty()) {
    return BadInput("no node is of a forward pass within a step");
  }
  return found;
}

}  // namespace

Result<MicroBatches> FindMicroBatches(const Graph& graph) {
  const std::vector<Phase> phases = FindPhases(graph);
  auto found = Find(graph, phases, ProgramOrder::Sizes::kEqual);
  if (found) {
    return found;
  }
  auto of_any_size = Find(graph, phases, ProgramOrder::Sizes::kAny);
  return of_any_size ? std::move(of_any_size) : std::move(found);
}

}  // namespace reprise
