#include <algorithm>
#include <map>

#include "replayer/plan/node_origins.h"

namespace reprise {
namespace {

// "nn.Module: Linear_3" → "Linear_3"; other names stay.
std::string_view ModuleNameOf(std::string_view range) {
  constexpr std::string_view kModule = "nn.Module: ";
  return range.starts_with(kModule) ? range.substr(kModule.size()) : range;
}

// Ranges of a thread in order of start, callers first; operations by start.
class ModulePathWalk {
 public:
  explicit ModulePathWalk(std::vector<const Range*> ranges) : ranges_(std::move(ranges)) {}

  std::string PathAt(std::int64_t start_ns) {
    while (next_ < ranges_.size() && ranges_[next_]->start_ns <= start_ns) {
      Leave(ranges_[next_]->start_ns);
      open_.push_back(ranges_[next_++]);
    }
    Leave(start_ns);
    std::string path;
    for (const Range* range : open_) {
      path.append(path.empty() ? "" : "/").append(ModuleNameOf(range->name));
    }
    return path;
  }

 private:
  void Leave(std::int64_t at_ns) {
    while (!open_.empty() && open_.back()->start_ns + open_.back()->duration_ns <= at_ns) {
      open_.pop_back();
    }
  }

  std::vector<const Range*> ranges_;
  std::vector<const Range*> open_;
  std::size_t next_ = 0;
};

}  // namespace

void FillModulePaths(const Graph& graph, std::vector<NodeOrigin>& origins) {
  std::map<std::int64_t, std::vector<const Range*>> ranges;
  for (const Range& range : graph.metadata().ranges) {
    ranges[range.thread].push_back(&range);
  }
  if (ranges.empty()) {
    return;
  }
  std::map<std::int64_t, std::vector<Graph::Index>> threads;
  for (Graph::Index i = 0; i < graph.size(); ++i) {
    if (graph.actor(i).kind == Actor::Kind::kThread) {
      threads[graph.actor(i).id].push_back(i);
    }
  }
  for (auto& [thread, nodes] : threads) {
    std::ranges::stable_sort(nodes, {}, [&graph](Graph::Index i) { return graph.start_ns(i); });
    ModulePathWalk walk(ranges[thread]);
    for (const Graph::Index i : nodes) {
      origins[i].module = walk.PathAt(graph.start_ns(i));
    }
  }
}

}  // namespace reprise
