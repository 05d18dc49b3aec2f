// Kineto files without a host trace, in the forms that other versions and tools left them in.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "converters/converter.h"
#include "synthetic_capture.h"

namespace reprise::pytorch {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;

json Event(const std::string& category, const std::string& name, double start_us,
           double duration_us, json args = json::object(), std::int64_t tid = 100) {
  return {{"ph", "X"},  {"cat", category}, {"name", name},       {"pid", 1},
          {"tid", tid}, {"ts", start_us},  {"dur", duration_us}, {"args", args}};
}

class KinetoAlone : public ::testing::Test {
 protected:
  Result<LoadedTrace> Convert(const std::vector<json>& events,
                              const json& devices = json::array()) {
    const std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    const std::string directory = FreshDirectory("kineto_alone_" + name);
    WriteText(directory + "/k.json",
              json{{"deviceProperties", devices}, {"traceEvents", events}}.dump());
    const std::string path = directory + "/out.0.et";
    ConvertRequest request{.device_trace = directory + "/k.json", .output_file = path};
    REPRISE_ASSIGN(const ConvertReport report, FindConverter("pytorch")->convert(request));
    return Load(path);
  }
};

TEST_F(KinetoAlone, FilesOf2022HaveShapesWithoutStridesOrValues) {
  const auto trace = Convert({Event(
      "cpu_op", "aten::mm", 10, 5,
      {{"Input Dims", {{8, 4}, {4, 2}, json::array()}}, {"Input type", {"float", "float"}}})});
  ASSERT_TRUE(trace) << trace.error().message;
  const Node* mm = trace->Find("aten::mm");
  ASSERT_NE(mm, nullptr);
  ASSERT_EQ(mm->inputs.size(), 3U);
  const TensorDesc* tensor = mm->inputs[0].AsTensor();
  ASSERT_NE(tensor, nullptr);
  EXPECT_THAT(tensor->shape, ElementsAre(8, 4));
  EXPECT_THAT(tensor->strides, ElementsAre(4, 1));
}

TEST_F(KinetoAlone, FilesOf2021HaveOtherCategories) {
  const auto trace = Convert(
      {Event("Operator", "aten::mm", 10, 50),
       Event("Runtime", "cudaLaunchKernel", 20, 5, {{"correlation", 3}}),
       Event("Kernel", "gemm", 30, 10, {{"correlation", 3}, {"stream", 7}, {"device", 0}}, 7)});
  ASSERT_TRUE(trace) << trace.error().message;
  const Node* kernel = trace->Find("gemm");
  ASSERT_NE(kernel, nullptr);
  EXPECT_EQ(kernel->op, "aten::mm");
  EXPECT_TRUE(kernel->device_work->launch_recorded);
}

std::vector<json> CopyOnDevice(std::int64_t device) {
  return {Event("cpu_op", "aten::copy_", 10, 50),
          Event("cuda_runtime", "cudaMemcpyAsync", 20, 5, {{"correlation", 3}}),
          Event("gpu_memcpy", "Memcpy DtoD (Device -> Device)", 30, 10,
                {{"correlation", 3}, {"stream", 7}, {"device", device}, {"bytes", 512}}, 7)};
}

TEST_F(KinetoAlone, TheDeviceIsTheOneWhoseEventsThereAre) {
  const json two = {{{"id", 0}, {"name", "Tesla V100-SXM2-32GB"}}, {{"id", 1}, {"name", "A100"}}};
  EXPECT_EQ(Convert(CopyOnDevice(1), two)->metadata.machine.device, "A100");
  EXPECT_EQ(Convert(CopyOnDevice(5), two)->metadata.machine.device, "");
  const json same = {{{"id", 0}, {"name", "MI300X"}}, {{"id", 1}, {"name", "MI300X"}}};
  EXPECT_EQ(Convert(CopyOnDevice(5), same)->metadata.machine.device, "MI300X");
  EXPECT_EQ(Convert({Event("cpu_op", "aten::mm", 10, 50)}, two)->metadata.machine.device, "");
}

TEST_F(KinetoAlone, CopiesHaveAClassOfTheirOwn) {
  const auto trace = Convert(CopyOnDevice(0));
  ASSERT_TRUE(trace) << trace.error().message;
  const Node* copy = trace->Find("Memcpy DtoD (Device -> Device)");
  ASSERT_NE(copy, nullptr);
  EXPECT_EQ(copy->op_class, OpClass::kMemcpy);
  EXPECT_EQ(copy->device_work->copied_bytes, 512);
}

TEST_F(KinetoAlone, TheDevicesSideIsEnough) {
  const auto trace = Convert(
      {Event("cuda_runtime", "hipLaunchKernel", 20, 5, {{"correlation", 3}}),
       Event("kernel", "gemm", 30, 10, {{"correlation", 3}, {"stream", 7}, {"device", 0}}, 7)});
  ASSERT_TRUE(trace) << trace.error().message;
  const Node* kernel = trace->Find("gemm");
  ASSERT_NE(kernel, nullptr);
  EXPECT_EQ(kernel->start_ns, 10'000);
  EXPECT_EQ(trace->Edge(*trace->Find("hipLaunchKernel"), *kernel), EdgeReason::kLaunch);
  ASSERT_EQ(trace->metadata.steps.size(), 1U);
  EXPECT_EQ(trace->metadata.steps[0].duration_ns, 20'000);
}

TEST_F(KinetoAlone, AWaitAtTheBeginningIsForWhatWasLaunchedBefore) {
  const auto trace =
      Convert({Event("cpu_op", "aten::mm", 0, 5),
               Event("cuda_runtime", "cudaDeviceSynchronize", 10, 90, {{"correlation", 9}}),
               Event("kernel", "early", 50, 45, {{"correlation", 1}, {"stream", 7}}, 7)});
  ASSERT_TRUE(trace) << trace.error().message;
  const Node* wait = trace->Find("cudaDeviceSynchronize");
  ASSERT_NE(wait, nullptr);
  EXPECT_EQ(trace->Edge(*trace->Find("early"), *wait), EdgeReason::kSync);
  EXPECT_EQ(wait->duration_ns, 5'000);
}

TEST_F(KinetoAlone, WithoutAnyCallOnlyTimeTellsWhatAStreamWaitedFor) {
  const auto kernel = [](const std::string& name, double start_us, double duration_us,
                         std::int64_t correlation, std::int64_t stream) {
    return Event("kernel", name, start_us, duration_us,
                 {{"correlation", correlation}, {"stream", stream}}, stream);
  };
  const auto trace = Convert({Event("cpu_op", "aten::mm", 0, 5), kernel("a", 10, 10, 1, 7),
                              kernel("other", 12, 488, 2, 8), kernel("b", 21, 9, 3, 7),
                              kernel("after", 510, 10, 4, 7), kernel("much later", 900, 10, 5, 7)});
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->Edge(*trace->Find("other"), *trace->Find("after")), EdgeReason::kEvent);
  EXPECT_EQ(trace->Find("b")->deps.size(), 1U);           // its stream was busy
  EXPECT_EQ(trace->Find("much later")->deps.size(), 1U);  // nothing ended just before
}

json Mm(json args) { return Event("cpu_op", "aten::mm", 10, 5, std::move(args)); }

TEST_F(KinetoAlone, ResultsFollowFromTheInputsAndSaySo) {
  const auto trace =
      Convert({Mm({{"Input Dims", {{8, 4}, {4, 2}}}, {"Input type", {"float", "float"}}})});
  ASSERT_TRUE(trace) << trace.error().message;
  const Node* mm = trace->Find("aten::mm");
  ASSERT_EQ(mm->outputs.size(), 1U);
  const TensorDesc* result = mm->outputs[0].AsTensor();
  ASSERT_NE(result, nullptr);
  EXPECT_THAT(result->shape, ElementsAre(8, 2));
  EXPECT_EQ(result->dtype, DType::kFloat32);
  EXPECT_TRUE(mm->results_inferred);
  for (const Value& input : mm->inputs) {  // a tensor of its own
    EXPECT_NE(input.AsTensor()->incarnation, result->incarnation);
  }
  EXPECT_THAT(trace->metadata.diagnostics,
              ::testing::Contains(::testing::Pair("results_inferred", 1)));
}

TEST_F(KinetoAlone, InPlaceOperationsReturnTheirOperand) {
  const auto trace = Convert(
      {Event("cpu_op", "aten::relu_", 10, 5,
             {{"Input Dims", {{8, 4}}}, {"Input type", {"float"}}, {"Concrete Inputs", {""}}})});
  ASSERT_TRUE(trace) << trace.error().message;
  const Node* relu = trace->Find("aten::relu_");
  ASSERT_EQ(relu->outputs.size(), 1U);
  EXPECT_EQ(relu->outputs[0].AsTensor()->incarnation, relu->inputs[0].AsTensor()->incarnation);
}

TEST_F(KinetoAlone, WithoutValuesNothingThatNeedsThemIsInferred) {
  json args = {{"Input Dims", {{2}, {8, 4}, {4, 2}, json::array(), json::array()}},
               {"Input type", {"float", "float", "float", "Scalar", "Scalar"}}};
  const auto old = Convert({Event("cpu_op", "aten::addmm", 10, 5, args)});
  ASSERT_TRUE(old) << old.error().message;
  EXPECT_TRUE(old->Find("aten::addmm")->outputs.empty());
  EXPECT_FALSE(old->Find("aten::addmm")->results_inferred);
  EXPECT_THAT(old->metadata.diagnostics,
              ::testing::Contains(::testing::Pair("results_unknown", 1)));
  args["Concrete Inputs"] = {"", "", "", "1", "1."};
  const auto later = Convert({Event("cpu_op", "aten::addmm", 10, 5, args)});
  ASSERT_TRUE(later) << later.error().message;
  EXPECT_EQ(later->Find("aten::addmm")->outputs.size(), 1U);
}

TEST_F(KinetoAlone, ListsHoldNumbersTruthsOrReals) {
  const auto trace =
      Convert({Event("cpu_op", "aten::mm", 10, 5,
                     {{"Input Dims", {json::array(), json::array(), json::array(), json::array()}},
                      {"Input type", {"ScalarList", "ScalarList", "ScalarList", "ScalarList"}},
                      {"Concrete Inputs", {"[1, -2]", "[True, False]", "[]", "[0.5, 2.]"}}})});
  ASSERT_TRUE(trace) << trace.error().message;
  const ValueList& inputs = trace->Find("aten::mm")->inputs;
  ASSERT_EQ(inputs.size(), 4U);
  EXPECT_EQ(inputs[0], (Value{ValueList{{std::int64_t{1}}, {std::int64_t{-2}}}}));
  EXPECT_EQ(inputs[1], (Value{ValueList{{true}, {false}}}));
  EXPECT_EQ(inputs[2], (Value{ValueList{}}));
  EXPECT_EQ(inputs[3], (Value{ValueList{{0.5}, {2.0}}}));
}

}  // namespace
}  // namespace reprise::pytorch
