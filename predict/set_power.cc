#include "predict/set_power.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "et_schema/rank_classes.h"
#include "predict/machine/rows_of_air.h"
#include "predict/simulator/device_operations.h"
#include "predict/simulator/power/power_nodes.h"
#include "predict/simulator/power/power_samples.h"
#include "report/run/row_blocks.h"

namespace reprise {
namespace {

// Of a transfer of that rank: its group's ranks, or both ends of a pair; none: it is in no group.
std::vector<std::int32_t> Members(const ProgramSet& set, const RankClassTimes& rank,
                                  const CommSpec& spec) {
  const std::int32_t own = rank.first_rank;
  const bool pair = IsPointToPoint(spec.kind);
  if (pair && set.peers_are_ranks) {
    return spec.peer < 0 ? std::vector<std::int32_t>{} : std::vector{own, spec.peer};
  }
  const auto role = set.groups.find(spec.group);
  if (role == set.groups.end()) {
    return {};
  }
  for (const std::vector<std::int32_t>& group : role->second) {
    if (std::ranges::find(group, own) != group.end()) {
      return pair ? std::vector{own, group[static_cast<std::size_t>(spec.peer)]} : group;
    }
  }
  return {};
}

}  // namespace

std::int64_t RecordedTransferNs(const TimingGraph& timing, std::uint32_t node) {
  const bool matched = !timing.match.empty() && timing.match[node] >= 0;
  return matched ? timing.transfer_ns[node] : timing.duration_ns[node];
}

Result<SetPower> SetPower::Create(const std::string& limit, bool until_steady,
                                  const std::optional<MachineModel>& machine) {
  SetPower power;
  if (!limit.empty()) {
    REPRISE_ASSIGN(power.options_.limit_watts, ParsePowerLimit(limit));
  }
  power.options_.until_steady = until_steady;
  if (!machine) {
    power.reason_ = "the capture's own machine is not described; name one with --machine";
  } else if (!HasPower(machine->device)) {
    power.reason_ = fmt::format(
        "machine {} has no power numbers; add device.power.idle, .limit, .memory and "
        ".vector.float32 to its file (docs/machine_format.md)",
        machine->name);
  }
  if ((!limit.empty() || until_steady) && !power.reason_.empty()) {
    return BadInput("no power can be modelled: " + power.reason_);
  }
  power.slots_ = until_steady && machine->device.thermal.rows.has_value();
  return power;
}

Status SetPower::Settle(const MachineModel& machine, const PoweredSet& set) {
  if (!HasPower(machine.device)) {
    return {};
  }
  machine_ = machine;
  device_of_ = set.class_of;
  REPRISE_ASSIGN(const Network network,
                 Network::Create(machine, static_cast<std::int64_t>(device_of_.size())));
  const bool streams = HasStreams(set.programs.programs);
  for (const RankClassTimes& own : set.classes) {
    const Graph& program = set.programs.programs[own.program];
    PoweredDevice& device =
        devices_.emplace_back(PoweredDevice{.first_rank = own.first_rank, .ranks = own.ranks});
    if (const auto front = DeviceInFront(machine.device.thermal, own.first_rank); slots_ && front) {
      device.in_front = static_cast<std::int32_t>(device_of_[static_cast<std::size_t>(*front)]);
    }
    device.nodes = PoweredNodesOf(
        {.graph = program,
         .first = own.first_node,
         .streams = streams,
         .work = [&](Graph::Index i) { return set.work(program, i); },
         .members = [&](const CommSpec& spec) { return Members(set.programs, own, spec); }},
        network);
    if (set.recorded) {
      // What has no time has no power either.
      std::erase_if(device.nodes, [&set](const PoweredNode& node) {
        return !node.transfer && set.timing.duration_ns[node.node] <= 0;
      });
    }
  }
  const auto own_ns = [&set](std::uint32_t node) {
    const TimingGraph& timing = set.timing;
    return set.recorded                 ? RecordedTransferNs(timing, node)
           : timing.transfer_ns.empty() ? timing.duration_ns[node]
                                        : timing.transfer_ns[node];
  };
  REPRISE_ASSIGN(outcome_, SettlePower({.machine = *machine_,
                                        .options = options_,
                                        .follows_limit = !set.recorded,
                                        .keep_stretches = set.keep_stretches,
                                        .own_ns = own_ns},
                                       devices_, set.timing, set.schedule));
  return {};
}

void SetPower::AddRank(const Graph& graph, std::uint32_t first) {
  const auto own = [&](std::uint32_t node) { return node >= first && node - first < graph.size(); };
  std::vector<std::uint64_t>& ids = node_ids_.emplace_back();
  for (std::size_t d = 0; outcome_ && d < outcome_->devices.size(); ++d) {
    for (const std::uint32_t node : outcome_->devices[d].peak_nodes) {
      if (own(node)) {
        names_[node] = graph.name(node - first);
      }
    }
    const std::vector<PoweredNode>& nodes = devices_[d].nodes;
    for (std::size_t i = 0; i < nodes.size() && own(nodes[i].node); ++i) {
      ids.push_back(graph.id(nodes[i].node - first));
    }
  }
}

void SetPower::Write(std::size_t rank, std::span<const std::uint64_t> blocks, RankWriter& writer,
                     bool by_class) const {
  if (!outcome_) {
    if (!reason_.empty()) {
      writer.SetFacts({.missing_telemetry = {{"model", reason_}}});
    }
    return;
  }
  const std::size_t d = by_class ? rank : device_of_[rank];
  const std::int64_t number = by_class ? devices_[d].first_rank : static_cast<std::int64_t>(rank);
  const DeviceModel& device = machine_->device;
  const std::string name = fmt::format("device-{}", number);
  const std::string uuid = fmt::format("model-{}", number);
  writer.Append<RunDevice>({{.device = name,
                             .backend = "model",
                             .name = device.name,
                             .memory_bytes = static_cast<std::int64_t>(device.memory_bytes.value),
                             .uuid = uuid}});
  writer.Append<MeteredDevice>(
      {{.device = name, .source = "model", .name = device.name, .uuid = uuid}});
  ModelledTelemetry telemetry = TelemetryOf(outcome_->devices[d], *outcome_, device, name);
  writer.Append(std::move(telemetry.metrics));
  writer.Append(std::move(telemetry.samples));
  std::vector<NodeJoules> joules;
  for (std::size_t i = 0; i < node_ids_[rank].size(); ++i) {
    joules.push_back({node_ids_[rank][i], outcome_->devices[d].node_joules[i]});
  }
  AppendBlocks(writer, std::move(joules), &NodeJoules::node_id, blocks);
  writer.SetFacts({.idle_begin_ns = telemetry.idle_begin_ns, .idle_end_ns = telemetry.idle_end_ns});
}

std::vector<PowerPrediction::OfDevice> SetPower::Devices(double steps) const {
  std::vector<PowerPrediction::OfDevice> rows;
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    const DevicePower& power = outcome_->devices[d];
    PowerPrediction::OfDevice& row =
        rows.emplace_back(PowerPrediction::OfDevice{.first_rank = devices_[d].first_rank,
                                                    .ranks = devices_[d].ranks,
                                                    .joules = power.joules / steps,
                                                    .mean_watts = power.mean_watts,
                                                    .peak_watts = power.peak_watts});
    row.peak_at_ns = power.peak.begin_ns - outcome_->window.begin_ns;
    row.peak_ns = power.peak.end_ns - power.peak.begin_ns;
    for (const std::uint32_t node : power.peak_nodes) {
      row.peak_operations.push_back(names_.at(node));
    }
    row.throttled_ns = power.throttled_ns;
    row.throttled_by_power_ns = power.throttled_by_power_ns;
    row.throttled_by_heat_ns = power.throttled_by_heat_ns;
    row.air_celsius = power.air_celsius;
    row.mean_celsius = power.mean_celsius;
    row.max_celsius = power.max_celsius;
    row.stretches = power.stretches;
  }
  return rows;
}

