#include "predict/rescale/layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <unordered_map>

#include "core/phase.h"
#include "predict/rescale/periodic_run.h"
#include "replayer/plan/training_phases.h"

namespace reprise {
namespace {

using Index = Graph::Index;

// What one layer has of its own: the tensor that this place of each of its layers names.
struct Family {
  std::size_t parts = 0;
  std::uint32_t offset = 0, ordinal = 0;
  auto operator<=>(const Family&) const = default;
};
struct Owner {
  Family family;
  std::int64_t layer = 0;
};

// Of a tensor: its storage, and where in it. Layers may have theirs in one buffer.
using Tensor = std::pair<std::int64_t, std::int64_t>;
struct TensorHash {
  std::size_t operator()(const Tensor& tensor) const {
    return std::hash<std::int64_t>()(tensor.first * 0x9e3779b97f4a7c15LL + tensor.second);
  }
};

class LayerFinder {
 public:
  LayerFinder(const Graph& graph, const std::vector<Phase>& phases)
      : graph_(graph), phases_(phases) {}

  Result<Layers> Find(ProgramOrder::Sizes sizes) {
    REPRISE_ASSIGN(found_.order, ProgramOrder::Of(graph_, sizes));
    REPRISE_ASSIGN(weights_, StoragesFromBefore(graph_, order(), phases_));
    REPRISE_ASSIGN(PeriodicRun first, FindFirst());
    found_.order.SetApart(graph_, first.size() / first.period);
    REPRISE_ASSIGN(first, FindFirst());
    found_.count = first.size() / first.period;
    REPRISE_TRY(ReadTensors());
    Add(WithMost(first, [this](std::uint32_t main, std::uint32_t) { return NamesWeight(main); }),
        LayerDirection::kFirstToLast, StepAt(first.begin));
    while (FindMore()) {
    }
    while (FindChunk()) {
      ++found_.chunks;
      while (FindMore()) {
      }
    }
    REPRISE_TRY(CheckAllFound());
    Sort();
    return std::move(found_);
  }

 private:
  struct FirstNamed {
    std::uint32_t main = 0;
    bool made = false;
  };

  [[nodiscard]] const ProgramOrder& order() const { return found_.order; }
  [[nodiscard]] std::int32_t StepAt(std::uint32_t main) const {
    return graph_.step(order().NodeOf(main));
  }

  // Tensors that main nodes name themselves, not in lists.
  Status ReadTensors() {
    in_parts_.assign(order().MainCount(), false);
    by_work_.resize(order().works);
    for (std::uint32_t main = 0; main < order().MainCount(); ++main) {
      REPRISE_ASSIGN(const OpCall call, graph_.Call(order().NodeOf(main)));
      std::vector<Tensor>& named = tensors_.emplace_back();
      for (const ValueList* const values : {&call.inputs, &call.outputs}) {
        for (const Value& value : *values) {
          if (const TensorDesc* const tensor = value.AsTensor(); tensor && tensor->IsDefined()) {
            named.emplace_back(tensor->incarnation, tensor->offset);
          }
        }
        for (const TensorDesc* const tensor : TensorsIn(*values)) {
          first_named_.try_emplace({tensor->incarnation, tensor->offset},
                                   FirstNamed{main, values == &call.outputs});
        }
      }
      by_work_[order().WorkOf(main)].push_back(main);
    }
    return {};
  }

  // The forward pass that shows what a layer is.
  Result<PeriodicRun> FindFirst() {
    PeriodicRun first;
    for (const std::int32_t step : StepsWithForward(graph_, phases_)) {
      REPRISE_ASSIGN(const PeriodicRun run, FindLongestRun(graph_, order(), phases_, weights_, step,
                                                           Repeated::kLayers, Passes::kForward));
      first = run.size() > first.size() ? run : first;
    }
    REPRISE_ASSIGN(const bool most, HasMostWeights(graph_, order(), phases_, weights_, first));
    if (!most) {
      return BadInput(
          "no part of a forward pass comes a second time right after the first with parameters of "
          "its own; a capture must have at least two layers that are alike on each rank");
    }
    return first;
  }

  [[nodiscard]] bool NamesWeight(std::uint32_t main) const {
    return std::ranges::any_of(tensors_[main], [this](const Tensor& tensor) {
      return weights_.all.contains(tensor.first);
    });
  }

  // Parts may begin anywhere in a run that is longer than all of them: where most of their places
  // are right, the first of such beginnings. is_right(main, part).
  template <typename IsRight>
  [[nodiscard]] PeriodicRun WithMost(const PeriodicRun& run, const IsRight& is_right) const {
    const auto length = static_cast<std::uint32_t>(run.period * found_.count);
    PeriodicRun best{run.begin, run.begin + length, run.period};
    std::uint32_t most = 0;
    for (std::uint32_t begin = run.begin; begin + length <= run.end; ++begin) {
      std::uint32_t right = 0;
      for (std::uint32_t k = 0; k < length; ++k) {
        right += is_right(begin + k, k / run.period) ? 1 : 0;
      }
      if (right > most) {
        most = right;
        best.begin = begin;
        best.end = begin + length;
      }
    }
    return best;
  }

