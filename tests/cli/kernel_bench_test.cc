// `reprise bench kernels`, from the types that were asked for to the JSON. No times are asserted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/replay/kernel_bench_report.h"
#include "kernels/backend.h"
#include "kernels/baseline.h"
#include "tests/skip.h"

namespace reprise {
namespace {

using testing::HasSubstr;
using ParsedJson = nlohmann::json;

TEST(KernelBench, TypesAreFloating) {
  EXPECT_THAT(*ParseFloatingTypes("float32,bfloat16"),
              testing::ElementsAre(DType::kFloat32, DType::kBFloat16));
  for (const char* text : {"float33", "int64", "", "float32,,float16"}) {
    const auto parsed = ParseFloatingTypes(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().kind, ErrorKind::kUsage) << text;
  }
}

class OnDevice : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    auto device = OpenDevice({.backend = GetParam(),
                              .index = 0,
                              .cache_directory = REPRISE_BINARY_DIR "/test_program_cache"});
    if (!device) {
      REPRISE_SKIP(GetParam(), device.error().message);
    }
    device_ = std::move(*device);
    // With one repeat beside other work, the limits may be measured a thousand times too low.
    options_.max_run_ns = 1e15;
  }
  // The quickest way through: each case once.
  KernelBenchResult Run(const std::string& filter, bool baselines) {
    options_.filter = filter;
    options_.repeats = 1;
    options_.min_time_ns = 0;
    options_.baselines = baselines;
    auto result = RunKernelBench(*device_, options_, [&](const KernelBenchRow&) { ++rows_; });
    EXPECT_TRUE(result) << result.error().message;
    return result ? *result : KernelBenchResult();
  }

  std::unique_ptr<Device> device_;
  KernelBenchOptions options_;
  std::size_t rows_ = 0;
};
INSTANTIATE_TEST_SUITE_P(KernelBench, OnDevice, testing::ValuesIn(BackendNames()));

TEST_P(OnDevice, JsonHasTheNumbersAndTheLimits) {
  const KernelBenchResult result = Run("sum", false);
  const ParsedJson json =
      ParsedJson::parse(KernelBenchJson(device_->info(), options_, result).dump());
  EXPECT_GT(json["limits"]["copy_gb_per_s"].get<double>(), 0);
  EXPECT_GT(json["limits"]["fma_gflop_per_s"]["float32"].get<double>(), 0);
  EXPECT_EQ(json["device"]["backend"], GetParam());
  ASSERT_EQ(json["results"].size(), rows_);
  ASSERT_GE(rows_, 2U);
  for (const ParsedJson& row : json["results"]) {
    EXPECT_EQ(row["kernel"], "reduction");
    EXPECT_EQ(row["by"], "reprise");
    EXPECT_GT(row["time_ns"].get<double>(), 0);
    EXPECT_LE(row["min_ns"], row["time_ns"]);
    EXPECT_GE(row["max_ns"], row["time_ns"]);
    EXPECT_GT(row["gb_per_s"].get<double>(), 0);
    EXPECT_GT(row["fraction_of_limit"].get<double>(), 0);
    EXPECT_LE(row["fraction_of_limit"].get<double>(), 100);  // a wrong unit would be far beyond
    EXPECT_LE(row["fraction_of_limit_min"], row["fraction_of_limit"]);
    EXPECT_GE(row["fraction_of_limit_max"], row["fraction_of_limit"]);
    EXPECT_GT(row["operand_copies"].get<int>(), 1);  // 6 MB would sit in a cache
  }
}

TEST_P(OnDevice, BaselinesAreMeasuredBesideOurs) {
  const KernelBenchResult result = Run("bmm", true);
  EXPECT_EQ(rows_, 2 * (1 + result.baselines.size()));
  const Baselines baselines = device_->OpenBaselines({});
  EXPECT_EQ(result.baselines.size(), baselines.here.size());
  EXPECT_EQ(result.absent_baselines, baselines.absent);
  const std::string text = KernelBenchText(device_->info(), options_, result);
  for (const auto& baseline : result.baselines) {
    EXPECT_THAT(text, HasSubstr("# baseline: " + baseline.name));
    EXPECT_NE(baseline.version, "");
  }
}

TEST_P(OnDevice, WhatWouldTakeTooLongIsSkippedAndCounted) {
  options_.max_run_ns = 1;
  const KernelBenchResult result = Run("bmm", true);
  const ParsedJson json =
      ParsedJson::parse(KernelBenchJson(device_->info(), options_, result).dump());
  EXPECT_TRUE(json["results"].empty());
  ASSERT_EQ(json["skipped"].size(), 2U);
  EXPECT_THAT(json["skipped"][0]["why"].get<std::string>(), HasSubstr("the bound is"));
  EXPECT_THAT(KernelBenchText(device_->info(), options_, result),
              HasSubstr("0 measured, 2 skipped"));
}

TEST(KernelBench, CasesAreListed) {
  const DeviceInfo device{.compute_units = 2, .is_cpu = true};
  const auto cases = SelectKernelBenchCases(device, {.filter = "topk"});
  ASSERT_EQ(cases.size(), 1U);
  EXPECT_EQ(KernelBenchListJson(cases)["cases"][0]["operator"], "aten::topk");
  EXPECT_THAT(KernelBenchListText(cases), HasSubstr("64x4096"));
}

}  // namespace
}  // namespace reprise
