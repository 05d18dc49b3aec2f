#include "predict/search/search_text.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "core/counted.h"
#include "core/json_fields.h"
#include "core/shown_text.h"
#include "predict/prediction_json.h"
#include "predict/prediction_text.h"
#include "predict/search/layouts.h"
#include "report/text/table.h"

namespace reprise {
namespace {

constexpr double kShownDifference = 1e-3;  // of the step

// What a step's time is, mean of the ranks; the sum is the step.
struct StepPart {
  const char* name;
  const char* key;  // in JSON
  double ns = 0;
};

std::array<StepPart, 4> PartsOf(const Prediction& of) {
  const double ranks = static_cast<double>(std::max<std::int64_t>(of.ranks, 1));
  const auto working = static_cast<double>(of.working_ns());
  const double operations = std::min(working, static_cast<double>(of.device_time_ns) / ranks);
  return {{{"operations", "operations_ns", operations},
           {"launches and host", "launches_ns", working - operations},
           {"transfers alone", "exposed_communication_ns",
            static_cast<double>(of.exposed_communication_ns)},
           {"idle or waiting", "bubble_ns", static_cast<double>(of.bubble_ns)}}};
}

std::string SizesText(const Layout& layout) {
  std::string text = fmt::format("tp{} pp{} dp{}", layout.tp, layout.pp, layout.dp);
  for (const auto& [name, size] : {std::pair("ep", layout.ep), std::pair("cp", layout.cp)}) {
    text += size > 1 ? fmt::format(" {}{}", name, size) : "";
  }
  return text;
}

double LeftBytes(const LayoutSearch& search, const Prediction& of) {
  return search.memory_bytes - static_cast<double>(of.memory->peak_bytes);
}

// Below each row, the options that give it alone.
std::string BestText(const LayoutSearch& search) {
  const std::string rates = search.best[0].prediction->tokens > 0 ? "tokens/s" : "samples/s";
  Table table(std::vector<std::string>{"", "layout", "micro-batches", "step, s", rates, "MFU",
                                       "GiB", "left", "W each", "kW all"});
  for (std::size_t i = 0; i < search.best.size(); ++i) {
    const Workload& job = search.best[i].workload;
    const Prediction& of = *search.best[i].prediction;
    const auto rate = of.PerSecond(of.tokens > 0 ? of.tokens : of.samples);
    table.Add({std::to_string(i + 1), SizesText(job.layout),
               fmt::format("{} of {}", job.micro_batches(), job.micro_batch),
               fmt::format("{:.4g}", static_cast<double>(of.step_time_ns) / 1e9),
               fmt::format("{:.0f}", rate.value_or(0)),
               of.mfu ? fmt::format("{:.1f} %", 100 * *of.mfu) : "-",
               GibibytesText(static_cast<double>(of.memory->peak_bytes)),
               GibibytesText(LeftBytes(search, of)),
               of.power ? fmt::format("{:.0f}", of.power->summary.mean_watts) : "-",
               of.power ? fmt::format("{:.1f}", of.power->mean_watts / 1e3) : "-"},
              ChosenOptions(search.job, search.best[i].options));
  }
  return table.Text(2);
}

// What the best one's step is, and how the second one's differs.
std::string WhyText(const LayoutSearch& search) {
  const Prediction& best = *search.best[0].prediction;
  const auto step = static_cast<double>(best.step_time_ns);
  const std::array<StepPart, 4> parts = PartsOf(best);
  const StepPart* most = &parts[0];
  std::string shares;
  for (const StepPart& part : parts) {
    shares += fmt::format("{}{} {:.1f} %", shares.empty() ? "" : ", ", part.name,
                          100 * part.ns / std::max(step, 1.0));
    most = part.ns > most->ns ? &part : most;
  }
  std::string text =
      fmt::format("The first is bound by {}: {}; means of ranks.", most->name, shares);
  if (search.best.size() > 1) {
    const Prediction& second = *search.best[1].prediction;
    const std::array<StepPart, 4> others = PartsOf(second);
    std::string differences;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const double more = others[i].ns - parts[i].ns;
      if (std::abs(more) > kShownDifference * step) {
        differences += fmt::format("{}{} {}", differences.empty() ? ": " : ", ", parts[i].name,
                                   SignedDurationText(std::llround(more)));
      }
    }
    text += fmt::format(" The second takes {} more{}.",
                        DurationText(second.step_time_ns - best.step_time_ns), differences);
  }
  return text;
}

std::string CountsText(const LayoutSearch& search) {
  std::string text = fmt::format(
      "{} keep the rules. Estimated from small jobs, {} do not fit in {} GiB, and {} are "
      "slower than the best. {} simulated",
      Counted(search.considered, "layout"), search.too_large, GibibytesText(search.memory_bytes),
      search.slower, search.simulated == 1 ? "1 was" : fmt::format("{} were", search.simulated));
  if (search.simulated > 0) {
    text += search.simulated_too_large > 0
                ? fmt::format(", of which {} do not fit", search.simulated_too_large)
                : "";
    text += fmt::format("; their estimates are {:+.1f} to {:+.1f} % off", 100 * search.least_error,
                        100 * search.most_error);
  }
  return text + ".";
}

// What all layouts compute in a step.
std::string JobLine(const LayoutSearch& search) {
  const Workload& job = search.best.empty() ? search.nearest->workload : search.best[0].workload;
  return fmt::format("Job {}, on {}{}.", JobSizeText(job), Counted(*search.job.ranks, "rank"),
                     search.job.global_batch ? "" : "; --global-batch changes how many");
}

std::string KeptText(const LayoutSearch& search) {
  std::string text;
  for (const auto& [name, value] : search.kept) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, value);
  }
  return text;
}

