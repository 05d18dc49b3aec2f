// Operators of a device graph's kernels, from the phase in which the graph was recorded: the same
// small network eagerly and as graphs, so that the truth is known.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "converters/converter.h"
#include "synthetic_capture.h"

namespace reprise::pytorch {
namespace {

using nlohmann::json;

// A layer of the network: an operator and the kernels that it launches.
struct Layer {
  std::string op;
  std::vector<std::string> kernels;
  std::vector<std::int64_t> left, right;  // shapes; `right` empty: one operand
};

std::vector<Layer> Network(std::int64_t batch) {
  return {{"aten::mm", {"ampere_sgemm_128x64_nn", "splitKreduce_kernel"}, {batch, 64}, {64, 32}},
          {"aten::relu", {"vectorized_elementwise_kernel<4, relu>"}, {batch, 32}, {}},
          {"aten::mm", {"ampere_sgemm_128x64_nn"}, {batch, 32}, {32, 16}},
          {"aten::_softmax", {"softmax_warp_forward"}, {batch, 16}, {}}};
}

class GraphCapture {
 public:
  // Of ROCm, calls name the kernels that they launch.
  explicit GraphCapture(bool rocm) : rocm_(rocm) {}

  GraphCapture& Begin() { return Runtime("StreamBeginCapture"); }
  GraphCapture& End() { return Runtime("StreamEndCapture"); }

  GraphCapture& Record(const std::vector<Layer>& layers) { return Run(layers, false); }
  GraphCapture& Eager(const std::vector<Layer>& layers) { return Run(layers, true); }

  // The kernels' names, on a stream of the graph's.
  GraphCapture& Replay(const std::vector<std::string>& kernels, const std::vector<int>& ids = {},
                       int graph_id = 3) {
    const int correlation = next_++;
    Event("cuda_runtime", Api("GraphLaunch"), 5, {{"correlation", correlation}}, 100);
    double start_us = now_us_ + 20;
    for (std::size_t k = 0; k < kernels.size(); ++k) {
      json args = {{"correlation", correlation}, {"stream", 7}, {"device", 0}};
      if (!ids.empty()) {
        args["graph id"] = graph_id;
        args["graph node id"] = ids[k];
      }
      Device(kernels[k], start_us, 10, args);
      start_us += 11;
    }
    now_us_ = start_us;
    return *this;
  }

  [[nodiscard]] std::string Write(const std::string& name) const {
    std::string path = FreshDirectory("graphs_" + name) + "/k.json";
    const json text = {{"schemaVersion", 1},
                       {"baseTimeNanoseconds", SyntheticCapture::kBaseNs},
                       {"traceEvents", events_}};
    WriteText(path, text.dump());
    return path;
  }

 private:
  [[nodiscard]] std::string Api(const std::string& call) const {
    return (rocm_ ? "hip" : "cuda") + call;
  }

  GraphCapture& Runtime(const std::string& call) {
    Event("cuda_runtime", Api(call), 2, {{"correlation", next_++}}, 100);
    return *this;
  }

  void Event(const std::string& category, const std::string& name, double duration_us, json args,
             int tid) {
    events_.push_back({{"ph", "X"},
                       {"cat", category},
                       {"name", name},
                       {"pid", 1},
                       {"tid", tid},
                       {"ts", now_us_},
                       {"dur", duration_us},
                       {"args", std::move(args)}});
    now_us_ += duration_us + 1;
  }

  void Device(const std::string& kernel, double start_us, double duration_us, json args) {
    events_.push_back({{"ph", "X"},
                       {"cat", "kernel"},
                       {"name", kernel},
                       {"pid", 0},
                       {"tid", 7},
                       {"ts", start_us},
                       {"dur", duration_us},
                       {"args", std::move(args)}});
  }

