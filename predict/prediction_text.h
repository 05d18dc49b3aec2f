// A prediction for people. Each line ends with a newline.
#pragma once

#include <string>

#include "predict/prediction.h"

namespace reprise {

// "llama3-70b: 8 sequences of 8192 tokens a step, bfloat16".
[[nodiscard]] std::string JobSizeText(const Workload& job);
// Step, throughput, waiting, energy and memory.
[[nodiscard]] std::string PredictionText(const Prediction& prediction);
// What rules changed of the step; empty without rules.
[[nodiscard]] std::string WhatIfText(const Prediction& prediction);
// What takes the memory, by class of ranks, and whether it fits. Empty: nothing is known.
[[nodiscard]] std::string MemoryText(const Prediction& prediction);

}  // namespace reprise