std::string Paragraph(const std::string& text) { return Wrap(text, kConsoleWidth, 0); }

// The fastest estimates of sizes that the table has not.
std::string OthersText(const LayoutSearch& search) {
  std::string text;
  for (const FoundLayout& other : search.others) {
    text += fmt::format("{}{} {:.4g} s", text.empty() ? "" : ", ", SizesText(other.workload.layout),
                        other.estimate.step_ns / 1e9);
  }
  return text.empty() ? "" : Paragraph("Of other sizes, at least: " + text + ".");
}

// Of the best one: what the table has no place for.
std::string AfterTable(const LayoutSearch& search) {
  std::string text;
  std::string full;
  for (std::size_t i = 0; i < search.best.size(); ++i) {
    if (LeftBytes(search, *search.best[i].prediction) < kSmallMargin * search.memory_bytes) {
      full += fmt::format("{}{}", full.empty() ? "" : ", ", i + 1);
    }
  }
  if (!full.empty()) {
    text += Paragraph(
        fmt::format("! Row {}: less than {:.0f} % of the memory is left, which hardly fits.", full,
                    100 * kSmallMargin));
  }
  text += Paragraph(WhyText(search));
  text += OthersText(search);
  return text + "One alone: the same command with the options below its row.\n";
}

Json CountsJson(const LayoutSearch& of) {
  Json json;
  REPRISE_ADD_FIELDS(json, of, considered, too_large, slower, simulated, simulated_too_large)
  json["estimate_error"] =
      of.simulated > 0 ? Json::array({of.least_error, of.most_error}) : Json(nullptr);
  return json;
}

}  // namespace

std::string SearchText(const LayoutSearch& search) {
  std::string text;
  if (!search.best.empty()) {
    for (const std::string& warning : search.best[0].prediction->warnings) {
      text += Paragraph("! " + warning);
    }
    for (const std::string& note : EffectNotes(search.best[0].workload)) {
      text += Paragraph("! " + note);
    }
  }
  text += "! Every number is modelled: nothing was executed.\n";
  text += Paragraph(JobLine(search));
  text += Paragraph(CountsText(search));
  text += Paragraph("The same in all: " + KeptText(search) + ".");
  if (!search.best.empty()) {
    return text + "\n" + BestText(search) + "\n" + AfterTable(search);
  }
  const FoundLayout& nearest = *search.nearest;
  return text +
         Paragraph(fmt::format("None fits. What lacks the least takes {} GiB, {} GiB too much: {}",
                               GibibytesText(nearest.estimate.peak_bytes),
                               GibibytesText(nearest.estimate.peak_bytes - search.memory_bytes),
                               ChosenOptions(search.job, nearest.options)));
}

Json SearchJson(const LayoutSearch& search) {
  Json kept = Json::object();
  for (const auto& [name, value] : search.kept) {
    kept[name] = value;
  }
  Json best = Json::array();
  for (const FoundLayout& found : search.best) {
    Json& json = best.emplace_back();
    json["options"] = ChosenOptions(search.job, found.options);
    json["estimated_step_ns"] = std::llround(found.estimate.step_ns);
    json["left_bytes"] = std::llround(LeftBytes(search, *found.prediction));
    Json parts = Json::object();
    for (const StepPart& part : PartsOf(*found.prediction)) {
      parts[part.key] = std::llround(part.ns);
    }
    json["step_parts"] = std::move(parts);
    json["prediction"] = PredictionJson(*found.prediction);
  }
  Json others = Json::array();
  for (const FoundLayout& other : search.others) {
    others.push_back({{"options", ChosenOptions(search.job, other.options)},
                      {"estimated_step_ns", std::llround(other.estimate.step_ns)},
                      {"estimated_peak_bytes", std::llround(other.estimate.peak_bytes)}});
  }
  Json nearest;
  if (search.nearest) {
    nearest["options"] = ChosenOptions(search.job, search.nearest->options);
    nearest["peak_bytes"] = std::llround(search.nearest->estimate.peak_bytes);
  }
  return {{"layouts", CountsJson(search)},
          {"kept", std::move(kept)},
          {"memory_bytes", std::llround(search.memory_bytes)},
          {"best", std::move(best)},
          {"others", std::move(others)},
          {"nearest", std::move(nearest)}};
}

}  // namespace reprise
