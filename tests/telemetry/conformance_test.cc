// Every registered source, against one fixture root and the stand-ins for vendors' libraries.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <cmath>
#include <optional>
#include <set>

#include "core/clock.h"
#include "report/telemetry/source.h"
#include "tests/telemetry/fixture_root.h"
#include "tests/telemetry/stand_in.h"

namespace reprise {
namespace {

using ::testing::HasSubstr;

class SourceConformance : public ::testing::TestWithParam<std::size_t> {
 protected:
  [[nodiscard]] static const SourceKind& Kind() { return BuiltinSources()[GetParam()]; }
  SourceConformance() {
    for (const auto& [source, path] : kStandIns) {
      if (source == Kind().name) {
        library_.emplace(path);
      }
    }
  }
  [[nodiscard]] SourceKind::Opened Open() const {
    SourceOptions options{.root = root_.path()};
    if (library_) {
      options.libraries[std::string(Kind().name)] = library_->path();
    }
    return Kind().open(options);
  }

  static constexpr std::pair<std::string_view, const char*> kStandIns[] = {
      {"nvml", STAND_IN_NVML}, {"amd_smi", STAND_IN_AMD_SMI}};
  FixtureRoot root_;
  std::optional<StandIn> library_;  // what a source reads that is not files
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
    EXPECT_EQ(metric.states.empty(), metric.kind != MetricKind::kState) << metric.name;
  }
  std::vector<double> values(metrics.size());
  opened.source->Read(values);
  root_.Advance();
  opened.source->Read(values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_TRUE(std::isfinite(values[i])) << metrics[i].name << " of " << metrics[i].device;
  }
}

// A library that the machine has is not taken under a fixture root.
TEST_P(SourceConformance, SaysWhyNotWhereThereIsNothing) {
  const SourceKind::Opened opened = Kind().open({.root = root_.path()});
  EXPECT_EQ(opened.source, nullptr);
  EXPECT_THAT(opened.why_not, HasSubstr(root_.path()));
}

// Empty or senseless text after opening, or every call failing: NaN, no crash, and values again
// once it is back.
TEST_P(SourceConformance, WhatCannotBeReadGivesNaNUntilItCan) {
  root_.WriteAll();
  const SourceKind::Opened opened = Open();
  ASSERT_NE(opened.source, nullptr);
  const std::vector<Metric>& metrics = opened.source->metrics();
  std::vector<double> values(metrics.size());
  for (const char* text : {"", "x", "\n\n", "99999999999999999999999", "cpu  1 2", "cpu "}) {
    for (const auto& [file, unused] : FixtureRoot::Files()) {
      root_.Write(file, text);
    }
    if (library_) {
      library_->Set("error", *text == '\0' ? 15 : 3);
    }
    std::fill(values.begin(), values.end(), 1.0);
    opened.source->Read(values);
    for (std::size_t i = 0; i < values.size(); ++i) {
      EXPECT_TRUE(std::isnan(values[i])) << "'" << text << "' " << metrics[i].name;
    }
  }
  root_.WriteAll();
  root_.Advance();
  if (library_) {
    library_->Clear();
  }
  opened.source->Read(values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_TRUE(std::isfinite(values[i])) << metrics[i].name << " of " << metrics[i].device;
  }
}

// A FIFO without a writer blocks whoever opens it plainly.
TEST_P(SourceConformance, NeverBlocks) {
  for (const auto& [file, unused] : FixtureRoot::Files()) {
    root_.Write(file, "");
    std::filesystem::remove(root_.At(file));
    ASSERT_EQ(mkfifo(root_.At(file).c_str(), 0600), 0);
  }
  const SourceKind::Opened blocked = Kind().open(
      {.root = root_.path(), .libraries = {{std::string(Kind().name), root_.At("/proc/stat")}}});
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
