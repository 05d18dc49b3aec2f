// --resume: its flag, and what a command says of what it took up.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "converters/resumed_ranks.h"
#include "core/json_fields.h"

namespace reprise {

REPRISE_JSON_FIELDS(ResumedRanks, found, taken_up, made)

void AddResumeFlag(CLI::App& app, bool& resume);

// "resumed: 12 ranks taken up, 4 made".
[[nodiscard]] std::string ResumedText(const ResumedRanks& ranks);

}  // namespace reprise
