// ASTRA-sim's text workloads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "chakra_files.h"
#include "et_schema/trace_set.h"

namespace reprise::astra_text {
namespace {

namespace fs = std::filesystem;
using pytorch::LoadedTrace;
using ::testing::HasSubstr;

constexpr std::string_view kLayers =
    "2\n"
    "a -1 10 ALLGATHER 4096 20 NONE 0 30 ALLREDUCE 1024 5\n"
    "b\t-1\t40\tALLTOALL\t512\t50\tALLREDUCE\t2048\t60\tREDUCESCATTER\t8192\t0\n";

class AstraText : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ =
        pytorch::FreshDirectory(::testing::UnitTest::GetInstance()->current_test_info()->name());
  }
  Result<ConvertReport> Convert(const std::string& text, std::optional<std::int32_t> ranks = 2,
                                std::int32_t passes = 1) {
    pytorch::WriteText(root_ + "/net.txt", text);
    return FindConverter("astra_text")
        ->convert({.input_file = root_ + "/net.txt",
                   .output_directory = root_ + "/out",
                   .world_size = ranks,
                   .passes = passes,
                   .force = true});
  }
  LoadedTrace Rank(int rank) {
    return *pytorch::Load(root_ + "/out/net." + std::to_string(rank) + ".et");
  }
  // Names of what a node waits for, edges of order aside.
  static std::vector<std::string> WaitsFor(const LoadedTrace& trace, const std::string& name,
                                           std::size_t nth = 0) {
    std::vector<std::string> names;
    for (const Dependency& dep : trace.Find(name, nth)->deps) {
      if (!dep.inferred) {
        names.push_back(trace.ById(dep.node_id)->name);
      }
    }
    return names;
  }
  void ExpectFailure(const std::string& text, const std::string& part) {
    fs::remove_all(root_ + "/out");
    const auto report = Convert(text);
    ASSERT_FALSE(report) << text;
    EXPECT_THAT(report.error().message, HasSubstr(part));
    EXPECT_FALSE(fs::exists(root_ + "/out"));
  }
  std::string root_;
};

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

