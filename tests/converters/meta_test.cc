// What the capture script wrote beside its traces.
#include "converters/pytorch/rank/meta.h"

#include <gtest/gtest.h>

#include "core/diagnostics.h"
#include "synthetic_capture.h"

namespace reprise::pytorch {
namespace {

CaptureMeta MetaOf(const std::string& text) {
  const std::string path = FreshDirectory("meta") + "/rank0.meta.json";
  WriteText(path, text);
  Diagnostics diagnostics;
  const auto meta = ReadMeta(path, diagnostics);
  EXPECT_TRUE(meta.has_value());
  return meta.value_or(CaptureMeta{});
}

TEST(Meta, StepTimesAreOfAllUntracedStepsAndPageFaultsOfThoseBeforeTheTracedOnes) {
  const CaptureMeta meta = MetaOf(R"({"traced_steps": [5],
    "step_seconds": [9, 9, 0.1, 0.3, null, 7, null, 0.4, 0.5],
    "step_page_faults": [900, 900, 10, 38, null, 70, null, 4, 5]})");
  EXPECT_EQ(meta.untraced_step_ns, 350'000'000);
  EXPECT_EQ(meta.untraced_page_faults, 24);
}

TEST(Meta, OfAGpuStepsAfterTheTracedOnesCountOnlyWhereNoneCameBefore) {
  for (const char* gpu : {R"("cuda": "13.0")", R"("hip": "6.4")"}) {
    const auto untraced_ns = [gpu](const std::string& traced) {
      return MetaOf(R"({"device": "a GPU", )" + std::string(gpu) + R"(, "traced_steps": [)" +
                    traced + R"(], "step_seconds": [9, 9, 0.1, 0.3, null, 7, null, 0.4, 0.5]})")
          .untraced_step_ns;
    };
    EXPECT_EQ(untraced_ns("5"), 200'000'000);
    EXPECT_EQ(untraced_ns("2, 3, 5"), 450'000'000);
  }
}

TEST(Meta, PageFaultsAfterTheTracedStepsCountWhereNoneCameBefore) {
  EXPECT_EQ(MetaOf(R"({"traced_steps": [2], "step_page_faults": [8, 9, 70, null, 4, 6]})")
                .untraced_page_faults,
            5);
}

TEST(Meta, WhatIsNotThereOrCannotBeIsUnknown) {
  EXPECT_EQ(MetaOf("{}").untraced_page_faults, -1);
  EXPECT_EQ(MetaOf("{}").untraced_step_ns, -1);
  EXPECT_EQ(MetaOf(R"({"step_page_faults": [0, 0, -3]})").untraced_page_faults, -1);
  EXPECT_EQ(MetaOf(R"({"step_page_faults": [0, 0, 1e300]})").untraced_page_faults, -1);
  EXPECT_EQ(MetaOf(R"({"step_page_faults": [0, 0, "x"]})").untraced_page_faults, -1);
}

}  // namespace
}  // namespace reprise::pytorch