  GraphCapture& Run(const std::vector<Layer>& layers, bool eager) {
    for (const Layer& layer : layers) {
      json dims = {layer.left};
      json types = {"float"};
      if (!layer.right.empty()) {
        dims.push_back(layer.right);
        types.push_back("float");
      }
      const double start_us = now_us_;
      now_us_ += 1;
      double kernel_us = start_us + 20;
      for (const std::string& kernel : layer.kernels) {
        json args = {{"correlation", next_}};
        if (rocm_) {
          args["kernel"] = kernel;
        }
        if (eager) {
          Device(kernel, kernel_us, 10, {{"correlation", next_}, {"stream", 7}, {"device", 0}});
          kernel_us += 11;
        }
        ++next_;
        Event("cuda_runtime", Api("LaunchKernel"), 2, args, 100);
      }
      events_.push_back(
          {{"ph", "X"},
           {"cat", "cpu_op"},
           {"name", layer.op},
           {"pid", 1},
           {"tid", 100},
           {"ts", start_us},
           {"dur", now_us_ - start_us},
           {"args", {{"External id", next_}, {"Input Dims", dims}, {"Input type", types}}}});
      now_us_ = std::max(now_us_ + 1, eager ? kernel_us : 0);
    }
    return *this;
  }

  bool rocm_;
  json events_ = json::array();
  double now_us_ = 10;
  int next_ = 1;
};

std::vector<std::string> KernelsOf(const std::vector<Layer>& layers) {
  std::vector<std::string> out;
  for (const Layer& layer : layers) {
    out.insert(out.end(), layer.kernels.begin(), layer.kernels.end());
  }
  return out;
}

Result<LoadedTrace> Convert(const std::string& path, const std::vector<std::string>& captures = {},
                            bool strict = false, const std::vector<std::string>& like = {}) {
  const std::string out = std::filesystem::path(path).parent_path().string() + "/out.0.et";
  const auto report = FindConverter("pytorch")->convert({.device_trace = path,
                                                         .output_file = out,
                                                         .force = true,
                                                         .strict = strict,
                                                         .graph_captures = captures,
                                                         .like = like});
  if (!report) {
    return tl::unexpected<Error>(report.error());
  }
  return Load(out);
}

std::vector<const Node*> KernelsOfGraphs(const LoadedTrace& trace) {
  std::vector<const Node*> out;
  for (const Node& node : trace.nodes) {
    if (node.graph >= 0) {
      out.push_back(&node);
    }
  }
  return out;
}

std::vector<std::int64_t> ShapeOf(const Node& node, std::size_t input = 0) {
  return node.inputs.size() > input && node.inputs[input].AsTensor() != nullptr
             ? node.inputs[input].AsTensor()->shape
             : std::vector<std::int64_t>();
}

// As the layers say: operators in order, arguments on the longest (the first) kernel of each.
void ExpectLayers(const std::vector<const Node*>& kernels, const std::vector<Layer>& layers) {
  std::size_t k = 0;
  for (const Layer& layer : layers) {
    for (std::size_t part = 0; part < layer.kernels.size(); ++part, ++k) {
      ASSERT_LT(k, kernels.size());
      EXPECT_EQ(kernels[k]->op, layer.op) << k;
      EXPECT_EQ(kernels[k]->op_source, OpSource::kGraphRecording) << k;
      EXPECT_EQ(ShapeOf(*kernels[k]), part == 0 ? layer.left : std::vector<std::int64_t>()) << k;
      EXPECT_EQ(kernels[k]->rf_id, kernels[k - part]->rf_id) << k;
    }
  }
  EXPECT_EQ(k, kernels.size());
}

TEST(GraphRecordings, AKernelIsTheNodeOfItsPlaceInTheRecording) {
  for (const bool rocm : {false, true}) {
    const auto layers = Network(8);
    const auto trace = Convert(GraphCapture(rocm)
                                   .Begin()
                                   .Record(layers)
                                   .End()
                                   .Replay(KernelsOf(layers))
                                   .Replay(KernelsOf(layers))
                                   .Write(rocm ? "rocm" : "cuda"),
                               {}, true);
    ASSERT_TRUE(trace) << trace.error().message;
    auto kernels = KernelsOfGraphs(*trace);
    ASSERT_EQ(kernels.size(), 10U);
    EXPECT_NE(kernels[0]->rf_id, kernels[5]->rf_id);
    ExpectLayers({kernels.begin(), kernels.begin() + 5}, layers);
    ExpectLayers({kernels.begin() + 5, kernels.end()}, layers);
    for (const Node* kernel : kernels) {
      EXPECT_EQ(kernel->graph, 0);
    }
    EXPECT_EQ(kernels[0]->op_class, OpClass::kGemm);
    EXPECT_EQ(kernels[0]->outputs.size(), 1U);  // inferred from the inputs
    EXPECT_EQ(trace->Diagnostic("graph_kernel_recorded"), 10U);
  }
}

// The truth: what the same network's kernels have where they run without a graph.
TEST(GraphRecordings, OperatorsAndShapesAreThoseOfAnEagerRun) {
  const auto layers = Network(8);
  const auto eager = Convert(GraphCapture(true).Eager(layers).Write("truth"));
  const auto graph = Convert(
      GraphCapture(true).Begin().Record(layers).End().Replay(KernelsOf(layers)).Write("graph"));
  ASSERT_TRUE(eager && graph);
  std::vector<const Node*> truth;
  for (const Node& node : eager->nodes) {
    if (node.device_work) {
      truth.push_back(&node);
    }
  }
  const auto found = KernelsOfGraphs(*graph);
  ASSERT_EQ(found.size(), truth.size());
  for (std::size_t k = 0; k < truth.size(); ++k) {
    EXPECT_EQ(found[k]->name, truth[k]->name);
    EXPECT_EQ(found[k]->op, truth[k]->op);
    EXPECT_EQ(found[k]->op_class, truth[k]->op_class);
    EXPECT_EQ(found[k]->num_ops, truth[k]->num_ops);
    EXPECT_EQ(ShapeOf(*found[k]), ShapeOf(*truth[k]));
    EXPECT_EQ(ShapeOf(*found[k], 1), ShapeOf(*truth[k], 1));
  }
}

TEST(GraphRecordings, AnotherFileMayHoldTheRecording) {
  const auto layers = Network(8);
  const std::string recording =
      GraphCapture(true).Eager(Network(2)).Begin().Record(layers).End().Write("phase");
  const std::string replay = GraphCapture(true).Replay(KernelsOf(layers)).Write("replay");
  const auto without = Convert(replay);
  ASSERT_TRUE(without) << without.error().message;
  EXPECT_EQ(KernelsOfGraphs(*without)[0]->op, "");
  EXPECT_EQ(KernelsOfGraphs(*without)[0]->op_class, OpClass::kGemm);  // by its name
  EXPECT_EQ(KernelsOfGraphs(*without)[0]->op_source, OpSource::kKernelName);
  const auto with = Convert(replay, {recording}, true);
  ASSERT_TRUE(with) << with.error().message;
  ExpectLayers(KernelsOfGraphs(*with), layers);
}

TEST(GraphRecordings, NodeIdsGiveTheOrderOfTheRecording) {
  const auto layers = Network(8);
  auto kernels = KernelsOf(layers);
  std::swap(kernels[2], kernels[4]);  // as branches may run
  const auto trace = Convert(GraphCapture(false)
                                 .Begin()
                                 .Record(layers)
                                 .End()
                                 .Replay(kernels, {1, 2, 5, 4, 3})
                                 .Write("ids"));
  ASSERT_TRUE(trace) << trace.error().message;
  const auto found = KernelsOfGraphs(*trace);
  EXPECT_EQ(found[2]->op, "aten::_softmax");
  EXPECT_EQ(found[4]->op, "aten::relu");
}

// Batches of two sizes with the same kernels: what the recordings differ in stays unknown.
TEST(GraphRecordings, TwoGraphsWithEqualKernelsGiveNoShapesThatDiffer) {
  const auto layers = Network(8);
  GraphCapture capture(true);
  capture.Begin().Record(layers).End().Begin().Record(Network(16)).End();
  const std::string path = capture.Replay(KernelsOf(layers)).Write("two");
  const auto trace = Convert(path);
  ASSERT_TRUE(trace) << trace.error().message;
  for (const Node* kernel : KernelsOfGraphs(*trace)) {
    EXPECT_EQ(kernel->op_source, OpSource::kGraphRecording);
    EXPECT_TRUE(kernel->inputs.empty());
  }
  EXPECT_EQ(trace->Diagnostic("graph_recording_ambiguous"), 1U);
  EXPECT_FALSE(Convert(path, {}, true));
}

TEST(GraphRecordings, KernelsAndTheirNumberChooseTheGraph) {
  auto large = Network(16);
  large[0].kernels[0] = "ampere_sgemm_256x128_nn";  // another tile
  auto longer = Network(4);
  longer.push_back(longer[1]);
  GraphCapture capture(true);
  for (const auto& layers : {Network(8), large, longer}) {
    capture.Begin().Record(layers).End();
  }
  capture.Replay(KernelsOf(large)).Replay(KernelsOf(longer)).Replay(KernelsOf(Network(8)));
  const auto trace = Convert(capture.Write("sizes"), {}, true);
  ASSERT_TRUE(trace) << trace.error().message;
  const auto found = KernelsOfGraphs(*trace);
  ASSERT_EQ(found.size(), 16U);
  ExpectLayers({found.begin(), found.begin() + 5}, large);
  ExpectLayers({found.begin() + 5, found.begin() + 11}, longer);
  ExpectLayers({found.begin() + 11, found.end()}, Network(8));
  EXPECT_EQ(found[5]->graph, 1);
}

TEST(GraphRecordings, NothingIsMatchedByForce) {
  struct Case {
    const char* name;
    bool rocm;
    std::vector<std::string> kernels;
  };
  const auto layers = Network(8);
  auto other_name = KernelsOf(layers);
  other_name[3] = "another_kernel";
  auto fewer = KernelsOf(layers);
  fewer.pop_back();
  auto product = KernelsOf(layers);
  product[2] = "ampere_sgemm_32x32_nn";  // relu launches none
  for (const Case& one : {Case{"other_name", true, other_name}, Case{"fewer", true, fewer},
                          Case{"fewer_cuda", false, fewer}, Case{"product", false, product}}) {
    GraphCapture capture(one.rocm);
    const std::string path =
        capture.Begin().Record(layers).End().Replay(one.kernels).Write(one.name);
    const auto trace = Convert(path);
    ASSERT_TRUE(trace) << trace.error().message;
    for (const Node* kernel : KernelsOfGraphs(*trace)) {
      EXPECT_EQ(kernel->op, "") << one.name;
    }
    EXPECT_EQ(trace->Diagnostic("graph_launch_unknown"), 1U) << one.name;
    const auto strict = Convert(path, {}, true);
    ASSERT_FALSE(strict) << one.name;
    EXPECT_EQ(strict.error().kind, ErrorKind::kBadInput);
  }
}

TEST(GraphRecordings, ARecordingThatIsCutOffIsNotUsed) {
  const auto layers = Network(8);
  const std::string begins_before =
      GraphCapture(true).Record(layers).End().Replay(KernelsOf(layers)).Write("no_begin");
  const auto trace = Convert(begins_before);
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->Diagnostic("graph_recording_cut"), 1U);
  EXPECT_EQ(KernelsOfGraphs(*trace)[0]->op, "");
  EXPECT_FALSE(Convert(begins_before, {}, true));
  const std::string no_end = GraphCapture(true).Begin().Record(layers).Write("no_end");
  const std::string replay = GraphCapture(true).Replay(KernelsOf(layers)).Write("replay_only");
  const auto refused = Convert(replay, {no_end});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kBadInput);
  EXPECT_NE(refused.error().message.find("cudaStreamBeginCapture"), std::string::npos);
}

