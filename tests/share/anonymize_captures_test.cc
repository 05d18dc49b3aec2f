// The default policy leaves every capture at hand the same up to names: those of traces/, and those
// of a directory of captures beside the checkout where there is one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "converters/converter.h"
#include "et_schema/trace_set.h"
#include "share/anonymize/anonymize.h"
#include "share/anonymize/set_comparison.h"
#include "share/audit/audit.h"
#include "tests/converters/synthetic_capture.h"
#include "tests/skip.h"

namespace reprise::pytorch {
namespace {

namespace fs = std::filesystem;

// Directories that hold a capture, and captures that are one file.
std::vector<std::string> CapturesBelow(const fs::path& root) {
  std::vector<std::string> captures;
  std::error_code error;
  for (fs::recursive_directory_iterator it(root, error), end; !error && it != end;
       it.increment(error)) {
    if (it->is_directory() ? fs::exists(it->path() / "rank0.kineto.json.gz")
                           : it->path().parent_path().filename() == "kineto_only") {
      captures.push_back(it->path().string());
    }
  }
  std::sort(captures.begin(), captures.end());
  return captures;
}

void ExpectSame(const std::string& capture, bool& converted) {
  const std::string base = FreshDirectory("anonymize_capture");
  ConvertRequest request{.output_directory = base + "/set", .name = "acme"};
  (fs::is_directory(capture) ? request.input_directory : request.input_file) = capture;
  // Two files of different runs do not convert, which another test looks at.
  if (!FindConverter("pytorch")->convert(request)) {
    return;
  }
  converted = true;
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

void ExpectAllSame(const fs::path& root, std::size_t at_least) {
  std::size_t count = 0;
  for (const std::string& capture : CapturesBelow(root)) {
    SCOPED_TRACE(capture);
    bool converted = false;
    ExpectSame(capture, converted);
    count += converted ? 1 : 0;
  }
  EXPECT_GE(count, at_least);
}

TEST(AnonymizeCaptures, BundledOnesStayTheSame) {
  ExpectAllSame(fs::path(REPRISE_SOURCE_DIR) / "traces", 9);
}

TEST(AnonymizeCaptures, SharedOnesStayTheSame) {
  const fs::path shared = fs::path(REPRISE_SOURCE_DIR).parent_path() / "shared" / "data";
  if (!fs::exists(shared)) {
    REPRISE_SKIP("captures", shared);
  }
  ExpectAllSame(shared, 20);
}

}  // namespace
}  // namespace reprise::pytorch
