#include "cli/link_summary.h"

#include <fmt/format.h>

namespace reprise {

std::string Summary(const LinkReport& link) {
  if (link.method.empty()) {
    return {};
  }
  const double share = link.host_records == 0 ? 0
                                              : 100.0 * static_cast<double>(link.matched) /
                                                    static_cast<double>(link.host_records);
  std::string out = fmt::format("linked by {}: {} of {} host records have a time ({:.2f} %)",
                                link.method, link.matched, link.host_records, share);
  if (link.repeats > 1) {
    constexpr double kNsPerMs = 1e6;
    out += fmt::format("; repeat {} of {} ({}), {:.3f} ms, median of all {:.3f} ms", link.repeat,
                       link.repeats, link.choice, static_cast<double>(link.repeat_ns) / kNsPerMs,
                       static_cast<double>(link.repeat_median_ns) / kNsPerMs);
  }
  return out;
}

}  // namespace reprise
