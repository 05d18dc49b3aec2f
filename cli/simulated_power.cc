#include "cli/simulated_power.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "core/json_fields.h"
#include "et_schema/rank_classes.h"
#include "simulator/device_operations.h"
#include "simulator/power_nodes.h"
#include "simulator/power_samples.h"

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

void AddPowerFlags(CLI::App& app, PowerFlags& flags) {
  app.add_option("--power-limit", flags.limit,
                 "power that no device exceeds, as in 500W: clocks fall where it would (default: "
                 "the machine's limit)");
  app.add_flag("--until-steady", flags.until_steady,
               "the step repeats until temperatures do: devices throttle by heat, and those behind "
               "others stand in warm air");
}

Status SimulatedPower::Interpret(const PowerFlags& flags,
                                 const std::optional<MachineModel>& machine) {
  if (!flags.limit.empty()) {
    REPRISE_ASSIGN(options_.limit_watts, ParsePowerLimit(flags.limit));
  }
  options_.until_steady = flags.until_steady;
  if (!machine) {
    reason_ = "the capture's own machine is not described; name one with --machine";
  } else if (!HasPower(machine->device)) {
    reason_ = fmt::format(
        "machine {} has no power numbers; add device.power.idle, .limit, .memory and "
        ".vector.float32 to its file (docs/machine_format.md)",
        machine->name);
  }
  if ((!flags.limit.empty() || flags.until_steady) && !reason_.empty()) {
    return BadInput("no power can be modelled: " + reason_);
  }
  slots_ = flags.until_steady && machine->device.thermal.rows.has_value();
  return {};
}

Status SimulatedPower::Settle(const MachineModel& machine, const PoweredSet& set) {
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
                                        .own_ns = own_ns},
                                       devices_, set.timing, set.schedule));
  return {};
}

void SimulatedPower::AddRank(const Graph& graph, std::uint32_t first) {
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

void SimulatedPower::Write(std::size_t rank, RankWriter& writer, bool by_class) const {
  if (!outcome_) {
    if (!reason_.empty()) {
      writer.SetFact("telemetry.model", reason_);
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
  writer.Append(std::move(joules));
  writer.SetFact(kFactIdleBeginNs, std::to_string(telemetry.idle_begin_ns));
  writer.SetFact(kFactIdleEndNs, std::to_string(telemetry.idle_end_ns));
}

Json SimulatedPower::StepJoules(std::int64_t steps) const {
  return outcome_ ? Json(outcome_->joules(devices_) / static_cast<double>(steps)) : Json(nullptr);
}

Json SimulatedPower::DevicesJson(double steps) const {
  Json rows = Json::array();
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    const DevicePower& power = outcome_->devices[d];
    Json running = Json::array();
    for (const std::uint32_t node : power.peak_nodes) {
      running.push_back(names_.at(node));
    }
    Json& row = rows.emplace_back();
    REPRISE_ADD_FIELDS(row, devices_[d], first_rank, ranks)
    row["joules"] = power.joules / steps;
    REPRISE_ADD_FIELDS(row, power, mean_watts, peak_watts)
    row["peak_at_ns"] = power.peak.begin_ns - outcome_->window.begin_ns;
    row["peak_ns"] = power.peak.end_ns - power.peak.begin_ns;
    row["peak_operations"] = std::move(running);
    REPRISE_ADD_FIELDS(row, power, throttled_ns, throttled_by_power_ns, throttled_by_heat_ns,
                       air_celsius, mean_celsius, max_celsius)
  }
  return rows;
}

// Nodes whose devices take the same are shown as one.
Json SimulatedPower::NodesJson(double steps, double seconds) const {
  const auto per_node = static_cast<std::size_t>(machine_->node.devices.value);
  std::map<std::vector<std::uint32_t>, std::vector<std::int32_t>> alike;
  for (std::size_t first = 0; first < device_of_.size(); first += per_node) {
    const std::size_t end = std::min(first + per_node, device_of_.size());
    alike[{device_of_.begin() + static_cast<std::ptrdiff_t>(first),
           device_of_.begin() + static_cast<std::ptrdiff_t>(end)}]
        .push_back(static_cast<std::int32_t>(first / per_node));
  }
  Json rows = Json::array();
  for (const auto& [members, numbers] : alike) {
    double joules = 0;
    for (const std::uint32_t d : members) {
      joules += outcome_->devices[d].joules;
    }
    rows.push_back({{"nodes", RangesText(numbers)},
                    {"joules", joules / steps},
                    {"mean_watts", joules / seconds}});
  }
  return rows;
}

Json SimulatedPower::ClassesJson(double steps, double seconds) const {
  std::array<double, kOpClassCount> joules{};
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    const std::vector<PoweredNode>& nodes = devices_[d].nodes;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      joules.at(static_cast<std::size_t>(nodes[i].op_class)) +=
          static_cast<double>(devices_[d].ranks) * outcome_->devices[d].node_joules[i];
    }
  }
  Json rows = Json::array();
  for (std::size_t c = 0; c < kOpClassCount; ++c) {
    if (joules[c] > 0) {
      rows.push_back({{"name", Name(static_cast<OpClass>(c))},
                      {"above_idle_joules", joules[c] / steps},
                      {"mean_watts", joules[c] / seconds}});
    }
  }
  return rows;
}

