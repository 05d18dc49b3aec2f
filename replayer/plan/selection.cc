#include "replayer/plan/selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "core/text.h"
#include "replayer/plan/graph_steps.h"

namespace reprise {
namespace {

using Index = Graph::Index;

std::string Listed(const std::set<std::string>& names) {
  constexpr std::size_t kMax = 40;
  std::string text;
  std::size_t count = 0;
  for (const std::string& name : names) {
    if (count++ == kMax) {
      return fmt::format("{}, … ({} in all)", text, names.size());
    }
    text += (text.empty() ? "" : ", ") + name;
  }
  return text;
}

// The steps to replay, sorted; all of them if none is named.
Result<std::vector<std::int32_t>> ChosenSteps(const Graph& graph, const PartOptions& part) {
  const auto count = static_cast<std::int32_t>(graph.metadata().steps.size());
  std::vector<std::int32_t> steps = part.steps;
  if (steps.empty()) {
    for (std::int32_t step = 0; step < std::max(count, 1); ++step) {
      steps.push_back(step);
    }
  }
  std::sort(steps.begin(), steps.end());
  if (!part.steps.empty() && steps.back() >= count) {
    std::set<std::string> names;
    for (std::int32_t step = 0; step < count; ++step) {
      names.insert(fmt::format("{} ({})", step, graph.metadata().steps[step].name));
    }
    return UsageError(fmt::format("--steps: rank {} has no step {}; there are {}",
                                  graph.metadata().rank, steps.back(),
                                  names.empty() ? "none" : Listed(names)));
  }
  return steps;
}

Selection SelectSteps(const Graph& graph, const std::vector<std::int32_t>& steps) {
  Selection selection;
  std::map<std::int32_t, std::pair<std::int32_t, std::int32_t>> place;  // step → piece, new step
  for (const std::int32_t step : steps) {
    if (place.empty() || place.rbegin()->first + 1 != step) {
      selection.pieces.emplace_back();
    }
    const auto piece = static_cast<std::int32_t>(selection.pieces.size()) - 1;
    selection.pieces.back().steps.push_back(graph.metadata().steps[static_cast<std::size_t>(step)]);
    place.emplace(step, std::pair(piece, static_cast<std::int32_t>(place.size())));
  }
  for (Index i = 0; i < graph.size(); ++i) {
    const auto at = place.find(StepOf(graph, i));
    selection.piece.push_back(at == place.end() ? -1 : at->second.first);
    selection.step.push_back(at == place.end() ? -1 : at->second.second);
  }
  return selection;
}

bool Holds(const Range& range, std::int64_t start_ns) {
  return start_ns >= range.start_ns && start_ns < range.start_ns + range.duration_ns;
}

struct RangeName {
  std::string name;
  std::optional<std::size_t> occurrence;
};

// "forward:2" is a name too, if a range has it.
RangeName ParseName(const Graph& graph, const std::string& text) {
  const auto& ranges = graph.metadata().ranges;
  const bool whole = std::any_of(ranges.begin(), ranges.end(),
                                 [&](const Range& range) { return range.name == text; });
  const std::size_t colon = text.rfind(':');
  if (whole || colon == std::string::npos) {
    return {text, std::nullopt};
  }
  const auto number = ParseNumber<std::size_t>(std::string_view(text).substr(colon + 1));
  return number ? RangeName{text.substr(0, colon), number} : RangeName{text, std::nullopt};
}

// Occurrences in the chosen steps; one inside another of its name (recursion) is part of it.
Result<std::vector<Range>> FindOccurrences(const Graph& graph, const std::string& text,
                                           const std::vector<std::int32_t>& steps) {
  const RangeName wanted = ParseName(graph, text);
  std::vector<Range> found;
  std::set<std::string> names;
  for (const Range& range : graph.metadata().ranges) {
    names.insert(range.name);
    const bool nested = std::any_of(found.begin(), found.end(), [&](const Range& outer) {
      return outer.thread == range.thread && Holds(outer, range.start_ns);
    });
    if (range.name == wanted.name && !nested &&
        std::binary_search(steps.begin(), steps.end(), std::max(range.step, 0))) {
      found.push_back(range);
    }
  }
  const std::int32_t rank = graph.metadata().rank;
  if (names.empty()) {
    return UsageError(fmt::format(
        "--range: the trace of rank {} has no marked ranges (files converted before they were "
        "kept have none: convert the capture again)",
        rank));
  }
  if (found.empty()) {
    return UsageError(fmt::format("--range: rank {} has no range '{}'{}; there are: {}", rank,
                                  wanted.name, names.contains(wanted.name) ? " in these steps" : "",
                                  Listed(names)));
  }
  if (!wanted.occurrence) {
    return found;
  }
  if (*wanted.occurrence >= found.size()) {
    return UsageError(fmt::format("--range: rank {} has '{}' {} times: :0 to :{}, not :{}", rank,
                                  wanted.name, found.size(), found.size() - 1, *wanted.occurrence));
  }
  return std::vector<Range>{found[*wanted.occurrence]};
}

// Threads on which autograd runs what other threads called.
std::set<std::int64_t> AutogradThreads(const Graph& graph) {
  std::set<std::int64_t> threads;
  for (Index i = 0; i < graph.size(); ++i) {
    const auto deps = graph.deps(i);
    for (std::size_t d = 0; d < deps.size(); ++d) {
      if (graph.reasons(i)[d] == EdgeReason::kFwdBwd && graph.actor(i) != graph.actor(deps[d])) {
        threads.insert(graph.actor(i).id);
      }
    }
  }
  return threads;
}

// The occurrence that a host node starts in, −1: none.
std::int32_t OccurrenceAt(const std::vector<Range>& occurrences,
                          const std::set<std::int64_t>& autograd, std::int64_t thread,
                          std::int64_t start_ns) {
  for (std::size_t k = 0; k < occurrences.size(); ++k) {
    const Range& range = occurrences[k];
    const bool here =
        range.thread == thread || (autograd.contains(thread) && !autograd.contains(range.thread));
    if (here && Holds(range, start_ns)) {
      return static_cast<std::int32_t>(k);
    }
  }
  return -1;
}

Selection SelectRange(const Graph& graph, const std::vector<Range>& occurrences) {
  Selection selection{.is_range = true};
  for (const Range& range : occurrences) {
    selection.pieces.push_back({{{range.name, range.start_ns, range.duration_ns}}});
  }
  const std::set<std::int64_t> autograd = AutogradThreads(graph);
  selection.piece.assign(graph.size(), -1);
  for (const Index i : graph.order()) {
    const Actor actor = graph.actor(i);
    if (graph.comm(i) == nullptr && actor.kind == Actor::Kind::kThread) {
      selection.piece[i] = OccurrenceAt(occurrences, autograd, actor.id, graph.start_ns(i));
      continue;
    }
    for (std::size_t d = 0; d < graph.deps(i).size(); ++d) {
      if (graph.reasons(i)[d] == EdgeReason::kLaunch) {
        selection.piece[i] = std::max(selection.piece[i], selection.piece[graph.deps(i)[d]]);
      }
    }
  }
  selection.step = selection.piece;
  return selection;
}

}  // namespace

Result<Selection> SelectNodes(const Graph& graph, const PartOptions& part) {
  REPRISE_ASSIGN(const std::vector<std::int32_t> steps, ChosenSteps(graph, part));
  Selection selection;
  if (part.range.empty()) {
    selection = SelectSteps(graph, steps);
  } else {
    REPRISE_ASSIGN(const auto occurrences, FindOccurrences(graph, part.range, steps));
    selection = SelectRange(graph, occurrences);
  }
  if (std::all_of(selection.piece.begin(), selection.piece.end(),
                  [](std::int32_t piece) { return piece < 0; })) {
    return UsageError(fmt::format("{}: nothing that rank {} does lies in it",
                                  part.range.empty() ? "--steps" : "--range " + part.range,
                                  graph.metadata().rank));
  }
  return selection;
}

Status CheckStreams(const Graph& graph, const std::vector<StreamId>& streams) {
  std::set<std::string> there;
  bool found = streams.empty();
  for (Index i = 0; i < graph.size() && !found; ++i) {
    const Actor actor = graph.actor(i);
    if (actor.kind == Actor::Kind::kStream) {
      there.insert(fmt::format("{}/{}", actor.device, actor.id));
      found = std::find(streams.begin(), streams.end(), StreamId{actor.device, actor.id}) !=
              streams.end();
    }
  }
  return found ? Status{}
               : UsageError(fmt::format("--streams: nothing of rank {} runs on them; there are: {}",
                                        graph.metadata().rank,
                                        there.empty() ? "no device streams" : Listed(there)));
}

}  // namespace reprise