// Nodes whose devices take the same are shown as one.
std::vector<PowerPrediction::OfNode> SetPower::Nodes(double steps, double seconds) const {
  const auto per_node = static_cast<std::size_t>(machine_->node.devices.value);
  std::map<std::vector<std::uint32_t>, std::vector<std::int32_t>> alike;
  for (std::size_t first = 0; first < device_of_.size(); first += per_node) {
    const std::size_t end = std::min(first + per_node, device_of_.size());
    alike[{device_of_.begin() + static_cast<std::ptrdiff_t>(first),
           device_of_.begin() + static_cast<std::ptrdiff_t>(end)}]
        .push_back(static_cast<std::int32_t>(first / per_node));
  }
  std::vector<PowerPrediction::OfNode> rows;
  for (const auto& [members, numbers] : alike) {
    double joules = 0;
    for (const std::uint32_t d : members) {
      joules += outcome_->devices[d].joules;
    }
    PowerPrediction::OfNode& row = rows.emplace_back(PowerPrediction::OfNode{
        .nodes = RangesText(numbers), .joules = joules / steps, .mean_watts = joules / seconds});
    if (const OptionalNumber& rest = machine_->node.rest_watts) {
      row.total_watts = row.mean_watts + rest->value;
      row.total_joules = *row.total_watts * seconds / steps;
    }
  }
  return rows;
}

double SetPower::NodeCount() const {
  return std::ceil(static_cast<double>(device_of_.size()) / machine_->node.devices.value);
}

std::vector<PowerPrediction::OfClass> SetPower::Classes(double steps, double seconds) const {
  std::array<double, kOpClassCount> joules{};
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    const std::vector<PoweredNode>& nodes = devices_[d].nodes;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      joules.at(static_cast<std::size_t>(nodes[i].op_class)) +=
          static_cast<double>(devices_[d].ranks) * outcome_->devices[d].node_joules[i];
    }
  }
  std::vector<PowerPrediction::OfClass> rows;
  for (std::size_t c = 0; c < kOpClassCount; ++c) {
    if (joules[c] > 0) {
      rows.push_back({static_cast<OpClass>(c), joules[c] / steps, joules[c] / seconds});
    }
  }
  return rows;
}

