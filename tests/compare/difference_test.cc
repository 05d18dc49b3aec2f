// Sums, shares of peaks, idle time, ranks and passes, on operations made by hand.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/compare/compare.h"
#include "report/compare/operation_difference.h"
#include "report/compare/operations_json.h"
#include "report/compare/present.h"
#include "report/compare/ranks.h"
#include "report/operations/inference.h"
#include "report/operations/operations_of.h"
#include "report/operations/run_power.h"

namespace reprise {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kH100[] = "NVIDIA H100 80GB HBM3";
constexpr char kMi300[] = "AMD Instinct MI300X VF";

TimedOperation Kernel(std::string name, OpClass op_class, std::int64_t start_ns,
                      std::int64_t time_ns, std::string shape = "[8,8] [8,8]") {
  return {.name = std::move(name),
          .shape = std::move(shape),
          .dtype = DType::kBFloat16,
          .op_class = op_class,
          .phase = Phase::kForward,
          .on_device = true,
          .thread = 1,
          .start_ns = start_ns,
          .end_ns = start_ns + time_ns,
          .time_ns = time_ns,
          .kernels = 1};
}

// A gemm of 1 TFLOP and an addition of 3 GB; then device work that was launched before.
JobOperations Job(std::string label, std::string device, double gemm_factor = 1) {
  JobOperations job{.label = std::move(label), .world_size = 1};
  RankOperations rank;
  rank.device = std::move(device);
  rank.steps = 1;
  rank.step_ns = {10'000'000};
  rank.operations = {
      Kernel("aten::mm", OpClass::kGemm, 0, static_cast<std::int64_t>(2'000'000 * gemm_factor)),
      Kernel("aten::add", OpClass::kElementwise, 2'000'000, 1'000'000)};
  rank.operations[0].flops = 1e12;
  rank.operations[0].bytes = 1e6;
  rank.operations[1].bytes = 3e9;
  rank.early_count = 1;
  rank.early_ns = 77;
  rank.device_events = 3;
  for (const TimedOperation& of : rank.operations) {
    rank.device_ns += of.time_ns;
  }
  rank.device_ns += rank.early_ns;
  rank.activity = {RankActivity{.steps_ns = 10'000'000, .busy_ns = rank.device_ns}};
  job.ranks.push_back(rank);
  return job;
}

std::optional<double> RatioOfClass(const OperationDifference& of, const std::string& name) {
  for (const AlignedRow& row : of.classes) {
    if (row.name == name) {
      return row.ratio();
    }
  }
  return std::nullopt;
}

// Small operations by the dozen, as of an optimizer that is not fused.
TEST(CompareRecordingsTest, OneJobIsWhatAlignsByCountOrByTime) {
  JobOperations a = Job("a", kH100);
  for (int i = 0; i < 40; ++i) {
    a.ranks[0].operations.push_back(
        Kernel("aten::mul_", OpClass::kElementwise, 3'000'000 + 1'000 * i, 1'000));
  }
  const OperationDifference of = CompareOperations(a, Job("b", kH100));
  EXPECT_LT(of.share(), 0.1);
  EXPECT_GT(of.time_share(), 0.9);
  EXPECT_THAT(of.verdict, Not(HasSubstr("not of one job")));
  for (TimedOperation& operation : a.ranks[0].operations) {
    operation.time_ns = 1'000'000;
  }
  const OperationDifference other = CompareOperations(a, Job("b", kH100));
  EXPECT_LT(other.time_share(), 0.1);
  EXPECT_THAT(other.verdict, HasSubstr("not of one job"));
}

TEST(CompareRecordingsTest, AgainstItselfEveryRatioIsOne) {
  const JobOperations job = Job("a", kH100);
  const OperationDifference of = CompareOperations(job, job);
  for (const auto* rows : {&of.classes, &of.operations, &of.shapes, &of.phases}) {
    for (const AlignedRow& row : *rows) {
      EXPECT_EQ(row.ratio(), 1.0) << row.name;
      EXPECT_EQ(row.a.alone_count + row.b.alone_count, 0);
    }
  }
  EXPECT_EQ(of.share(), 1.0);
  EXPECT_THAT(of.verdict, HasSubstr("the same time"));
}

TEST(CompareRecordingsTest, ASlowerClassIsFoundThereAndNowhereElse) {
  const OperationDifference of = CompareOperations(Job("a", kH100), Job("b", kH100, 0.5));
  EXPECT_EQ(RatioOfClass(of, "gemm"), 0.5);
  EXPECT_EQ(RatioOfClass(of, "elementwise"), 1.0);
  EXPECT_EQ(of.classes.front().name, "gemm");
  const AlignedRow& shape = of.shapes.front();
  EXPECT_THAT(of.verdict, HasSubstr("; above all " + shape.name + " " + shape.shape));
}

TEST(CompareRecordingsTest, RowsAddUpToAllDeviceTime) {
  JobOperations a = Job("a", kH100);
  JobOperations b = Job("b", kMi300, 3);
  b.ranks[0].operations.push_back(Kernel("aten::relu", OpClass::kElementwise, 9'000'000, 5));
  b.ranks[0].device_ns += 5;
  b.ranks[0].overlap_ns = 11;
  b.ranks[0].device_ns += 11;
  const OperationDifference of = CompareOperations(a, b);
  std::int64_t sum_a = 0;
  std::int64_t sum_b = 0;
  for (const AlignedRow& row : of.classes) {
    sum_a += row.a.ns;
    sum_b += row.b.ns;
  }
  EXPECT_EQ(sum_a, of.totals_a.device_ns);
  EXPECT_EQ(sum_b, of.totals_b.device_ns);
  EXPECT_EQ(of.b.operations - of.b.aligned, 1);
  EXPECT_DOUBLE_EQ(of.share(), 2.0 / 3);
}

TEST(CompareRecordingsTest, OtherJobsAreSaidToBeOthers) {
  JobOperations b = Job("b", kH100);
  for (TimedOperation& of : b.ranks[0].operations) {
    of.name = "aten::sin";
    of.shape = "[3,3,3]";
  }
  const OperationDifference of = CompareOperations(Job("a", kH100), b);
  EXPECT_EQ(of.share(), 0);
  EXPECT_THAT(of.verdict, HasSubstr("not of one job: 0.0 %"));
}

TEST(ShareTest, ASlowerDeviceAndOneThatIsLessWellUsedAreToldApart) {
  // Peaks are the machine files' (dense bfloat16, memory).
  const auto h100 = KnownDevice(kH100);
  const auto mi300 = KnownDevice(kMi300);
  ASSERT_TRUE(h100 && mi300);
  const double rate_a = PeakRate(*h100, DType::kBFloat16, true, false)->value;
  const double rate_b = PeakRate(*mi300, DType::kBFloat16, true, false)->value;
  const OperationDifference of = CompareOperations(Job("a", kH100), Job("b", kMi300, 2));
  ASSERT_EQ(of.shares.size(), 2U);
  const ShareRow& gemm = of.shares[0];
  EXPECT_NEAR(gemm.a.of_rate(), 1e12 / 2e-3 / rate_a, 1e-9);
  EXPECT_NEAR(gemm.b.of_rate(), 1e12 / 4e-3 / rate_b, 1e-9);
  EXPECT_NEAR(gemm.device_factor(), rate_a / rate_b, 1e-9);
  EXPECT_NEAR(gemm.device_factor() * gemm.use_factor(), 2.0, 1e-9);
  const ShareRow& add = of.shares[1];
  EXPECT_NEAR(add.a.of_bandwidth(), 3e9 / 1e-3 / h100->memory_bytes_per_second.value, 1e-9);
  EXPECT_TRUE(CompareOperations(Job("a", kH100), Job("b", "a CPU")).shares.empty());
}

TEST(ShareTest, ARunsOperationHasTheTypeOfItsCounterpart) {
  JobOperations run = Job("run", kMi300, 2);
  for (TimedOperation& of : run.ranks[0].operations) {
    of.dtype = DType::kUnknown;
  }
  const OperationDifference of = CompareOperations(Job("a", kH100), run);
  const OperationDifference typed = CompareOperations(Job("a", kH100), Job("b", kMi300, 2));
  ASSERT_EQ(of.shares.size(), 2U);
  EXPECT_EQ(of.shares[0].op_class, "gemm");
  EXPECT_DOUBLE_EQ(of.shares[0].b.of_rate(), typed.shares[0].b.of_rate());
  EXPECT_TRUE(of.notes.empty());
  // Where no side knows it, the class is left out, and said to be.
  JobOperations other = run;
  const OperationDifference unknown = CompareOperations(run, other);
  ASSERT_EQ(unknown.shares.size(), 1U);
  EXPECT_THAT(unknown.notes, ElementsAre(HasSubstr("(not recorded) no rate of a device is known: "
                                                   "1 of gemm")));
}

TEST(ActivityTest, IdleTimeEndsAtTheLaunchOrAtTheStart) {
  RankOperations rank;
  rank.device_events = 3;
  const auto add = [&rank](std::int64_t start_ns, std::int64_t end_ns, OpClass op_class) {
    rank.slices.push_back({BusySlice::Lane::kDevice, start_ns, end_ns, op_class});
  };
  add(10, 20, OpClass::kGemm);  // launched at 6
  add(20, 30, OpClass::kComm);  // launched before it could start
  add(50, 60, OpClass::kGemm);  // launched at 45: the device waited 15, then 5
  const std::vector<StepWindow> steps = {{0, 100}};
  const std::vector<std::int64_t> launched = {6, 7, 45};
  MeasureActivity(steps, launched, rank);
  const RankActivity& of = rank.activity.at(0);
  EXPECT_EQ(of.busy_ns, 30);
  EXPECT_EQ(of.launch_wait_ns, 6 + 15);
  EXPECT_EQ(of.latency_ns, 4 + 5);
  EXPECT_EQ(of.other_idle_ns, 40);
  EXPECT_EQ(of.launch_gaps, 2);
  EXPECT_EQ(of.transfers_ns, 10);
  EXPECT_EQ(of.exposed_ns, 10);
  // Where no launch is known, nothing is said of it.
  const std::vector<std::int64_t> unknown = {INT64_MIN, INT64_MIN, INT64_MIN};
  MeasureActivity(steps, unknown, rank);
  EXPECT_EQ(of.launch_wait_ns + of.latency_ns + of.launch_gaps, 0);
  EXPECT_EQ(of.other_idle_ns, 70);
  EXPECT_EQ(of.unknown_launch_ns, 30);
}

TEST(RanksTest, AStragglerIsNamedAndWhatItsHostAndSlotHaveInCommon) {
  JobOperations job{.label = "job", .world_size = 4};
  for (std::int32_t r = 0; r < 4; ++r) {
    RankOperations rank = Job("x", kH100, r == 2 ? 1.5 : 1).ranks[0];
    rank.rank = r;
    rank.host = r < 2 ? "alpha" : "beta";
    rank.activity[0].waited_ns = r == 2 ? 0 : 1'000'000;
    job.ranks.push_back(rank);
  }
  const RankComparison of = CompareRanksOf(job);
  EXPECT_THAT(of.stragglers, ElementsAre(2));
  EXPECT_NEAR(of.ranks[2].to_median, 4.0 / 3, 1e-9);
  EXPECT_EQ(of.ranks[2].slot, 0);
  EXPECT_EQ(of.ranks[3].slot, 1);
  EXPECT_EQ(of.classes.front().op_class, "gemm");
  EXPECT_EQ(of.classes.front().most_rank, 2);
  EXPECT_THAT(of.verdict, HasSubstr("rank 2 works 1.33x as long"));
  ASSERT_EQ(of.groups.size(), 4U);  // two hosts, two slots; one device
  const std::string text = RanksText(job, of, Style(), false);
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 40);
  EXPECT_EQ(RanksJson(job, of)["stragglers"][0], 2);
}

