#include "report/energy/throttling.h"

#include <algorithm>
#include <utility>

#include "report/energy/energy_meters.h"
#include "report/energy/load.h"
#include "report/energy/power_peaks.h"
#include "report/energy/series.h"
#include "report/energy/throttle.h"

namespace reprise {
namespace {

bool IsGaugeOfPower(const Metric& metric) {
  return metric.unit == "watts" && MeasuresEnergy(metric);
}

// One rank that samples, with its host's ranks.
class ThermalExamination {
 public:
  ThermalExamination(std::span<const MeasuredRank> ranks, std::span<const RankRow> rank_rows,
                     std::size_t sampled_by, const TransferSummary& transfers, ThermalDetails& out)
      : ranks_(ranks),
        data_(ranks[sampled_by].data()),
        host_(rank_rows[sampled_by].host),
        window_(ranks[sampled_by].begin_ns(), ranks[sampled_by].end_ns()),
        samples_(data_),
        transfers_(transfers),
        host_ranks_(RanksOfHost(rank_rows, host_)),
        out_(out) {}

  void Run() {
    for (const Metric& metric : data_.metrics) {
      if (metric.kind == MetricKind::kState && metric.name == "throttle_reasons") {
        AddThrottling(metric);
      } else if (IsGaugeOfPower(metric) ||
                 (metric.kind == MetricKind::kEnergy && !HasGaugeOfPower(metric))) {
        AddPeaks(metric);
      } else if (metric.unit == "celsius") {
        if (auto row = DescribeHeating(samples_.Steps(metric, window_))) {
          Add(out_.heating, *row, metric);
        }
      }
    }
  }

 private:
  template <typename Row>
  void Add(std::vector<Row>& rows, Row row, const Metric& metric) {
    row.host = host_;
    row.device = metric.device;
    row.source = metric.source;
    row.modelled = metric.modelled;
    row.devices = RanksAlike(data_);
    if constexpr (requires { row.metric; }) {
      row.metric = metric.name;
    }
    rows.push_back(std::move(row));
  }

  void AddThrottling(const Metric& reasons) {
    const auto on_device = RanksOnDevice(reasons, data_, ranks_, host_ranks_);
    Load load;
    for (const std::size_t r : on_device.value_or(host_ranks_)) {
      const bool transfers = !on_device || IsModelled(ranks_[r].data());
      AddOperations(ranks_, r, {.compute = true, .transfers = transfers ? &transfers_ : nullptr},
                    load);
    }
    ThrottleRow row = DescribeThrottling(reasons, samples_, window_, ranks_, load);
    if (row.measured_ns > 0) {
      Add(out_.throttling, std::move(row), reasons);
    }
  }

  void AddPeaks(const Metric& metric) {
    std::optional<double> limit;
    if (const Metric* limits = samples_.Find("power_limit", metric)) {
      limit = MeanOf(samples_.Steps(*limits, window_));
    }
    if (auto row = DescribePeaks(samples_.Steps(metric, window_), limit)) {
      Add(out_.peaks, *row, metric);
    }
  }

  [[nodiscard]] bool HasGaugeOfPower(const Metric& total) const {
    return std::ranges::any_of(data_.metrics, [&total](const Metric& metric) {
      return IsGaugeOfPower(metric) && metric.device == total.device &&
             metric.source == total.source;
    });
  }

  std::span<const MeasuredRank> ranks_;
  const RankData& data_;
  std::string host_;
  Interval window_;
  SampleTable samples_;
  const TransferSummary& transfers_;
  std::vector<std::size_t> host_ranks_;
  ThermalDetails& out_;
};

}  // namespace

ThermalDetails ExamineThermal(std::span<const MeasuredRank> ranks,
                              std::span<const RankRow> rank_rows,
                              const TransferSummary& transfers) {
  ThermalDetails details;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    if (!ranks[r].data().samples.empty()) {
      ThermalExamination(ranks, rank_rows, r, transfers, details).Run();
    }
  }
  return details;
}

}  // namespace reprise
