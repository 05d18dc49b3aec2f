// Every bundled capture: what counts as real or surrogate has a launch, and no work is implausible.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>

#include "converters/converter.h"
#include "et_schema/trace_set.h"
#include "kernels/host/host_lowering.h"
#include "kernels/kernel.h"
#include "kernels/program_lowering.h"
#include "replayer/engine/planned_launches.h"
#include "replayer/engine/replay_options.h"
#include "replayer/plan/known_work.h"
#include "replayer/plan/work_cap.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

// Memory for anything; nothing ever runs on it.
class AnyBuffer final : public Buffer {
 public:
  [[nodiscard]] std::int64_t size_bytes() const override { return INT64_MAX; }
  [[nodiscard]] std::byte* host_data() override { return &byte_; }

 private:
  std::byte byte_{};
};

class AnyBindings final : public Bindings {
 public:
  [[nodiscard]] Buffer* Find(std::int64_t incarnation) const override {
    auto& buffer = buffers_[incarnation];
    buffer = buffer == nullptr ? std::make_unique<AnyBuffer>() : std::move(buffer);
    return buffer.get();
  }

 private:
  mutable std::map<std::int64_t, std::unique_ptr<AnyBuffer>> buffers_;
};

DeviceInfo MakeDevice(bool memory_is_host) {
  DeviceInfo info;
  info.memory_is_host = memory_is_host;
  info.name = "none";
  info.compute_units = 16;
  info.max_work_group_size = 256;
  info.memory_bytes = info.max_allocation_bytes = INT64_MAX;
  info.fp16 = info.fp64 = true;
  return info;
}

Result<PlannedLaunches> Lowered(const Graph& graph, const ReplayOptions& options,
                                const DeviceInfo& device, Plan& plan) {
  const AnyBindings memory;
  static AnyBuffer scratch;
  static const HostLowering host;
  static const ProgramLowering programs;
  const CallLowering& lowering = device.memory_is_host ? static_cast<const CallLowering&>(host)
                                                       : static_cast<const CallLowering&>(programs);
  return LowerPlan(
      graph, options, memory, device, lowering,
      [](std::uint32_t, int, std::int64_t) -> Result<Buffer*> { return &scratch; }, plan);
}

// What GPUs take: CUDA's grids have at most 65,535 groups in y and z (CUDA C++ Programming Guide,
// "Technical Specifications per Compute Capability").
void CheckFitsAGpu(const Launch& launch, const DeviceInfo& device) {
  constexpr std::size_t kMostGroups = 65'535;
  const auto* const kernel = std::get_if<DeviceKernel>(&launch);
  if (kernel == nullptr) {
    return;
  }
  SCOPED_TRACE(kernel->program + " " + kernel->entry);
  std::size_t items = 1;
  for (std::size_t d = 0; d < kernel->global.size(); ++d) {
    const std::size_t local = std::max<std::size_t>(kernel->local.at(d), 1);
    items *= local;
    EXPECT_EQ(kernel->global.at(d) % local, 0U);
    EXPECT_TRUE(d == 0 || kernel->global.at(d) / local <= kMostGroups);
  }
  EXPECT_LE(items, device.max_work_group_size);
}

void CheckLaunches(const Graph& graph, bool memory_is_host) {
  ReplayOptions options;
  options.assume_groups = true;
  auto plan = BuildPlan(graph, options, FindBuiltinKernel);
  ASSERT_TRUE(plan) << plan.error().message;
  const auto planned = Lowered(graph, options, MakeDevice(memory_is_host), *plan);
  ASSERT_TRUE(planned) << planned.error().message;
  for (const Launch& launch : planned->launches) {
    CheckFitsAGpu(launch, MakeDevice(memory_is_host));
  }
  for (Graph::Index i = 0; i < graph.size(); ++i) {
    const Work& work = plan->work[i];
    const bool runs = work.mode == ReplayMode::kReal || work.mode == ReplayMode::kSurrogate;
    if (work.type != WorkType::kCompute || !runs) {
      continue;
    }
    EXPECT_TRUE(work.no_elements || work.IsPart() || planned->begin[i + 1] > planned->begin[i])
        << graph.id(i) << " " << graph.name(i);
    EXPECT_NE(work.source, WorkSource::kUnknown) << graph.id(i) << " " << graph.name(i);
  }
  // Capped once, work is below every cap.
  std::vector<Work> before = plan->work;
  CapSurrogates(graph, *plan);
  for (Graph::Index i = 0; i < graph.size(); ++i) {
    EXPECT_EQ(plan->work[i].cost.flops, before[i].cost.flops) << graph.id(i);
    EXPECT_EQ(plan->work[i].cost.bytes, before[i].cost.bytes) << graph.id(i);
  }
}

