// Reports of simulated sets that come with the program: the same from columns and from kept sums as
// from rows.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "converters/converter.h"
#include "core/checksums.h"
#include "core/parallel.h"
#include "replayer/plan/simulated_run.h"
#include "report/analysis.h"
#include "report/page/html.h"
#include "report/run/row_columns.h"
#include "report/run/schema.h"
#include "report/sections/sections.h"
#include "report/stored_sums.h"

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
  std::vector<std::int32_t> ranks;
  std::int64_t most_bytes = 0;
  for (std::int32_t rank = 0; fs::exists(RankPath(Run(), rank)); ++rank) {
    ranks.push_back(rank);
    most_bytes =
        std::max(most_bytes, static_cast<std::int64_t>(fs::file_size(RankPath(Run(), rank))));
  }
  ASSERT_FALSE(ranks.empty());
  const std::int64_t one_rank_bytes = 3 * most_bytes;  // three bytes of memory a byte on disk
  const std::string at_once = Reported(0);
  const std::string by_rank = Reported(one_rank_bytes);
  for (const std::int32_t rank : ranks) {
    ASSERT_TRUE(WriteRowColumns(Run(), rank));
    ASSERT_TRUE(RowColumns::Read(Run(), rank, *ChecksumOf(RankPath(Run(), rank))));
  }
  EXPECT_EQ(Reported(0), at_once);
  EXPECT_EQ(Reported(one_rank_bytes), by_rank);
  ASSERT_TRUE(StoreSums(Run(), ranks, 0));
  for (const std::int32_t rank : ranks) {
    EXPECT_EQ(fs::exists(SumsPath(Run(), rank)), ranks.size() > 1);
  }
  EXPECT_EQ(Reported(0), at_once);
  EXPECT_EQ(Reported(one_rank_bytes), by_rank);
  const int cores = OwnCores();
  LimitOwnCores(1);
  EXPECT_EQ(Reported(one_rank_bytes), by_rank);
  LimitOwnCores(cores);
}

INSTANTIATE_TEST_SUITE_P(
    Bundled, ColumnsOfSet,
    ::testing::Values("quickstart", "gloo/gpt_single", "gloo/gpt_recompute", "gloo/resnet18",
                      "gloo/gpt_ddp4", "gloo_comms/collectives4", "gloo_comms/gpt_fsdp4",
                      "gloo_comms/gpt_pp2_micro4", "gloo_comms/gpt_hsdp4", "gloo_comms/gpt_pp4",
                      "gloo_comms/gpt_tp4", "gloo_comms/moe_ep4", "transformers/llama_lora",
                      "transformers/qwen3_moe", "phases/decode", "h100/resnet50", "h100/gpt_350m",
                      "transformers/deepseek_v3", "phases/lora", "phases/compiled",
                      "gloo_comms/gpt_pp2_micro7", "gloo_comms/gpt_fsdp2"));

}  // namespace
}  // namespace reprise