// Profilers lose events. Those that are left have one place each, or stay unknown.
TEST(GraphRecordings, LostKernelsLeaveTheOthersTheirPlaces) {
  std::vector<Layer> layers;
  for (int i = 0; i < 30; ++i) {
    const std::string number = std::to_string(i);
    layers.push_back({"aten::mm", {"gemm_" + number}, {8, 4 + i}, {4 + i, 8}});
    layers.push_back({"aten::relu", {"vectorized_elementwise_kernel"}, {8, 4 + i}, {}});
  }
  layers.push_back({"aten::tanh", {"vectorized_elementwise_kernel"}, {8, 1}, {}});
  auto kernels = KernelsOf(layers);
  kernels.pop_back();  // the relu before it has the same kernel: it may have been either
  const std::string path =
      GraphCapture(true).Begin().Record(layers).End().Replay(kernels).Write("lost");
  const auto trace = Convert(path);
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->Diagnostic("graph_match_partial"), 1U);
  const auto found = KernelsOfGraphs(*trace);
  ASSERT_EQ(found.size(), 60U);
  EXPECT_EQ(ShapeOf(*found[58]), (std::vector<std::int64_t>{8, 33}));
  EXPECT_EQ(found[59]->op, "");
  EXPECT_FALSE(Convert(path, {}, true));
}

