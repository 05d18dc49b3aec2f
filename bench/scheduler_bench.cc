// Scheduling overhead: nanoseconds a node for a chain and for a wide graph of a million empty
// nodes, beside a plain loop over the same nodes in a topological order (the limit), in one run.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

#include "replayer/engine/scheduler.h"

namespace reprise {
namespace {

constexpr std::uint32_t kNodes = 1'000'000;
constexpr int kRuns = 7;

DependencyGraph MakeGraph(bool chain) {
  std::vector<std::uint32_t> offset{0};
  std::vector<std::uint32_t> deps;
  for (std::uint32_t i = 0; i < kNodes; ++i) {
    if (i > 0) {
      deps.push_back(chain ? i - 1 : 0);
    }
    offset.push_back(static_cast<std::uint32_t>(deps.size()));
  }
  return DependencyGraph::FromDependencies(offset, deps);
}

template <typename F>
double NsPerNode(F run) {
  const auto begin = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin)
             .count() /
         kNodes;
}

// The least that a dependency-driven run can do: touch each node and its successors' counters.
std::uint64_t PlainLoop(const DependencyGraph& graph, std::vector<std::uint32_t>& waiting) {
  waiting = graph.dependency_count;
  std::uint64_t done = 0;
  for (std::uint32_t i = 0; i < graph.size(); ++i) {
    for (const std::uint32_t successor : graph.successors.Of(i)) {
      --waiting[successor];
    }
    done += waiting[i] == 0 ? 1 : 0;
  }
  return done;
}

void Measure(const char* name, bool chain) {
  const DependencyGraph graph = MakeGraph(chain);
  Scheduler scheduler(graph, 2);
  std::vector<double> scheduled;
  std::vector<double> plain;
  std::vector<std::uint32_t> waiting;
  std::uint64_t done = 0;
  for (int run = 0; run < kRuns; ++run) {  // interleaved: the machine's speed drifts
    scheduled.push_back(NsPerNode(
        [&] { done += scheduler.Run([](std::uint32_t) { return NodeState::kDone; }) ? 1 : 0; }));
    plain.push_back(NsPerNode([&] { done += PlainLoop(graph, waiting); }));
  }
  std::sort(scheduled.begin(), scheduled.end());
  std::sort(plain.begin(), plain.end());
  fmt::print("{:<6} {:>8.1f} ns a node ({:.1f} to {:.1f}); plain loop {:.1f}; ratio {:.1f}{}\n",
             name, scheduled[kRuns / 2], scheduled.front(), scheduled.back(), plain[kRuns / 2],
             scheduled[kRuns / 2] / plain[kRuns / 2], done == 0 ? "!" : "");
}

}  // namespace
}  // namespace reprise

int main() {
  reprise::Measure("chain", true);
  reprise::Measure("wide", false);
  return 0;
}