std::optional<PowerPrediction> SetPower::Predict(std::int64_t steps) const {
  if (!outcome_) {
    return std::nullopt;
  }
  const auto of_steps = static_cast<double>(steps);
  const double seconds =
      static_cast<double>(outcome_->window.end_ns - outcome_->window.begin_ns) * 1e-9;
  const double joules = outcome_->joules(devices_);
  double idle_joules = 0;
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    idle_joules += static_cast<double>(devices_[d].ranks) * outcome_->devices[d].idle_joules;
  }
  std::optional<double> nodes_joules;
  if (const OptionalNumber& rest = machine_->node.rest_watts) {
    nodes_joules = joules + NodeCount() * rest->value * seconds;
  }
  std::optional<std::int64_t> window_ns;
  if (machine_->device.power.limit_window_ns) {
    window_ns = LimitWindowNs(machine_->device.power);
  }
  const auto over = [](const std::optional<double>& sum, double by) {
    return sum ? std::optional(*sum / by) : std::nullopt;
  };
  return PowerPrediction{.joules = joules / of_steps,
                         .idle_joules = idle_joules / of_steps,
                         .mean_watts = joules / seconds,
                         .nodes_joules = over(nodes_joules, of_steps),
                         .nodes_watts = over(nodes_joules, seconds),
                         .limit_watts = outcome_->limit_watts,
                         .limit_window_ns = window_ns,
                         .until_steady = options_.until_steady,
                         .rounds = outcome_->rounds,
                         .settled = outcome_->settled,
                         .limit_met = !outcome_->limit_unmet,
                         .heat_met = !outcome_->heat_unmet,
                         .classes = Classes(of_steps, seconds),
                         .devices = Devices(of_steps),
                         .nodes = Nodes(of_steps, seconds),
                         .summary = Summary()};
}

DeviceSummary SetPower::Summary() const {
  const auto window_ns = static_cast<double>(
      std::max<std::int64_t>(outcome_->window.end_ns - outcome_->window.begin_ns, 1));
  DeviceSummary sums;  // means follow at the end
  double ranks = 0, celsius = 0;
  double front = 0, rear = 0, front_ranks = 0, rear_ranks = 0, rear_over_front = 0;
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    const DevicePower& power = outcome_->devices[d];
    const auto weight = static_cast<double>(devices_[d].ranks);
    const auto share = [&](std::int64_t ns) {
      return weight * static_cast<double>(ns) / window_ns;
    };
    ranks += weight;
    sums.mean_watts += weight * power.mean_watts;
    sums.peak_watts = std::max(sums.peak_watts, power.peak_watts);
    sums.throttled_share += share(power.throttled_ns);
    sums.throttled_by_power_share += share(power.throttled_by_power_ns);
    sums.throttled_by_heat_share += share(power.throttled_by_heat_ns);
    if (!power.mean_celsius || !power.max_celsius) {
      continue;
    }
    celsius += weight * *power.mean_celsius;
    sums.max_celsius = std::max(sums.max_celsius.value_or(*power.max_celsius), *power.max_celsius);
    if (slots_ && RowOf(machine_->device.thermal, devices_[d].first_rank) > 0) {
      rear += weight * *power.mean_celsius;
      rear_ranks += weight;
      if (devices_[d].in_front >= 0) {
        const auto& ahead = outcome_->devices[static_cast<std::size_t>(devices_[d].in_front)];
        rear_over_front =
            std::max(rear_over_front, *power.mean_celsius / ahead.mean_celsius.value_or(1) - 1);
      }
    } else {
      front += weight * *power.mean_celsius;
      front_ranks += weight;
    }
  }
  for (double* const sum : {&sums.mean_watts, &sums.throttled_share, &sums.throttled_by_power_share,
                            &sums.throttled_by_heat_share}) {
    *sum /= ranks;
  }
  if (sums.max_celsius) {
    sums.mean_celsius = celsius / ranks;
  }
  if (slots_ && rear_ranks > 0 && front_ranks > 0) {
    sums.front_celsius = front / front_ranks;
    sums.rear_celsius = rear / rear_ranks;
    sums.rear_over_front = rear_over_front;
  }
  return sums;
}

std::map<std::string, std::string> SetPower::Describe() const {
  std::map<std::string, std::string> described;
  if (!outcome_) {
    return described;
  }
  if (!outcome_->settled) {
    described["power_rounds"] = std::to_string(outcome_->rounds);
  }
  if (outcome_->limit_unmet) {
    described["power_limit_exceeded"] = fmt::format("{:g}", outcome_->limit_watts);
  }
  if (outcome_->heat_unmet) {
    described["throttle_temperature_exceeded"] = "true";
  }
  return described;
}

}  // namespace reprise