  void Add(const PeriodicRun& run, LayerDirection direction, std::int32_t step) {
    // New layers come before the last one, which may be unlike the others in what it names.
    const std::uint32_t count = run.size() / run.period, after = 1;
    const RepeatedParts parts{.step = step,
                              .end = run.begin + run.period * (count - after),
                              .length = run.period,
                              .times = count - after,
                              .after = after};
    const std::size_t number = found_.parts.size();
    found_.parts.push_back(parts);
    found_.directions.push_back(direction);
    for (std::uint32_t main = run.begin; main < parts.last_end(); ++main) {
      in_parts_[main] = true;
      const std::uint32_t part = (main - run.begin) / parts.length;
      const std::int64_t layer =
          direction == LayerDirection::kFirstToLast ? part : count - 1 - part;
      const std::vector<Tensor>& other =
          tensors_[part == 0 ? main + parts.length : main - parts.length];
      for (std::uint32_t ordinal = 0; ordinal < tensors_[main].size(); ++ordinal) {
        const Tensor tensor = tensors_[main][ordinal];
        const FirstNamed& first = first_named_.at(tensor);
        const bool made_before = first.made && (first.main < run.begin || first.main > main);
        if (!made_before && std::ranges::find(other, tensor) == other.end()) {
          owners_.try_emplace(tensor,
                              Owner{{number, (main - run.begin) % parts.length, ordinal}, layer});
        }
      }
    }
  }

  // Elsewhere in the program: two places that do the same with what two neighbouring layers have of
  // their own. What lies between comes again, once for each layer.
  bool FindMore() {
    bool found = false;
    for (std::uint32_t main = 0; main < order().MainCount(); ++main) {
      if (!in_parts_[main] && TryFrom(main)) {
        found = true;
      }
    }
    return found;
  }

  // The same forward pass with other parameters.
  bool FindChunk() {
    const RepeatedParts first = found_.parts.front();
    const std::uint32_t begin = first.first_begin(), length = first.last_end() - begin;
    for (const std::uint32_t main : by_work_[order().WorkOf(begin)]) {
      bool same = main + length <= order().MainCount();
      for (std::uint32_t k = 0; same && k < length; ++k) {
        same = !in_parts_[main + k] && StepAt(main + k) == StepAt(main) &&
               order().WorkOf(main + k) == order().WorkOf(begin + k);
      }
      if (same) {
        Add({main, main + length, first.length}, LayerDirection::kFirstToLast, StepAt(main));
        return true;
      }
    }
    return false;
  }

  struct Named {
    std::uint32_t ordinal = 0;
    Owner owner;
  };
  [[nodiscard]] std::optional<Named> FirstOwned(std::uint32_t main) const {
    for (std::uint32_t ordinal = 0; ordinal < tensors_[main].size(); ++ordinal) {
      if (const auto owner = owners_.find(tensors_[main][ordinal]); owner != owners_.end()) {
        return Named{ordinal, owner->second};
      }
    }
    return std::nullopt;
  }

  bool TryFrom(std::uint32_t main) {
    constexpr std::size_t kMostNext = 256;  // places of its work that are looked at
    const std::optional<Named> named = FirstOwned(main);
    if (!named) {
      return false;
    }
    const std::vector<std::uint32_t>& alike = by_work_[order().WorkOf(main)];
    const auto after = std::ranges::upper_bound(alike, main);
    const auto last = after + std::min<std::ptrdiff_t>(alike.end() - after, kMostNext);
    for (auto next = after; next != last && StepAt(*next) == StepAt(main); ++next) {
      if (in_parts_[*next] || tensors_[*next].size() <= named->ordinal) {
        continue;
      }
      const auto owner = owners_.find(tensors_[*next][named->ordinal]);
      if (owner == owners_.end() || owner->second.family != named->owner.family) {
        continue;
      }
      const std::int64_t later = owner->second.layer - named->owner.layer;
      if (later != 1 && later != -1) {
        return false;
      }
      const auto key = std::tuple(StepAt(main), order().WorkOf(main), named->owner.family);
      if (failed_.contains(key)) {
        return false;
      }
      const PeriodicRun run = Around(main, *next);
      if (run.size() / run.period != found_.count) {
        failed_.insert(key);
        return false;
      }
      const bool from_first = later == 1;
      const auto is_right = [&](std::uint32_t at, std::int64_t part) {
        const std::optional<Named> owned = FirstOwned(at);
        return owned && owned->owner.layer == (from_first ? part : found_.count - 1 - part);
      };
      Add(WithMost(run, is_right),
          from_first ? LayerDirection::kFirstToLast : LayerDirection::kLastToFirst, StepAt(main));
      return true;
    }
    return false;
  }

