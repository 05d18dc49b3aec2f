// The memory plan on real captures: near the recorded peak, and no two storages in one place.
#include "replayer/memory/memory_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "converters/converter.h"
#include "et_schema/trace_set.h"
#include "kernels/kernel.h"
#include "replayer/engine/replay_options.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

class MemoryPlanOfCapture : public ::testing::TestWithParam<const char*> {};

TEST_P(MemoryPlanOfCapture, IsWithinTenPercentOfTheRecordedPeak) {
  std::string tidy = GetParam();
  std::replace(tidy.begin(), tidy.end(), '/', '_');
  const fs::path out = fs::path(REPRISE_BINARY_DIR) / ("test_memory_" + tidy);
  ConvertRequest request;
  request.input_directory = std::string(REPRISE_SOURCE_DIR) + "/traces/" + GetParam();
  request.output_directory = out.string();
  request.force = true;
  const auto report = FindConverter("pytorch")->convert(request);
  ASSERT_TRUE(report) << report.error().message;
  const auto set = TraceSet::Open(out.string());
  ASSERT_TRUE(set) << set.error().message;
  ReplayOptions options;
  options.assume_groups = true;
  for (const auto& [rank, file] : set->files) {
    const auto graph = Graph::Load(file);
    ASSERT_TRUE(graph) << graph.error().message;
    const auto plan = BuildPlan(*graph, options, FindBuiltinKernel);
    ASSERT_TRUE(plan) << plan.error().message;
    const auto lives = FindLifetimes(*graph, *plan);
    ASSERT_TRUE(lives) << lives.error().message;
    const MemoryPlan memory = PlanMemory(*lives, false);
    EXPECT_LE(static_cast<double>(memory.planned_bytes),
              1.1 * static_cast<double>(memory.original_peak_bytes))
        << rank;
    std::map<std::uint32_t, std::vector<const StorageLife*>> of_buffer;
    for (const StorageLife& life : memory.storages) {
      const std::uint32_t buffer = memory.buffer_of.at(life.incarnation);
      EXPECT_LE(life.bytes, memory.buffer_bytes[buffer]);
      for (const StorageLife* other : of_buffer[buffer]) {
        EXPECT_TRUE(life.last < other->first || other->last < life.first);
        EXPECT_FALSE(life.persistent || other->persistent);
      }
      of_buffer[buffer].push_back(&life);
    }
  }
  fs::remove_all(out);
}

INSTANTIATE_TEST_SUITE_P(Bundled, MemoryPlanOfCapture,
                         ::testing::Values("gloo/gpt_single", "gloo/gpt_recompute", "gloo/resnet18",
                                           "gloo/gpt_ddp4", "gloo_comms/collectives4",
                                           "gloo_comms/gpt_fsdp4", "gloo_comms/gpt_pp4",
                                           "gloo_comms/gpt_tp4", "gloo_comms/moe_ep4"));

}  // namespace
}  // namespace reprise