TEST(Launches, CopiesOverTheBusAreSurrogatesOnADeviceWithMemoryOfItsOwn) {
  for (const char* name : {"Memcpy HtoD (Pinned -> Device)", "Memcpy DtoD (Device -> Device)"}) {
    Node node;
    node.id = 1;
    node.name = name;
    node.type = NodeType::kComp;
    node.actor = {Actor::Kind::kStream, 7, 0};
    node.duration_ns = 1000;
    node.device_work = DeviceWork{.copied_bytes = 4096};
    const auto graph = Graph::Build({}, {node});
    ASSERT_TRUE(graph);
    for (const bool is_cpu : {true, false}) {
      auto plan = BuildPlan(*graph, {}, FindBuiltinKernel);
      ASSERT_TRUE(plan);
      DeviceInfo info = MakeDevice(false);
      info.is_cpu = is_cpu;
      ASSERT_TRUE(Lowered(*graph, {}, info, *plan));
      const bool crosses = !is_cpu && std::string_view(name).find("HtoD") != std::string_view::npos;
      EXPECT_EQ(plan->work[0].mode, crosses ? ReplayMode::kSurrogate : ReplayMode::kReal) << name;
    }
  }
}

// A simulator's trace: MEM_LOAD, two COMP, one of them without counts, MEM_STORE.
constexpr const char* kForeign = R"({"nodes": [
  {"id": "1", "name": "load", "type": "MEM_LOAD_NODE", "durationMicros": "900",
   "attr": [{"name": "tensor_size", "int64Val": "8388608"}]},
  {"id": "2", "name": "product", "type": "COMP_NODE", "dataDeps": ["1"], "durationMicros": "500",
   "attr": [{"name": "num_ops", "int64Val": "1000000"}, {"name": "tensor_size", "int64Val": "4096"}]},
  {"id": "3", "name": "secret", "type": "COMP_NODE", "dataDeps": ["2"], "durationMicros": "300"},
  {"id": "4", "name": "store", "type": "MEM_STORE_NODE", "dataDeps": ["3"], "durationMicros": "700",
   "attr": [{"name": "tensor_size", "int64Val": "4194304"}]}]})";

TEST(Launches, OfAForeignTraceWithCountsAndMemoryNodes) {
  const fs::path made = fs::path(REPRISE_BINARY_DIR) / "test_launches_foreign";
  fs::create_directories(made / "in");
  std::ofstream(made / "in" / "trace.0.json") << kForeign;
  ConvertRequest request;
  request.input_directory = (made / "in").string();
  request.output_directory = (made / "out").string();
  request.force = true;
  const auto report = FindConverter("chakra")->convert(request);
  ASSERT_TRUE(report) << report.error().message;
  const auto graph = Graph::Load(TraceSet::Open((made / "out").string())->files.at(0));
  ASSERT_TRUE(graph) << graph.error().message;
  CheckLaunches(*graph, true);
  const auto plan = BuildPlan(*graph, {}, FindBuiltinKernel);
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan->work.size(), 4U);
  EXPECT_EQ(graph->op_class(0), OpClass::kMemcpy);
  EXPECT_EQ(plan->work[0].mode, ReplayMode::kReal);
  EXPECT_EQ(plan->work[0].cost.bytes, 8388608);
  EXPECT_EQ(plan->work[1].mode, ReplayMode::kSurrogate);
  EXPECT_EQ(plan->work[1].cost.flops, 1000000);
  EXPECT_EQ(plan->work[2].mode, ReplayMode::kTimed);
  EXPECT_EQ(plan->work[2].host_ns, 300'000);
  EXPECT_EQ(plan->work[3].mode, ReplayMode::kReal);
  EXPECT_EQ(plan->work[3].cost.bytes, 4194304);
  fs::remove_all(made);
}

TEST(Launches, OfEveryBundledCapture) {
  std::size_t graphs = 0;
  const fs::path traces = std::string(REPRISE_SOURCE_DIR) + "/traces";
  for (const auto& entry : fs::recursive_directory_iterator(traces)) {
    const bool capture = entry.is_directory() && fs::exists(entry.path() / "rank0.et.json.gz");
    if (!capture) {
      continue;
    }
    const fs::path out = fs::path(REPRISE_BINARY_DIR) / "test_launches";
    ConvertRequest request;
    request.input_directory = entry.path().string();
    request.output_directory = out.string();
    request.force = true;
    const auto report = FindConverter("pytorch")->convert(request);
    ASSERT_TRUE(report) << report.error().message;
    const auto set = TraceSet::Open(out.string());
    ASSERT_TRUE(set) << set.error().message;
    for (const auto& [rank, file] : set->files) {
      const auto graph = Graph::Load(file);
      ASSERT_TRUE(graph) << graph.error().message;
      for (const bool memory_is_host : {true, false}) {
        SCOPED_TRACE(entry.path().string() + (memory_is_host ? " by tasks" : " by programs"));
        CheckLaunches(*graph, memory_is_host);
      }
      ++graphs;
    }
    fs::remove_all(out);
  }
  EXPECT_GT(graphs, 20U);
}

}  // namespace
}  // namespace reprise