// Passes of two layers: lookup, attention, attention, and what is made of nothing before.
RankOperations Inference(bool tables) {
  RankOperations rank;
  std::int64_t at_ns = 0;
  const auto add = [&](std::string name, OpClass op_class, std::string shape) {
    rank.operations.push_back(Kernel(std::move(name), op_class, at_ns, 10, std::move(shape)));
    at_ns += 10;
  };
  for (int pass = 0; pass < 4; ++pass) {
    const std::string queries = pass == 0 ? "5" : "1";
    const std::string keys = std::to_string(5 + pass);
    add("aten::arange", OpClass::kFill, "");
    if (tables) {
      add("aten::embedding", OpClass::kEmbedding, fmt::format("[64,8] [2,{}]", queries));
    }
    for (int layer = 0; layer < 2; ++layer) {
      add("aten::_scaled_dot_product_flash_attention", OpClass::kAttention,
          fmt::format("[2,4,{0},16] [2,4,{1},16] [2,4,{1},16]", queries, keys));
    }
    add("aten::argmax", OpClass::kReduction, "[2,64]");
  }
  return rank;
}

TEST(InferenceTest, PrefillAndDecodeAreFoundByWhatAttentionReads) {
  const auto found = FindInference(Inference(true));
  ASSERT_TRUE(found);
  ASSERT_EQ(found->passes.size(), 4U);
  EXPECT_EQ(found->passes[0].kind, PassKind::kPrefill);
  EXPECT_EQ(found->passes[0].tokens, 5);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(found->passes[i].last - found->passes[i].first, 5U);
    EXPECT_EQ(found->passes[i].context, static_cast<std::int64_t>(5 + i));
    EXPECT_EQ(found->passes[i].sequences, 2);
  }
  EXPECT_EQ(found->passes[1].kind, PassKind::kDecode);
  EXPECT_EQ(found->first_token_ns, 50);
  EXPECT_EQ(found->per_token_ns, 50);
  EXPECT_NEAR(found->decode_tokens_per_second, 2 / 50e-9, 1);
  EXPECT_EQ(found->cache_growth_bytes, 2 * 2 * 2 * 4 * 16 * 2);  // layers, k and v, …, 2 bytes
}

