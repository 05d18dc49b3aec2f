// What the counters of core/diagnostics.h mean, in words. The table is core/counters.def; a
// structure test holds it complete. How much of the recorded time a counter cut or dropped decides
// whether it changes the reading: "9 starts on streams moved by rounding: 20.0 us, 2 % of the
// recorded time (changes the reading)".
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/diagnostics.h"
#include "core/enum_names.h"

namespace reprise {

enum class CounterWeight : std::uint8_t {
  kHarmless,        // a result does not depend on it
  kWorthALook,      // a detail may be missing or inexact
  kChangesReading,  // results mean something else than without it
};
REPRISE_NAMES(CounterWeight, "harmless", "worth a look", "changes the reading");

struct CounterSentence {
  std::string name;  // as counted
  std::int64_t count = 0;
  CounterWeight weight = CounterWeight::kWorthALook;
  std::string text;  // "159 storage conflicts resolved, harmless"
};

// A name may carry a place before it and a detail behind it: "trace.storage_contradiction",
// "no_kernel: aten::foo". An unknown name (of a newer version) is shown as it is.
// All of `counts`, weightiest first, then by name. Counters of one name in several places or with
// several details are one sentence with the sum; the details, first ones first, are in it.
[[nodiscard]] std::vector<CounterSentence> DescribeCounters(
    const std::map<std::string, std::int64_t>& counts);

// Counts what cut or dropped `ns` of recorded time. Counter `name` + "_ns" has the sum, without the
// detail that `name` may have.
void CountTime(std::string_view name, std::int64_t ns, Diagnostics& diagnostics,
               std::string_view example = {}, std::uint64_t by = 1);

}  // namespace reprise
