#include "predict/set_simulation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <set>

#include "core/shown_text.h"
#include "core/timing/dry_run.h"
#include "predict/machine/catalogue.h"
#include "predict/machine/fields.h"
#include "predict/operator_work.h"
#include "predict/simulator/device_operations.h"
#include "replayer/plan/known_work.h"
#include "report/nodes/intervals.h"
#include "report/run/run.h"

namespace reprise {
namespace {

// "NVIDIA H100 80GB HBM3", or the processor of a capture without device; of all ranks.
std::set<std::string> RecordedDevices(std::span<const Graph> graphs) {
  std::set<std::string> devices;
  for (const Graph& graph : graphs) {
    const RecordedMachine& machine = graph.metadata().machine;
    devices.insert(machine.device.empty() ? machine.processor : machine.device);
  }
  return devices;
}

std::size_t RankOf(const Graph& graph, const SimulatedSet& set) {
  return static_cast<std::size_t>(&graph - set.graphs.data());
}

Counts CountsOf(const SimulatedSet& set) {
  return [&set](const Graph& graph, Graph::Index i) {
    return set.plans[RankOf(graph, set)].work[i].counts;
  };
}

// Each rank with a program of its own.
ProgramSet ProgramsOf(const SimulatedSet& set) {
  ProgramSet programs{.programs = set.graphs, .peers_are_ranks = true};
  programs.program_of.resize(set.graphs.size());
  std::iota(programs.program_of.begin(), programs.program_of.end(), 0U);
  for (const auto& [id, group] : set.mapping.groups) {
    programs.groups[id] = {group.ranks};
    // Groups of one name and size are used at the same time, as those of one role in a folded set.
    programs.alike[id] = fmt::format("{} of {}", group.description, group.ranks.size());
  }
  return programs;
}

}  // namespace

void IdleTimes::AddRank(const Graph& graph, const Counts& counts, const Schedule& schedule,
                        std::uint32_t first,
                        const std::function<std::int64_t(std::uint32_t node)>& own_ns,
                        std::int64_t ranks_alike) {
  std::vector<Interval> computes;
  std::vector<Interval> busy;
  for (Graph::Index i = 0; i < graph.size(); ++i) {
    const std::uint32_t node = first + i;
    const std::int64_t end_ns = schedule.end_ns[node];
    if (graph.comm(i) != nullptr) {
      busy.emplace_back(std::max(schedule.start_ns[node], end_ns - own_ns(node)), end_ns);
    } else if (counts(graph, i)) {
      computes.emplace_back(schedule.start_ns[node], end_ns);
    }
  }
  const std::int64_t computes_ns = Length(Union(computes));
  busy.insert(busy.end(), computes.begin(), computes.end());
  const std::int64_t busy_ns = Length(Union(std::move(busy)));
  const auto weight = static_cast<double>(ranks_alike);
  ranks += weight;
  exposed_ns += weight * static_cast<double>(busy_ns - computes_ns);
  bubble_ns += weight * static_cast<double>(schedule.makespan_ns - busy_ns);
}

namespace {
// Prediction::last_starts of one class.
std::vector<std::uint64_t> LastStarts(const Graph& program, const Counts& counts,
                                      const Schedule& schedule, std::uint32_t first) {
  // FNV-1a, of whole numbers.
  std::uint64_t hash = 14695981039346656037U;
  constexpr std::uint64_t kPrime = 1099511628211U;
  std::vector<std::uint64_t> hashes;
  std::uint64_t count = 0;
  for (Graph::Index i = program.size(); i-- > 0;) {
    if (counts(program, i)) {
      const std::int64_t before_end_ns = schedule.makespan_ns - schedule.start_ns[first + i];
      hash = (hash ^ static_cast<std::uint64_t>(before_end_ns)) * kPrime;
      if (std::has_single_bit(++count)) {
        hashes.push_back(hash);
      }
    }
  }
  if (!hashes.empty()) {
    hashes.pop_back();  // at least half of the operations are not counted: the pipeline fills up
  }
  return hashes;
}
}  // namespace

// The capture names its device, not its nodes: where the target has the same device, it is taken to
// be the target's machine, so that nothing changes but what the user sets.
Status SetSimulation::FindSource(const SimulatedSet& set) {
  // First of all: no --captured-on helps.
  if (machine_.options.to && machine_.options.to->device.kind == DeviceKind::kGpu &&
      !HasStreams(set.graphs) && HasThreads(set.graphs)) {
    return BadInput(fmt::format(
        "the set was captured on a CPU (its nodes are of host threads alone), and {} is a GPU "
        "machine: nothing says what a GPU takes for them. Capture the job on a GPU, or simulate it "
        "on a CPU machine (--machine recorded, or a file)",
        machine_.options.to->name));
  }
  if (!machine_.options.to || machine_.options.from) {
    return {};
  }
  const std::set<std::string> devices = RecordedDevices(set.graphs);
  const std::string& device = *devices.begin();
  if (devices.size() > 1) {
    return BadInput(
        fmt::format("the ranks were captured on different devices ({}); name one machine "
                    "with --captured-on",
                    fmt::join(devices, ", ")));
  }
  if (IsRecordedAs(machine_.options.to->device, device)) {
    REPRISE_ASSIGN(machine_.options.from, LoadMachine(machine_.name));
    return {};
  }
  const std::vector<std::string> known = MachinesOfDevice(device);
  if (known.empty()) {
    return BadInput(
        fmt::format("the set was captured on {}; name that machine with --captured-on: a built-in "
                    "one (`reprise "
                    "list machines`), or a file that describes it (docs/machine_format.md)",
                    device.empty() ? "a device that it does not name"
                                   : "'" + ShownText(device) + "', which no built-in machine has"));
  }
  REPRISE_ASSIGN(machine_.options.from, LoadMachine(known.front()));
  return {};
}

void SetSimulation::FindTypeWithoutRate(const DeviceModel& device, const OperatorWork& work) {
  if (LacksRate(device, work)) {
    without_rate_.emplace(Name(work.dtype));
  }
}

Result<ClassSimulation> SetSimulation::ModelClasses(const ProgramSet& set, const WorkOfNode& work,
                                                    const Counts& counts) {
  REPRISE_ASSIGN(ClassSimulation simulated,
                 SimulateClasses(set,
                                 {.machine = *machine_.options.to,
                                  .slow_ranks = machine_.options.slow_ranks,
                                  .slow_links = machine_.options.slow_links,
                                  .network = machine_.options.network,
                                  .slots = machine_.power.slots()},
                                 work, known_));
  TimingGraph& timing = simulated.timing;
  REPRISE_TRY(machine_.power.Settle(*machine_.options.to, {.programs = set,
                                                           .work = work,
                                                           .class_of = simulated.class_of,
                                                           .classes = simulated.classes,
                                                           .timing = timing,
                                                           .schedule = simulated.schedule,
                                                           .keep_stretches = known_ != nullptr}));
  classes_ = static_cast<std::int64_t>(simulated.classes.size());
  const auto own_ns = [&timing](std::uint32_t node) {
    return timing.transfer_ns.empty() ? 0 : timing.transfer_ns[node];
  };
  for (const RankClassTimes& own : simulated.classes) {
    const Graph& program = set.programs[own.program];
    idle_.AddRank(program, counts, simulated.schedule, own.first_node, own_ns, own.ranks);
    machine_.power.AddRank(program, own.first_node);
    if (known_ != nullptr) {
      last_starts_.push_back(LastStarts(program, counts, simulated.schedule, own.first_node));
    }
    for (Graph::Index i = 0; i < program.size(); ++i) {
      const OperatorWork of_node = work(program, i);
      FindTypeWithoutRate(machine_.options.to->device, of_node);
      products_at_peak_ns_ +=
          ProductNsAtPeak(machine_.options.to->device, of_node) * static_cast<double>(own.ranks);
      if (!counts(program, i) || program.comm(i) != nullptr) {
        continue;
      }
      const std::int64_t ns = timing.duration_ns[own.first_node + i] * own.ranks;
      summary_.operations_ns += ns;
      summary_.known_ns += of_node.known ? ns : 0;
      summary_.by_default_ns +=
          RooflineOf(machine_.options.to->device, of_node).by_default() ? ns : 0;
    }
  }
  return simulated;
}

// Before anything is written.
Status SetSimulation::CheckRules() const {
  if (rules_ == nullptr) {
    return {};
  }
  REPRISE_TRY(rules_->CheckEffects());
  return machine_.options.network == NetworkModel::kFlow && rules_->ChangesTransferTimes()
             ? UsageError(
                   "--network flow: transfers take what their links give them, and no other time; "
                   "leave it out, or `resize` the transfers")
             : Status();
}

std::vector<std::vector<TimeChange>> SetSimulation::ChangesOf(const SimulatedSet& set) const {
  std::vector<std::vector<TimeChange>> changes;
  for (std::size_t rank = 0; rules_ != nullptr && rank < set.graphs.size(); ++rank) {
    changes.push_back(rules_->TimeChanges(set.graphs[rank], set.mapping.replayed[rank]));
  }
  return changes;
}

void SetSimulation::ChangeTimes(const SimulatedSet& set) const {
  const std::vector<std::vector<TimeChange>> changes = ChangesOf(set);
  for (std::size_t rank = 0; rank < changes.size(); ++rank) {
    for (Graph::Index i = 0; i < changes[rank].size(); ++i) {
      const std::uint32_t node = set.first[rank] + i;
      const TimeChange& change = changes[rank][i];
      set.timing.duration_ns[node] = change.Of(set.timing.duration_ns[node]);
      set.timing.delay_ns[node] += change.delay_ns;
      if (!set.timing.match.empty() && set.timing.match[node] >= 0) {
        set.timing.transfer_ns[node] = change.Of(set.timing.transfer_ns[node]);
      }
    }
  }
}

Status SetSimulation::ModelTimes(const SimulatedSet& set, const WorkOfNode& work) {
  REPRISE_TRY(machine_.CheckWithoutTimes(false, set.options));
  ProgramSet programs = ProgramsOf(set);
  programs.changes = ChangesOf(set);
  // Every rank is a class of its own, in order: its nodes stand where they do in the set.
  REPRISE_ASSIGN(ClassSimulation simulated, ModelClasses(programs, work, CountsOf(set)));
  // After the set's nodes come those of launches.
  set.timing = std::move(simulated.timing);
  set.timing.match.resize(set.timing.size(), -1);
  set.timing.transfer_ns.resize(set.timing.size());
  schedule_ = std::move(simulated.schedule);
  sources_ = std::move(simulated.source);
  return {};
}

Status SetSimulation::SettleRecorded(const SimulatedSet& set, const WorkOfNode& work) {
  if (!machine_.options.to || !HasPower(machine_.options.to->device)) {
    return {};
  }
  const ProgramSet programs = ProgramsOf(set);
  std::vector<RankClassTimes> ranks_of_set;
  for (const std::uint32_t rank : programs.program_of) {
    ranks_of_set.push_back({.program = rank,
                            .first_rank = static_cast<std::int32_t>(rank),
                            .ranks = 1,
                            .first_node = set.first[rank]});
  }
  REPRISE_ASSIGN(Schedule recorded, DryRun(set.timing));
  return machine_.power.Settle(
      *machine_.options.to,
      {programs, work, programs.program_of, ranks_of_set, set.timing, recorded, /*recorded=*/true});
}

Status SetSimulation::ReplaceTimes(const SimulatedSet& set) {
  REPRISE_TRY(CheckRules());
  if (!job_ || job_->memory.empty()) {
    REPRISE_ASSIGN(traced_, TracedMemoryOf(set.graphs));
  }
  std::vector<OperatorWork> work;
  for (std::size_t rank = 0; rank < set.graphs.size(); ++rank) {
    for (Graph::Index i = 0; i < set.graphs[rank].size(); ++i) {
      REPRISE_ASSIGN(work.emplace_back(), WorkOf(set.graphs[rank], set.plans[rank], i));
    }
  }
  const auto work_of = [&](const Graph& graph, Graph::Index i) {
    return work[set.first[RankOf(graph, set)] + i];
  };
  if (std::ranges::none_of(set.graphs, HasDurations)) {
    return ModelTimes(set, work_of);
  }
  REPRISE_TRY(FindSource(set));
  const bool other =
      machine_.options.to && !SameNumbers(*machine_.options.from, *machine_.options.to);
  for (const OperatorWork& of_node : work) {
    products_at_peak_ns_ +=
        machine_.options.to ? ProductNsAtPeak(machine_.options.to->device, of_node) : 0;
    if (other) {
      FindTypeWithoutRate(machine_.options.from->device, of_node);
      FindTypeWithoutRate(machine_.options.to->device, of_node);
    }
  }
  classes_ = static_cast<std::int64_t>(set.graphs.size());
  CapturedSet captured{set.graphs, set.first, work, {}};
  for (const auto& [id, group] : set.mapping.groups) {
    captured.groups[id] = job_ranks_ > 0 ? group.recorded : group.ranks;
  }
  if (job_ranks_ > 0) {
    captured.rank_of = set.mapping.replayed;
    captured.job_ranks = job_ranks_;
  }
  REPRISE_ASSIGN(summary_, ScaleTimes(captured, machine_.options, set.timing, sources_));
  ChangeTimes(set);
  REPRISE_TRY(SettleRecorded(set, work_of));
  for (std::size_t rank = 0; rank < set.graphs.size(); ++rank) {
    machine_.power.AddRank(set.graphs[rank], set.first[rank]);
  }
  return {};
}

Simulation SetSimulation::AsSimulation() {
  Simulation simulation;
  simulation.replace_times = [this](const SimulatedSet& set) { return ReplaceTimes(set); };
  simulation.time_source = [this](std::uint32_t node) { return sources_[node]; };
  simulation.schedule = [this] { return schedule_; };
  simulation.scheduled = [this](const SimulatedSet& set, const Schedule& of_set) {
    steps_ = std::max<std::int64_t>(
        static_cast<std::int64_t>(set.graphs.front().metadata().steps.size()), 1);
    const auto own_ns = [&set](std::uint32_t node) { return RecordedTransferNs(set.timing, node); };
    for (std::size_t rank = 0; rank < set.graphs.size() && !schedule_; ++rank) {
      idle_.AddRank(set.graphs[rank], CountsOf(set), of_set, set.first[rank], own_ns, 1);
    }
  };
  simulation.options = [this] { return Describe(); };
  simulation.device = machine_.options.to ? machine_.options.to->device.name : "";
  simulation.telemetry = [this](std::size_t rank, std::span<const std::uint64_t> blocks,
                                RankWriter& writer) {
    machine_.power.Write(rank, blocks, writer, ranks_ > 0);
  };
  return simulation;
}

}  // namespace reprise
