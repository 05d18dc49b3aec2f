// Device events that overlap on their stream, damaged durations, and graphs on streams of their
// own.
#include <gtest/gtest.h>

#include "converters/converter.h"
#include "synthetic_capture.h"

namespace reprise::pytorch {
namespace {

LoadedTrace ConvertCase(const std::string& name) {
  const std::string path = FreshDirectory("case_" + name) + "/out.0.et";
  const ConvertRequest request{
      .device_trace = REPRISE_SOURCE_DIR "/tests/converters/cases/" + name + "/t.json",
      .output_file = path};
  const auto report = FindConverter("pytorch")->convert(request);
  EXPECT_TRUE(report) << (report ? "" : report.error().message);
  return report ? Load(path).value() : LoadedTrace();
}

LoadedTrace ConvertText(const std::string& name, const SyntheticCapture& capture) {
  const std::string directory = FreshDirectory("overlaps_" + name);
  WriteText(directory + "/k.json", capture.KinetoText());
  const std::string path = directory + "/out.0.et";
  const ConvertRequest request{.device_trace = directory + "/k.json", .output_file = path};
  const auto report = FindConverter("pytorch")->convert(request);
  EXPECT_TRUE(report) << (report ? "" : report.error().message);
  return report ? Load(path).value() : LoadedTrace();
}

struct DeviceSum {
  std::size_t events = 0;
  std::int64_t ns = 0;
};
DeviceSum SumOf(const LoadedTrace& trace) {
  DeviceSum sum;
  for (const Node& node : trace.nodes) {
    if (node.device_work) {
      ++sum.events;
      sum.ns += node.duration_ns;
    }
  }
  return sum;
}

// Every edge of a trace goes from an end to a later start, so that the recording is reproduced.
void ExpectEdgesHold(const LoadedTrace& trace) {
  for (const Node& node : trace.nodes) {
    EXPECT_GE(node.delay_ns, 0) << node.name;
    for (const Dependency& dep : node.deps) {
      const Node* from = trace.ById(dep.node_id);
      EXPECT_LE(from->start_ns + from->duration_ns, node.start_ns) << node.name;
    }
  }
}

SyntheticCapture TwoLaunches() {
  SyntheticCapture capture;
  capture.Step(0, 5000).Add({.name = "my::work", .start_us = 5, .duration_us = 95});
  capture.Call("cudaLaunchKernel", 10, 5, 1).Call("cudaLaunchKernel", 20, 5, 2);
  return capture;
}

TEST(StreamOverlaps, KernelsThatOverlapKeepTheirDurations) {
  const LoadedTrace trace = ConvertCase("03a_kernels_overlap_on_stream");
  EXPECT_EQ(SumOf(trace).events, 10U);
  EXPECT_EQ(SumOf(trace).ns, 1'000'000);
  EXPECT_EQ(trace.Diagnostic("runs_beside_others"), 9U);
  EXPECT_EQ(trace.Diagnostic("stream_overlap"), 0U);
  ExpectEdgesHold(trace);
  // The third kernel starts while the second runs, and waited for the first.
  const std::string name = "sm90_xmma_gemm_f32f32_tn";
  EXPECT_EQ(trace.Edge(*trace.Find(name, 0), *trace.Find(name, 2)), EdgeReason::kStream);
  EXPECT_EQ(trace.Edge(*trace.Find(name, 1), *trace.Find(name, 2)), EdgeReason::kUnknown);
}

TEST(StreamOverlaps, ADamagedDurationEndsWhereTheNextBegins) {
  const LoadedTrace trace = ConvertCase("03b_one_duration_runs_over");
  EXPECT_EQ(SumOf(trace).events, 11U);
  EXPECT_EQ(SumOf(trace).ns, 1'100'000);
  EXPECT_EQ(trace.Diagnostic("duration_damaged"), 1U);
  EXPECT_EQ(trace.Diagnostic("duration_damaged_ns"), 1'599'900'000U);
  EXPECT_EQ(trace.Diagnostic("stream_time_differs"), 1U);
  EXPECT_EQ(trace.Diagnostic("runs_beside_others"), 0U);
  ExpectEdgesHold(trace);
}

TEST(StreamOverlaps, ADurationIsDamagedWithoutAWaitToo) {
  SyntheticCapture capture = TwoLaunches();  // and 1 s after the last of the others' ends
  capture.Kernel("long", 40, 1'000'000, 1).Kernel("next", 90, 20, 2);
  const LoadedTrace trace = ConvertText("last", capture);
  EXPECT_EQ(trace.Find("long")->duration_ns, 50'000);
  EXPECT_EQ(trace.Diagnostic("duration_damaged"), 1U);
}

TEST(StreamOverlaps, ADurationBeyondTheHostsWaitIsDamaged) {
  SyntheticCapture capture = TwoLaunches();  // the last of its stream
  capture.Kernel("first", 40, 10, 1).Kernel("long", 60, 900'000, 2);
  capture.Call("cudaDeviceSynchronize", 60, 100, 9);
  const LoadedTrace trace = ConvertText("wait", capture);
  EXPECT_EQ(trace.Find("long")->duration_ns, 100'000);
  EXPECT_EQ(trace.Diagnostic("duration_damaged"), 1U);
}

TEST(StreamOverlaps, AWaitAloneContradictsNoEventWithinTheFile) {
  SyntheticCapture capture = TwoLaunches();  // nothing overlaps; the wait was of other work
  capture.Kernel("long", 40, 50'000, 1).Kernel("next", 50'050, 20, 2);
  capture.Call("cudaDeviceSynchronize", 60, 100, 9);
  const LoadedTrace trace = ConvertText("within", capture);
  EXPECT_EQ(trace.Find("long")->duration_ns, 50'000'000);
  EXPECT_EQ(trace.Diagnostic("duration_damaged"), 0U);
}

TEST(StreamOverlaps, BranchesOfAGraphOnOneStreamAreReal) {
  SyntheticCapture capture;
  capture.Step(0, 5000).Add({.name = "my::replay", .start_us = 5, .duration_us = 60});
  capture.Call("cudaGraphLaunch", 10, 20, 9);
  capture.Kernel("long", 40, 1000, 9).Kernel("a", 60, 100, 9).Kernel("b", 160, 100, 9);
  capture.Call("cudaLaunchKernel", 50, 5, 10).Kernel("after", 1045, 10, 10);
  const LoadedTrace trace = ConvertText("branches", capture);
  EXPECT_EQ(SumOf(trace).ns, 1'210'000);
  EXPECT_EQ(trace.Diagnostic("duration_damaged"), 0U);
  EXPECT_EQ(trace.Edge(*trace.Find("a"), *trace.Find("b")), EdgeReason::kStream);
  EXPECT_EQ(trace.Edge(*trace.Find("b"), *trace.Find("after")), EdgeReason::kStream);
  EXPECT_EQ(trace.Edge(*trace.Find("long"), *trace.Find("after")), EdgeReason::kStream);
  ExpectEdgesHold(trace);
}

TEST(StreamOverlaps, WholeMicrosecondsAreRounded) {
  SyntheticCapture capture = TwoLaunches();
  capture.Kernel("first", 40, 20, 1).Kernel("next", 59, 20, 2);
  const LoadedTrace trace = ConvertText("rounded", capture);
  EXPECT_EQ(trace.Find("next")->duration_ns, 19'000);
  EXPECT_EQ(trace.Diagnostic("stream_overlap"), 1U);
  EXPECT_EQ(trace.Diagnostic("stream_overlap_ns"), 1'000U);
  EXPECT_EQ(trace.Diagnostic("device_time_ns"), 40'000U);
  EXPECT_EQ(trace.Edge(*trace.Find("first"), *trace.Find("next")), EdgeReason::kStream);
}

TEST(GraphLaunches, ForkAndJoinAtTheLaunchingStream) {
  const LoadedTrace trace = ConvertCase("06_graph_on_other_stream");
  const std::string add =
      "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>";
  EXPECT_EQ(trace.Edge(*trace.Find(add), *trace.Find("graph_kernel_0")), EdgeReason::kEvent);
  EXPECT_EQ(trace.Edge(*trace.Find("graph_kernel_3"), *trace.Find(add, 1)), EdgeReason::kEvent);
  EXPECT_EQ(trace.Diagnostic("graph_stream_inferred"), 1U);
  ExpectEdgesHold(trace);
}

TEST(GraphLaunches, AllInnerStreamsForkAndJoin) {
  SyntheticCapture capture;
  capture.Step(0, 5000).Add({.name = "my::replay", .start_us = 5, .duration_us = 60});
  capture.Call("hipLaunchKernel", 10, 5, 1).Call("hipGraphLaunch", 20, 5, 2);
  capture.Call("hipLaunchKernel", 30, 5, 3);
  capture.Kernel("before", 40, 10, 1, 7);
  capture.Kernel("a", 60, 100, 2, 20).Kernel("b", 62, 30, 2, 21).Kernel("c", 161, 20, 2, 21);
  capture.Kernel("after", 190, 10, 3, 7);
  const LoadedTrace trace = ConvertText("streams", capture);
  for (const char* first : {"a", "b"}) {
    EXPECT_EQ(trace.Edge(*trace.Find("before"), *trace.Find(first)), EdgeReason::kEvent) << first;
  }
  for (const char* last : {"a", "c"}) {
    EXPECT_EQ(trace.Edge(*trace.Find(last), *trace.Find("after")), EdgeReason::kEvent) << last;
  }
  EXPECT_EQ(trace.Edge(*trace.Find("a"), *trace.Find("c")), EdgeReason::kEvent);  // in the graph
  ExpectEdgesHold(trace);
}

}  // namespace
}  // namespace reprise::pytorch
