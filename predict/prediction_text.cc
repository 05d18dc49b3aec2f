#include "predict/prediction_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/counted.h"
#include "core/shown_text.h"
#include "predict/transform/rule_set.h"
#include "predict/workload/ops/scaling.h"
#include "predict/workload/schedule.h"
#include "report/text/table.h"

namespace reprise {
namespace {

std::string Gibibytes(std::int64_t bytes) { return GibibytesText(static_cast<double>(bytes)); }

std::string PercentOfStep(const Prediction& of, std::int64_t ns) {
  return fmt::format("{:.1f} %", of.step_time_ns > 0 ? 100.0 * static_cast<double>(ns) /
                                                           static_cast<double>(of.step_time_ns)
                                                     : 0);
}

std::string ClassesText(const MemoryPrediction& memory) {
  std::string text =
      fmt::format("  {:>5} {:>10} {:>7} {:>10} {:>10} {:>10} {:>11} {:>8} {:>6} {:>8}\n", "stage",
                  "first rank", "ranks", "parameters", "gradients", "optimizer", "activations",
                  "buffers", "stack", "peak, GiB");
  for (const ClassMemory& of_class : memory.classes) {
    const MemorySums& bytes = of_class.bytes;
    text += fmt::format("  {:>5} {:>10} {:>7} {:>10} {:>10} {:>10} {:>11} {:>8} {:>6} {:>8}{}\n",
                        of_class.stage, of_class.first_rank, of_class.ranks,
                        Gibibytes(bytes.parameters), Gibibytes(bytes.gradients),
                        Gibibytes(bytes.optimizer), Gibibytes(bytes.activations),
                        Gibibytes(bytes.buffers()), Gibibytes(bytes.stack), Gibibytes(bytes.peak),
                        !memory.of_bytes || bytes.peak <= *memory.of_bytes ? "" : "  too much");
  }
  return text;
}

// "tp 8, pp 2, dp 4, sp".
std::string LayoutText(const Layout& of) {
  std::string text = fmt::format("tp {}, pp {}, dp {}", of.tp, of.pp, of.dp);
  if (of.etp > 0) {
    text += fmt::format(", etp {}", of.etp);
  }
  for (const auto& [name, size] : {std::pair("ep", of.ep), std::pair("cp", of.cp)}) {
    text += size > 1 ? fmt::format(", {} {}", name, size) : "";
  }
  if (of.cp > 1 && of.cp_comm_type != ContextComm::kRing) {
    text += fmt::format(" by {}", Name(of.cp_comm_type));
  }
  if (of.shards > 0) {
    text += fmt::format(", shards {}", of.shards);
  }
  for (const auto& [name, on] : {std::pair("fsdp", of.fsdp), std::pair("sp", of.sequence_parallel),
                                 std::pair("distributed optimizer", of.distributed_optimizer),
                                 std::pair("divided gradients", of.divided_gradients)}) {
    text += on ? fmt::format(", {}", name) : "";
  }
  return text;
}

// What the numbers are of.
std::string JobText(const Workload& of) {
  std::string text = fmt::format("Job             {}\n", JobSizeText(of));
  text += fmt::format(
      "Layout          {}; {} of {}{}{}{}\n", LayoutText(of.layout),
      Counted(of.micro_batches(), "micro-batch"), of.micro_batch,
      of.layout.pp > 1 ? fmt::format(", schedule {}", ScheduleText(of)) : "",
      of.recompute == Recompute::kNone ? "" : fmt::format(", recompute {}", Name(of.recompute)),
      !of.recompute_modules.empty() ? fmt::format(" of {}", fmt::join(of.recompute_modules, ", "))
      : of.recompute_layers > 0
          ? fmt::format(" of {} a chunk", Counted(of.recompute_layers, "layer"))
          : "");
  if (of.lora) {
    text += fmt::format("LoRA            rank {} of {}; no other parameter is trained\n",
                        of.lora->rank, fmt::join(of.lora->targets, ", "));
  }
  return text;
}

// What the machine's numbers were changed by, and how far such predictions were.
std::string StackText(const Prediction& of) {
  if (!of.stack) {
    return {};
  }
  const StackPrediction& stack = *of.stack;
  std::string text = fmt::format(
      "Stack           {}{}{}\n", ShownText(stack.name),
      of.job && of.job->stack.empty() ? ", as is usual for such a job (--stack names another)" : "",
      of.calibrated_on        ? ": the machine was fitted, with the stack of what it was fitted to"
      : stack.changes.empty() ? ""
                              : ": " + stack.changes);
  if (stack.error) {
    text += fmt::format("                mean error {:.0f} % of {}\n", 100 * *stack.error,
                        ShownText(stack.error_of));
  } else if (!of.calibrated_on && !stack.model.empty()) {
    text += fmt::format(
        "                no published steps of such jobs ({}) on this device were compared\n",
        stack.model);
  }
  return text;
}

std::string ThroughputText(const Prediction& of) {
  std::string text;
  const auto add = [&text](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  const auto ranks = static_cast<double>(std::max<std::int64_t>(of.ranks, 1));
  if (const auto tokens = of.PerSecond(of.tokens)) {
    add(fmt::format("{:.0f} tokens/s, {:.0f} a device", *tokens, *tokens / ranks));
  } else if (const auto samples = of.PerSecond(of.samples)) {
    add(fmt::format("{:.1f} samples/s, {:.4g} a device", *samples, *samples / ranks));
  }
  if (of.mfu) {
    add(fmt::format("MFU {:.1f} %", 100 * *of.mfu));
  }
  if (of.hfu) {
    add(fmt::format("HFU {:.1f} %", 100 * *of.hfu));
  }
  return text;
}

// Means over ranks; the largest is what bounds the step.
std::string StepPartsText(const Prediction& of) {
  return fmt::format(
      "                operations {}, transfers alone {}, idle or waiting {}; means of ranks\n",
      PercentOfStep(of, of.working_ns()), PercentOfStep(of, of.exposed_communication_ns),
      PercentOfStep(of, of.bubble_ns));
}

std::string WattsText(double watts) {
  constexpr double kKilo = 1e3;
  return watts < 10 * kKilo ? fmt::format("{:.0f} W", watts)
                            : fmt::format("{:.1f} kW", watts / kKilo);
}

std::string PowerText(const Prediction& of) {
  const DeviceSummary& device = of.power->summary;
  std::string text = fmt::format(
      "Power           a device takes {:.0f} W, at most {:.0f} W of {:.0f} W{}; all {}, {} a "
      "step\n",
      device.mean_watts, device.peak_watts, of.power->limit_watts,
      device.throttled_share > 0
          ? fmt::format(", throttled for {:.1f} % of the time", 100 * device.throttled_share)
          : "",
      WattsText(of.power->mean_watts), JoulesText(of.power->joules));
  if (of.power->nodes_watts && of.power->nodes_joules) {
    text += fmt::format("                nodes with all that is in them take {}, {} a step\n",
                        WattsText(*of.power->nodes_watts), JoulesText(*of.power->nodes_joules));
  }
  return text;
}

// ": does not fit, 28.37 GiB too much"; empty: the machine's memory is not known.
std::string FitsText(const MemoryPrediction& memory) {
  if (!memory.of_bytes) {
    return {};
  }
  const std::int64_t left = *memory.of_bytes - memory.peak_bytes;
  if (left < 0) {
    return fmt::format(": does not fit, {} GiB too much", Gibibytes(-left));
  }
  const bool small =
      static_cast<double>(left) < kSmallMargin * static_cast<double>(*memory.of_bytes);
  return small ? fmt::format(": leaves {} GiB, less than {:.0f} %, and hardly fits",
                             Gibibytes(left), 100 * kSmallMargin)
               : fmt::format(": fits, {} GiB are left", Gibibytes(left));
}

}  // namespace

std::string MemoryText(const Prediction& prediction) {
  if (!prediction.memory) {
    return {};
  }
  const MemoryPrediction& memory = *prediction.memory;
  const std::string verdict = FitsText(memory);
  if (memory.rank) {
    return fmt::format("Memory          {} GiB at the peak of rank {}, of what operations name{}\n",
                       Gibibytes(memory.peak_bytes), *memory.rank, verdict);
  }
  const auto& largest = memory.largest_micro_batch;
  return fmt::format("Memory          {} GiB{} at the peak{}{}\n", Gibibytes(memory.peak_bytes),
                     memory.of_bytes ? fmt::format(" of {} GiB", Gibibytes(*memory.of_bytes)) : "",
                     verdict,
                     !largest       ? ""
                     : *largest > 0 ? fmt::format("; micro-batch {}, the largest that fits is {}",
                                                  memory.micro_batch.value_or(0), *largest)
                                    : "; no micro-batch fits") +
         ClassesText(memory);
}

std::string WhatIfText(const Prediction& of) {
  if (!of.what_if) {
    return {};
  }
  const std::int64_t without_ns = of.what_if->step_time_without_ns;
  const std::int64_t change_ns = of.step_time_ns - without_ns;
  std::string text = fmt::format(
      "What if         {} for {} without the rules{}\n", DurationText(of.step_time_ns),
      DurationText(without_ns),
      change_ns == 0 || without_ns == 0
          ? ": no change"
          : fmt::format(": {} {} ({:+.1f} %)", DurationText(std::abs(change_ns)),
                        change_ns < 0 ? "less" : "more",
                        100 * static_cast<double>(change_ns) / static_cast<double>(without_ns)));
  for (const RuleEffect& effect : of.what_if->rules) {
    text += fmt::format("  {}\n", ShownText(EffectText(effect)));
  }
  return text;
}

std::string JobSizeText(const Workload& job) {
  const bool language = job.model.vocab > 0;
  const ScalingRecipe* const recipe = FindScalingRecipe(job.fp8);
  return fmt::format(
      "{}: {}{}{} a step, {}{}", ShownText(job.name),
      Counted(job.global_batch, language ? "sequence" : "sample"),
      language ? fmt::format(" of {}", Counted(job.model.sequence, "token")) : "",
      job.documents.empty() ? "" : fmt::format(" in {}", Counted(job.documents.size(), "document")),
      Name(job.model.dtype),
      recipe == nullptr ? ""
                        : fmt::format(", products in FP{} ({}){}", BitsOf(*recipe), job.fp8,
                                      job.fp8_param_gather ? ", gathered in FP8" : ""));
}

std::string PredictionText(const Prediction& of) {
  std::string text;
  for (const std::string& warning : of.warnings) {
    text += fmt::format("! {}\n", warning);
  }
  text += "! Every number is modelled: nothing was executed.\n";
  text += of.job ? JobText(*of.job) : "";
  text += StackText(of);
  text +=
      fmt::format("Step            {} on {}: {} in {}\n", DurationText(of.step_time_ns),
                  ShownText(of.machine), Counted(of.ranks, "rank"), Counted(of.classes, "class"));
  text += StepPartsText(of);
  if (const std::string throughput = ThroughputText(of); !throughput.empty()) {
    text += fmt::format("Throughput      {}\n", throughput);
  }
  text += of.power ? PowerText(of) : "";
  return text + MemoryText(of);
}

}  // namespace reprise
