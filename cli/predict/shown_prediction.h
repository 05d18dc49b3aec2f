// How simulate and predict show a prediction on stdout.
#pragma once

#include <string>

#include "core/result.h"
#include "predict/prediction.h"

namespace reprise {

struct ShowPrediction {
  bool json = false, quiet = false;  // quiet: the warnings alone
};

// JSON; or the report of the run at `run`, if one was written, and its memory; or else the
// prediction as text.
[[nodiscard]] Status PrintPrediction(const Prediction& prediction, const std::string& run,
                                     const ShowPrediction& show);

}  // namespace reprise
