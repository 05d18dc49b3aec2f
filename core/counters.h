// What the counters of core/diagnostics.h mean, in words. The table is core/counters.def; a
// structure test holds it complete.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

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

}  // namespace reprise
