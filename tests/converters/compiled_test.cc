// Code that torch.compile made for a CPU: docs/coverage.md, "Compiled code".
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <utility>

#include "converters/converter.h"
#include "converters/pytorch/rank/compiled_code.h"
#include "synthetic_capture.h"

namespace reprise::pytorch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

SyntheticOp CompiledRange(std::string name, double start_us, double duration_us,
                          std::string category = "cpu_op") {
  return {.name = std::move(name),
          .start_us = start_us,
          .duration_us = duration_us,
          .schema = "",
          .category = std::move(category)};
}

SyntheticOp MmOnCpu(double start_us) {
  return {.name = "aten::mm",
          .start_us = start_us,
          .duration_us = 30,
          .inputs = {TensorArg(1, {8, 8}), TensorArg(2, {8, 8})},
          .outputs = {TensorArg(3, {8, 8})}};
}

// Start and end of each node of class compiled, in µs.
std::vector<std::pair<std::int64_t, std::int64_t>> CompiledTimes(const std::string& name,
                                                                 const SyntheticCapture& capture) {
  const auto traces = ConvertAll(name, {capture});
  EXPECT_TRUE(traces) << traces.error().message;
  std::vector<std::pair<std::int64_t, std::int64_t>> times;
  for (const Node& node : traces->front().nodes) {
    if (node.op_class == OpClass::kCompiled) {
      EXPECT_EQ(node.kind, OpKind::kWork);
      EXPECT_THAT(node.inputs, IsEmpty());
      times.emplace_back(node.start_ns / 1'000, (node.start_ns + node.duration_ns) / 1'000);
    }
  }
  return times;
}

TEST(Compiled, ItsOwnTimeIsNodesAndWhatItCallsStays) {
  SyntheticCapture capture;
  capture.Step(0, 300);
  capture.Add(CompiledRange("Torch-Compiled Region: 0/0", 90, 130));
  capture.Add(CompiledRange("## Call CompiledFxGraph f7iq ##", 100, 100, "user_annotation"));
  capture.Add(MmOnCpu(120));
  capture.Add(CompiledRange("graph_0_cpp_fused_gelu_0", 160, 20));
  EXPECT_THAT(CompiledTimes("compiled_own_time", capture),
              ElementsAre(::testing::Pair(100, 120), ::testing::Pair(150, 160),
                          ::testing::Pair(160, 180), ::testing::Pair(180, 200)));
  const auto traces = ConvertAll("compiled_own_time", {capture});
  EXPECT_EQ(traces->front().Find("aten::mm")->op_class, OpClass::kGemm);
  EXPECT_EQ(traces->front().Diagnostic("compiled_code"), 4U);
  EXPECT_EQ(traces->front().Diagnostic("compiled_code_ns"), 70'000U);
}

// A compiled optimizer calls nothing, and older versions name regions alone.
TEST(Compiled, ARegionCountsWhereTheCaptureNamesNothingWithinIt) {
  SyntheticCapture capture;
  capture.Step(0, 300).Add(MmOnCpu(10));
  capture.Add(CompiledRange("Torch-Compiled Region: 1/0", 100, 50));
  EXPECT_THAT(CompiledTimes("compiled_region", capture), ElementsAre(::testing::Pair(100, 150)));
}

TEST(Compiled, ARangeThatLaunchesDeviceWorkIsTheHosts) {
  SyntheticCapture capture;
  capture.Step(0, 300).Add(CompiledRange("## Call CompiledFxGraph f7iq ##", 100, 100));
  capture.Call("cuLaunchKernel", 120, 10, 7).Kernel("triton_poi_fused_0", 135, 45, 7);
  EXPECT_THAT(CompiledTimes("compiled_on_device", capture), IsEmpty());
}

TEST(Compiled, StrictConversionRefusesIt) {
  SyntheticCapture capture;
  capture.Step(0, 300)
      .Add(CompiledRange("## Call CompiledFxGraph f7iq ##", 100, 100))
      .Add(MmOnCpu(210));
  const std::string root = FreshDirectory("compiled_strict");
  std::filesystem::create_directories(root + "/in");
  capture.Write(root + "/in");
  const auto converted = FindConverter("pytorch")->convert(
      {.input_directory = root + "/in", .output_directory = root + "/out", .strict = true});
  ASSERT_FALSE(converted);
  EXPECT_THAT(converted.error().message, HasSubstr("compiled_code"));
  EXPECT_THAT(converted.error().message, HasSubstr("CompiledFxGraph"));
}

TEST(Compiled, NamesOfUsersAreNone) {
  EXPECT_EQ(CompiledNameOf("CompiledFunctionBackward"), CompiledName::kRegion);
  EXPECT_EQ(CompiledNameOf("Torch-Compiled Region: !0/2/0"), CompiledName::kRegion);
  for (const char* name : {"inductor_wrapper_call", "graph_12_inductor_wrapper_call",
                           "cpp_fused_add_1", "graph_3_cpp_fused_add_1", "aoti_torch_cpu_mm_out"}) {
    EXPECT_EQ(CompiledNameOf(name), CompiledName::kCode) << name;
  }
  for (const char* name : {"graph_0_forward", "graph_cpp_fused", "forward", "## training ##",
                           "TorchDynamo Cache Lookup", "Pregraph bytecode", "CompiledFunctions"}) {
    EXPECT_EQ(CompiledNameOf(name), CompiledName::kNone) << name;
  }
}

}  // namespace
}  // namespace reprise::pytorch