TEST_F(AstraText, DataParallel) {
  const auto report = Convert("DATA\n" + std::string(kLayers), 4, 2);
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_EQ(report->ranks.size(), 4U);
  const LoadedTrace trace = Rank(3);
  EXPECT_EQ(trace.metadata.rank, 3);
  EXPECT_EQ(trace.metadata.world_size, 4);
  EXPECT_EQ(trace.nodes.size(), 2U * (2 + 2 + 2 + 1));
  EXPECT_EQ(trace.Find("a forward")->duration_ns, 10'000);
  EXPECT_THAT(WaitsFor(trace, "b forward"), ElementsAre("a forward"));
  EXPECT_THAT(WaitsFor(trace, "b weight gradient"), ElementsAre("b forward"));
  EXPECT_THAT(WaitsFor(trace, "b input gradient"), ElementsAre("b weight gradient"));
  EXPECT_THAT(WaitsFor(trace, "a weight gradient"), ElementsAre("b input gradient"));
  EXPECT_EQ(trace.Find("a input gradient"), nullptr) << "nobody needs it";
  EXPECT_THAT(WaitsFor(trace, "b forward", 1),
              UnorderedElementsAre("a forward", "b weight gradient reduce_scatter"));
  const Node& scatter = *trace.Find("b weight gradient reduce_scatter");
  EXPECT_EQ(scatter.comm->in_bytes, 8192);
  EXPECT_EQ(scatter.comm->out_bytes, 2048);
  EXPECT_EQ(report->diagnostics.CountOf("transfer_not_used"), 3U) << "forward, input gradient";
  EXPECT_EQ(report->diagnostics.CountOf("update_time_not_used"), 1U);
}

TEST_F(AstraText, ModelAndHybrid) {
  ASSERT_TRUE(Convert("MODEL\n" + std::string(kLayers)));
  const LoadedTrace model = Rank(0);
  EXPECT_THAT(WaitsFor(model, "b forward"), ElementsAre("a forward all_gather"));
  EXPECT_THAT(WaitsFor(model, "b input gradient"), ElementsAre("b forward all_to_all"));
  EXPECT_THAT(WaitsFor(model, "a input gradient"),
              UnorderedElementsAre("b weight gradient", "b input gradient all_reduce"));
  EXPECT_EQ(model.Find("b weight gradient reduce_scatter"), nullptr);
  ASSERT_TRUE(Convert("HYBRID_TRANSFORMER\n" + std::string(kLayers)));
  EXPECT_NE(Rank(0).Find("b weight gradient reduce_scatter"), nullptr);
}

TEST_F(AstraText, Dlrm) {
  const std::string layers =
      "3\n"
      "emb -1 1 ALLTOALL 64 1 ALLTOALL 64 1 NONE 0 0\n"
      "bot -1 2 NONE 0 2 NONE 0 2 ALLREDUCE 64 0\n"
      "top -1 3 NONE 0 3 NONE 0 3 ALLREDUCE 64 0\n";
  ASSERT_TRUE(Convert("HYBRID_DLRM DLRM_LAST_BOTTOM_LAYER: 1\n" + layers));
  const LoadedTrace trace = Rank(0);
  EXPECT_THAT(WaitsFor(trace, "bot forward"),
              UnorderedElementsAre("emb forward", "emb forward all_to_all"));
  EXPECT_THAT(WaitsFor(trace, "emb input gradient all_to_all"), ElementsAre("top input gradient"));
  EXPECT_THAT(WaitsFor(trace, "emb weight gradient"),
              UnorderedElementsAre("bot input gradient", "emb input gradient all_to_all"));
  ExpectFailure("HYBRID_DLRM\n" + layers, "last bottom layer");
}

// Layers run again from the last checkpoint before the marked one's backward pass.
TEST_F(AstraText, ForwardInBackward) {
  const std::string layers =
      "3\n"
      "a -1 1 ALLREDUCE 64 1 ALLREDUCE 64 1 ALLREDUCE 64 0\n"
      "b -1 2 ALLREDUCE 64 2 ALLREDUCE 64 2 ALLREDUCE 64 0\n"
      "c -1 3 ALLREDUCE 64 3 ALLREDUCE 64 3 ALLREDUCE 64 0\n";
  const std::string type = "HYBRID_TRANSFORMER_FWD_IN_BCKWD ";
  const auto report = Convert(type + "zz: 1 checkpoints: 1 0 checkpoint_initiates: 1 2\n" + layers);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->diagnostics.CountOf("workload_parameter_not_used"), 1U) << "zz";
  const LoadedTrace trace = Rank(0);
  EXPECT_EQ(trace.Find("c forward", 1), nullptr) << "a and b alone";
  EXPECT_THAT(WaitsFor(trace, "a forward", 1), ElementsAre("c forward all_reduce"));
  EXPECT_THAT(WaitsFor(trace, "b forward", 1), ElementsAre("a forward all_reduce"));
  EXPECT_THAT(WaitsFor(trace, "c input gradient"), ElementsAre("b forward all_reduce"));
  EXPECT_THAT(WaitsFor(trace, "c weight gradient"), ElementsAre("c input gradient all_reduce"));
  EXPECT_THAT(WaitsFor(trace, "b input gradient"), ElementsAre("c weight gradient"));
  EXPECT_NE(trace.Find("a input gradient all_reduce"), nullptr);
  ExpectFailure(type + "checkpoints: 0 checkpoint_initiates: 1 2\n" + layers, "initiates");
  ExpectFailure(type + "checkpoints: 1 3\n" + layers, "layer 3");
  ExpectFailure(type + "checkpoints: 2 0\n" + layers, "2 numbers of layers");
  ExpectFailure(type + "model_parallel_NPU_group: x\n" + layers, "model_parallel_NPU_group");
}

TEST_F(AstraText, ModelDataAndExpertGroups) {
  const std::string layers =
      "2\n"
      "a -1 1 ALLREDUCE 64 1 ALLREDUCE 64 1 ALLREDUCE 64 0\n"
      "e -1 1 ALLTOALL_EP 64 1 ALLTOALL_EP 64 1 REDUCESCATTER_DP_EP 64 0\n";
  const std::string type = "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 2 ";
  ASSERT_TRUE(Convert(type + "checkpoints: 0 checkpoint_initiates: 0\n" + layers, 8));
  const auto set = TraceSet::Open(root_ + "/out");
  ASSERT_TRUE(set) << set.error().message;
  const LoadedTrace trace = Rank(5);
  const auto ranks = [&](const std::string& node) {
    return set->groups.at(trace.Find(node)->comm->group).ranks;
  };
  EXPECT_THAT(ranks("a forward all_reduce"), ElementsAre(4, 5));
  EXPECT_THAT(ranks("a weight gradient all_reduce"), ElementsAre(1, 3, 5, 7));
  EXPECT_THAT(ranks("e forward all_to_all"), ElementsAre(5, 7));
  EXPECT_THAT(ranks("e weight gradient reduce_scatter"), ElementsAre(1, 5));
  EXPECT_EQ(trace.Find("e weight gradient reduce_scatter")->comm->out_bytes, 32);
  EXPECT_FALSE(Convert(type + "\n" + layers, 6)) << "6 ranks are no whole groups";
  ASSERT_TRUE(Convert("HYBRID_TRANSFORMER model_parallel_NPU_group: 1 ep: 1\n" + layers, 2));
  EXPECT_EQ(Rank(0).Find("a forward all_reduce"), nullptr) << "one rank sends nothing";
}

