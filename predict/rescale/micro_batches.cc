#include "predict/rescale/micro_batches.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <utility>

#include "core/phase.h"
#include "predict/rescale/periodic_run.h"
#include "replayer/plan/training_phases.h"

namespace reprise {
namespace {

using Index = Graph::Index;

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
                                     const std::vector<Phase>& phases, const RepeatedParts& part) {
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
std::int64_t PartsOf(const ProgramOrder& order, const RepeatedParts& passes) {
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

class Finder {
 public:
  Finder(const Graph& graph, const std::vector<Phase>& phases) : graph_(graph), phases_(phases) {}

  Result<MicroBatches> Find(ProgramOrder::Sizes sizes) {
    REPRISE_ASSIGN(found_.order, ProgramOrder::Of(graph_, sizes));
    REPRISE_ASSIGN(weights_, StoragesFromBefore(graph_, found_.order, phases_));
    const std::set<std::int32_t> steps = StepsWithForward(graph_, phases_);
    if (steps.empty()) {
      return BadInput("no node is of a forward pass within a step");
    }
    for (const std::int32_t step : steps) {
      REPRISE_TRY(FindStep(step));
    }
    return std::move(found_);
  }

 private:
  [[nodiscard]] Result<PeriodicRun> Longest(std::int32_t step, Passes passes) const {
    return FindLongestRun(graph_, found_.order, phases_, weights_, step, Repeated::kMicroBatches,
                          passes);
  }

  Status FindStep(std::int32_t step) {
    REPRISE_ASSIGN(const PeriodicRun both, Longest(step, Passes::kBoth));
    if (both.size() > 0) {
      return AddParts(step, both);
    }
    REPRISE_ASSIGN(const PeriodicRun forward, Longest(step, Passes::kForward));
    REPRISE_ASSIGN(const PeriodicRun backward, Longest(step, Passes::kBackward));
    if (forward.size() == 0 || backward.size() == 0 || forward.end > backward.begin) {
      return BadInput(fmt::format(
          "step {}: no part of it with a forward and a backward pass comes a second time right "
          "after the first; a capture must have at least two micro-batches that are alike, and in "
          "a pipeline two more than this rank sends ahead before the first comes back",
          step));
    }
    found_.forward_first = true;
    found_.order.Divide(graph_, step, found_.order.PlaceOf(FirstBackward(step, backward.begin)));
    REPRISE_TRY(AddParts(step, forward));
    return AddParts(step, backward);
  }

  // Not after `most`.
  [[nodiscard]] std::uint32_t FirstBackward(std::int32_t step, std::uint32_t most) const {
    std::uint32_t at = 0;
    while (at < most && (graph_.step(found_.order.NodeOf(at)) != step ||
                         phases_[found_.order.NodeOf(at)] != Phase::kBackward)) {
      ++at;
    }
    return at;
  }

  Status AddParts(std::int32_t step, const PeriodicRun& run) {
    REPRISE_ASSIGN(const std::uint32_t periods, PeriodsOfPart(graph_, found_.order, run));
    if (periods == 0) {
      return BadInput(fmt::format(
          "step {}: a part of {} nodes comes {} times one after the other with other layers each "
          "time, and all layers do not come twice; a capture with chunks of layers that take turns "
          "must have more micro-batches",
          step, run.period, run.size() / run.period));
    }
    RepeatedParts passes{.step = step};
    passes.length = run.period * periods;
    passes.end = EndOf(found_.order, phases_, run, passes.length);
    passes.times = (passes.end - run.begin) / passes.length;
    const std::int64_t parts = PartsOf(found_.order, passes);
    if (parts == 0 || passes.times < 2) {
      return BadInput(
          fmt::format("step {}: how many micro-batches it has does not follow from its nodes: a "
                      "part of {} nodes comes {} times one after the other, and its work does not "
                      "come in equal numbers",
                      step, passes.length, passes.times));
    }
    if (!found_.parts.empty() && parts != found_.count) {
      return BadInput(fmt::format(
          "step {} has {} micro-batches in one place and {} in another; a pipeline's order shows "
          "where it has more micro-batches than ranks",
          step, parts, found_.count));
    }
    REPRISE_ASSIGN(const std::int64_t together,
                   ForwardPassesIn(graph_, found_.order, phases_, passes));
    found_.together = std::max(found_.together, together);
    found_.count = parts;
    found_.parts.push_back(passes);
    return {};
  }

  const Graph& graph_;
  const std::vector<Phase>& phases_;
  KnownStorages weights_;
  MicroBatches found_;
};

}  // namespace

Result<MicroBatches> FindMicroBatches(const Graph& graph) {
  const std::vector<Phase> phases = FindPhases(graph);
  auto found = Finder(graph, phases).Find(ProgramOrder::Sizes::kEqual);
  if (found) {
    return found;
  }
  auto of_any_size = Finder(graph, phases).Find(ProgramOrder::Sizes::kAny);
  return of_any_size ? std::move(of_any_size) : std::move(found);
}

}  // namespace reprise
