// What each rank, and the device on which it computes, did.
#include <algorithm>
#include <functional>
#include <map>

#include "report/compare/rows.h"

namespace reprise {
namespace {

class Heat {
 public:
  Heat(const Report& report, const RankComparison* ranks) : report_(report), loads_(ranks) {
    for (const RankRow& row : report.ranks) {
      position_[row.rank] = map_.ranks.size();
      map_.ranks.push_back(
          {.rank = row.rank, .host = row.host, .device = row.device, .values = {}});
    }
  }

  HeatMap Take() {
    AddRanks();
    AddLoads();
    AddEnergy();
    AddDevices();
    AddThrottling();
    for (HeatMap::Rank& rank : map_.ranks) {
      rank.values.resize(map_.metrics.size());
    }
    return std::move(map_);
  }

 private:
  void Set(const std::string& metric, const std::string& unit, std::int32_t rank, double value) {
    const auto [column, added] = column_.try_emplace(metric, map_.metrics.size());
    if (added) {
      map_.metrics.push_back({metric, unit});
    }
    if (const auto found = position_.find(rank); found != position_.end()) {
      auto& values = map_.ranks[found->second].values;
      values.resize(std::max(values.size(), column->second + 1));
      values[column->second] = value;
    }
  }

  void AddRanks() {
    for (const RankRow& row : report_.ranks) {
      if (row.step_time_replayed_ns) {
        Set("step time", "seconds", row.rank,
            static_cast<double>(*row.step_time_replayed_ns) * 1e-9);
      }
    }
    std::map<std::int32_t, double> exposed;
    for (const OverlapRow& row : report_.details.overlap) {
      exposed[row.rank] += static_cast<double>(row.replayed_exposed_ns) * 1e-9;
    }
    for (const auto& [rank, seconds] : exposed) {
      Set("exposed communication", "seconds", rank, seconds);
    }
  }

  void AddLoads() {
    if (loads_ == nullptr) {
      return;
    }
    for (const RankLoad& rank : loads_->ranks) {
      Set("operations", "seconds", rank.rank, rank.operations_ns * 1e-9);
      Set("waiting for ranks", "seconds", rank.rank, rank.waited_ns * 1e-9);
      Set("idle", "seconds", rank.rank, rank.idle_ns * 1e-9);
    }
  }

  void AddEnergy() {
    if (!report_.attribution) {
      return;
    }
    const std::string label = report_.attribution->modelled ? " (modelled)" : "";
    for (const EnergyUseRow& row : report_.attribution->ranks) {
      const std::int32_t rank = std::stoi(row.name);
      if (const auto found = position_.find(rank);
          row.use.step_joules && found != position_.end()) {
        // As all values here, of one rank, however many are like it.
        Set("energy of a step" + label, "joules", rank,
            row.use.step_joules->median / static_cast<double>(report_.ranks[found->second].alike));
      }
    }
  }

  // Means over the measured time of the devices on which ranks compute.
  void AddDevices() {
    for (const EnergyRow& row : report_.energy) {
      for (const std::int32_t rank : row.in_total ? row.ranks : std::vector<std::int32_t>()) {
        Set(row.modelled ? "mean power (modelled)" : "mean power", "watts", rank, row.mean_watts);
      }
    }
    for (const MetricRow& row : report_.metrics) {
      if (row.metric.ends_with("_limit")) {
        continue;  // a setting
      }
      for (const std::int32_t rank : row.ranks) {
        Set(Label("mean ", row), row.rate ? row.unit + "/s" : row.unit, rank, row.mean);
        if (row.unit == "celsius") {
          Set(Label("highest ", row), row.unit, rank, row.max);
        }
      }
    }
  }

  static std::string Label(const char* what, const MetricRow& row) {
    std::string name = what + row.metric + (row.modelled ? " (modelled)" : "");
    std::ranges::replace(name, '_', ' ');
    return name;
  }

  void AddThrottling() {
    std::map<std::pair<std::string, std::string>, const std::vector<std::int32_t>*> users;
    for (const MetricRow& row : report_.metrics) {
      users[{row.host, row.device}] = &row.ranks;
    }
    for (const ThrottleRow& row : report_.thermal.throttling) {
      const auto found = users.find({row.host, row.device});
      if (found == users.end() || row.measured_ns <= 0) {
        continue;
      }
      for (const std::int32_t rank : *found->second) {
        Set("time throttled", "fraction", rank,
            static_cast<double>(row.throttled_ns) / static_cast<double>(row.measured_ns));
      }
    }
  }

  const Report& report_;
  const RankComparison* loads_;  // null: not known
  HeatMap map_;
  std::map<std::int32_t, std::size_t> position_;
  std::map<std::string, std::size_t> column_;
};

}  // namespace

HeatMap DescribeHeat(const Report& report, const RankComparison* ranks) {
  return Heat(report, ranks).Take();
}

}  // namespace reprise