TEST(InferenceTest, WithoutLookupsLengthsTell) {
  const auto found = FindInference(Inference(false));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->passes.size(), 4U);
}

TEST(InferenceTest, AnEncoderAndTrainingHaveNone) {
  RankOperations encoder = Inference(true);
  encoder.operations.resize(5);
  EXPECT_FALSE(FindInference(encoder));
  RankOperations training = Inference(true);
  training.operations.back().phase = Phase::kBackward;
  EXPECT_FALSE(FindInference(training));
}

// Ten steps of 100 W and one of 400 W, in which aten::mm ran; the device throttled after it.
TEST(PowerTest, PeaksNameWhatRanInThemAndWhetherThrottlingFollowed) {
  constexpr std::int64_t kMs = 1'000'000;
  RunData run;
  RankData& rank = run.ranks.emplace_back();
  rank.host = "alpha";
  rank.steps = {{.iteration = 0, .start_ns = 0, .duration_ns = 220 * kMs}};
  rank.metrics = {{.id = 0, .name = "power", .unit = "watts", .device = "gpu"},
                  {.id = 1,
                   .name = "throttle_reasons",
                   .unit = "count",
                   .device = "gpu",
                   .kind = MetricKind::kState,
                   .states = "thermal"}};
  for (Metric& metric : rank.metrics) {
    metric.period_ns = 20 * kMs;
  }
  for (std::int64_t i = 0; i < 11; ++i) {
    rank.samples.push_back({0, i * 20 * kMs, i == 5 ? 400.0 : 100.0});
    rank.samples.push_back({1, i * 20 * kMs, i == 7 ? 1.0 : 0.0});
  }
  for (std::uint64_t id = 0; id < 2; ++id) {
    NodeInfo node{.node_id = id, .name = id == 0 ? "aten::mm" : "aten::add"};
    node.counts_for_coverage = true;
    rank.nodes.push_back(node);
  }
  rank.records = {{.node_id = 0, .start_ns = 95 * kMs, .duration_ns = 20 * kMs},
                  {.node_id = 1, .start_ns = 10 * kMs, .duration_ns = 20 * kMs}};
  const std::vector<PeakOfPower> peaks = FindPowerPeaks(run);
  ASSERT_EQ(peaks.size(), 1U);
  EXPECT_EQ(peaks[0].peaks, 1);
  EXPECT_EQ(peaks[0].most_watts, 400);
  EXPECT_EQ(peaks[0].throttled, 1);
  ASSERT_EQ(peaks[0].operations.size(), 1U);
  EXPECT_EQ(peaks[0].operations[0].name, "aten::mm");
  EXPECT_EQ(peaks[0].operations[0].ns, 15 * kMs);
  for (Sample& sample : rank.samples) {
    sample.value = sample.metric == 1 ? 0.0 : sample.value;
  }
  EXPECT_EQ(FindPowerPeaks(run)[0].throttled, 0);
  rank.metrics.pop_back();
  EXPECT_FALSE(FindPowerPeaks(run)[0].throttled);
}

