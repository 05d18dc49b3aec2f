// Parses texts of the command line into options: the part of a trace to replay, scales.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "replayer/plan/options.h"

namespace reprise {

// "0-3,6" → 0 1 2 3 6, in that order: what NumbersText writes. Usage error on anything else, and on
// a number that comes twice; `flag` begins the message.
[[nodiscard]] Result<std::vector<std::int32_t>> ParseNumbers(std::string_view text,
                                                             std::string_view flag);
// "0/7,1/20": device and stream, as `reprise stats` and reports name them.
[[nodiscard]] Status ParseStreams(std::string_view text, PlanOptions& options);
// "real" or "gemm=timed,rest=skip" (operator classes) into the table; usage error names what is
// wrong and what is possible.
[[nodiscard]] Status ParseOpModes(std::string_view text, PlanOptions& options);
[[nodiscard]] Status ParseCommModes(std::string_view text, PlanOptions& options);
// "auto", "keep", "untraced", "drop", "scale:0.5" (or just "0.5").
[[nodiscard]] Status ParseHostGaps(std::string_view text, PlanOptions& options);
// "0.5", "gemm=0.5,comm=2" or both: "0.5,gemm=1". `other` and `rest` are all that is not named.
[[nodiscard]] Status ParseTimeScale(std::string_view text, PlanOptions& options);
// The same of --stretch; factors are at least 1.
[[nodiscard]] Status ParseStretch(std::string_view text, PlanOptions& options);

}  // namespace reprise
