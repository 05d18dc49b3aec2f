// What a job's step takes in time and memory, from four small jobs of the same layout: one and two
// layers a stage (with LoRA two and three), one and two micro-batches. Milliseconds each, where the
// job itself takes seconds.
//
// Both are lines in layers a stage and in micro-batches, with a product of the two. With l layers a
// stage, n micro-batches, p stages and v chunks a stage:
//
//   T = a + o l + n max(l t, l_last t + c) + (p - 1) l t / v
//
// t: of a layer's passes; c: of what the last stage does besides; o: of a layer once a step; a: the
// rest. Layers of several kinds (with experts, with a window) are estimated as if all were of each,
// and the mean is taken. Memory is that of the first, the last, or a middle stage, with as many
// micro-batches in flight as the schedule has there.
#pragma once

#include <mutex>
#include <utility>
#include <vector>

#include "core/result.h"
#include "predict/simulate.h"
#include "predict/workload/description.h"

namespace reprise {

struct JobEstimate {
  double step_ns = 0;
  // Of a device, at the peak. Not above that of the simulated job, but for rounding: what exceeds a
  // device's memory does not fit.
  double peak_bytes = 0;
};

class JobEstimator {
 public:
  // Factors on single ranks and domains are left out: small jobs have fewer ranks.
  explicit JobEstimator(TargetMachine machine);

  // The workload is checked (CheckWorkload). Any thread. The errors of PredictJob.
  [[nodiscard]] Result<JobEstimate> Estimate(const Workload& workload);

 private:
  // By layers a stage, from the fewest on, and micro-batches, less 1.
  template <typename Number>
  using Grid = Number[2][2];
  struct SmallJobs {
    Grid<double> step_ns;
    Grid<double> first_bytes, last_bytes;  // of the first and the last stage
  };
  // Of a model whose layers are alike.
  [[nodiscard]] Result<JobEstimate> EstimateAlike(const Workload& workload);
  [[nodiscard]] Result<SmallJobs> Predict(const Workload& one, std::int64_t first);

  TargetMachine machine_;
  std::mutex mutex_;
  std::vector<std::pair<Workload, SmallJobs>> known_;  // by the smallest of the four
};

}  // namespace reprise
