#include "predict/prediction_text.h"

#include <fmt/format.h>

#include "core/counted.h"
#include "core/shown_text.h"
#include "report/text/table.h"

namespace reprise {
namespace {

constexpr double kGigabyte = 1e9;

std::string Gigabytes(std::int64_t bytes) {
  return fmt::format("{:.2f}", static_cast<double>(bytes) / kGigabyte);
}

std::string PercentOfStep(const Prediction& of, std::int64_t ns) {
  return fmt::format("{:.1f} %", of.step_time_ns > 0 ? 100.0 * static_cast<double>(ns) /
                                                           static_cast<double>(of.step_time_ns)
                                                     : 0);
}

std::string ClassesText(const MemoryPrediction& memory) {
  std::string text = fmt::format("  {:>5} {:>10} {:>7} {:>10} {:>10} {:>10} {:>11} {:>8} {:>8}\n",
                                 "stage", "first rank", "ranks", "parameters", "gradients",
                                 "optimizer", "activations", "buffers", "peak, GB");
  for (const ClassMemory& of_class : memory.classes) {
    const MemorySums& bytes = of_class.bytes;
    text += fmt::format("  {:>5} {:>10} {:>7} {:>10} {:>10} {:>10} {:>11} {:>8} {:>8}{}\n",
                        of_class.stage, of_class.first_rank, of_class.ranks,
                        Gigabytes(bytes.parameters), Gigabytes(bytes.gradients),
                        Gigabytes(bytes.optimizer), Gigabytes(bytes.activations),
                        Gigabytes(bytes.buffers()), Gigabytes(bytes.peak),
                        !memory.of_bytes || bytes.peak <= *memory.of_bytes ? "" : "  too much");
  }
  return text;
}

std::string ThroughputText(const Prediction& of) {
  std::string text;
  const auto add = [&text](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (const auto tokens = of.PerSecond(of.tokens)) {
    add(fmt::format("{:.0f} tokens/s", *tokens));
  } else if (const auto samples = of.PerSecond(of.samples)) {
    add(fmt::format("{:.1f} samples/s", *samples));
  }
  if (of.mfu) {
    add(fmt::format("MFU {:.1f} %", 100 * *of.mfu));
  }
  if (of.hfu) {
    add(fmt::format("HFU {:.1f} %", 100 * *of.hfu));
  }
  return text;
}

}  // namespace

std::string MemoryText(const Prediction& prediction) {
  if (!prediction.memory) {
    return {};
  }
  const MemoryPrediction& memory = *prediction.memory;
  const auto fits = memory.fits();
  const std::string verdict = !fits ? "" : *fits ? ": fits" : ": does not fit";
  if (memory.rank) {
    return fmt::format("Memory          {} GB at the peak of rank {}, of what operations name{}\n",
                       Gigabytes(memory.peak_bytes), *memory.rank, verdict);
  }
  const auto& largest = memory.largest_micro_batch;
  return fmt::format("Memory          {} GB{} at the peak{}{}\n", Gigabytes(memory.peak_bytes),
                     memory.of_bytes ? fmt::format(" of {} GB", Gigabytes(*memory.of_bytes)) : "",
                     verdict,
                     !largest       ? ""
                     : *largest > 0 ? fmt::format("; micro-batch {}, the largest that fits is {}",
                                                  memory.micro_batch.value_or(0), *largest)
                                    : "; no micro-batch fits") +
         ClassesText(memory);
}

std::string PredictionText(const Prediction& of) {
  std::string text;
  for (const std::string& warning : of.warnings) {
    text += fmt::format("! {}\n", warning);
  }
  text += "! Every number is modelled: nothing was executed.\n";
  text += fmt::format("Step            {:.4g} ms on {}: {} in {}\n",
                      static_cast<double>(of.step_time_ns) * 1e-6, ShownText(of.machine),
                      Counted(of.ranks, "rank"), Counted(of.classes, "class"));
  if (const std::string throughput = ThroughputText(of); !throughput.empty()) {
    text += fmt::format("Throughput      {}\n", throughput);
  }
  text +=
      fmt::format("Waiting         transfers alone {} of the step, bubble {}; mean of ranks\n",
                  PercentOfStep(of, of.exposed_communication_ns), PercentOfStep(of, of.bubble_ns));
  if (of.power) {
    const DeviceSummary& device = of.power->summary;
    text += fmt::format(
        "Energy          {} a step; a device takes {:.0f} W, at most {:.0f} W of {:.0f} "
        "W{}\n",
        JoulesText(of.power->joules), device.mean_watts, device.peak_watts, of.power->limit_watts,
        device.throttled_share > 0
            ? fmt::format(", throttled for {:.1f} % of the time", 100 * device.throttled_share)
            : "");
  }
  return text + MemoryText(of);
}

}  // namespace reprise
