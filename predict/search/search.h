// Which layout of a job is fastest on a machine? All layouts are estimated; those that do not fit
// are left out; of the others the fastest are simulated.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/result.h"
#include "predict/prediction.h"
#include "predict/search/estimate.h"
#include "predict/simulate.h"
#include "predict/workload/job/options.h"

namespace reprise {

inline constexpr std::size_t kBestLayouts = 5;
inline constexpr std::size_t kOtherSizes = 4;
// Estimates are rather too short than too long. One may be this part too long, or twice as much as
// the worst of those that were simulated: only what is slower than the best ones even so is not
// simulated.
inline constexpr double kEstimateMargin = 0.02;

struct SearchProgress {
  bool simulates = false;  // else estimates
  std::size_t done = 0, of = 0;
};

struct SearchRequest {
  const TargetMachine* machine = nullptr;
  JobOptions job;                                                // LeavesLayoutOpen
  std::function<void(const SearchProgress& progress)> progress;  // from any thread, one at a time
};

struct FoundLayout {
  JobOptions options;
  Workload workload;
  JobEstimate estimate;
  std::optional<Prediction> prediction;
};

struct LayoutSearch {
  JobOptions job;
  std::vector<std::pair<std::string, std::string>> kept;  // of Layouts
  // All layouts that keep the rules: too_large + slower + simulated.
  std::size_t considered = 0;
  std::size_t too_large = 0;  // by the estimate
  std::size_t slower = 0;     // by the estimate, than the best ones
  std::size_t simulated = 0;
  std::size_t simulated_too_large = 0;  // of the simulated ones
  double memory_bytes = 0;              // of a device
  std::vector<FoundLayout> best;        // simulated, that fit; the fastest first
  // That fit by the estimate: the fastest of each of the next sizes (tp, pp, dp, ep, cp).
  std::vector<FoundLayout> others;
  // Of what does not fit, what lacks the least; only where nothing fits.
  std::optional<FoundLayout> nearest;
  // Of the simulated ones: estimated over simulated step, less 1.
  double least_error = 0, most_error = 0;
};

// Bad input, usage: the machine has too few devices, an option has no effect, no layout keeps the
// rules.
[[nodiscard]] Result<LayoutSearch> SearchLayouts(const SearchRequest& request);

}  // namespace reprise
