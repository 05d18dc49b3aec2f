// What a simulated set says of itself: the facts of its run, and the prediction.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "predict/job_stack.h"
#include "predict/machine/machine.h"
#include "predict/set_simulation.h"
#include "report/analysis.h"
#include "report/run/run.h"
#include "report/text/verdict_warnings.h"
#include "report/values/report.h"

namespace reprise {
namespace {

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

// Model FLOPs, or executed ones, at the device's dense peak for the job's type, over the step's
// time. Nothing: the device has no such rate, or the step no time.
std::optional<double> UtilizationOf(const JobFacts& facts, double flops, const DeviceModel& device,
                                    double step_ns) {
  const SourcedNumber* rate = PeakRate(device, facts.dtype, true, false);
  rate = rate != nullptr ? rate : PeakRate(device, facts.dtype, false, false);
  if (rate == nullptr || step_ns <= 0) {
    return std::nullopt;
  }
  return flops / (rate->value * static_cast<double>(facts.ranks)) / (step_ns / 1e9);
}

}  // namespace

std::string ShareOption(double share) { return fmt::format("{:.4f}", share); }

std::string SetSimulation::WithoutRate() const {
  return fmt::format("{}", fmt::join(without_rate_, ", "));
}

std::map<std::string, std::string> SetSimulation::Describe() const {
  std::map<std::string, std::string> described = {{"machine", machine_.name}};
  if (machine_.options.to) {
    described["machine"] = machine_.options.to->name;
  }
  if (machine_.options.from) {
    described["captured_on"] = machine_.options.from->name;
  }
  if (machine_.options.to && machine_.options.to->calibration) {
    described["calibrated_on"] = Described(*machine_.options.to->calibration);
  }
  if (stack_) {
    described["stack"] = stack_->name;
  }
  if (ranks_ > 0) {
    described["simulated_ranks"] = std::to_string(ranks_);
    described["classes"] = std::to_string(classes_);
  }
  if (machine_.options.network == NetworkModel::kFlow) {
    described["network"] = "flow";
  }
  if (!without_rate_.empty()) {
    described["without_rate"] = WithoutRate();
  }
  described.merge(machine_.power.Describe());
  if (summary_.modelled > 0) {
    described["modelled_nodes"] = std::to_string(summary_.modelled);
  }
  if (summary_.without_time > 0) {
    described["nodes_without_time"] = std::to_string(summary_.without_time);
  }
  if (rules_ != nullptr) {
    std::vector<std::string> texts;
    for (const Rule& rule : rules_->rules()) {
      texts.push_back(rule.text);
    }
    described["what_if"] = fmt::format("{}", fmt::join(texts, "; "));
  }
  described["unknown_share"] = ShareOption(UnknownShare(summary_));
  described["default_share"] = ShareOption(Share(summary_.by_default_ns, summary_.operations_ns));
  for (const SlowRank& slow : machine_.options.slow_ranks) {
    described[fmt::format("slow.{}", slow.rank)] = fmt::format("{}", slow.factor);
  }
  for (const SlowLink& slow : machine_.options.slow_links) {
    described[slow.domain < 0 ? fmt::format("link.{}", slow.name)
                              : fmt::format("link.{}@{}", slow.name, slow.domain)] =
        fmt::format("{}", slow.factor);
  }
  for (const std::string& assignment : machine_.overrides) {
    const std::size_t equals = assignment.find('=');
    described["set." + assignment.substr(0, equals)] = assignment.substr(equals + 1);
  }
  if (job_ && step_ns_ && machine_.options.to) {
    const DeviceModel& device = machine_.options.to->device;
    const auto step_ns = static_cast<double>(*step_ns_);
    if (const auto mfu = UtilizationOf(*job_, job_->model_flops, device, step_ns)) {
      described["mfu"] = ShareOption(*mfu);
    }
    described[job_->tokens > 0 ? "tokens" : "samples"] =
        std::to_string(job_->tokens > 0 ? job_->tokens : job_->samples);
    if (!job_->memory.empty()) {
      described["memory_peak_bytes"] = std::to_string(job_->PeakBytes());
    }
    described["memory_bytes"] = fmt::format("{:.0f}", device.memory_bytes.value);
  }
  if (machine_.options.jitter > 0) {
    described["jitter"] = fmt::format("{}", machine_.options.jitter);
    described["seed"] = fmt::format("{}", machine_.options.seed);
  }
  return described;
}

Status SetSimulation::SetJob(JobFacts job) {
  REPRISE_ASSIGN(const std::optional<SoftwareStack> stack, StackOfJob(job.stack));
  if (stack && machine_.options.to) {
    AddMemory(*stack, job);
    stack_ = AddStack(*stack, job, *machine_.options.to);
  }
  job_ = std::move(job);
  return {};
}

void SetSimulation::AddJobFacts(Prediction& prediction) const {
  const DeviceModel& device = machine_.options.to->device;
  const auto step_ns = static_cast<double>(prediction.step_time_ns);
  if (!job_->memory.empty()) {  // else as its nodes say
    prediction.memory = MemoryPrediction{
        .peak_bytes = job_->PeakBytes(), .micro_batch = job_->micro_batch, .classes = job_->memory};
  }
  prediction.stack = stack_;
  prediction.tokens = job_->tokens;
  prediction.samples = job_->samples;
  prediction.mfu = UtilizationOf(*job_, job_->model_flops, device, step_ns);
  prediction.hfu = UtilizationOf(*job_, job_->executed_flops, device, step_ns);
}

Result<Prediction> SetSimulation::Predict(const std::string& run) const {
  const std::optional<MachineModel>& to = machine_.options.to;
  std::map<std::string, std::string> described = Describe();
  Prediction prediction{.warnings = PredictionWarnings(described),
                        .described = std::move(described),
                        .step_time_ns = step_ns_.value_or(0),
                        .ranks = ranks_,
                        .classes = classes_,
                        .machine = to ? to->name : machine_.name};
  if (!step_ns_) {
    REPRISE_ASSIGN(const RunData data, ReadRun(run));
    const Report report = Analyze(data);
    prediction.step_time_ns = report.step_time_replayed_ns.value_or(0);
    if (!schedule_) {
      prediction.step_time_recorded_ns = report.step_time_recorded_ns.value_or(0);
    }
    prediction.ranks = static_cast<std::int64_t>(data.ranks.size());
  }
  if (machine_.options.from) {
    prediction.captured_on = machine_.options.from->name;
  }
  const double of_each = std::max(idle_.ranks, 1.0) * static_cast<double>(steps_);
  prediction.last_starts = last_starts_;
  prediction.exposed_sum_ns = idle_.exposed_ns;
  prediction.bubble_sum_ns = idle_.bubble_ns;
  prediction.exposed_communication_ns = std::llround(idle_.exposed_ns / of_each);
  prediction.bubble_ns = std::llround(idle_.bubble_ns / of_each);
  if (traced_) {
    prediction.memory = MemoryPrediction{.peak_bytes = traced_->peak_bytes, .rank = traced_->rank};
  }
  if (to) {
    prediction.calibrated_on = to->calibration;
    if (prediction.step_time_ns > 0) {
      prediction.hfu =
          products_at_peak_ns_ / of_each / static_cast<double>(prediction.step_time_ns);
    }
    if (job_) {
      AddJobFacts(prediction);
    }
    if (prediction.memory) {
      prediction.memory->of_bytes = static_cast<std::int64_t>(to->device.memory_bytes.value);
    }
  }
  prediction.device_time_ns = summary_.operations_ns;
  prediction.device_time_recorded_ns = summary_.operations_recorded_ns;
  prediction.linked_device_time_ns = summary_.known_ns;
  prediction.linked_device_time_recorded_ns = summary_.known_recorded_ns;
  prediction.unknown_share = UnknownShare(summary_);
  prediction.default_share = Share(summary_.by_default_ns, summary_.operations_ns);
  prediction.without_rate = WithoutRate();
  prediction.power = machine_.power.Predict(steps_);
  if (prediction.power) {
    prediction.energy_joules = prediction.power->joules;
  }
  return prediction;
}

}  // namespace reprise
