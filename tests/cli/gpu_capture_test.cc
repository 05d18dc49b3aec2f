// GPU captures whose files lack event ids: the edges found hold what was simulated.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "converters/converter.h"
#include "et_schema/graph.h"
#include "replayer/plan/timing_check.h"
#include "tests/cli/simulated_gpu.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

Graph Convert(const std::string& name, const SimulatedGpu& gpu) {
  const fs::path directory = fs::path(REPRISE_BINARY_DIR) / ("test_cli_" + name);
  fs::create_directories(directory);
  std::ofstream(directory / "kineto.json") << gpu.kineto;
  ConvertRequest request;
  request.device_trace = (directory / "kineto.json").string();
  request.output_file = (directory / "out.0.et").string();
  request.force = true;
  const auto report = FindConverter("pytorch")->convert(request);
  EXPECT_TRUE(report) << report.error().message;
  auto graph = Graph::Load(request.output_file);
  EXPECT_TRUE(graph) << graph.error().message;
  fs::remove_all(directory);
  return std::move(*graph);
}

TimingRow Check(const Graph& graph) {
  const Graph* const graphs[] = {&graph};
  return CheckTiming(TimingOfRank(graph), graphs, false).value();
}

TEST(GpuCapture, EveryKernelIsANodeAndEveryNcclKernelATransfer) {
  const SimulatedGpu gpu = SimulateTraining(3, 20, 1);
  const Graph graph = Convert("gpu_nodes", gpu);
  std::int64_t kernels = 0;
  std::int64_t transfers = 0;
  for (Graph::Index i = 0; i < graph.size(); ++i) {
    kernels += graph.actor(i).kind == Actor::Kind::kStream ? 1 : 0;
    transfers += graph.comm(i) != nullptr ? 1 : 0;
  }
  EXPECT_EQ(kernels, gpu.kernels);
  EXPECT_EQ(transfers, gpu.transfers);
}

// 2,000 NCCL kernels in one file.
TEST(GpuCapture, TimingHoldsWithThousandsOfOverlappedCollectives) {
  for (const auto& [steps, buckets] : {std::pair{3, 20}, std::pair{20, 100}}) {
    const Graph graph = Convert("gpu_timing", SimulateTraining(steps, buckets, 7));
    const TimingRow row = Check(graph);
    EXPECT_LE(row.error, 0.01);
    EXPECT_EQ(row.violated_edges, 0U);
    EXPECT_LT(static_cast<double>(row.unexplained_ns), 0.01 * static_cast<double>(row.recorded_ns))
        << row.unexplained_ns << " of " << row.recorded_ns;
  }
}

// Inferred without a single id: which kernel each collective, and the optimizer, waited for.
TEST(GpuCapture, InferredWaitsAreThoseThatWereSimulated) {
  const SimulatedGpu gpu = SimulateTraining(4, 30, 3);
  const Graph graph = Convert("gpu_waits", gpu);
  std::set<std::pair<std::int64_t, std::int64_t>> found;
  for (Graph::Index i = 0; i < graph.size(); ++i) {
    for (std::size_t d = 0; d < graph.deps(i).size(); ++d) {
      if (graph.reasons(i)[d] == EdgeReason::kEvent) {
        EXPECT_TRUE(graph.inferred(i, d));
        found.emplace(graph.device_work(graph.deps(i)[d])->correlation,
                      graph.device_work(i)->correlation);
      }
    }
  }
  std::set<std::pair<std::int64_t, std::int64_t>> simulated;
  for (const SimulatedGpu::Wait& wait : gpu.waits) {
    simulated.emplace(wait.from, wait.to);
  }
  EXPECT_EQ(found, simulated);
}

// An edge that is missing shows: the collectives' waits taken away.
TEST(GpuCapture, RemovedEdgesRaiseTheUnexplainedDelay) {
  const Graph graph = Convert("gpu_removed", SimulateTraining(3, 20, 5));
  std::vector<Node> nodes;
  std::map<std::uint64_t, std::int64_t> end_ns;
  for (Graph::Index i = 0; i < graph.size(); ++i) {
    nodes.push_back(graph.Decode(i).value());
    end_ns[nodes.back().id] = nodes.back().start_ns + nodes.back().duration_ns;
  }
  for (Node& node : nodes) {
    std::erase_if(node.deps, [](const Dependency& d) { return d.reason == EdgeReason::kEvent; });
    if (!node.deps.empty()) {
      std::int64_t latest_ns = INT64_MIN;
      for (const Dependency& dep : node.deps) {
        latest_ns = std::max(latest_ns, end_ns.at(dep.node_id));
      }
      node.delay_ns = node.start_ns - latest_ns;
    }
  }
  const Graph cut = Graph::Build(graph.metadata(), std::move(nodes)).value();
  const TimingRow row = Check(cut);
  EXPECT_LE(row.error, 0.01);  // delays reproduce anything
  EXPECT_GT(static_cast<double>(row.unexplained_ns), 0.01 * static_cast<double>(row.recorded_ns));
}

}  // namespace
}  // namespace reprise
