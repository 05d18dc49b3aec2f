#include "report/html_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "report/report_json.h"
#include "report/rows_json.h"

namespace reprise {
namespace {

using Json = nlohmann::ordered_json;

class Cutter {
 public:
  explicit Cutter(std::map<std::string, std::int64_t>& left_out) : left_out_(left_out) {}

  // Keeps the rows for which `weight` is largest, in the order in which they stand.
  template <typename Row, typename Weight>
  void Cut(const char* list, std::size_t most, std::vector<Row>& rows, Weight weight) {
    if (rows.size() <= most) {
      return;
    }
    std::vector<std::size_t> order(rows.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      order[i] = i;
    }
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return weight(rows[a]) > weight(rows[b]);
    });
    order.resize(most);
    std::sort(order.begin(), order.end());
    left_out_[list] += static_cast<std::int64_t>(rows.size() - most);
    std::vector<Row> kept;
    kept.reserve(most);
    for (const std::size_t i : order) {
      kept.push_back(std::move(rows[i]));
    }
    rows = std::move(kept);
  }
  // Keeps the first.
  template <typename Row>
  void Cut(const char* list, std::size_t most, std::vector<Row>& rows) {
    Cut(list, most, rows, [](const Row&) { return 0; });
  }

 private:
  std::map<std::string, std::int64_t>& left_out_;
};

void CutAttribution(std::size_t most, std::size_t most_ranks, Cutter& cutter,
                    EnergyAttribution& attribution) {
  const auto joules = [](const auto& row) { return row.joules; };
  const auto used = [](const auto& row) { return row.use.joules; };
  cutter.Cut("energy.meters", most, attribution.meters, joules);
  cutter.Cut("energy.hosts", most, attribution.hosts, joules);
  cutter.Cut("energy.steps", most, attribution.steps);
  cutter.Cut("energy.transfers", most, attribution.transfers, used);
  cutter.Cut("energy.ranks", most_ranks, attribution.ranks, used);
}

void CutThermal(std::size_t most, Cutter& cutter, ThermalDetails& thermal) {
  cutter.Cut("throttling.devices", most, thermal.throttling,
             [](const ThrottleRow& row) { return row.throttled_ns; });
  // All devices' intervals together keep within the limit, tenfold.
  const std::size_t each =
      std::max<std::size_t>(10 * most / std::max<std::size_t>(thermal.throttling.size(), 1), 1);
  for (ThrottleRow& row : thermal.throttling) {
    cutter.Cut("throttling.intervals", std::min(most, each), row.intervals,
               [](const ThrottleInterval& interval) { return interval.length_ns; });
  }
  cutter.Cut("power_peaks", most, thermal.peaks,
             [](const PowerPeakRow& row) { return row.excursion_ns; });
  cutter.Cut("heating", most, thermal.heating,
             [](const HeatingRow& row) { return row.max_celsius; });
}

// Five digits are more than any reading has, and keep the page small.
Json Short(double value) { return std::strtod(fmt::format("{:.5g}", value).c_str(), nullptr); }

Json Shorts(const std::vector<double>& values) {
  Json json = Json::array();
  for (const double value : values) {
    json.push_back(Short(value));
  }
  return json;
}

