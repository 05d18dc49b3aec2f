// Reports of simulated sets that come with the program: the same from columns as from rows.
#include <gtest/gtest.h>

#include <filesystem>
#include <numeric>
#include <set>

#include "converters/converter.h"
#include "replayer/plan/simulated_run.h"
#include "report/analysis.h"
#include "report/page/html.h"
#include "report/run/row_columns.h"
#include "report/run/schema.h"
#include "report/sections/sections.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

class ColumnsOfSet : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    std::string tidy = GetParam();
    std::replace(tidy.begin(), tidy.end(), '/', '_');
    directory_ = fs::path(REPRISE_BINARY_DIR) / ("test_columns_" + tidy);
    fs::remove_all(directory_);
    ConvertRequest request;
    request.input_directory = std::string(REPRISE_SOURCE_DIR) + "/traces/" + GetParam();
    request.output_directory = (directory_ / "set").string();
    const auto report = FindConverter("pytorch")->convert(request);
    ASSERT_TRUE(report) << report.error().message;
    SimulationRequest simulate;
    simulate.set_directory = request.output_directory;
    simulate.run_directory = Run();
    simulate.options.assume_groups = true;
    const auto outcome = SimulateRanks(simulate, {});
    ASSERT_TRUE(outcome) << outcome.error().message;
  }
  void TearDown() override { fs::remove_all(directory_); }

  [[nodiscard]] std::string Run() const { return (directory_ / "run").string(); }
  [[nodiscard]] std::string Reported(std::int64_t memory_bytes) const {
    const auto analysis = AnalyzeRun(Run(), {.page = true, .memory_bytes = memory_bytes});
    EXPECT_TRUE(analysis) << analysis.error().message;
    return analysis ? JsonText(analysis->report) + HtmlText(analysis->report, *analysis->page) : "";
  }

  fs::path directory_;
};

TEST_P(ColumnsOfSet, SayWhatRowsSay) {
  constexpr std::int64_t kRankByRank = 2'000'000;
  const std::string of_rows = Reported(0);
  const std::string by_rank = Reported(kRankByRank);
  std::int32_t ranks = 0;
  for (; fs::exists(RankPath(Run(), ranks)); ++ranks) {
    ASSERT_TRUE(WriteRowColumns(Run(), ranks));
  }
  EXPECT_GT(ranks, 0);
  EXPECT_EQ(Reported(0), of_rows);
  EXPECT_EQ(Reported(kRankByRank), by_rank);
}

INSTANTIATE_TEST_SUITE_P(
    Bundled, ColumnsOfSet,
    ::testing::Values("quickstart", "gloo/gpt_single", "gloo/gpt_recompute", "gloo/resnet18",
                      "gloo/gpt_ddp4", "gloo_comms/collectives4", "gloo_comms/gpt_fsdp4",
                      "gloo_comms/gpt_pp2_micro4", "gloo_comms/gpt_hsdp4", "gloo_comms/gpt_pp4",
                      "gloo_comms/gpt_tp4", "gloo_comms/moe_ep4", "transformers/llama_lora",
                      "transformers/qwen3_moe", "phases/decode", "h100/resnet50"));

}  // namespace
}  // namespace reprise