TEST(PowerTest, EnergyOfPassesIsWhatWasMeasuredWhileTheyRan) {
  RankOperations rank = Inference(true);
  rank.host = "alpha";
  RunData run;
  RankData& data = run.ranks.emplace_back();
  data.host = "alpha";
  for (std::size_t i = 0; i < rank.operations.size(); ++i) {
    TimedOperation& of = rank.operations[i];
    of.node_id = i;
    data.records.push_back(
        {.node_id = i, .start_ns = of.start_ns * 1'000'000, .duration_ns = of.time_ns * 1'000'000});
  }
  data.steps = {{.iteration = 0, .start_ns = 0, .duration_ns = 200'000'000}};
  data.metrics = {
      {.id = 0, .name = "power", .unit = "watts", .device = "gpu", .period_ns = 10'000'000}};
  for (std::int64_t i = 0; i <= 20; ++i) {  // 50 ms of prefill at 200 W, then decode at 100 W
    data.samples.push_back({0, i * 10'000'000, i < 5 ? 200.0 : 100.0});
  }
  const auto energy = EnergyOfPasses(run, rank, *FindInference(rank));
  EXPECT_NEAR(energy.at(PassKind::kPrefill).joules, 0.05 * 200, 1e-6);
  EXPECT_NEAR(energy.at(PassKind::kDecode).joules, 0.15 * 100, 1e-6);
  EXPECT_EQ(energy.at(PassKind::kPrefill).tokens, 10);
  EXPECT_EQ(energy.at(PassKind::kDecode).tokens, 6);
}

