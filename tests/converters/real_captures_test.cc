// The bundled captures: they convert, and edges, durations and delays alone reproduce them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "converters/converter.h"
#include "et_schema/graph.h"
#include "et_schema/trace_set.h"
#include "synthetic_capture.h"

namespace reprise::pytorch {
namespace {

namespace fs = std::filesystem;
using ::testing::IsEmpty;

std::string TracesDirectory() { return std::string(REPRISE_SOURCE_DIR) + "/traces"; }

// Each capture is converted once for all tests.
const std::string& Converted(const std::string& name) {
  static std::map<std::string, std::string> directories;
  std::string& directory = directories[name];
  if (directory.empty()) {
    std::string flat = name;
    std::replace(flat.begin(), flat.end(), '/', '_');
    directory = FreshDirectory("real_" + flat) + "/set";
    const auto report = FindConverter("pytorch")->convert(
        {.input_directory = TracesDirectory() + "/" + name, .output_directory = directory});
    EXPECT_TRUE(report) << report.error().message;
    if (report) {
      EXPECT_EQ(report->unknown_groups, 0U);
    }
  }
  return directory;
}

// The equation, by hand: the recorded start follows from dependencies and delay; nothing negative.
void ExpectEquation(const LoadedTrace& trace) {
  std::map<std::uint64_t, const Node*> by_id;
  std::map<std::int64_t, std::int64_t> thread_end;
  for (const Node& node : trace.nodes) {
    ASSERT_TRUE(by_id.emplace(node.id, &node).second) << "id " << node.id << " twice";
  }
  for (const Node& node : trace.nodes) {
    ASSERT_GE(node.delay_ns, 0) << node.name << " " << node.id << ": a violated edge";
    ASSERT_GE(node.duration_ns, 0);
    std::int64_t ready = node.deps.empty() ? 0 : INT64_MIN;
    for (const Dependency& dep : node.deps) {
      ASSERT_TRUE(by_id.contains(dep.node_id));
      const Node& from = *by_id[dep.node_id];
      ready = std::max(ready, from.start_ns + from.duration_ns);
    }
    ASSERT_EQ(ready + node.delay_ns, node.start_ns) << node.name << " " << node.id;
    if (node.actor.kind == Actor::Kind::kThread) {
      std::int64_t& end = thread_end[node.actor.id];
      ASSERT_GE(node.start_ns, end) << node.name << " overlaps on its thread";
      end = std::max(end, node.start_ns + node.duration_ns);
    }
  }
}

class RealCaptures : public ::testing::TestWithParam<const char*> {};

TEST_P(RealCaptures, ConvertAndReproduceTheRecording) {
  const auto set = TraceSet::Open(Converted(GetParam()));
  ASSERT_TRUE(set) << set.error().message;
  for (const auto& [rank, path] : set->files) {
    EXPECT_THAT(ValidateFile(path).errors, IsEmpty());
    const auto trace = Load(path);
    ASSERT_TRUE(trace);
    EXPECT_EQ(trace->metadata.rank, rank);
    EXPECT_GT(trace->metadata.untraced_step_ns, 0);
    EXPECT_EQ(trace->metadata.machine.threads, 1);
    EXPECT_EQ(trace->metadata.machine.framework.find("PyTorch "), 0U);
    ASSERT_FALSE(trace->metadata.steps.empty());
    ExpectEquation(*trace);
    // The last thread node ends with the last step: no host time is lost at the end.
    const Step& last = trace->metadata.steps.back();
    const Node* end = trace->Find(last.name);
    ASSERT_NE(end, nullptr);
    EXPECT_EQ(end->start_ns, last.start_ns + last.duration_ns);
    EXPECT_EQ(trace->Diagnostic("early_use"), 0U);
    EXPECT_EQ(trace->Diagnostic("transfer_without_call"), 0U);
  }
}

TEST_P(RealCaptures, EveryTransferIsThereOnEveryMember) {
  const auto set = TraceSet::Open(Converted(GetParam()));
  ASSERT_TRUE(set) << set.error().message;
  std::map<std::pair<SequenceKey, std::int64_t>, int> members;
  for (const auto& [rank, path] : set->files) {
    const auto trace = Load(path);
    ASSERT_TRUE(trace);
    for (const Node& node : trace->nodes) {
      if (node.comm) {
        EXPECT_GE(node.transfer_ns, 0) << node.name;
        EXPECT_LE(node.transfer_ns, node.duration_ns) << node.name;
        ++members[{SequenceOf(*node.comm, rank), node.comm->index}];
      }
    }
  }
  for (const auto& [key, count] : members) {
    const bool p2p = key.first.IsPointToPoint();
    EXPECT_EQ(count, p2p ? 2 : static_cast<int>(set->groups.at(key.first.group).ranks.size()));
  }
}

// Work nodes are complete: with inputs, and with tensors of known type and incarnation.
TEST_P(RealCaptures, WorkHasItsArguments) {
  const auto set = TraceSet::Open(Converted(GetParam()));
  ASSERT_TRUE(set) << set.error().message;
  for (const auto& [rank, path] : set->files) {
    const auto trace = Load(path);
    ASSERT_TRUE(trace);
    for (const Node& node : trace->nodes) {
      if (node.kind != OpKind::kWork) {
        continue;
      }
      EXPECT_FALSE(node.inputs.empty()) << node.name;
      EXPECT_FALSE(node.op_schema.empty()) << node.name;
      for (const ValueList* values : {&node.inputs, &node.outputs}) {
        for (const TensorDesc* tensor : TensorsIn(*values)) {
          EXPECT_NE(tensor->dtype, DType::kUnknown) << node.name;
          EXPECT_EQ(tensor->shape.size(), tensor->strides.size()) << node.name;
          EXPECT_EQ(ElementCount(tensor->shape), tensor->elements) << node.name;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Bundled, RealCaptures,
                         ::testing::Values("gloo/gpt_ddp4", "gloo/gpt_single", "gloo/gpt_recompute",
                                           "gloo/resnet18", "gloo_comms/gpt_tp4",
                                           "gloo_comms/gpt_pp4", "gloo_comms/gpt_fsdp4",
                                           "gloo_comms/moe_ep4", "gloo_comms/collectives4"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::replace(name.begin(), name.end(), '/', '_');
                           return name;
                         });

std::map<CommKind, int> CountKinds(const std::string& path) {
  std::map<CommKind, int> kinds;
  const auto trace = Load(path);
  for (const Node& node : trace ? trace->nodes : std::vector<Node>()) {
    if (node.comm) {
      ++kinds[node.comm->kind];
    }
  }
  return kinds;
}

// What the capture script did, in its own words: one of each, three all_reduce more, …
TEST(RealCapture, CatalogueOfCollectives) {
  const auto kinds = CountKinds(Converted("gloo_comms/collectives4") + "/collectives4.0.et");
  EXPECT_EQ(kinds, (std::map<CommKind, int>{{CommKind::kAllReduce, 6},
                                            {CommKind::kReduce, 1},
                                            {CommKind::kAllGather, 4},
                                            {CommKind::kGather, 1},
                                            {CommKind::kScatter, 1},
                                            {CommKind::kBroadcast, 1},
                                            {CommKind::kAllToAll, 2},
                                            {CommKind::kReduceScatter, 2},
                                            {CommKind::kBarrier, 1},
                                            {CommKind::kSend, 1},
                                            {CommKind::kRecv, 1}}));
}

TEST(RealCapture, TensorParallelGroupIsItsOwn) {
  const auto set = TraceSet::Open(Converted("gloo_comms/gpt_tp4"));
  ASSERT_TRUE(set);
  ASSERT_EQ(set->groups.size(), 2U);
  const auto trace = Load(set->files.at(3));
  ASSERT_TRUE(trace);
  for (const Node& node : trace->nodes) {
    if (node.comm) {
      EXPECT_EQ(set->groups.at(node.comm->group).description, "tp");
      EXPECT_EQ(node.comm->certainty, GroupCertainty::kRecorded);
    }
  }
}

// Recomputation stops by an exception inside addmm: no arguments were recorded, nothing computed.
TEST(RealCapture, RecomputationLeavesOperationsWithoutRecord) {
  const auto trace = Load(Converted("gloo/gpt_recompute") + "/gpt_recompute.0.et");
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace->Diagnostic("operation_without_host_record"), 8U);
}

TEST(RealCapture, ConvertingTwiceGivesTheSameBytes) {
  const std::string second = FreshDirectory("twice") + "/set";
  ASSERT_TRUE(FindConverter("pytorch")->convert(
      {.input_directory = TracesDirectory() + "/gloo/gpt_ddp4", .output_directory = second}));
  int files = 0;
  for (const auto& entry : fs::directory_iterator(Converted("gloo/gpt_ddp4"))) {
    const auto read = [](const fs::path& path) {
      std::ostringstream text;
      text << std::ifstream(path, std::ios::binary).rdbuf();
      return text.str();
    };
    EXPECT_EQ(read(entry.path()), read(fs::path(second) / entry.path().filename())) << entry.path();
    ++files;
  }
  EXPECT_EQ(files, 7);
}

TEST(Registry, SniffsItsOwn) {
  EXPECT_EQ(SniffConverter(TracesDirectory() + "/gloo/gpt_ddp4")->name, "pytorch");
  EXPECT_EQ(SniffConverter(TracesDirectory() + "/gloo/gpt_single/rank0.et.json.gz")->name,
            "pytorch");
  EXPECT_EQ(SniffConverter(TracesDirectory() + "/gloo/gpt_single/rank0.kineto.json.gz")->name,
            "pytorch");
  EXPECT_EQ(SniffConverter(TracesDirectory()), nullptr);
  EXPECT_EQ(SniffConverter(TracesDirectory() + "/README.md"), nullptr);
  EXPECT_EQ(SniffConverter("/does/not/exist"), nullptr);
  for (const ConverterKind& kind : BuiltinConverters()) {
    EXPECT_EQ(FindConverter(kind.name), &kind);
    EXPECT_FALSE(kind.help.empty());
  }
}

}  // namespace
}  // namespace reprise::pytorch
