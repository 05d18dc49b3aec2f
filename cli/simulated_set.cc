#include "cli/simulated_set.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "cli/operator_work.h"
#include "core/json_fields.h"
#include "core/shown_text.h"
#include "machine/catalogue.h"
#include "machine/fields.h"
#include "replayer/plan/known_work.h"
#include "report/analysis.h"
#include "report/nodes/intervals.h"
#include "report/text/verdict_warnings.h"
#include "report/values/report.h"
#include "run/run.h"
#include "simulator/class_simulation.h"

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

double Share(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

// Of the operations' time; of sets without durations, of the modelled one.
double UnknownShare(const ScaleSummary& summary) {
  return summary.operations_recorded_ns > 0
             ? 1 - Share(summary.known_recorded_ns, summary.operations_recorded_ns)
         : summary.operations_ns > 0 ? 1 - Share(summary.known_ns, summary.operations_ns)
                                     : 0;
}

// What the machine was fitted to: its file's `calibration`, in base units.
Json CalibrationJson(const std::optional<MachineModel>& machine) {
  if (!machine || !machine->calibration) {
    return nullptr;
  }
  const Calibration& calibration = *machine->calibration;
  return {{"on", calibration.on},
          {"points", calibration.points ? Json(std::llround(calibration.points->value)) : Json()},
          {"error", calibration.error ? Json(calibration.error->value) : Json()}};
}

std::function<bool(Graph::Index)> CountsOf(const Plan& plan) {
  return [&plan](Graph::Index i) { return plan.work[i].counts; };
}

}  // namespace