  // What comes again as often as the stretch between two places, around them. The first part may be
  // a little unlike the others: a sum is begun there, say, to which the others add.
  [[nodiscard]] PeriodicRun Around(std::uint32_t one, std::uint32_t next) const {
    PeriodicRun run{.begin = one, .end = next, .period = next - one};
    constexpr std::int64_t kMostUnlike = 4;  // one after the other
    std::uint32_t unlike = 0;
    const std::uint32_t most_unlike = std::max(1U, run.period / 20);
    const auto is_free = [&](std::uint32_t at) {
      return !in_parts_[at] && !in_parts_[at - run.period] && StepAt(at) == StepAt(one) &&
             StepAt(at - run.period) == StepAt(one);
    };
    const auto same = [&](std::uint32_t at) {
      return order().WorkOf(at) == order().WorkOf(at - run.period);
    };
    const auto may_be_unlike = [&](std::uint32_t at, std::int64_t direction) {
      if (at >= next + run.period || unlike >= most_unlike) {
        return false;
      }
      for (std::int64_t k = 1; k <= kMostUnlike; ++k) {
        const std::int64_t beyond = at + k * direction;
        if (beyond < run.period || beyond >= order().MainCount() ||
            !is_free(static_cast<std::uint32_t>(beyond))) {
          return false;
        }
        if (same(static_cast<std::uint32_t>(beyond))) {
          return true;
        }
      }
      return false;
    };
    while (run.end < order().MainCount() && is_free(run.end) &&
           (same(run.end) || may_be_unlike(run.end, 1))) {
      unlike += same(run.end) ? 0 : 1;
      ++run.end;
    }
    while (run.begin > 0 && is_free(run.begin - 1 + run.period) &&
           (same(run.begin - 1 + run.period) || may_be_unlike(run.begin - 1 + run.period, -1))) {
      unlike += same(run.begin - 1 + run.period) ? 0 : 1;
      --run.begin;
    }
    return run;
  }

  // What all layers have at one place of theirs is named by single nodes elsewhere: their work
  // would be done for some layers only.
  [[nodiscard]] Status CheckAllFound() const {
    std::map<std::tuple<std::int32_t, std::uint32_t, std::uint32_t, Family>, std::set<std::int64_t>>
        layers;
    for (std::uint32_t main = 0; main < order().MainCount(); ++main) {
      if (in_parts_[main]) {
        continue;
      }
      for (std::uint32_t ordinal = 0; ordinal < tensors_[main].size(); ++ordinal) {
        const auto owner = owners_.find(tensors_[main][ordinal]);
        if (owner == owners_.end()) {
          continue;
        }
        auto& seen = layers[{StepAt(main), order().WorkOf(main), ordinal, owner->second.family}];
        seen.insert(owner->second.layer);
        if (std::cmp_equal(seen.size(), found_.count)) {
          const Index i = order().NodeOf(main);
          return BadInput(fmt::format(
              "node {} (\"{}\"): this is done for each of {} layers, but what is done between "
              "differs from layer to layer",
              graph_.id(i), graph_.name(i), found_.count));
        }
      }
    }
    return {};
  }

  void Sort() {
    std::vector<std::size_t> by_place(found_.parts.size());
    for (std::size_t i = 0; i < by_place.size(); ++i) {
      by_place[i] = i;
    }
    std::ranges::sort(by_place, {}, [this](std::size_t i) { return found_.parts[i].end; });
    std::vector<RepeatedParts> parts;
    std::vector<LayerDirection> directions;
    for (const std::size_t i : by_place) {
      parts.push_back(found_.parts[i]);
      directions.push_back(found_.directions[i]);
    }
    found_.parts = std::move(parts);
    found_.directions = std::move(directions);
  }

  const Graph& graph_;
  const std::vector<Phase>& phases_;
  Layers found_;
  std::vector<bool> in_parts_;                       // by index in main
  std::vector<std::vector<Tensor>> tensors_;         // likewise
  std::vector<std::vector<std::uint32_t>> by_work_;  // indices in main
  KnownStorages weights_;
  std::unordered_map<Tensor, FirstNamed, TensorHash> first_named_;
  std::unordered_map<Tensor, Owner, TensorHash> owners_;
  // Of each step, by work and what it is done with: what does not come once for each layer.
  std::set<std::tuple<std::int32_t, std::uint32_t, Family>> failed_;
};

}  // namespace

std::optional<Layers::Place> Layers::PlaceOf(std::uint32_t main_index) const {
  const auto next = std::ranges::upper_bound(parts, main_index, {}, &RepeatedParts::last_end);
  if (next == parts.end() || main_index < next->first_begin()) {
    return std::nullopt;
  }
  const auto number = static_cast<std::size_t>(next - parts.begin());
  const std::uint32_t part = (main_index - next->first_begin()) / next->length;
  return Place{number, part,
               directions[number] == LayerDirection::kFirstToLast ? part : count - 1 - part,
               (main_index - next->first_begin()) % next->length};
}

Result<Layers> FindLayers(const Graph& graph) {
  const std::vector<Phase> phases = FindPhases(graph);
  auto found = LayerFinder(graph, phases).Find(ProgramOrder::Sizes::kEqual);
  if (found) {
    return found;
  }
  auto of_any_size = LayerFinder(graph, phases).Find(ProgramOrder::Sizes::kAny);
  return of_any_size ? std::move(of_any_size) : std::move(found);
}

}  // namespace reprise
