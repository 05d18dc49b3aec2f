// GPU captures: launches, streams, waits, NCCL; with a host trace and without.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "converters/converter.h"
#include "converters/pytorch/rank/nccl.h"
#include "synthetic_capture.h"

namespace reprise::pytorch {
namespace {

using ::testing::ElementsAre;

Arg CudaTensor(int storage, std::vector<std::int64_t> shape) {
  Arg arg = TensorArg(storage, std::move(shape));
  arg.value[5] = "cuda:0";
  return arg;
}

SyntheticOp Mm(double start_us, double duration_us) {
  return {.name = "aten::mm",
          .start_us = start_us,
          .duration_us = duration_us,
          .inputs = {CudaTensor(1, {8, 8}), CudaTensor(2, {8, 8})},
          .outputs = {CudaTensor(3, {8, 8})}};
}

LoadedTrace ConvertDevice(const std::string& name, const SyntheticCapture& capture) {
  auto traces = ConvertAll(name, {capture});
  EXPECT_TRUE(traces) << (traces ? "" : traces.error().message);
  return traces ? std::move(traces->front()) : LoadedTrace();
}

const Dependency* EdgeBetween(const LoadedTrace& trace, const std::string& from,
                              const std::string& to) {
  for (const Dependency& dep : trace.Find(to)->deps) {
    if (trace.ById(dep.node_id)->name == from) {
      return &dep;
    }
  }
  return nullptr;
}

TEST(Device, LaunchCutsTheOperation) {
  SyntheticCapture capture;
  capture.Step(0, 300).Add(Mm(100, 60));
  capture.Call("cudaLaunchKernel", 120, 10, 7).Kernel("gemm", 135, 45, 7);
  const LoadedTrace trace = ConvertDevice("device_launch", capture);
  const Node* head = trace.Find("aten::mm");
  const Node* rest = trace.Find("aten::mm", 1);
  const Node* kernel = trace.Find("gemm");
  ASSERT_TRUE(head != nullptr && rest != nullptr && kernel != nullptr);
  EXPECT_EQ(head->duration_ns, 20'000);
  EXPECT_EQ(head->kind, OpKind::kMetadata);
  EXPECT_EQ(rest->duration_ns, 40'000);
  EXPECT_EQ(trace.Edge(*head, *kernel), EdgeReason::kLaunch);
  EXPECT_EQ(kernel->op, "aten::mm");
  EXPECT_EQ(kernel->op_class, OpClass::kGemm);
  EXPECT_EQ(kernel->inputs.size(), 2U);
  EXPECT_EQ(kernel->actor, (Actor{Actor::Kind::kStream, 7, 0}));
  ASSERT_TRUE(kernel->device_work);
  EXPECT_THAT(kernel->device_work->grid, ElementsAre(4, 2, 1));
  EXPECT_TRUE(kernel->device_work->launch_recorded);
}

TEST(Device, OneLaunchOwnsManyKernels) {
  SyntheticCapture capture;
  capture.Step(0, 300).Add({.name = "my::replay", .start_us = 90, .duration_us = 60});
  capture.Call("cudaGraphLaunch", 100, 20, 9);
  capture.Kernel("a", 110, 5, 9).Kernel("b", 116, 5, 9).Kernel("c", 112, 5, 9, 8);
  const LoadedTrace trace = ConvertDevice("device_graph", capture);
  for (const char* name : {"a", "b", "c"}) {
    const Node* kernel = trace.Find(name);
    ASSERT_NE(kernel, nullptr);
    EXPECT_EQ(kernel->start_ns >= 110'000, true);
    EXPECT_NE(EdgeBetween(trace, "cudaGraphLaunch", name), nullptr) << name;
  }
  EXPECT_EQ(trace.Edge(*trace.Find("a"), *trace.Find("b")), EdgeReason::kStream);
}

// Compute on stream 7, NCCL on 20; the calls say that streams wait, not for what.
SyntheticCapture Overlapped() {
  SyntheticCapture capture;
  capture.Step(0, 1000).Add(Mm(10, 20));
  capture.Call("cudaLaunchKernel", 20, 5, 1).Kernel("backward", 40, 100, 1);
  capture.Add({.name = "record_param_comms", .start_us = 50, .duration_us = 30});
  capture.Add({.name = "nccl:all_reduce",
               .start_us = 51,
               .duration_us = 28,
               .category = "user_annotation"});
  capture.Call("cudaEventRecord", 52, 1, 2).Call("cudaStreamWaitEvent", 54, 1, 3);
  capture.Call("cudaLaunchKernelExC", 60, 5, 4);
  capture.Kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)", 142, 200, 4, 20);
  capture.Call("cudaEventRecord", 70, 1, 5).Call("cudaStreamWaitEvent", 90, 1, 6);
  capture.Add(Mm(95, 20));
  capture.Call("cudaLaunchKernel", 100, 5, 7).Kernel("optimizer", 345, 50, 7);
  return capture;
}

TEST(Device, WaitsBetweenStreamsAreInferredFromCallsWithoutIds) {
  const LoadedTrace trace = ConvertDevice("device_waits", Overlapped());
  const std::string nccl = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)";
  const Dependency* before = EdgeBetween(trace, "backward", nccl);
  ASSERT_NE(before, nullptr);
  EXPECT_EQ(before->reason, EdgeReason::kEvent);
  EXPECT_TRUE(before->inferred);
  const Dependency* after = EdgeBetween(trace, nccl, "optimizer");
  ASSERT_NE(after, nullptr);
  EXPECT_EQ(after->reason, EdgeReason::kEvent);
  EXPECT_EQ(trace.Diagnostic("wait_source_inferred"), 2U);
}

TEST(Device, NcclKernelIsATransferOnItsStream) {
  const LoadedTrace trace = ConvertDevice("device_nccl", Overlapped());
  const Node* node = trace.Find("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)");
  ASSERT_NE(node, nullptr);
  EXPECT_EQ(node->type, NodeType::kCommColl);
  EXPECT_EQ(node->actor, (Actor{Actor::Kind::kStream, 20, 0}));
  ASSERT_TRUE(node->comm);
  EXPECT_EQ(node->comm->kind, CommKind::kAllReduce);
  EXPECT_EQ(node->comm->op, ReduceOp::kSum);
  EXPECT_TRUE(node->comm->op_recorded);
}

TEST(Device, BatchedSendAndRecvStayWhatTheyWere) {
  SyntheticCapture capture(0, 2);
  capture.Groups({{{"pg_name", "0"},
                   {"pg_desc", "default_pg"},
                   {"ranks", nlohmann::json::array()},
                   {"group_size", 2}}});
  capture.Step(0, 500);
  const auto transfer = [](const char* name, double at_us, Arg tensor, const char* schema) {
    return SyntheticOp{
        .name = name,
        .start_us = at_us,
        .duration_us = 10,
        .inputs = {ListArg({std::move(tensor)}), LiteralArg("Object"), IntArg(1), IntArg(0)},
        .schema = schema};
  };
  capture.Add(transfer("c10d::send", 10, CudaTensor(1, {256}),
                       "c10d::send(Tensor[] tensors, Object pg, int dst, int tag) -> Object"));
  capture.Add(transfer("c10d::recv_", 30, CudaTensor(2, {64}),
                       "c10d::recv_(Tensor[] tensors, Object pg, int src, int tag) -> Object"));
  capture.Add(
      {.name = "nccl:coalesced", .start_us = 50, .duration_us = 20, .category = "user_annotation"});
  capture.Call("cudaLaunchKernelExC", 55, 5, 4);
  capture.Kernel("ncclDevKernel_SendRecv(ncclDevComm*)", 70, 100, 4, 20);
  const std::string directory = FreshDirectory("device_batch");
  capture.Write(directory);
  const ConvertRequest request{.host_trace = directory + "/rank0.et.json",
                               .device_trace = directory + "/rank0.kineto.json",
                               .output_file = directory + "/out.0.et"};
  const auto report = FindConverter("pytorch")->convert(request);
  ASSERT_TRUE(report) << report.error().message;
  const LoadedTrace trace = Load(request.output_file).value();
  const Node* kernel = trace.Find("ncclDevKernel_SendRecv(ncclDevComm*)");
  ASSERT_NE(kernel, nullptr);
  EXPECT_EQ(kernel->type, NodeType::kCommSend);
  EXPECT_EQ(kernel->comm->in_bytes, 1024);
  EXPECT_EQ(kernel->comm->peer, 1);
  std::size_t received = 0;
  for (const Node& node : trace.nodes) {
    if (node.type == NodeType::kCommRecv) {
      ++received;
      EXPECT_EQ(node.comm->out_bytes, 256);
      EXPECT_EQ(node.start_ns, kernel->start_ns);
      EXPECT_EQ(node.actor.kind, Actor::Kind::kGroup);
    }
  }
  EXPECT_EQ(received, 1U);
}

TEST(Device, RecordedSynchronisationIsTakenAsItIs) {
  SyntheticCapture capture;
  capture.Step(0, 1000).Add(Mm(10, 90));
  capture.Call("cudaLaunchKernel", 20, 2, 1).Kernel("first", 30, 40, 1, 7);
  capture.Call("cudaEventRecord", 30, 2, 2);
  capture.Call("cudaLaunchKernel", 35, 2, 3).Kernel("later", 75, 40, 3, 7);
  capture.Call("cudaStreamWaitEvent", 40, 2, 4).Sync("Stream Wait Event", 4, 8, 7, 2);
  capture.Call("cudaLaunchKernel", 45, 2, 5).Kernel("other", 80, 10, 5, 8);
  const LoadedTrace trace = ConvertDevice("device_sync", capture);
  const Dependency* edge = EdgeBetween(trace, "first", "other");
  ASSERT_NE(edge, nullptr);
  EXPECT_EQ(edge->reason, EdgeReason::kEvent);
  EXPECT_FALSE(edge->inferred);
  EXPECT_EQ(EdgeBetween(trace, "later", "other"), nullptr);
}

TEST(Device, HostWaitsForTheStream) {
  SyntheticCapture capture;
  capture.Step(0, 1000).Add(Mm(10, 30));
  capture.Call("cudaLaunchKernel", 20, 5, 1).Kernel("work", 40, 100, 1);
  capture.Call("cudaStreamSynchronize", 60, 90, 2);
  const LoadedTrace trace = ConvertDevice("device_host_wait", capture);
  const Node* wait = trace.Find("cudaStreamSynchronize");
  ASSERT_NE(wait, nullptr);
  EXPECT_EQ(wait->kind, OpKind::kWait);
  EXPECT_EQ(wait->start_ns, 140'000);
  EXPECT_EQ(wait->duration_ns, 10'000);
  EXPECT_EQ(trace.Edge(*trace.Find("work"), *wait), EdgeReason::kSync);
}

TEST(Device, LaunchBeforeTheCaptureIsSaid) {
  SyntheticCapture capture;
  capture.Step(0, 500).Add(Mm(10, 30)).Kernel("early", 5, 10, 77);
  const LoadedTrace trace = ConvertDevice("device_early", capture);
  ASSERT_NE(trace.Find("early"), nullptr);
  EXPECT_FALSE(trace.Find("early")->device_work->launch_recorded);
  EXPECT_EQ(trace.Diagnostic("kernel_without_launch"), 1U);
}

TEST(Device, EventsThatAreThereTwiceCountOnce) {
  SyntheticCapture capture;
  capture.Step(0, 500).Add(Mm(10, 30));
  capture.Call("cudaLaunchKernel", 20, 5, 1).Kernel("k", 40, 10, 1).Kernel("k", 40, 10, 1);
  const LoadedTrace trace = ConvertDevice("device_twice", capture);
  EXPECT_EQ(trace.Find("k", 1), nullptr);
  EXPECT_EQ(trace.Diagnostic("duplicate_device_event"), 1U);
}

TEST(Device, KinetoAloneKeepsEveryDeviceEvent) {
  SyntheticCapture capture = Overlapped();
  capture.Call("cudaMemcpyAsync", 120, 3, 30);
  capture.Kernel("Memcpy DtoH (Device -> Pinned)", 400, 3, 30, 7, "gpu_memcpy", {{"bytes", 4096}});
  const std::string directory = FreshDirectory("device_kineto_alone");
  WriteText(directory + "/k.json", capture.KinetoText());
  const std::string path = directory + "/out.0.et";
  ConvertRequest request{.device_trace = directory + "/k.json", .output_file = path};
  const auto report = FindConverter("pytorch")->convert(request);
  ASSERT_TRUE(report) << report.error().message;
  const auto trace = Load(path);
  ASSERT_TRUE(trace);
  std::size_t on_streams = 0;
  for (const Node& node : trace->nodes) {
    on_streams += node.actor.kind == Actor::Kind::kStream ? 1 : 0;
  }
  EXPECT_EQ(on_streams, 4U);
  EXPECT_EQ(trace->Find("Memcpy DtoH (Device -> Pinned)")->device_work->copied_bytes, 4096);
  EXPECT_EQ(trace->metadata.source, "kineto alone");
}

TEST(Device, CopiesWhoseKindsAreArguments) {
  SyntheticCapture capture = Overlapped();
  capture.Kernel("Memcpy", 400, 3, 30, 7, "gpu_memcpy",
                 {{"copy kind", "DtoH"}, {"src kind", "device_static"}, {"dst kind", "pinned"}});
  capture.Kernel("Memset", 410, 3, 31, 7, "gpu_memset", {{"memory kind", 3}, {"value", 0}});
  capture.Kernel("Memset", 420, 3, 32, 7, "gpu_memset", {{"memory kind", 99}});
  capture.Kernel("Memset", 430, 3, 33, 7, "gpu_memset");
  // Nodes of CUDA graphs: a mark, and a function of the host that the stream waits for.
  capture.Kernel("EventRecord", 440, 0, 34, 7, "graph_event_node");
  capture.Kernel("HostNode: callback", 450, 5, 35, 7, "graph_host_node", {{"host thread", 12}});
  const LoadedTrace trace = ConvertDevice("device_copy_kinds", capture);
  EXPECT_NE(trace.Find("Memcpy DtoH (Device Static -> Pinned)"), nullptr);
  EXPECT_NE(trace.Find("Memset (Device)"), nullptr);
  EXPECT_NE(trace.Find("Memset", 1), nullptr);  // nothing is made up
  EXPECT_EQ(trace.Find("EventRecord"), nullptr);
  ASSERT_NE(trace.Find("HostNode: callback"), nullptr);
  EXPECT_EQ(trace.Find("HostNode: callback")->duration_ns, 5'000);
  EXPECT_EQ(trace.Find("HostNode: callback")->actor, (Actor{Actor::Kind::kStream, 7, 0}));
}

TEST(Device, CopiesAreMemoryNodesWhereThatIsAskedFor) {
  struct Case {
    const char* name;
    const char* category;
    NodeType type;
  };
  constexpr Case kCases[] = {{"Memcpy HtoD (Pinned -> Device)", "gpu_memcpy", NodeType::kMemLoad},
                             {"Memcpy DtoH (Device -> Pinned)", "gpu_memcpy", NodeType::kMemStore},
                             {"Memset (Device)", "gpu_memset", NodeType::kMemStore},
                             {"Memcpy DtoD (Device -> Device)", "gpu_memcpy", NodeType::kComp},
                             {"gemm", "kernel", NodeType::kComp}};
  SyntheticCapture capture = Overlapped();
  std::int64_t at = 0;
  for (const Case& c : kCases) {
    capture.Kernel(c.name, 400 + 10 * at, 3, 30 + at, 7, c.category, {{"bytes", 4096 + at}});
    ++at;
  }
  const std::string directory = FreshDirectory("device_memory_nodes");
  WriteText(directory + "/k.json", capture.KinetoText());
  for (const bool mem_nodes : {true, false}) {
    const std::string path = directory + "/out.0.et";
    const ConvertRequest request{.device_trace = directory + "/k.json",
                                 .output_file = path,
                                 .force = true,
                                 .mem_nodes = mem_nodes};
    ASSERT_TRUE(FindConverter("pytorch")->convert(request));
    const auto trace = Load(path);
    ASSERT_TRUE(trace);
    for (std::size_t i = 0; i < std::size(kCases); ++i) {
      const Node* node = trace->Find(kCases[i].name);
      ASSERT_NE(node, nullptr) << kCases[i].name;
      EXPECT_EQ(node->type, mem_nodes ? kCases[i].type : NodeType::kComp) << kCases[i].name;
      const bool memory = node->type != NodeType::kComp;
      EXPECT_EQ(node->tensor_bytes, memory ? 4096 + static_cast<std::int64_t>(i) : -1);
    }
  }
}

TEST(Nccl, NamesOfEveryGeneration) {
  struct Case {
    const char* name;
    std::optional<CommKind> kind;
    DType dtype;
  };
  for (const Case& c : {
           Case{"ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", CommKind::kAllReduce,
                DType::kFloat32},
           Case{"ncclDevKernel_AllReduce_Sum_bf16_TREE_LL(ncclDevComm*, unsigned long)",
                CommKind::kAllReduce, DType::kBFloat16},
           Case{"ncclAllReduceRingLLKernel_sum_f16(ncclColl)", CommKind::kAllReduce,
                DType::kFloat16},
           Case{"ncclDevKernel_ReduceScatter_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                CommKind::kReduceScatter, DType::kFloat32},
           Case{"ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                CommKind::kAllGather, DType::kUnknown},
           Case{"ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)", std::nullopt,
                DType::kUnknown},
           Case{"ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)", std::nullopt,
                DType::kUnknown},
       }) {
    EXPECT_TRUE(IsNcclKernel(c.name)) << c.name;
    EXPECT_EQ(ParseNcclName(c.name).kind, c.kind) << c.name;
    EXPECT_EQ(ParseNcclName(c.name).dtype, c.dtype) << c.name;
  }
  EXPECT_FALSE(IsNcclKernel("void at::native::vectorized_elementwise_kernel<4>(int)"));
  EXPECT_FALSE(ParseNcclName("ncclDevKernel_AllGather_RING_LL(x)").op);
}

}  // namespace
}  // namespace reprise::pytorch
