#include "report/rank_sums.h"

#include "report/classes/coverage.h"

namespace reprise {

RankSums SumsOfNodes(const MeasuredRank& rank, bool with_steps) {
  RankSums sums;
  DescribeNodes(rank, sums.nodes);
  sums.never_ran = rank.alike() * rank.never_ran();
  sums.errors = NodeErrorSums(rank);
  sums.top_differences = TopDifferences(rank);
  sums.classes = {&NodeInfo::op_class, rank};
  sums.phases = {&NodeInfo::phase, rank};
  sums.shapes = ShapeSums(rank);
  sums.work = WorkTimes(rank);
  if (with_steps) {
    sums.steps = StepClassSums(rank);
  }
  return sums;
}

RankSums SumsOfRank(const MeasuredRank& rank, const RunManifest& manifest, const MedianPass& pass) {
  RankSums sums = SumsOfNodes(rank, true);
  sums.times = FindPartTimes({&rank, 1}, manifest, pass, false);
  return sums;
}

}  // namespace reprise
