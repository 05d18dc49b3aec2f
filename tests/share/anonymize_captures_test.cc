// The default policy leaves every bundled capture the same up to names.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "converters/converter.h"
#include "converters/share/anonymize/anonymize.h"
#include "converters/share/anonymize/set_comparison.h"
#include "converters/share/audit/audit.h"
#include "et_schema/trace_set.h"
#include "tests/converters/synthetic_capture.h"

namespace reprise::pytorch {
namespace {

namespace fs = std::filesystem;

// Directories that hold a capture.
std::vector<std::string> CapturesBelow(const fs::path& root) {
  std::vector<std::string> captures;
  std::error_code error;
  for (fs::recursive_directory_iterator it(root, error), end; !error && it != end;
       it.increment(error)) {
    if (fs::exists(it->path() / "rank0.kineto.json.gz")) {
      captures.push_back(it->path().string());
    }
  }
  std::sort(captures.begin(), captures.end());
  return captures;
}

void ExpectSame(const std::string& capture) {
  const std::string base = FreshDirectory("anonymize_capture");
  const auto converted = FindConverter("pytorch")->convert(
      {.input_directory = capture, .output_directory = base + "/set", .name = "acme"});
  ASSERT_TRUE(converted) << converted.error().message;
  const auto report = AnonymizeSet({.input_directory = base + "/set",
                                    .output_directory = base + "/shared",
                                    .policy = *Policy::Load("replay")});
  ASSERT_TRUE(report) << report.error().message;
  const auto a = TraceSet::OpenPresent(base + "/set");
  const auto b = TraceSet::OpenPresent(base + "/shared");
  ASSERT_TRUE(a && b);
  SetComparison comparison;
  EXPECT_EQ(comparison.Groups(*a, *b), std::nullopt);
  for (const auto& [rank, path] : a->files) {
    const auto difference = comparison.Rank(*Graph::Load(path), *Graph::Load(b->files.at(rank)));
    ASSERT_TRUE(difference) << difference.error().message;
    EXPECT_EQ(*difference, std::nullopt);
  }
  const auto audit = AuditSet({.directory = base + "/shared"});
  ASSERT_TRUE(audit);
  for (const AuditFinding& finding : audit->findings) {
    ADD_FAILURE() << finding.kind << " in " << finding.field << ": " << finding.text;
  }
}

TEST(AnonymizeCaptures, BundledOnesStayTheSame) {
  const std::vector<std::string> captures = CapturesBelow(fs::path(REPRISE_SOURCE_DIR) / "traces");
  EXPECT_GE(captures.size(), 9U);
  for (const std::string& capture : captures) {
    SCOPED_TRACE(capture);
    ExpectSame(capture);
  }
}

}  // namespace
}  // namespace reprise::pytorch