TEST(DifferencesTextTest, FortyLinesAndAllWithV) {
  JobOperations a = Job("a-rather-long-label-of-a-side", kH100);
  for (int i = 0; i < 100; ++i) {
    a.ranks[0].operations.push_back(
        Kernel("made::up_" + std::to_string(i), OpClass::kOther, 3'000'000 + i, 10 + i));
  }
  JobOperations b = a;
  b.label = "b";
  Report report;
  report.manifest.options = {{"mode", kRecordedMode}};
  std::vector<ComparedSide> sides = {
      {.label = a.label, .runs = {{.path = "a", .report = report, .operations = a}}},
      {.label = b.label, .runs = {{.path = "b", .report = report, .operations = b}}}};
  AlignSides(sides);
  const Comparison comparison = Compare(sides, {});
  const auto lines = [&](bool full) {
    const std::string text = ComparisonText(sides, comparison, false, full);
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at);
      EXPECT_LE(end - at, 100U) << text.substr(at, end - at);
      at = end + 1;
    }
    return std::count(text.begin(), text.end(), '\n');
  };
  EXPECT_LE(lines(false), 40);
  EXPECT_GT(lines(true), 200);
  const auto json = nlohmann::json::parse(ComparisonJson(sides, comparison, {}, true));
  EXPECT_EQ(json["alignments"][0]["operations"].size(), 102U);
  EXPECT_EQ(json["sides"][0]["timeline"]["rank"], 0);
}

}  // namespace
}  // namespace reprise