void IdleTimes::AddRank(const Graph& graph, const std::function<bool(Graph::Index)>& counts,
                        const Schedule& schedule, std::uint32_t first,
                        const std::function<std::int64_t(std::uint32_t node)>& own_ns,
                        std::int64_t ranks_alike) {
  std::vector<Interval> computes;
  std::vector<Interval> busy;
  for (Graph::Index i = 0; i < graph.size(); ++i) {
    const std::uint32_t node = first + i;
    const std::int64_t end_ns = schedule.end_ns[node];
    if (graph.comm(i) != nullptr) {
      busy.emplace_back(std::max(schedule.start_ns[node], end_ns - own_ns(node)), end_ns);
    } else if (counts(i)) {
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
    return BadInput(fmt::format(
        "the set was captured on {}, which no built-in machine has; describe that machine "
        "(docs/machine_format.md) and name the file with --captured-on",
        device.empty() ? "a device that it does not name" : "'" + ShownText(device) + "'"));
  }
  REPRISE_ASSIGN(options.from, LoadMachine(known.front()));
  return {};
}

void SimulatedSet::FindTypesWithoutRate(const DeviceModel& device,
                                        std::span<const OperatorWork> work) {
  for (const OperatorWork& of_node : work) {
    if (LacksRate(device, of_node)) {
      without_rate.emplace(Name(of_node.dtype));
    }
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

Status SimulatedSet::ModelTimes(const DrySet& set, const std::vector<OperatorWork>& work) {
  REPRISE_TRY(CheckWithoutTimes(false));
  FindTypesWithoutRate(options.to->device, work);
  ProgramSet programs{.programs = set.graphs, .peers_are_ranks = true};
  for (std::uint32_t rank = 0; rank < set.graphs.size(); ++rank) {
    programs.program_of.push_back(rank);
  }
  for (const auto& [id, group] : set.mapping.groups) {
    programs.groups[id] = {group.ranks};
    // Groups of one name and size are used at the same time, as those of one role in a folded set.
    programs.alike[id] = fmt::format("{} of {}", group.description, group.ranks.size());
  }
  const auto work_of = [&](const Graph& program, Graph::Index i) {
    return work[set.first[static_cast<std::size_t>(&program - set.graphs.data())] + i];
  };
  REPRISE_ASSIGN(ClassSimulation simulated, SimulateClasses(programs,
                                                            {.machine = *options.to,
                                                             .slow_ranks = options.slow_ranks,
                                                             .slow_links = options.slow_links,
                                                             .network = options.network,
                                                             .slots = power.slots()},
                                                            work_of));
  REPRISE_TRY(power.Settle(*options.to, programs, work_of, simulated));
  const std::uint32_t nodes = set.first.back();
  schedule.emplace();
  schedule->start_ns.resize(nodes);
  schedule->end_ns.resize(nodes);
  sources.resize(nodes);
  for (std::size_t rank = 0; rank < set.graphs.size(); ++rank) {
    const RankClassTimes& own = simulated.classes[simulated.class_of[rank]];
    power.AddRank(set.graphs[rank], own.first_node);
    for (Graph::Index i = 0; i < set.graphs[rank].size(); ++i) {
      const std::uint32_t node = set.first[rank] + i;
      const std::uint32_t at = own.first_node + i;
      schedule->start_ns[node] = simulated.schedule.start_ns[at];
      schedule->end_ns[node] = simulated.schedule.end_ns[at];
      sources[node] = simulated.source[at];
      const bool counts = set.plans[rank].work[i].counts && set.graphs[rank].comm(i) == nullptr;
      if (counts) {
        const std::int64_t ns = simulated.timing.duration_ns[at];
        summary.operations_ns += ns;
        summary.known_ns += work[node].known ? ns : 0;
        summary.by_default_ns += RooflineOf(options.to->device, work[node]).by_default() ? ns : 0;
      }
    }
  }
  schedule->makespan_ns = simulated.schedule.makespan_ns;
  for (std::size_t rank = 0; rank < set.graphs.size(); ++rank) {
    const std::uint32_t shift =
        simulated.classes[simulated.class_of[rank]].first_node - set.first[rank];
    const auto own_ns = [&](std::uint32_t node) {
      const auto& transfer_ns = simulated.timing.transfer_ns;
      return transfer_ns.empty() ? 0 : transfer_ns[node + shift];
    };
    idle.AddRank(set.graphs[rank], CountsOf(set.plans[rank]), *schedule, set.first[rank], own_ns,
                 1);
  }
  classes = static_cast<std::int64_t>(simulated.classes.size());
  return {};
}

Status SimulatedSet::ReplaceTimes(const DrySet& set) {
  if (!job) {
    REPRISE_ASSIGN(traced, TracedMemoryOf(set.graphs));
  }
  std::vector<OperatorWork> work;
  for (std::size_t rank = 0; rank < set.graphs.size(); ++rank) {
    for (Graph::Index i = 0; i < set.graphs[rank].size(); ++i) {
      REPRISE_ASSIGN(work.emplace_back(), WorkOf(set.graphs[rank], set.plans[rank], i));
      products_at_peak_ns += options.to ? ProductNsAtPeak(options.to->device, work.back()) : 0;
    }
  }
  if (std::ranges::none_of(set.graphs, HasDurations)) {
    return ModelTimes(set, work);
  }
  REPRISE_TRY(FindSource(set));
  if (options.to && !SameNumbers(*options.from, *options.to)) {
    FindTypesWithoutRate(options.from->device, work);
    FindTypesWithoutRate(options.to->device, work);
  }
  classes = static_cast<std::int64_t>(set.graphs.size());
  CapturedSet captured{set.graphs, set.first, work, {}};
  for (const auto& [id, group] : set.mapping.groups) {
    captured.groups[id] = group.ranks;
  }
  REPRISE_ASSIGN(summary, ScaleTimes(captured, options, set.timing, sources));
  if (options.to) {
    REPRISE_TRY(power.Settle(*options.to, set, work));
  }
  for (std::size_t rank = 0; rank < set.graphs.size(); ++rank) {
    power.AddRank(set.graphs[rank], set.first[rank]);
  }
  return {};
}

std::map<std::string, std::string> SimulatedSet::Describe() const {
  std::map<std::string, std::string> described = {{"mode", "simulate"}, {"machine", machine}};
  if (options.to) {
    described["machine"] = options.to->name;
  }
  if (options.from) {
    described["captured_on"] = options.from->name;
  }
  if (options.to && options.to->calibration) {
    described["calibrated_on"] = Described(*options.to->calibration);
  }
  if (ranks > 0) {
    described["simulated_ranks"] = std::to_string(ranks);
    described["classes"] = std::to_string(classes);
  }
  if (options.network == NetworkModel::kFlow) {
    described["network"] = "flow";
  }
  if (!without_rate.empty()) {
    described["without_rate"] = fmt::format("{}", fmt::join(without_rate, ", "));
  }
  described.merge(power.Describe());
  const auto share = [](double value) { return fmt::format("{:.4f}", value); };
  described["unknown_share"] = share(UnknownShare(summary));
  described["default_share"] = share(Share(summary.by_default_ns, summary.operations_ns));
  for (const SlowRank& slow : options.slow_ranks) {
    described[fmt::format("slow.{}", slow.rank)] = fmt::format("{}", slow.factor);
  }
  for (const SlowLink& slow : options.slow_links) {
    described[slow.domain < 0 ? fmt::format("link.{}", slow.name)
                              : fmt::format("link.{}@{}", slow.name, slow.domain)] =
        fmt::format("{}", slow.factor);
  }
  for (const std::string& assignment : overrides) {
    const std::size_t equals = assignment.find('=');
    described["set." + assignment.substr(0, equals)] = assignment.substr(equals + 1);
  }
  if (options.jitter > 0) {
    described["jitter"] = fmt::format("{}", options.jitter);
    described["seed"] = fmt::format("{}", options.seed);
  }
  return described;
}

DrySimulation SimulatedSet::Simulation() {
  DrySimulation simulation;
  simulation.replace_times = [this](const DrySet& set) { return ReplaceTimes(set); };
  simulation.time_source = [this](std::uint32_t node) { return sources[node]; };
  simulation.schedule = [this] { return schedule; };
  simulation.scheduled = [this](const DrySet& set, const Schedule& of_set) {
    steps = std::max<std::int64_t>(
        static_cast<std::int64_t>(set.graphs.front().metadata().steps.size()), 1);
    const TimingGraph& timing = set.timing;
    const auto own_ns = [&timing](std::uint32_t node) {
      const bool matched = !timing.match.empty() && timing.match[node] >= 0;
      return matched ? timing.transfer_ns[node] : timing.duration_ns[node];
    };
    for (std::size_t rank = 0; rank < set.graphs.size() && !schedule; ++rank) {
      idle.AddRank(set.graphs[rank], CountsOf(set.plans[rank]), of_set, set.first[rank], own_ns, 1);
    }
  };
  simulation.options = [this] { return Describe(); };
  simulation.device = options.to ? options.to->device.name : "";
  simulation.telemetry = [this](std::size_t rank, RankWriter& writer) {
    power.Write(rank, writer, ranks > 0);
  };
  return simulation;
}

std::vector<std::string> SimulatedSet::Warnings() const { return PredictionWarnings(Describe()); }

Result<Json> SimulatedSet::ToJson(const std::string& run) const {
  std::int64_t step_time_ns = step_ns.value_or(0);
  Json recorded_ns = nullptr;
  std::int64_t of_ranks = ranks;
  if (!step_ns) {
    REPRISE_ASSIGN(const RunData data, ReadRun(run));
    const Report report = Analyze(data);
    step_time_ns = report.step_time_replayed_ns.value_or(0);
    recorded_ns = schedule ? Json(nullptr) : Json(report.step_time_recorded_ns.value_or(0));
    of_ranks = static_cast<std::int64_t>(data.ranks.size());
  }
  Json json = {{"warnings", Warnings()},
               {"step_time_ns", step_time_ns},
               {"step_time_recorded_ns", recorded_ns},
               {"ranks", of_ranks},
               {"classes", classes},
               {"machine", options.to ? options.to->name : machine},
               {"captured_on", options.from ? Json(options.from->name) : Json(nullptr)},
               {"calibrated_on", CalibrationJson(options.to)},
               {"energy_joules", power.StepJoules(steps)},
               {"memory", nullptr}};
  const double of_each = std::max(idle.ranks, 1.0) * static_cast<double>(steps);
  json["exposed_communication_ns"] = std::llround(idle.exposed_ns / of_each);
  json["bubble_ns"] = std::llround(idle.bubble_ns / of_each);
  const double long_ns = static_cast<double>(step_time_ns);
  json["hfu"] =
      options.to && long_ns > 0 ? Json(products_at_peak_ns / of_each / long_ns) : Json(nullptr);
  json["mfu"] = nullptr;
  json["tokens_per_second"] = nullptr;
  json["samples_per_second"] = nullptr;
  if (traced) {
    const double of_bytes = options.to ? options.to->device.memory_bytes.value : 0;
    const auto peak = static_cast<double>(traced->peak_bytes);
    json["memory"] = {
        {"fits", of_bytes > 0 ? Json(peak <= of_bytes) : Json(nullptr)},
        {"peak_bytes", traced->peak_bytes},
        {"of_bytes", of_bytes > 0 ? Json(static_cast<std::int64_t>(of_bytes)) : Json(nullptr)},
        {"rank", traced->rank}};
  } else if (!job) {
    json["memory_reason"] =
        "the set does not name the storages of its tensors; capture the host trace with shapes, "
        "too";
  }
  if (job && options.to) {
    AddJobFacts(*job, options.to->device, long_ns, json);
  }
  json["device_time_ns"] = summary.operations_ns;
  json["device_time_recorded_ns"] = summary.operations_recorded_ns;
  json["linked_device_time_ns"] = summary.known_ns;
  json["linked_device_time_recorded_ns"] = summary.known_recorded_ns;
  json["unknown_share"] = UnknownShare(summary);
  json["default_share"] = Share(summary.by_default_ns, summary.operations_ns);
  json["without_rate"] =
      without_rate.empty() ? Json(nullptr) : Json(fmt::format("{}", fmt::join(without_rate, ", ")));
  json["power"] = power.ToJson(steps);
  return json;
}

}  // namespace reprise
