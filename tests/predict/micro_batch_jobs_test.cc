// Jobs whose micro-batches repeat are, node for node, those that were generated whole.
#include "predict/micro_batch_jobs.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "predict/workload/job/facts.h"
#include "predict/workload/job/options.h"
#include "tests/every_nth.h"

namespace reprise {
namespace {

using Given = std::map<std::string, std::string>;

Result<Workload> JobWith(const std::string& what, const Given& given) {
  JobOptions options{.what = what};
  for (const auto& [name, text] : given) {
    EXPECT_TRUE(SetJobOption(name, text, options)) << name << " " << text;
  }
  return MakeJob(options);
}

std::string TextOf(const NodeInfo& node) {
  return fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {}", node.node_id,
                     node.name, Name(node.op_class), Name(node.kind), Name(node.phase), node.actor,
                     Name(node.mode), node.kernel, node.shape, node.flops, node.bytes,
                     Name(node.work_from), node.capped, node.step, node.recorded_start_ns,
                     node.recorded_duration_ns, node.recorded_elapsed_ns, node.recorded_delay_ns,
                     node.recorded_tracing_ns, node.counts_for_coverage);
}

// As a run is written of them.
void ExpectSameDescription(const FoldedJob& a, const FoldedJob& b) {
  EXPECT_EQ(a.trace_hash, b.trace_hash);
  ASSERT_EQ(a.described.size(), a.programs.size());
  ASSERT_EQ(b.described.size(), b.programs.size());
  for (std::size_t number = 0; number < a.described.size(); ++number) {
    EXPECT_EQ(a.described[number].frame, b.described[number].frame);
    const std::vector<NodeInfo> left = a.described[number].All();
    const std::vector<NodeInfo> right = b.described[number].All();
    ASSERT_EQ(left.size(), a.programs[number].size());
    ASSERT_EQ(left.size(), right.size());
    for (std::size_t i = 0; i < left.size(); ++i) {
      ASSERT_EQ(TextOf(left[i]), TextOf(right[i])) << number << " " << i;
    }
  }
}

void ExpectSameJob(const GeneratedJob& a, const GeneratedJob& b, const Workload& workload) {
  EXPECT_EQ(JobFactsText(FactsOf(workload, a.summary)), JobFactsText(FactsOf(workload, b.summary)));
  EXPECT_EQ(a.summary.nodes, b.summary.nodes);
  ASSERT_EQ(a.summary.transfers.size(), b.summary.transfers.size());
  for (std::size_t i = 0; i < a.summary.transfers.size(); ++i) {
    EXPECT_EQ(a.summary.transfers[i].sums.count, b.summary.transfers[i].sums.count);
    EXPECT_EQ(a.summary.transfers[i].sums.bytes, b.summary.transfers[i].sums.bytes);
  }
  EXPECT_EQ(a.folded.work, b.folded.work);
  ASSERT_EQ(a.folded.programs.size(), b.folded.programs.size());
  for (std::size_t number = 0; number < a.folded.programs.size(); ++number) {
    const Graph& left = a.folded.programs[number];
    const Graph& right = b.folded.programs[number];
    ASSERT_EQ(left.size(), right.size());
    EXPECT_TRUE(std::ranges::equal(left.order(), right.order()));
    for (Graph::Index i = 0; i < left.size(); ++i) {
      ASSERT_EQ(*left.Decode(i), *right.Decode(i)) << number << " " << i;
      ASSERT_EQ(left.FindId(left.id(i)), i);
    }
  }
}

// With 40 micro-batches, and with one repetition more.
void ExpectRepeated(const std::string& what, Given given, std::int64_t samples, bool repeats) {
  given["global-batch"] = std::to_string(40 * samples);
  const auto workload = JobWith(what, given);
  ASSERT_TRUE(workload) << workload.error().message;
  MicroBatchJobs repeated(*workload, /*repeat=*/true, MicroBatchJobs::For::kRun);
  MicroBatchJobs whole(*workload, /*repeat=*/false, MicroBatchJobs::For::kRun);
  for (const std::int64_t batches : {40, 44}) {
    const auto a = repeated.Generate(batches);
    const auto b = whole.Generate(batches);
    ASSERT_TRUE(a) << a.error().message;
    ASSERT_TRUE(b) << b.error().message;
    ASSERT_NO_FATAL_FAILURE(ExpectSameJob(*a, *b, *workload));
    ASSERT_NO_FATAL_FAILURE(ExpectSameDescription(a->folded, b->folded));
    const auto sums = repeated.Sum(batches);
    ASSERT_TRUE(sums);
    EXPECT_EQ(JobFactsText(FactsOf(*workload, *sums)),
              JobFactsText(FactsOf(*workload, b->summary)));
  }
  const auto classes = static_cast<std::int64_t>(PlanRanks(*workload).classes.size());
  EXPECT_EQ(repeated.generated() == classes, repeats) << repeated.generated();
}

TEST(MicroBatchJobs, AreThoseThatAreGeneratedWhole) {
  struct Case {
    const char* what;
    Given given;
    std::int64_t samples = 1;  // of a micro-batch on all ranks
    bool repeats = true;
  };
  const std::vector<Case> cases = {
      {"gpt-small", {{"pp", "1"}, {"tp", "1"}, {"micro-batch", "1"}}},
      {"gpt-small", {{"pp", "2"}, {"tp", "2"}, {"micro-batch", "1"}}},
      {"gpt-small", {{"pp", "4"}, {"dp", "2"}, {"micro-batch", "1"}, {"recompute", "full"}}, 2},
      {"gpt-small", {{"pp", "2"}, {"micro-batch", "1"}, {"schedule", "interleaved:2"}}},
      {"gpt-small", {{"pp", "2"}, {"micro-batch", "1"}, {"schedule", "zb-h1"}}},
      {"gpt-small", {{"pp", "4"}, {"dp", "2"}, {"micro-batch", "1"}, {"schedule", "zb-h1"}}, 2},
      {"gpt-small", {{"pp", "1"}, {"dp", "2"}, {"micro-batch", "1"}, {"fsdp", "on"}}, 2},
      {"gpt-small",
       {{"pp", "2"}, {"dp", "2"}, {"micro-batch", "1"}, {"schedule", "gpipe"}},
       2,
       false},
      {"llama-small", {{"tp", "2"}, {"dp", "2"}, {"micro-batch", "1"}}, 2},
      {"llama-small", {{"tp", "1"}, {"dp", "2"}, {"micro-batch", "1"}, {"sp", "off"}}, 2},
      {"llama-small", {{"tp", "1"}, {"cp", "2"}, {"dp", "1"}, {"micro-batch", "1"}, {"sp", "off"}}},
      {"llama-small",
       {{"tp", "1"},
        {"cp", "2"},
        {"dp", "1"},
        {"micro-batch", "1"},
        {"sp", "off"},
        {"cp-comm-type", "all_gather"}}},
      {"llama-small",
       {{"tp", "1"},
        {"cp", "2"},
        {"dp", "1"},
        {"micro-batch", "1"},
        {"sp", "off"},
        {"cp-comm-type", "a2a"}}},
      {"mixtral-small", {{"dp", "4"}, {"micro-batch", "1"}}, 4},
      {"mixtral-small", {{"dp", "4"}, {"micro-batch", "1"}, {"routing", "zipf:1"}}, 4, false},
      {"vit-small", {{"dp", "2"}, {"micro-batch", "1"}}, 2},
      {"dit-small", {{"dp", "2"}, {"micro-batch", "1"}}, 2},
      {"qwen3-moe-small", {{"dp", "4"}, {"ep", "4"}, {"micro-batch", "1"}}, 4},
      {"deepseek-small", {{"tp", "2"}, {"dp", "2"}, {"micro-batch", "1"}}, 2},
      {"deepseek-small", {{"pp", "3"}, {"tp", "1"}, {"dp", "2"}, {"micro-batch", "1"}}, 2},
      {"deepseek-small",
       {{"tp", "2"}, {"dp", "2"}, {"micro-batch", "1"}, {"dtype", "bfloat16"}, {"fp8", "delayed"}},
       2},
      {"llama-small",
       {{"tp", "1"},
        {"dp", "4"},
        {"micro-batch", "1"},
        {"sp", "off"},
        {"fsdp", "on"},
        {"shards", "2"}},
       4},
      {"gpt-oss-small", {{"pp", "2"}, {"dp", "2"}, {"micro-batch", "1"}}, 2},
      {"llama-lora-small", {{"tp", "2"}, {"dp", "2"}, {"micro-batch", "1"}}, 2},
      {"gpt-small", {{"pp", "2"}, {"dp", "2"}, {"micro-batch", "1"}, {"lora", "4"}}, 2},
      {"llama-small",
       {{"tp", "1"},
        {"dp", "2"},
        {"micro-batch", "1"},
        {"sp", "off"},
        {"fsdp", "on"},
        {"recompute", "full"},
        {"lora", "8"},
        {"lora-targets", "q_proj+v_proj"}},
       2},
      {"dlrm-small", {{"dp", "2"}, {"micro-batch", "1"}}, 2},
      {"gpt-small", {{"pp", "2"}, {"micro-batch", "1"}, {"steps", "2"}}, 1, false},
  };
  for (const Case& of : EveryNth(cases, 2)) {
    std::string text = of.what;
    for (const auto& [name, value] : of.given) {
      text += fmt::format(" {}={}", name, value);
    }
    SCOPED_TRACE(text);
    ExpectRepeated(of.what, of.given, of.samples, of.repeats);
  }
}

TEST(MicroBatchJobs, OfFewAreGenerated) {
  const auto workload = JobWith(
      "gpt-small", {{"pp", "1"}, {"tp", "1"}, {"micro-batch", "1"}, {"global-batch", "40"}});
  ASSERT_TRUE(workload);
  MicroBatchJobs jobs(*workload);
  ASSERT_TRUE(jobs.Generate(4));
  ASSERT_TRUE(jobs.Generate(4));
  EXPECT_EQ(jobs.generated(), 2);
  ASSERT_TRUE(jobs.Generate(5));  // one micro-batch of it repeats
  ASSERT_TRUE(jobs.Generate(6));
  ASSERT_TRUE(jobs.Generate(1000));
  EXPECT_EQ(jobs.generated(), 3);
}

}  // namespace
}  // namespace reprise
