// Counters as lines of a console (core/counters.h has the words).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/diagnostics.h"
#include "core/json_fields.h"

namespace reprise {

REPRISE_JSON_FIELDS(Diagnostics::Counter, count, examples)
using CounterMap = std::map<std::string, Diagnostics::Counter>;

// What stands out is a line each, at most five; what is harmless is one line together. With
// `verbose` a line each for all of them, with an example.
[[nodiscard]] std::vector<std::string> CounterLines(const CounterMap& counters, bool verbose);

}  // namespace reprise
