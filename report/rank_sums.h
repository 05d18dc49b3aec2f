// What the nodes of one rank say by themselves. It can be found as soon as the rank was replayed,
// and kept (report/stored_sums.h). Only report/ sees this.
#pragma once

#include <cstdint>
#include <optional>

#include "report/classes/class_sums.h"
#include "report/classes/shape_sums.h"
#include "report/fidelity/fidelity_examination.h"
#include "report/nodes/measured.h"
#include "report/page/html_steps.h"
#include "report/values/rank_values.h"

namespace reprise {

struct RankSums {
  RankRow nodes;               // what DescribeNodes fills in
  std::int64_t never_ran = 0;  // of all ranks that it stands for
  NodeErrorSums errors;
  TopDifferences top_differences;
  // Without what transfers took as replayed, which depends on other ranks.
  ClassSums<OpClass> classes{&NodeInfo::op_class};
  ClassSums<Phase> phases{&NodeInfo::phase};
  StepClassSums steps;  // likewise; for the page
  ShapeSums shapes;
  WorkTimes work;
  PartTimes times;  // where the rank is looked at without the others

  template <typename Self, typename Visit>
  static void VisitMembers(Self& self, Visit& visit) {
    visit(self.nodes);
    visit(self.never_ran);
    visit(self.errors);
    visit(self.top_differences);
    visit(self.classes);
    visit(self.phases);
    visit(self.steps);
    visit(self.shapes);
    visit(self.work);
    visit(self.times);
  }
};

// All but `times`; `steps` where they are asked for.
[[nodiscard]] RankSums SumsOfNodes(const MeasuredRank& rank, bool with_steps);
// All. `pass` is of all ranks of the run.
[[nodiscard]] RankSums SumsOfRank(const MeasuredRank& rank, const RunManifest& manifest,
                                  const MedianPass& pass);

}  // namespace reprise
