// What an audit finds, and what it reads from shapes.
#include "converters/share/audit/audit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "converters/converter.h"
#include "tests/converters/synthetic_capture.h"

namespace reprise::pytorch {
namespace {

std::string KindsIn(const std::string& text) {
  std::string kinds;
  for (const Discovery& discovery : ScanText(text, {.host = "zeus7", .user = "eve"})) {
    kinds += (kinds.empty() ? "" : ", ") + std::string(discovery.kind);
  }
  return kinds;
}

TEST(Scan, FindsWhatShouldNotBeShared) {
  EXPECT_EQ(KindsIn("in /scratch/project/model.bin"), "path");
  EXPECT_EQ(KindsIn("src/models/attention"), "path");
  EXPECT_EQ(KindsIn("C:\\models"), "path");
  EXPECT_EQ(KindsIn("train.py: forward"), "path");
  EXPECT_THAT(KindsIn("/home/bob/x"), ::testing::HasSubstr("user name"));
  EXPECT_THAT(KindsIn("mail bob@corp.example.com"), ::testing::HasSubstr("e-mail address"));
  EXPECT_EQ(KindsIn("at 10.1.2.3"), "network address");
  EXPECT_EQ(KindsIn("aa:bb:cc:00:11:22"), "network address");
  EXPECT_EQ(KindsIn("tcp://[::1]:29500"), "network address");
  EXPECT_EQ(KindsIn("on gpu.cluster.internal"), "host name");
  EXPECT_EQ(KindsIn("worker-12 says"), "host name");
  EXPECT_EQ(KindsIn("[zeus7] step"), "host name");
  EXPECT_EQ(KindsIn("eve ran it"), "user name");
  // Put together here: none is, or was, anyone's.
  const std::string letters = "Ab3dE5gH7jK9mN1pQ2rS4tU6vW8x";
  EXPECT_EQ(KindsIn("AKIA" + std::string("IOSFODNN7EXAMPLE")), "secret");
  EXPECT_EQ(KindsIn("ghp_" + letters + "YZab"), "secret");
  EXPECT_EQ(KindsIn("hf_" + letters), "secret");
  EXPECT_EQ(KindsIn("password=correct1"), "secret");
  EXPECT_EQ(KindsIn(letters), "secret");  // by entropy alone
}

TEST(Scan, LeavesOperatorsAlone) {
  for (const char* text :
       {"aten::_scaled_dot_product_flash_attention_for_cpu_backward", "cuda:0", "ProfilerStep#8",
        "autograd::engine::evaluate_function: AddmmBackward0", "1.1.1-chakra.0.0.4",
        "Optimizer.step#AdamW.step", "torch::autograd::AccumulateGrad", "op_0123456789abcdef",
        "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float> >(int)",
        "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "never", "steve",
        "AMD EPYC 7742 64-Core Processor", "Intel(R) Xeon(R) Platinum 8480C CPU @ 2.00GHz",
        "NVIDIA H100 80GB HBM3", "AMD Instinct MI300X"}) {
    EXPECT_EQ(KindsIn(text), "") << text;
  }
}

TEST(Scan, SecretsAreNotRepeated) {
  const std::string secret = "password=correct1";
  const auto found = ScanText(secret, {});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_LT(found[0].excerpt.size(), secret.size());
  EXPECT_EQ(KindsIn(std::string(5000, ' ') + secret), "secret");  // beyond the first piece
}

TEST(Audit, ReadsTheModelFromItsShapes) {
  const std::string directory = FreshDirectory("audit") + "/set";
  ASSERT_TRUE(FindConverter("pytorch")->convert(
      {.input_directory = std::string(REPRISE_SOURCE_DIR) + "/traces/gloo/gpt_single",
       .output_directory = directory}));
  WriteText(directory + "/notes.txt", "mine");
  const auto report = AuditSet({.directory = directory});
  ASSERT_TRUE(report) << report.error().message;
  // As the capture script made it: 4 layers, hidden 256, 8 heads, 512 tokens.
  const auto fact = [&](const std::string& name) {
    const auto at = std::find_if(report->facts.begin(), report->facts.end(),
                                 [&](const ShapeFact& f) { return f.name == name; });
    return at == report->facts.end() ? -1 : at->value;
  };
  EXPECT_EQ(fact("hidden size"), 256);
  EXPECT_EQ(fact("layers"), 4);
  EXPECT_EQ(fact("attention heads on a rank"), 8);
  EXPECT_EQ(fact("vocabulary"), 512);
  EXPECT_EQ(fact("batch on a rank"), 4);
  EXPECT_EQ(fact("sequence length"), 64);
  EXPECT_EQ(fact("feed-forward size on a rank"), 1024);
  EXPECT_EQ(fact("ranks"), 1);
  const auto has = [&](const std::string& kind) {
    return std::any_of(report->findings.begin(), report->findings.end(),
                       [&](const AuditFinding& finding) { return finding.kind == kind; });
  };
  EXPECT_TRUE(has("absolute time"));
  EXPECT_TRUE(has("file that is no part of the set"));
  const Census::Field& names = report->census.fields.at("node.name");
  EXPECT_EQ(names.count, report->census.nodes);
  EXPECT_TRUE(names.texts.contains("aten::addmm"));
}

}  // namespace
}  // namespace reprise::pytorch
