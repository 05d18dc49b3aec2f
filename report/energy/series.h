// One metric's samples over a window, as steps. Only report/ sees this.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/nodes/intervals.h"
#include "report/run/run.h"

namespace reprise {

// A value that holds from one time to another.
struct SeriesStep {
  std::int64_t begin_ns = 0, end_ns = 0;
  double value = 0;
};

// Samples of one rank, by metric.
class SampleTable {
 public:
  explicit SampleTable(const RankData& data);
  [[nodiscard]] std::span<const Sample> Of(const Metric& metric) const;
  // The metric of that name of the same device and source as `beside`; null: there is none.
  [[nodiscard]] const Metric* Find(std::string_view name, const Metric& beside) const;
  // A gauge's or state's value holds until the next reading, but for no longer than five sampling
  // periods. Of a total of joules: the mean power between two changes. Clipped to the window.
  [[nodiscard]] std::vector<SeriesStep> Steps(const Metric& metric, Interval window) const;

 private:
  // Where it stands in ids_; their number if it does not.
  [[nodiscard]] std::size_t Slot(std::int32_t id) const;

  const RankData* data_;
  std::vector<std::int32_t> ids_;     // that have samples, sorted
  std::vector<std::size_t> offsets_;  // samples of ids_[i]: [offsets_[i], offsets_[i + 1])
  std::vector<Sample> samples_;       // by id, in their own order
};

// Mean over time; nothing for no steps.
[[nodiscard]] std::optional<double> MeanOf(std::span<const SeriesStep> steps);

}  // namespace reprise