TEST_F(AstraText, MicroAndInference) {
  ASSERT_TRUE(Convert("MICRO\n1\nx -1 5 NONE 0 5 NONE 0 5 ALLREDUCE 512 5\n"));
  EXPECT_EQ(Rank(1).nodes.size(), 1U);
  ASSERT_TRUE(Convert("DISTRIBUTED_INFERENCE\n" + std::string(kLayers)));
  EXPECT_EQ(Rank(1).nodes.size(), 4U);
}

TEST_F(AstraText, EveryRankValidatesAndHasTheWorld) {
  ASSERT_TRUE(Convert("HYBRID_DATA_MODEL\n" + std::string(kLayers), 3, 3));
  const auto set = TraceSet::Open(root_ + "/out");
  ASSERT_TRUE(set) << set.error().message;
  EXPECT_EQ(set->groups.at("0").ranks, (std::vector<std::int32_t>{0, 1, 2}));
  for (const auto& [rank, path] : set->files) {
    EXPECT_TRUE(ValidateFile(path).errors.empty());
  }
}

TEST_F(AstraText, RanksMustBeGiven) {
  const auto report = Convert("DATA\n" + std::string(kLayers), std::nullopt);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().kind, ErrorKind::kUsage);
  EXPECT_THAT(report.error().message, HasSubstr("--ranks"));
}

TEST_F(AstraText, DamageNamesTheLine) {
  const std::string layer = "a -1 10 NONE 0 20 NONE 0 30 NONE 0 5\n";
  ExpectFailure("", "parallelism");
  ExpectFailure("PIPELINE\n1\n" + layer, "line 1: expected a parallelism type");
  ExpectFailure("DATA\nmany\n" + layer, "line 2");
  ExpectFailure("DATA\n0\n", "line 2");
  ExpectFailure("DATA\n-4\n" + layer, "line 2");
  ExpectFailure("DATA\n2\n" + layer, "truncated: ends after 1 of 2 layers");
  ExpectFailure("DATA\n1\n" + layer + layer, "line 4: expected nothing after");
  ExpectFailure("DATA\n1\na -1 10 NONE 0\n", "line 3: expected 12 words");
  ExpectFailure("DATA\n1\na -1 10 NONE 0 20 NONE 0 30 NONE -7 5\n", "word 11");
  ExpectFailure("DATA\n1\na -1 10 NONE 0 20 NONE 0 1e9 NONE 0 5\n", "word 9");
  ExpectFailure("DATA\n1\na -1 nan NONE 0 20 NONE 0 1 NONE 0 5\n", "word 3");
  ExpectFailure("DATA\n1\na -1 1 GOSSIP 0 20 NONE 0 1 NONE 0 5\n", "GOSSIP");
  ExpectFailure("DATA\n1\na -1 99999999999999999999 NONE 0 2 NONE 0 1 NONE 0 5\n", "word 3");
}

TEST_F(AstraText, SimAiSaysUnitsRanksAndStages) {
  const std::string layers = "1\nblock -1 1750 ALLREDUCE 64 1750 NONE 0 1750 ALLREDUCE 32 100\n";
  const auto report = Convert(
      "HYBRID_TRANSFORMER model_parallel_NPU_group: 2 ep: 1 pp: 2 vpp: 4 ga: 1 all_gpus: 8 "
      "checkpoints: 0 checkpoint_initiates: 0 pp_comm: 0\n" +
          layers,
      std::nullopt);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->ranks.size(), 8U);
  EXPECT_EQ(report->diagnostics.CountOf("times_taken_as_ns"), 1U);
  EXPECT_EQ(report->diagnostics.CountOf("pipeline_not_modelled"), 1U);
  EXPECT_EQ(report->diagnostics.CountOf("workload_parameter_not_used"), 0U);
  const LoadedTrace trace = Rank(5);
  EXPECT_EQ(trace.Find("block forward")->duration_ns, 1750);
  EXPECT_TRUE(trace.Find("block forward all_reduce")->untimed);
  const auto groups = ReadGroups(root_ + "/out");
  ASSERT_TRUE(groups);
  const auto ranks_of = [&](const char* name) {
    return groups->at(trace.Find(name)->comm->group).ranks;
  };
  EXPECT_THAT(ranks_of("block forward all_reduce"), ElementsAre(4, 5));
  EXPECT_THAT(ranks_of("block weight gradient all_reduce"), ElementsAre(5, 7)) << "of its stage";
}

}  // namespace
}  // namespace reprise::astra_text