Json SimulatedPower::ToJson(std::int64_t steps) const {
  if (!outcome_) {
    return nullptr;
  }
  const auto of_steps = static_cast<double>(steps);
  const double seconds =
      static_cast<double>(outcome_->window.end_ns - outcome_->window.begin_ns) * 1e-9;
  const double joules = outcome_->joules(devices_);
  double idle_joules = 0;
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    idle_joules += static_cast<double>(devices_[d].ranks) * outcome_->devices[d].idle_joules;
  }
  return {{"joules", joules / of_steps},           {"idle_joules", idle_joules / of_steps},
          {"mean_watts", joules / seconds},        {"limit_watts", outcome_->limit_watts},
          {"until_steady", options_.until_steady}, {"rounds", outcome_->rounds},
          {"settled", outcome_->settled},          {"limit_met", !outcome_->limit_unmet},
          {"heat_met", !outcome_->heat_unmet},     {"classes", ClassesJson(of_steps, seconds)},
          {"devices", DevicesJson(of_steps)},      {"nodes", NodesJson(of_steps, seconds)}};
}

Json SimulatedPower::RowJson() const {
  Json row = Json::object();
  if (!outcome_) {
    return row;
  }
  const auto window_ns = static_cast<double>(
      std::max<std::int64_t>(outcome_->window.end_ns - outcome_->window.begin_ns, 1));
  double ranks = 0;
  double mean_watts = 0, peak_watts = 0, by_power = 0, by_heat = 0, throttled = 0, celsius = 0;
  std::optional<double> warmest;
  double front = 0, rear = 0, front_ranks = 0, rear_ranks = 0, rear_over_front = 0;
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    const DevicePower& power = outcome_->devices[d];
    const auto weight = static_cast<double>(devices_[d].ranks);
    ranks += weight;
    mean_watts += weight * power.mean_watts;
    peak_watts = std::max(peak_watts, power.peak_watts);
    throttled += weight * static_cast<double>(power.throttled_ns) / window_ns;
    by_power += weight * static_cast<double>(power.throttled_by_power_ns) / window_ns;
    by_heat += weight * static_cast<double>(power.throttled_by_heat_ns) / window_ns;
    if (!power.mean_celsius || !power.max_celsius) {
      continue;
    }
    celsius += weight * *power.mean_celsius;
    warmest = std::max(warmest.value_or(*power.max_celsius), *power.max_celsius);
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
  row = {{"mean_watts", mean_watts / ranks},
         {"peak_watts", peak_watts},
         {"throttled_share", throttled / ranks},
         {"throttled_by_power_share", by_power / ranks},
         {"throttled_by_heat_share", by_heat / ranks},
         {"mean_celsius", warmest ? Json(celsius / ranks) : Json(nullptr)},
         {"max_celsius", warmest}};
  const bool both = slots_ && rear_ranks > 0 && front_ranks > 0;
  row["front_celsius"] = both ? Json(front / front_ranks) : Json(nullptr);
  row["rear_celsius"] = both ? Json(rear / rear_ranks) : Json(nullptr);
  row["rear_over_front"] = both ? Json(rear_over_front) : Json(nullptr);
  return row;
}

std::map<std::string, std::string> SimulatedPower::Describe() const {
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
