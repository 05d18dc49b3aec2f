#include "cli/simulated_set.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "cli/operator_work.h"
#include "core/shown_text.h"
#include "machine/catalogue.h"
#include "machine/fields.h"
#include "replayer/plan/known_work.h"
#include "report/nodes/intervals.h"
#include "run/run.h"
#include "simulator/device_operations.h"
#include "timing/dry_run.h"

namespace reprise {
namespace {

constexpr char kRecordedMachine[] = "recorded";

// "NVIDIA H100 80GB HBM3", or the processor of a capture without device; of all ranks.
std::set<std::string> RecordedDevices(std::span<const Graph> graphs) {
  std::set<std::string> devices;
  for (const Graph& graph : graphs) {
    const RecordedMachine& machine = graph.metadata().machine;
    devices.insert(machine.device.empty() ? machine.processor : machine.device);
  }
  return devices;
}

std::size_t RankOf(const Graph& graph, const DrySet& set) {
  return static_cast<std::size_t>(&graph - set.graphs.data());
}

Counts CountsOf(const DrySet& set) {
  return [&set](const Graph& graph, Graph::Index i) {
    return set.plans[RankOf(graph, set)].work[i].counts;
  };
}

// Each rank with a program of its own.
ProgramSet ProgramsOf(const DrySet& set) {
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

Status SimulatedSet::Prepare() {
  if (machine == kRecordedMachine) {
    if (!captured_on.empty() || !overrides.empty()) {
      return UsageError(
          "--machine recorded is the capture's own machine: leave --captured-on and "
          "--set out, or name a machine");
    }
    return {};
  }
  REPRISE_ASSIGN(options.to, LoadMachine(machine, overrides));
  if (!captured_on.empty()) {
    REPRISE_ASSIGN(options.from, LoadMachine(captured_on));
  }
  return {};
}

// The capture names its device, not its nodes: where the target has the same device, it is taken to
// be the target's machine, so that nothing changes but what the user sets.
Status SimulatedSet::FindSource(const DrySet& set) {
  // First of all: no --captured-on helps.
  if (options.to && options.to->device.kind == DeviceKind::kGpu && !HasStreams(set.graphs)) {
    return BadInput(fmt::format(
        "the set was captured on a CPU (its nodes are of host threads alone), and {} is a GPU "
        "machine: nothing says what a GPU takes for them. Capture the job on a GPU, or simulate it "
        "on a CPU machine (--machine recorded, or a file)",
        options.to->name));
  }
  if (!options.to || options.from) {
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
  if (IsRecordedAs(options.to->device, device)) {
    REPRISE_ASSIGN(options.from, LoadMachine(machine));
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
  REPRISE_ASSIGN(options.from, LoadMachine(known.front()));
  return {};
}

void SimulatedSet::FindTypeWithoutRate(const DeviceModel& device, const OperatorWork& work) {
  if (LacksRate(device, work)) {
    without_rate.emplace(Name(work.dtype));
  }
}

Status SimulatedSet::CheckWithoutTimes(bool job) const {
  const std::string_view what = job ? "a job" : "the set";
  if (!options.to) {
    std::string text = fmt::format(
        "--machine recorded takes recorded times, and {} has none; name one with --machine "
        "(`reprise list "
        "machines`)",
        what);
    return job ? UsageError(std::move(text)) : BadInput(std::move(text));
  }
  if (options.from) {
    return UsageError(fmt::format(
        "--captured-on is the machine of recorded times, and {} has none; leave it out", what));
  }
  if (options.jitter > 0) {
    return UsageError(
        fmt::format("--jitter varies recorded times, and {} has none; leave it out", what));
  }
  return {};
}

Result<ClassSimulation> SimulatedSet::ModelClasses(const ProgramSet& set, bool fold,
                                                   const WorkOfNode& work, const Counts& counts) {
  REPRISE_ASSIGN(ClassSimulation simulated, SimulateClasses(set,
                                                            {.machine = *options.to,
                                                             .slow_ranks = options.slow_ranks,
                                                             .slow_links = options.slow_links,
                                                             .fold = fold,
                                                             .network = options.network,
                                                             .slots = power.slots()},
                                                            work));
  TimingGraph& timing = simulated.timing;
  REPRISE_TRY(power.Settle(
      *options.to, {set, work, simulated.class_of, simulated.classes, timing, simulated.schedule}));
  classes = static_cast<std::int64_t>(simulated.classes.size());
  const auto own_ns = [&timing](std::uint32_t node) {
    return timing.transfer_ns.empty() ? 0 : timing.transfer_ns[node];
  };
  for (const RankClassTimes& own : simulated.classes) {
    const Graph& program = set.programs[own.program];
    idle.AddRank(program, counts, simulated.schedule, own.first_node, own_ns, own.ranks);
    power.AddRank(program, own.first_node);
    for (Graph::Index i = 0; i < program.size(); ++i) {
      const OperatorWork of_node = work(program, i);
      FindTypeWithoutRate(options.to->device, of_node);
      products_at_peak_ns +=
          ProductNsAtPeak(options.to->device, of_node) * static_cast<double>(own.ranks);
      if (!counts(program, i) || program.comm(i) != nullptr) {
        continue;
      }
      const std::int64_t ns = timing.duration_ns[own.first_node + i] * own.ranks;
      summary.operations_ns += ns;
      summary.known_ns += of_node.known ? ns : 0;
      summary.by_default_ns += RooflineOf(options.to->device, of_node).by_default() ? ns : 0;
    }
  }
  return simulated;
}

Status SimulatedSet::ModelTimes(const DrySet& set, const WorkOfNode& work) {
  REPRISE_TRY(CheckWithoutTimes(false));
  // Every rank is a class of its own, in order: its nodes stand where they do in the set.
  REPRISE_ASSIGN(ClassSimulation simulated,
                 ModelClasses(ProgramsOf(set), true, work, CountsOf(set)));
  schedule = std::move(simulated.schedule);
  sources = std::move(simulated.source);
  return {};
}

Status SimulatedSet::SettleRecorded(const DrySet& set, const WorkOfNode& work) {
  if (!options.to || !HasPower(options.to->device)) {
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
  return power.Settle(*options.to, {programs, work, programs.program_of, ranks_of_set, set.timing,
                                    recorded, /*recorded=*/true});
}

Status SimulatedSet::ReplaceTimes(const DrySet& set) {
  if (!job) {
    REPRISE_ASSIGN(traced, TracedMemoryOf(set.graphs));
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
  const bool other = options.to && !SameNumbers(*options.from, *options.to);
  for (const OperatorWork& of_node : work) {
    products_at_peak_ns += options.to ? ProductNsAtPeak(options.to->device, of_node) : 0;
    if (other) {
      FindTypeWithoutRate(options.from->device, of_node);
      FindTypeWithoutRate(options.to->device, of_node);
    }
  }
  classes = static_cast<std::int64_t>(set.graphs.size());
  CapturedSet captured{set.graphs, set.first, work, {}};
  for (const auto& [id, group] : set.mapping.groups) {
    captured.groups[id] = group.ranks;
  }
  REPRISE_ASSIGN(summary, ScaleTimes(captured, options, set.timing, sources));
  REPRISE_TRY(SettleRecorded(set, work_of));
  for (std::size_t rank = 0; rank < set.graphs.size(); ++rank) {
    power.AddRank(set.graphs[rank], set.first[rank]);
  }
  return {};
}

DrySimulation SimulatedSet::Simulation() {
  DrySimulation simulation;
  simulation.replace_times = [this](const DrySet& set) { return ReplaceTimes(set); };
  simulation.time_source = [this](std::uint32_t node) { return sources[node]; };
  simulation.schedule = [this] { return schedule; };
  simulation.scheduled = [this](const DrySet& set, const Schedule& of_set) {
    steps = std::max<std::int64_t>(
        static_cast<std::int64_t>(set.graphs.front().metadata().steps.size()), 1);
    const auto own_ns = [&set](std::uint32_t node) { return RecordedTransferNs(set.timing, node); };
    for (std::size_t rank = 0; rank < set.graphs.size() && !schedule; ++rank) {
      idle.AddRank(set.graphs[rank], CountsOf(set), of_set, set.first[rank], own_ns, 1);
    }
  };
  simulation.options = [this] { return Describe(); };
  simulation.device = options.to ? options.to->device.name : "";
  simulation.telemetry = [this](std::size_t rank, RankWriter& writer) {
    power.Write(rank, writer, ranks > 0);
  };
  return simulation;
}

}  // namespace reprise
