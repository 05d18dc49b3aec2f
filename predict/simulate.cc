#include "predict/simulate.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/counted.h"
#include "core/temporary_output.h"
#include "predict/extended_job.h"
#include "predict/folded_job.h"
#include "predict/job_stack.h"
#include "predict/machine/catalogue.h"
#include "predict/micro_batch_jobs.h"
#include "predict/set_simulation.h"
#include "predict/workload/job/generate.h"
#include "predict/workload/ops/scaling.h"
#include "replayer/plan/known_work.h"
#include "replayer/plan/simulated_run.h"

namespace reprise {
namespace {

constexpr char kRecordedMachine[] = "recorded";

bool IsWhole(const PartOptions& part) {
  return part.ranks.empty() && !part.one_trace && part.steps.empty() && part.range.empty();
}

bool ChangesTimes(const PlanOptions& options) {
  const auto skips = [](const auto& mode) { return mode.second == ReplayMode::kSkip; };
  return options.host_gaps != HostGaps::kKeep || options.time_scale != 1 ||
         !options.time_scales.empty() || options.default_op_mode == ReplayMode::kSkip ||
         options.default_comm_mode == ReplayMode::kSkip ||
         std::ranges::any_of(options.op_modes, skips) ||
         std::ranges::any_of(options.comm_modes, skips);
}

// That divide what each data-parallel rank gets, ascending.
std::vector<std::int64_t> MicroBatchesOf(const Workload& workload) {
  const std::int64_t each = workload.global_batch / workload.layout.dp;
  std::vector<std::int64_t> batches;
  for (std::int64_t batch = 1; batch <= each; ++batch) {
    if (each % batch == 0) {
      batches.push_back(batch);
    }
  }
  return batches;
}

Result<std::int64_t> PeakBytesOf(const Workload& workload) {
  MicroBatchJobs jobs(workload);
  REPRISE_ASSIGN(const std::optional<SoftwareStack> stack, StackOfJob(StackOf(workload)));
  return NumberOfJob(workload, [&](const Workload& of) -> Result<std::int64_t> {
    REPRISE_ASSIGN(const GenerateSummary summary, jobs.Sum(of.micro_batches()));
    JobFacts facts = FactsOf(of, summary);
    if (stack) {
      AddMemory(*stack, facts);
    }
    return facts.PeakBytes();
  });
}

// With the same global batch, found by generating the job with others; 0: none fits. `own_peak`: of
// the workload as it is.
Result<std::int64_t> LargestMicroBatch(const Workload& workload, std::int64_t own_peak,
                                       double memory_bytes) {
  const std::vector<std::int64_t> batches = MicroBatchesOf(workload);
  const bool own_fits = static_cast<double>(own_peak) <= memory_bytes;
  std::size_t fitting = 0;  // of the first `fitting` all fit; more take more memory
  std::size_t end = batches.size();
  while (fitting < end) {
    const std::size_t middle = fitting + (end - fitting) / 2;
    Workload tried = workload;
    tried.micro_batch = batches[middle];
    bool fits = false;
    if (own_fits ? tried.micro_batch <= workload.micro_batch
                 : tried.micro_batch >= workload.micro_batch) {
      fits = own_fits;
    } else if (CheckWorkload(tried)) {  // what breaks a rule of the schedule does not fit
      REPRISE_ASSIGN(const std::int64_t peak, PeakBytesOf(tried));
      fits = static_cast<double>(peak) <= memory_bytes;
    }
    (fits ? fitting : end) = fits ? middle + 1 : middle;
  }
  return fitting > 0 ? batches[fitting - 1] : 0;
}

}  // namespace

Result<TargetMachine> TargetMachine::Create(const MachineRequest& request) {
  TargetMachine machine{.name = request.machine, .overrides = request.overrides};
  ScaleOptions& options = machine.options;
  options.network = request.flow ? NetworkModel::kFlow : NetworkModel::kAlphaBeta;
  options.jitter = request.jitter;
  options.seed = request.seed;
  for (const std::string& text : request.slow_ranks) {
    REPRISE_ASSIGN(options.slow_ranks.emplace_back(), ParseSlowRank(text));
  }
  for (const std::string& text : request.slow_links) {
    REPRISE_ASSIGN(options.slow_links.emplace_back(), ParseSlowLink(text));
  }
  if (request.machine == kRecordedMachine) {
    if (!request.captured_on.empty() || !request.overrides.empty()) {
      return UsageError(
          "--machine recorded is the capture's own machine: leave --captured-on and "
          "--set out, or name a machine");
    }
  } else {
    REPRISE_ASSIGN(options.to, LoadMachine(request.machine, request.overrides));
    if (!request.captured_on.empty()) {
      REPRISE_ASSIGN(options.from, LoadMachine(request.captured_on));
    }
  }
  REPRISE_ASSIGN(machine.power,
                 SetPower::Create(request.power_limit, request.until_steady, options.to));
  return machine;
}

Status TargetMachine::CheckWithoutTimes(bool job, const PlanOptions& changes) const {
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
  if (ChangesTimes(changes)) {
    return UsageError(fmt::format(
        "--time-scale, --host-gaps, --ops and --comms change recorded times, and {} has "
        "none; leave them out",
        what));
  }
  return {};
}

namespace {

// Of a folded set with recorded times: every rank, or of many, where nothing makes one unlike the
// others of its class, those that stand for all.
Status ChooseRanks(const TargetMachine& machine, const TraceSet& set, const FoldedJob& job,
                   SimulationRequest& request, SetSimulation& simulation,
                   std::vector<std::string>& notes) {
  constexpr std::size_t kMostOneByOne = 64;
  if (set.RankCount() <= kMostOneByOne) {
    return {};
  }
  const ScaleOptions& options = machine.options;
  if (options.jitter > 0 || !options.slow_ranks.empty() || options.network == NetworkModel::kFlow) {
    return set.CheckRankByRank(
        "--jitter, --slow and --network flow make ranks of a class differ, and with recorded times "
        "need the nodes of every rank",
        "choose some with --ranks, or leave these out");
  }
  REPRISE_ASSIGN(request.options.part.ranks, RepresentativesOf(job));
  simulation.StandFor(static_cast<std::int64_t>(set.RankCount()));
  notes.push_back(fmt::format(
      "{} stand for {} in {} of equal ones: counts, bytes and energy are of these {} alone",
      Counted(request.options.part.ranks.size(), "rank"), set.RankCount(),
      Counted(job.programs.size(), "class"), request.options.part.ranks.size()));
  return {};
}

}  // namespace

Result<Prediction> PredictSet(const TargetMachine& machine, const SimulationRequest& request,
                              RuleSet* rules) {
  REPRISE_ASSIGN(const TraceSet set, TraceSet::OpenPresent(request.set_directory));
  SetSimulation simulation(machine);
  simulation.SetRules(rules);
  const bool whole = IsWhole(request.options.part);
  if (whole) {
    REPRISE_ASSIGN(std::optional<JobFacts> facts, ReadJobFacts(request.set_directory));
    if (facts) {
      REPRISE_TRY(simulation.SetJob(std::move(*facts)));
    }
  }
  std::vector<std::string> notes;
  std::optional<FoldedJob> job;
  if (set.classes != nullptr && whole) {
    REPRISE_ASSIGN(job, ReadFoldedJob(set, rules));
  }
  if (job && std::ranges::none_of(job->programs, HasDurations)) {
    REPRISE_TRY(simulation.RunFolded(request, set, *job));
  } else {
    SimulationRequest of_ranks = request;
    if (job) {
      REPRISE_TRY(ChooseRanks(machine, set, *job, of_ranks, simulation, notes));
      job.reset();
    }
    if (rules != nullptr) {
      of_ranks.options.edit = [&](const Graph& graph, std::int32_t rank) {
        return rules->Edited(graph, rank, set);
      };
    }
    REPRISE_ASSIGN(ReplayOutcome outcome, SimulateRanks(of_ranks, simulation.AsSimulation()));
    if (notes.empty()) {
      notes = std::move(outcome.notes);
    }
  }
  REPRISE_ASSIGN(Prediction prediction, simulation.Predict(request.run_directory));
  prediction.notes = std::move(notes);
  return prediction;
}

Result<Prediction> PredictWhatIf(const TargetMachine& machine, const SimulationRequest& request,
                                 RuleSet& rules) {
  REPRISE_ASSIGN(Prediction prediction, PredictSet(machine, request, &rules));
  REPRISE_ASSIGN(const TemporaryOutput run, TemporaryOutput::Directory(request.run_directory));
  SimulationRequest without = request;
  without.run_directory = run.path();
  without.force = true;
  REPRISE_ASSIGN(const Prediction as_it_is, PredictSet(machine, without));
  prediction.what_if =
      WhatIf{.step_time_without_ns = as_it_is.step_time_ns, .rules = rules.effects()};
  return prediction;
}

// With all its micro-batches, one after the other.
Result<Prediction> PredictGenerated(const TargetMachine& machine, const Workload& workload,
                                    const GeneratedJob& job, const JobRequest& request,
                                    std::shared_ptr<EqualRanks>* known = nullptr) {
  SetSimulation simulation(machine, known);
  REPRISE_TRY(simulation.SetJob(FactsOf(workload, job.summary)));
  SimulationRequest run;
  run.run_directory = request.run_directory;
  run.force = request.force;
  run.command_line = request.command_line;
  const TraceSet set{.name = job.folded.classes->SetName(), .classes = job.folded.classes};
  REPRISE_TRY(simulation.RunFolded(run, set, job.folded));
  REPRISE_ASSIGN(Prediction prediction, simulation.Predict({}));
  prediction.job = workload;
  return prediction;
}

// The same without a run.
Result<Prediction> PredictInMemory(const TargetMachine& machine, const Workload& workload,
                                   MicroBatchJobs& jobs, std::shared_ptr<EqualRanks>& known) {
  REPRISE_ASSIGN(const GeneratedJob job, jobs.Generate(workload.micro_batches()));
  return PredictGenerated(machine, workload, job, {}, &known);
}

Result<Prediction> PredictStep(const TargetMachine& machine, const Workload& workload,
                               const JobRequest& request) {
  if (!request.run_directory.empty()) {
    MicroBatchJobs jobs(workload, /*repeat=*/!request.whole, MicroBatchJobs::For::kRun);
    REPRISE_ASSIGN(const GeneratedJob job, jobs.Generate(workload.micro_batches()));
    return PredictGenerated(machine, workload, job, request);
  }
  MicroBatchJobs jobs(workload, /*repeat=*/!request.whole);
  std::shared_ptr<EqualRanks> known;
  if (!request.whole && machine.options.to) {
    REPRISE_ASSIGN(
        std::optional<Prediction> extended,
        PredictExtended(workload, machine.options.to->device, [&](const Workload& small) {
          return PredictInMemory(machine, small, jobs, known);
        }));
    if (extended) {
      return std::move(*extended);
    }
  }
  return PredictInMemory(machine, workload, jobs, known);
}

namespace {

// Products in 8 and 4 bits have rates of their own, or none.
Status CheckRates(const TargetMachine& machine, const Workload& workload) {
  const MachineModel* const model = machine.options.to ? &*machine.options.to : nullptr;
  const ScalingRecipe* const recipe = FindScalingRecipe(workload.fp8);
  if (model == nullptr || recipe == nullptr ||
      PeakRate(model->device, recipe->values, true, false) != nullptr) {
    return {};
  }
  const int bits = BitsOf(*recipe);
  return BadInput(fmt::format(
      "machine {0} has no rate of float{1} (device.matrix.float{1}), and the job's recipe \"{2}\" "
      "multiplies in {1} bits; take another machine, or --fp8 {3}",
      model->name, bits, workload.fp8, bits == 4 ? "mxfp8" : "none"));
}

}  // namespace

Result<Prediction> PredictJob(const TargetMachine& machine, const Workload& workload,
                              const JobRequest& request) {
  REPRISE_TRY(CheckRates(machine, workload));
  REPRISE_ASSIGN(Prediction prediction, PredictStep(machine, workload, request));
  if (!request.small) {
    prediction.DropStretches();
  }
  if (request.largest_micro_batch && machine.options.to) {
    REPRISE_ASSIGN(prediction.memory->largest_micro_batch,
                   LargestMicroBatch(workload, prediction.memory->peak_bytes,
                                     machine.options.to->device.memory_bytes.value));
  }
  return prediction;
}

}  // namespace reprise