std::vector<Layer> DeepNetwork(std::int64_t batch, const std::string& op = "aten::relu") {
  std::vector<Layer> layers;
  for (int i = 0; i < 3; ++i) {
    for (const Layer& layer : Network(batch)) {
      layers.push_back(layer);
      layers.back().op = layer.op == "aten::relu" ? op : layer.op;
    }
  }
  return layers;
}

// Without a recording: equal kernels that ran without a graph, as inferred and without shapes,
// since the graph's kernels have no grid that would tell batches apart.
TEST(EagerTwins, GiveOperators) {
  const auto layers = DeepNetwork(8);
  const auto check = [&](const Result<LoadedTrace>& trace) {
    ASSERT_TRUE(trace) << trace.error().message;
    const auto found = KernelsOfGraphs(*trace);
    std::size_t k = 0;
    for (const Layer& layer : layers) {
      for (std::size_t part = 0; part < layer.kernels.size(); ++part, ++k) {
        EXPECT_EQ(found[k]->op, layer.op) << k;
        EXPECT_EQ(found[k]->op_source, OpSource::kEagerTwin) << k;
        EXPECT_TRUE(found[k]->inputs.empty()) << k;
      }
    }
    EXPECT_EQ(trace->Diagnostic("graph_kernel_inferred"), k);
  };
  check(Convert(GraphCapture(false).Eager(layers).Replay(KernelsOf(layers)).Write("warm")));
  const std::string eager = GraphCapture(false).Eager(layers).Write("eager");
  const std::string replay = GraphCapture(false).Replay(KernelsOf(layers)).Write("only_graph");
  check(Convert(replay, {}, false, {eager}));
  const auto none = Convert(eager, {}, false, {replay});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::kBadInput);
}

TEST(EagerTwins, OfDifferentOperatorsGiveNone) {
  const auto layers = DeepNetwork(8);
  const auto trace = Convert(GraphCapture(false)
                                 .Eager(layers)
                                 .Eager(DeepNetwork(8, "aten::clamp"))
                                 .Replay(KernelsOf(layers))
                                 .Write("differ"));
  ASSERT_TRUE(trace) << trace.error().message;
  const auto found = KernelsOfGraphs(*trace);
  EXPECT_EQ(found[0]->op, "aten::mm");
  EXPECT_EQ(found[2]->op, "");  // relu or clamp
}

TEST(EagerTwins, AShortStretchIsNotEnough) {
  const auto layers = Network(8);  // five kernels
  const auto trace =
      Convert(GraphCapture(false).Eager(layers).Replay(KernelsOf(layers)).Write("short"));
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(KernelsOfGraphs(*trace)[0]->op, "");
}

}  // namespace
}  // namespace reprise::pytorch
