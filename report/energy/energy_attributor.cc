#include "report/energy/energy_attributor.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "report/energy/energy_split.h"

namespace reprise {
namespace {

using StepKey = std::pair<std::int32_t, std::int32_t>;  // iteration and step

// Disjoint parts of the window, one for each step of each iteration: from the first of the host's
// ranks that begins it to the last that ends it, but no further than where the next one begins.
std::vector<std::pair<StepKey, Interval>> StepWindows(std::span<const MeasuredRank> ranks,
                                                      const HostMeters& host, Interval window) {
  std::map<StepKey, Interval> spans;
  for (const std::size_t r : host.ranks) {
    for (const StepRecord& step : ranks[r].steps()) {
      const Interval own = {step.start_ns, step.start_ns + step.duration_ns};
      const auto [at, added] = spans.try_emplace({step.iteration, step.step}, own);
      at->second = {std::min(at->second.first, own.first), std::max(at->second.second, own.second)};
    }
  }
  std::vector<std::pair<StepKey, Interval>> windows(spans.begin(), spans.end());
  std::ranges::sort(windows, {}, [](const auto& step) { return step.second; });
  for (std::size_t i = 0; i < windows.size(); ++i) {
    Interval& own = windows[i].second;
    const std::int64_t next_ns =
        i + 1 < windows.size() ? windows[i + 1].second.first : window.second;
    own = {std::max(own.first, window.first), std::min({own.second, next_ns, window.second})};
    own.second = std::max(own.first, own.second);
  }
  return windows;
}

std::optional<StepAmount> InferAmount(std::span<const MeasuredRank> ranks,
                                      std::optional<std::int64_t> RankFacts::*per_step,
                                      std::string RankFacts::*from) {
  std::optional<StepAmount> amount;
  for (const MeasuredRank& rank : ranks) {
    const RankFacts& facts = rank.data().facts;
    if (!(facts.*per_step)) {
      continue;
    }
    if (!amount) {
      amount = StepAmount{.from = facts.*from};
    }
    // Ranks that work on one batch together each have its share.
    const std::int64_t together = std::max<std::int64_t>(facts.step_batch_ranks.value_or(1), 1);
    amount->per_step +=
        static_cast<double>(*(facts.*per_step) * rank.alike()) / static_cast<double>(together);
  }
  return amount;
}

}  // namespace

EnergyAttributor::EnergyAttributor(std::span<const MeasuredRank> outline,
                                   std::span<const RankRow> rank_rows,
                                   std::span<const EnergyRow> rows)
    : outline_(outline), uses_(outline), meters_(FindMeters(outline, rank_rows, rows)) {
  host_of_.resize(outline.size());
  for (const HostMeters& meters : meters_) {
    Host& host = hosts_.emplace_back(Host{.meters = &meters, .ranks_to_come = meters.ranks.size()});
    for (const RunMeter& meter : meters.meters) {
      Device& device = host.devices[meter.device];
      device.meters.push_back(&meter);
      device.users_to_come = meter.users.size();
    }
    for (const std::size_t position : meters.ranks) {
      host_of_[position] = hosts_.size() - 1;
    }
  }
}

void EnergyAttributor::Add(const MeasuredRun& part) {
  uses_.Begin(part);
  for (std::size_t h = 0; h < hosts_.size(); ++h) {
    for (std::size_t r = 0; r < part.ranks.size(); ++r) {
      if (host_of_[part.positions[r]] == h) {
        AddRank(part, r, hosts_[h]);
      }
    }
  }
}

std::optional<EnergyAttribution> EnergyAttributor::Finish() {
  if (out_.meters.empty()) {
    return std::nullopt;
  }
  Total();
  AddSteps();
  uses_.Finish(out_.above_idle_joules.has_value(), out_);
  out_.tokens = PerJoule(InferTokens(outline_));
  out_.samples = PerJoule(InferSamples(outline_));
  return std::move(out_);
}

void EnergyAttributor::AddRank(const MeasuredRun& part, std::size_t r, Host& host) {
  for (auto& [name, device] : host.devices) {
    const std::vector<std::size_t>& users = device.meters.front()->users;
    if (std::ranges::find(users, part.positions[r]) != users.end()) {
      AddLoad(part, r, *host.meters, name, device);
      if (--device.users_to_come == 0) {
        Split(device);
      }
    }
  }
  if (--host.ranks_to_come == 0) {
    Finish(host);
  }
}

void EnergyAttributor::AddLoad(const MeasuredRun& part, std::size_t r, const HostMeters& host,
                               const std::string& name, Device& device) {
  const MeasuredRank& rank = part.ranks[r];
  const bool compute = !name.empty() || ComputesOnHost(part.positions[r], rank.data(), host);
  // Modelled devices transfer themselves; what is replayed goes over the host.
  const bool transfers = name.empty() || IsModelled(rank.data());
  // What a model says of each of the operations; nodes run once in a simulated run.
  const bool modelled = device.meters.size() == 1 && device.meters.front()->idle_watts &&
                        device.meters.front()->users.size() == 1 && !rank.data().joules.empty();
  std::vector<double> of_node(modelled ? rank.data().nodes.size() : 0, 0);
  for (std::size_t i = 0; i < (modelled ? rank.data().joules.size() : 0); ++i) {
    const NodeJoules& own = rank.data().joules[i];
    if (const auto node = rank.FindNode(own.node_id)) {
      of_node[*node] += own.above_idle_joules;
    }
  }
  // Most records are of operations; vectors that grow would take three times the memory at times.
  device.times.reserve(device.times.size() + rank.data().records.size());
  device.users.reserve(device.users.size() + rank.data().records.size());
  VisitOperations(part.ranks, r,
                  {.compute = compute, .transfers = transfers ? &part.transfers : nullptr},
                  [&](const Interval& time, const Execution& execution) {
                    device.times.push_back(time);
                    device.users.push_back(uses_.UserOf(execution));
                    if (modelled) {
                      device.modelled_joules.push_back(of_node[execution.node]);
                    }
                  });
}

void EnergyAttributor::Split(Device& device) {
  std::vector<SplitMeter> split_meters;
  std::int64_t update_ns = 0;
  for (const RunMeter* meter : device.meters) {
    split_meters.push_back({&meter->curve, meter->idle_watts.value_or(0)});
    update_ns = std::max(update_ns, meter->update_ns.value_or(0));
  }
  out_.of_operations = out_.of_operations || !device.modelled_joules.empty();
  EnergySplit split = SplitEnergy(split_meters, device.times, device.modelled_joules);
  const Interval window = device.meters.front()->curve.window();
  const std::int64_t devices = device.meters.front()->devices;
  const auto times = static_cast<double>(devices);
  for (std::size_t i = 0; i < device.times.size(); ++i) {
    const std::int64_t active_ns = std::min(device.times[i].second, window.second) -
                                   std::max(device.times[i].first, window.first);
    if (active_ns > 0 || split.operations[i].joules > 0) {
      const EnergyShare& share = split.operations[i];
      uses_.Add(device.users[i], {share.joules * times, share.above_idle_joules * times},
                std::max<std::int64_t>(active_ns, 0) * devices,
                device.modelled_joules.empty() ? update_ns * devices : 0);
    }
  }
  device.of_no_operation = std::move(split.meters);
  // Assigned {}, a vector keeps its memory: of all devices together that of the whole run.
  device.times = std::vector<Interval>();
  device.users = std::vector<EnergyUser>();
  device.modelled_joules = std::vector<double>();
}

void EnergyAttributor::Finish(Host& host) {
  const HostMeters& meters = *host.meters;
  if (meters.meters.empty()) {
    out_.notes.push_back(
        fmt::format("energy: nothing on host {} is metered; its ranks' operations have no joules",
                    meters.host));
    return;
  }
  HostEnergyRow& row = out_.hosts.emplace_back(HostEnergyRow{.host = meters.host});
  for (auto& [unused, device] : host.devices) {
    if (device.of_no_operation.empty()) {  // no rank uses it
      Split(device);
    }
    for (std::size_t m = 0; m < device.meters.size(); ++m) {
      AddMeter(meters, *device.meters[m], device.of_no_operation[m], row);
    }
  }
  for (const RunMeter& meter : meters.meters) {
    for (const auto& [key, window] : StepWindows(outline_, meters, meter.curve.window())) {
      steps_[key] += static_cast<double>(meter.devices) * (meter.curve.JoulesUntil(window.second) -
                                                           meter.curve.JoulesUntil(window.first));
    }
  }
}

void EnergyAttributor::AddMeter(const HostMeters& host, const RunMeter& meter,
                                const MeterRemainder& remainder, HostEnergyRow& host_row) {
  const Interval window = meter.curve.window();
  MeterEnergyRow row{.host = host.host,
                     .device = meter.metric->device,
                     .metric = meter.metric->name,
                     .source = meter.metric->source,
                     .modelled = meter.metric->modelled};
  for (const std::size_t r : meter.users) {
    row.ranks.push_back(outline_[r].data().rank);
  }
  row.devices = meter.devices;
  row.joules = meter.curve.total_joules();
  row.idle_joules = remainder.idle_joules;
  row.gap_joules = remainder.gap_joules;
  row.gaps = static_cast<std::int64_t>(meter.curve.gaps().size());
  row.gap_ns = Length(meter.curve.gaps());
  row.idle_watts = meter.idle_watts;
  if (meter.idle_watts) {
    row.above_idle_joules =
        row.joules - *meter.idle_watts * static_cast<double>(window.second - window.first) * 1e-9;
  }
  row.update_ns = meter.update_ns;
  // A simulation counts what it takes up to its very ends.
  if (row.update_ns && !IsModelled(outline_[host.ranks.front()].data())) {
    row.boundary_joules = 2 * (meter.curve.max_watts() - meter.curve.min_watts()) *
                          static_cast<double>(*row.update_ns) * 1e-9;
  }
  const auto devices = static_cast<double>(row.devices);
  host_row.joules += devices * row.joules;
  host_row.idle_joules += devices * row.idle_joules;
  host_row.gap_joules += devices * row.gap_joules;
  out_.meters.push_back(std::move(row));
}

// A sum of what each meter has, or nothing where one does not have it.
template <typename Member>
std::optional<double> EnergyAttributor::Sum(Member MeterEnergyRow::*member) const {
  double sum = 0;
  for (const MeterEnergyRow& row : out_.meters) {
    if (!(row.*member)) {
      return std::nullopt;
    }
    sum += static_cast<double>(row.devices) * *(row.*member);
  }
  return sum;
}

void EnergyAttributor::Total() {
  for (const MeterEnergyRow& row : out_.meters) {
    const auto devices = static_cast<double>(row.devices);
    out_.joules += devices * row.joules;
    out_.idle_joules += devices * row.idle_joules;
    out_.gap_joules += devices * row.gap_joules;
    out_.modelled = out_.modelled || row.modelled;
    if (row.gaps > 0) {
      out_.notes.push_back(fmt::format(
          "energy: {} {} ({}) was not read for {:.0f} ms in {} gaps; their joules are "
          "interpolated, and not attributed to any operation",
          row.host, row.device, row.metric, static_cast<double>(row.gap_ns) * 1e-6, row.gaps));
    }
  }
  out_.idle_watts = Sum(&MeterEnergyRow::idle_watts);
  out_.above_idle_joules = Sum(&MeterEnergyRow::above_idle_joules);
  out_.boundary_joules = Sum(&MeterEnergyRow::boundary_joules);
}

// An iteration's step is the mean over the trace's steps.
void EnergyAttributor::AddSteps() {
  std::map<std::int32_t, std::pair<double, double>> iterations;  // joules and steps
  for (const auto& [key, joules] : steps_) {
    out_.steps.push_back({key.first, key.second, joules});
    iterations[key.first].first += joules;
    iterations[key.first].second += 1;
  }
  std::vector<double> means;
  means.reserve(iterations.size());
  for (const auto& [unused, sum] : iterations) {
    means.push_back(sum.first / sum.second);
  }
  out_.step_joules = SpreadOf(std::move(means));
}

std::optional<StepAmount> EnergyAttributor::PerJoule(std::optional<StepAmount> amount) const {
  if (amount && out_.step_joules && out_.step_joules->median > 0) {
    amount->per_joule = amount->per_step / out_.step_joules->median;
  }
  return amount;
}

std::optional<StepAmount> InferTokens(std::span<const MeasuredRank> ranks) {
  return InferAmount(ranks, &RankFacts::step_tokens, &RankFacts::step_tokens_from);
}

std::optional<StepAmount> InferSamples(std::span<const MeasuredRank> ranks) {
  return InferAmount(ranks, &RankFacts::step_samples, &RankFacts::step_samples_from);
}

}  // namespace reprise