// Whole microseconds: telemetry knows no finer.
Json Microseconds(const std::vector<std::int64_t>& times_ns) {
  Json json = Json::array();
  for (const std::int64_t time_ns : times_ns) {
    json.push_back(time_ns / 1'000);
  }
  return json;
}

Json StepJson(const StepClassRow& row) {
  return {row.rank, row.step, row.iteration, row.step_ns, row.class_ns};
}

Json StragglerJson(const StragglerRow& row) {
  return {{"rank", row.rank},
          {"transfers", row.transfers},
          {"last", row.last},
          {"recorded_waited_ns", row.recorded_waited_ns},
          {"replayed_waited_ns", row.replayed_waited_ns},
          {"caused_ns", row.caused_ns}};
}

Json SeriesJson(const TelemetrySeries& row) {
  return {{"device", row.device},     {"metric", row.metric},
          {"unit", row.unit},         {"source", row.source},
          {"modelled", row.modelled}, {"ranks", row.ranks},
          {"mean", Short(row.mean)},  {"max", Short(row.max)},
          {"binned", row.binned},     {"times_us", Microseconds(row.times_ns)},
          {"low", Shorts(row.low)},   {"high", Shorts(row.high)}};
}

Json IterationJson(const TelemetryIteration& row) {
  return {{"iteration", row.iteration},
          {"warmup", row.warmup},
          {"begin_ns", row.begin_ns},
          {"end_ns", row.end_ns}};
}

Json HostJson(const TelemetryHost& host) {
  Json running = Json::array();
  for (const std::vector<double>& of_class : host.running) {
    running.push_back(Shorts(of_class));
  }
  return {{"host", host.host},
          {"sampled_by", host.sampled_by},
          {"ranks", host.ranks},
          {"begin_ns", host.begin_ns},
          {"end_ns", host.end_ns},
          {"series", RowsJson(host.series, SeriesJson)},
          {"iterations", RowsJson(host.iterations, IterationJson)},
          {"bin_ns", host.bin_ns},
          {"classes", host.classes},
          {"running", std::move(running)}};
}

}  // namespace

Report CutToLimits(Report report, const HtmlLimits& limits,
                   std::map<std::string, std::int64_t>& left_out) {
  Cutter cutter(left_out);
  const std::size_t most = limits.rows;
  cutter.Cut("collectives", most, report.collectives, [](const CollectiveRow& row) {
    return row.count * row.replayed_ns.value_or(row.recorded_ns);
  });
  cutter.Cut("shapes", most, report.shapes);  // the largest difference comes first
  cutter.Cut("ranks", limits.ranks, report.ranks, [](const RankRow& row) {
    return row.step_time_replayed_ns.value_or(row.step_time_recorded_ns.value_or(0));
  });
  cutter.Cut("energy", most, report.energy, [](const EnergyRow& row) { return row.joules; });
  cutter.Cut("metrics", most, report.metrics);
  cutter.Cut("actors", most, report.details.actors, [](const ActorRow& row) {
    return std::abs(row.replayed_busy_ns - row.recorded_busy_ns);
  });
  cutter.Cut("overlap", 4 * most, report.details.overlap, [](const OverlapRow& row) {
    return std::max(row.replayed_exposed_ns, row.recorded_exposed_ns);
  });
  cutter.Cut("notes", most, report.notes);
  if (report.attribution) {
    CutAttribution(most, limits.ranks, cutter, *report.attribution);
  }
  CutThermal(most, cutter, report.thermal);
  return report;
}

std::string HtmlDataJson(const Report& report, const PageDetails& details,
                         const HtmlLimits& limits) {
  auto [steps, stragglers, telemetry] = details;
  std::map<std::string, std::int64_t> left_out;
  const Report cut = CutToLimits(report, limits, left_out);
  Cutter cutter(left_out);
  cutter.Cut("stragglers", limits.ranks, stragglers,
             [](const StragglerRow& row) { return row.caused_ns; });
  // One row a rank and step is the least; beyond that they are counted too.
  const std::size_t most_steps = 16 * limits.ranks;
  const auto step_ns = [](const StepClassRow& row) { return row.step_ns; };
  cutter.Cut("steps.recorded", most_steps, steps.recorded, step_ns);
  cutter.Cut("steps.replayed", most_steps, steps.replayed, step_ns);
  if (steps.iterations_left_out > 0) {
    left_out["iterations"] = steps.iterations_left_out;
  }
  if (telemetry.series_left_out > 0) {
    left_out["telemetry.series"] = telemetry.series_left_out;
  }
  Json json;
  json["report"] = ReportJson(cut);
  json["steps"] = {{"classes", steps.classes},
                   {"recorded", RowsJson(steps.recorded, StepJson)},
                   {"replayed", RowsJson(steps.replayed, StepJson)}};
  json["stragglers"] = RowsJson(stragglers, StragglerJson);
  json["telemetry"] = RowsJson(telemetry.hosts, HostJson);
  json["left_out"] = left_out;
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace reprise
