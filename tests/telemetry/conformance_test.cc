// Every registered source, against one fixture root.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <cmath>
#include <set>

#include "core/clock.h"
#include "telemetry/source.h"
#include "tests/telemetry/fixture_root.h"

namespace reprise {
namespace {

using ::testing::HasSubstr;

class SourceConformance : public ::testing::TestWithParam<std::size_t> {
 protected:
  [[nodiscard]] static const SourceKind& Kind() { return BuiltinSources()[GetParam()]; }
  [[nodiscard]] SourceKind::Opened Open() const { return Kind().open({.root = root_.path()}); }
  FixtureRoot root_;
};

TEST_P(SourceConformance, DescribesEachMetricAndReadsFiniteValues) {
  root_.WriteAll();
  const SourceKind::Opened opened = Open();
  ASSERT_NE(opened.source, nullptr) << opened.why_not;
  EXPECT_EQ(opened.source->name(), Kind().name);
  EXPECT_FALSE(Kind().help.empty());
  const std::vector<Metric>& metrics = opened.source->metrics();
  ASSERT_FALSE(metrics.empty());
  const std::set<std::string> units = {"joules", "watts",   "celsius", "hertz",
                                       "bytes",  "seconds", "count",   "fraction"};
  std::set<std::string> names;
  for (const Metric& metric : metrics) {
    EXPECT_TRUE(units.contains(metric.unit)) << metric.unit;
    EXPECT_EQ(metric.source, Kind().name);
    EXPECT_FALSE(metric.name.empty() || metric.device.empty() || metric.help.empty());
    EXPECT_TRUE(names.insert(metric.name + " of " + metric.device).second)
        << metric.name << " of " << metric.device << " twice";
    EXPECT_EQ(metric.modelled, Kind().name == "model");
  }
  std::vector<double> values(metrics.size());
  opened.source->Read(values);
  root_.Write("/proc/stat",
              "cpu  110 0 50 890 50 0 0 0 0 0\ncpu0 1 0 0 1\ncpu1 1 0 0 1\nctxt 1001\n");
  opened.source->Read(values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_TRUE(std::isfinite(values[i])) << metrics[i].name << " of " << metrics[i].device;
  }
}

TEST_P(SourceConformance, SaysWhyNotWhereThereIsNothing) {
  const SourceKind::Opened opened = Open();
  EXPECT_EQ(opened.source, nullptr);
  EXPECT_THAT(opened.why_not, HasSubstr(root_.path()));
}

// Empty or senseless text after opening: NaN, no crash, and values again once it is back.
TEST_P(SourceConformance, UnreadableFilesGiveNaN) {
  root_.WriteAll();
  const SourceKind::Opened opened = Open();
  ASSERT_NE(opened.source, nullptr);
  for (const char* text : {"", "x", "\n\n", "99999999999999999999999", "cpu  1 2", "cpu "}) {
    for (const auto& [file, unused] : FixtureRoot::Files()) {
      root_.Write(file, text);
    }
    std::vector<double> values(opened.source->metrics().size(), 1.0);
    opened.source->Read(values);
    for (std::size_t i = 0; i < values.size(); ++i) {
      EXPECT_TRUE(std::isnan(values[i])) << "'" << text << "' " << opened.source->metrics()[i].name;
    }
  }
}

// A FIFO without a writer blocks whoever opens it plainly.
TEST_P(SourceConformance, NeverBlocks) {
  for (const auto& [file, unused] : FixtureRoot::Files()) {
    root_.Write(file, "");
    std::filesystem::remove(root_.At(file));
    ASSERT_EQ(mkfifo(root_.At(file).c_str(), 0600), 0);
  }
  const SourceKind::Opened blocked = Open();
  EXPECT_EQ(blocked.source, nullptr);
  EXPECT_FALSE(blocked.why_not.empty());

  std::filesystem::remove_all(root_.path());
  root_.WriteAll();
  const SourceKind::Opened opened = Open();
  ASSERT_NE(opened.source, nullptr);
  std::vector<double> values(opened.source->metrics().size());
  std::int64_t fastest_ns = 1'000'000'000;
  for (int i = 0; i < 20; ++i) {
    const std::int64_t before_ns = MonotonicNs();
    opened.source->Read(values);
    fastest_ns = std::min(fastest_ns, MonotonicNs() - before_ns);
  }
  EXPECT_LT(fastest_ns, 1'000'000);  // of 20, so that a busy machine does not count
}

INSTANTIATE_TEST_SUITE_P(Sources, SourceConformance,
                         ::testing::Range<std::size_t>(0, BuiltinSources().size()),
                         [](const auto& info) {
                           return std::string(BuiltinSources()[info.param].name);
                         });

}  // namespace
}  // namespace reprise
