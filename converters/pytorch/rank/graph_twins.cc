#include "converters/pytorch/rank/graph_twins.h"

#include <algorithm>
#include <functional>
#include <set>
#include <string_view>
#include <utility>

#include "converters/pytorch/rank/same_arguments.h"

namespace reprise::pytorch {
namespace {

constexpr std::size_t kMostEqual = 4'096;  // stretches of one kind: layers of steps repeat

// Of the names of kStretch kernels from one on.
template <typename NameAt>
std::size_t HashOfNames(std::size_t first, const NameAt& name_at) {
  constexpr std::size_t kOdd = 0x9e3779b97f4a7c15;
  std::size_t hash = 0;
  for (std::size_t i = first; i < first + EagerTwins::kStretch; ++i) {
    hash = (hash ^ std::hash<std::string_view>()(name_at(i))) * kOdd;
  }
  return hash;
}

bool HasGrid(const std::array<std::int32_t, 3>& grid) { return grid[0] > 0; }

}  // namespace

RecordedGraph TakeEagerKernels(const RankCapture& rank) {
  RecordedGraph out{.named = true};
  std::map<std::int32_t, std::int32_t> places;  // by operation
  for (const CallLink& call : rank.links.calls) {
    for (const std::int32_t e : call.events) {
      const EventLink& link = rank.EventLinkOf(e);
      if (link.graph >= 0) {
        continue;
      }
      RecordedNode& node = out.nodes.emplace_back();
      node.kind = rank.Event(e).kind;
      node.kernel = *rank.Event(e).name;
      node.grid = rank.Event(e).work.grid;
      node.main = link.main;
      if (link.node < 0 || rank.InfoOf(link.node).kind != OpKind::kWork) {
        continue;
      }
      const auto [place, added] =
          places.try_emplace(link.node, static_cast<std::int32_t>(out.operations.size()));
      if (added) {
        out.operations.push_back(DescribeOperation(rank, link.node));
      }
      node.operation = place->second;
    }
  }
  return out;
}

EagerTwins::EagerTwins(const RecordedGraphs& graphs, std::size_t first) : graphs_(graphs) {
  for (std::size_t g = first; g < graphs.size(); ++g) {
    const std::vector<RecordedNode>& nodes = graphs[g]->nodes;
    for (std::size_t i = 0; i + kStretch <= nodes.size(); ++i) {
      auto& equal = stretches_[HashOfNames(
          i, [&](std::size_t n) -> std::string_view { return nodes[n].kernel; })];
      equal.push_back({static_cast<std::int32_t>(g), static_cast<std::int32_t>(i)});
    }
  }
}

const RecordedNode& EagerTwins::NodeAt(const Place& place) const {
  return graphs_[static_cast<std::size_t>(place.graph)]
      ->nodes[static_cast<std::size_t>(place.node)];
}

const RecordedOperation* EagerTwins::OperationAt(const Place& place) const {
  const std::int32_t operation = NodeAt(place).operation;
  return operation < 0 ? nullptr
                       : &graphs_[static_cast<std::size_t>(place.graph)]
                              ->operations[static_cast<std::size_t>(operation)];
}

bool EagerTwins::Equal(const RankCapture& rank, const std::vector<std::int32_t>& launch,
                       std::size_t at, const Place& place) const {
  for (std::size_t i = 0; i < kStretch; ++i) {
    const DeviceEvent& event = rank.Event(launch[at + i]);
    const RecordedNode& node = NodeAt({place.graph, place.node + static_cast<std::int32_t>(i)});
    if (node.kind != event.kind || node.kernel != *event.name) {
      return false;
    }
  }
  return true;
}

std::vector<RecordedPlace> EagerTwins::Find(const RankCapture& rank,
                                            const std::vector<std::int32_t>& launch) const {
  std::vector<std::vector<Place>> found(launch.size());
  std::vector<bool> too_many(launch.size());
  for (std::size_t at = 0; at + kStretch <= launch.size(); ++at) {
    const auto equal = stretches_.find(HashOfNames(
        at, [&](std::size_t n) -> std::string_view { return *rank.Event(launch[n]).name; }));
    if (equal == stretches_.end()) {
      continue;
    }
    for (const Place& place : equal->second) {
      if (!Equal(rank, launch, at, place)) {
        continue;
      }
      for (std::size_t i = 0; i < kStretch; ++i) {
        if (found[at + i].size() < kMostEqual) {
          found[at + i].push_back({place.graph, place.node + static_cast<std::int32_t>(i)});
        } else {
          too_many[at + i] = true;
        }
      }
    }
  }
  std::vector<RecordedPlace> out(launch.size());
  for (std::size_t k = 0; k < launch.size(); ++k) {
    if (found[k].empty() || too_many[k]) {
      continue;
    }
    const std::array<std::int32_t, 3>& grid = rank.Event(launch[k]).work.grid;
    const RecordedOperation* const first = OperationAt(found[k].front());
    const RecordedOperation* with_grid = nullptr;
    Place chosen = found[k].front();
    bool same = first != nullptr;
    bool same_arguments = HasGrid(grid);
    for (const Place& place : found[k]) {
      const RecordedOperation* const other = OperationAt(place);
      same = same && other != nullptr && other->name == first->name;
      if (!same) {
        break;
      }
      if (NodeAt(place).grid != grid) {
        continue;
      }
      if (with_grid == nullptr) {
        with_grid = other;
        chosen = place;
      }
      same_arguments = same_arguments && NodeAt(place).main && NodeAt(chosen).main &&
                       SameArguments(with_grid->inputs, other->inputs);
    }
    if (same) {
      out[k] = {.graph = chosen.graph,
                .node = chosen.node,
                .arguments = same_arguments && with_grid != nullptr,
                .inferred = true};
    }
  }
  return out;
}

}  // namespace reprise::pytorch
