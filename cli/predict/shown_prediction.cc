#include "cli/predict/shown_prediction.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/program/show_json.h"
#include "cli/runs/run_report.h"
#include "core/shown_text.h"
#include "predict/prediction_json.h"
#include "predict/prediction_text.h"

namespace reprise {

Status PrintPrediction(const Prediction& prediction, const std::string& run,
                       const ShowPrediction& show) {
  if (show.json) {
    ShowJson(PredictionJson(prediction), 2);
    return {};
  }
  for (const std::string& note : prediction.notes) {
    fmt::print("{}\n", ShownText(note));
  }
  if (show.quiet) {
    for (const std::string& warning : prediction.warnings) {
      fmt::print("{}\n", ShownText(warning));
    }
    fmt::print("{}", ShownStyledLines(WhatIfText(prediction)));
    return {};
  }
  if (run.empty()) {
    fmt::print("{}", ShownStyledLines(PredictionText(prediction)));
    return {};
  }
  REPRISE_TRY(PrintRunReport(run, false));
  fmt::print("\n{}", ShownStyledLines(WhatIfText(prediction) + MemoryText(prediction)));
  return {};
}

}  // namespace reprise
