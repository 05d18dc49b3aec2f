#include "predict/search/search.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <vector>

#include "core/parallel.h"
#include "predict/search/layouts.h"
#include "predict/simulator/network.h"

namespace reprise {
namespace {

class Search {
 public:
  explicit Search(const SearchRequest& request)
      : request_(request), machine_(*request.machine), estimator_(machine_) {}

  Result<LayoutSearch> Run() {
    const MachineModel& model = *machine_.options.to;
    REPRISE_TRY(Network::Create(model, *request_.job.ranks, machine_.options.slow_links));
    REPRISE_ASSIGN(Layouts layouts, LayoutsOf(request_.job, model));
    found_.job = request_.job;
    found_.kept = std::move(layouts.kept);
    found_.memory_bytes = model.device.memory_bytes.value;
    found_.considered = layouts.all.size();
    for (Layouts::One& one : layouts.all) {
      layouts_.push_back({std::move(one.options), std::move(one.workload), {}, {}});
    }
    REPRISE_TRY(EstimateAll());
    REPRISE_TRY(SimulateFastest());
    return std::move(found_);
  }

 private:
  // The first error that is not of the job: all layouts have it.
  void Keep(const Error& error) {
    status_ = status_ ? Status(tl::unexpected<Error>(error)) : std::move(status_);
  }

  void Show(bool simulates, std::size_t of) {
    ++done_;
    if (request_.progress) {
      request_.progress({.simulates = simulates, .done = done_, .of = of});
    }
  }

  Status EstimateAll() {
    ForEachInParallel(layouts_.size(), [this](std::size_t i) {
      const Result<JobEstimate> estimate = estimator_.Estimate(layouts_[i].workload);
      const std::lock_guard lock(mutex_);
      if (!estimate) {
        Keep(estimate.error());
        return;
      }
      layouts_[i].estimate = *estimate;
      Show(false, layouts_.size());
    });
    REPRISE_TRY(std::move(status_));
    std::ranges::stable_sort(layouts_, {},
                             [](const FoundLayout& layout) { return layout.estimate.peak_bytes; });
    const auto large = std::ranges::find_if(layouts_, [this](const FoundLayout& layout) {
      return layout.estimate.peak_bytes > found_.memory_bytes;
    });
    found_.too_large = static_cast<std::size_t>(layouts_.end() - large);
    if (large != layouts_.end()) {
      found_.nearest = *large;
    }
    layouts_.erase(large, layouts_.end());
    std::ranges::stable_sort(layouts_, {},
                             [](const FoundLayout& layout) { return layout.estimate.step_ns; });
    return {};
  }

  // Whether the layout may be among the best.
  [[nodiscard]] bool MayBeBest(const FoundLayout& layout) const {
    const double margin = std::max(kEstimateMargin, 2 * found_.most_error);
    return found_.best.size() < kBestLayouts ||
           layout.estimate.step_ns / (1 + margin) <
               static_cast<double>(found_.best[kBestLayouts - 1].prediction->step_time_ns);
  }

  // In the order of the estimates, as many at a time as there are cores.
  Status SimulateFastest() {
    done_ = 0;
    std::size_t next = 0;
    while (next < layouts_.size() && MayBeBest(layouts_[next])) {
      const std::size_t first = next;
      const auto cores = static_cast<std::size_t>(OwnCores());
      while (next < layouts_.size() && next - first < cores && MayBeBest(layouts_[next])) {
        ++next;
      }
      const std::size_t of = std::max(CountExpected(), next);
      ForEachInParallel(next - first, [&](std::size_t i) {
        FoundLayout& layout = layouts_[first + i];
        Result<Prediction> prediction = PredictJob(machine_, layout.workload, {});
        const std::lock_guard lock(mutex_);
        if (!prediction) {
          Keep(prediction.error());
          return;
        }
        layout.prediction = std::move(*prediction);
        Show(true, of);
      });
      REPRISE_TRY(std::move(status_));
      for (std::size_t i = first; i < next; ++i) {
        Take(std::move(layouts_[i]));
      }
    }
    found_.simulated = next;
    found_.slower = layouts_.size() - next;
    if (!found_.best.empty()) {
      found_.nearest.reset();
      FindOthers(next);
    }
    return {};
  }

  // Keeps the best ones; of those after them, the first of each other size.
  void FindOthers(std::size_t first_not_simulated) {
    std::set<std::vector<std::int64_t>> sizes;
    const auto is_new = [&sizes](const FoundLayout& layout) {
      const Layout& l = layout.workload.layout;
      return sizes.insert({l.tp, l.pp, l.dp, l.ep, l.cp}).second;
    };
    const auto add = [&](FoundLayout& layout) {
      if (is_new(layout) && found_.others.size() < kOtherSizes) {
        found_.others.push_back(std::move(layout));
      }
    };
    for (std::size_t i = 0; i < found_.best.size(); ++i) {
      if (i < kBestLayouts) {
        is_new(found_.best[i]);
        continue;
      }
      found_.best[i].estimate.step_ns =
          static_cast<double>(found_.best[i].prediction->step_time_ns);
      add(found_.best[i]);
    }
    found_.best.resize(std::min(found_.best.size(), kBestLayouts));
    for (std::size_t i = first_not_simulated; i < layouts_.size(); ++i) {
      add(layouts_[i]);
    }
    std::ranges::stable_sort(found_.others, {},
                             [](const FoundLayout& other) { return other.estimate.step_ns; });
  }

  // A guess while fewer than the best are known, for progress alone.
  [[nodiscard]] std::size_t CountExpected() const {
    constexpr double kExpectedError = 0.03;
    const double known = layouts_[std::min(layouts_.size(), kBestLayouts) - 1].estimate.step_ns;
    return static_cast<std::size_t>(std::ranges::count_if(layouts_, [&](const FoundLayout& layout) {
      return layout.prediction.has_value() ||
             (found_.best.size() < kBestLayouts
                  ? layout.estimate.step_ns <= known * (1 + kExpectedError)
                  : MayBeBest(layout));
    }));
  }

  void Take(FoundLayout&& layout) {
    const auto step = static_cast<double>(layout.prediction->step_time_ns);
    const double error = layout.estimate.step_ns / step - 1;
    found_.least_error = any_ ? std::min(found_.least_error, error) : error;
    found_.most_error = any_ ? std::max(found_.most_error, error) : error;
    any_ = true;
    if (!layout.prediction->memory->fits().value_or(true)) {
      ++found_.simulated_too_large;
      const auto peak = static_cast<double>(layout.prediction->memory->peak_bytes);
      if (!found_.nearest || peak < found_.nearest->estimate.peak_bytes) {
        layout.estimate.peak_bytes = peak;
        found_.nearest = std::move(layout);
      }
      return;
    }
    const auto at = std::ranges::upper_bound(
        found_.best, layout.prediction->step_time_ns, {},
        [](const FoundLayout& other) { return other.prediction->step_time_ns; });
    found_.best.insert(at, std::move(layout));
  }

  const SearchRequest& request_;
  const TargetMachine& machine_;
  JobEstimator estimator_;
  std::vector<FoundLayout> layouts_;
  LayoutSearch found_;
  std::mutex mutex_;
  Status status_;
  std::size_t done_ = 0;
  bool any_ = false;  // was simulated
};

}  // namespace

Result<LayoutSearch> SearchLayouts(const SearchRequest& request) { return Search(request).Run(); }

}  // namespace reprise
