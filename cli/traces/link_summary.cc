#include "cli/traces/link_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/shown_text.h"

namespace reprise {
namespace {

// Sets of earlier versions may count more matches than records: those of the observer's own frames.
std::string LinkedShare(const std::string& method, std::uint64_t all_matched,
                        std::uint64_t host_records) {
  const std::uint64_t matched = std::min(all_matched, host_records);
  const double share =
      host_records == 0 ? 0
                        : 100.0 * static_cast<double>(matched) / static_cast<double>(host_records);
  return fmt::format("linked by {}: {} of {} host records have a time ({:.2f} %)",
                     ShownText(method), matched, host_records, share);
}

}  // namespace

std::string Summary(const LinkReport& link) {
  if (link.method.empty()) {
    return {};
  }
  std::string out = LinkedShare(link.method, link.matched, link.host_records);
  if (link.repeats > 1) {
    constexpr double kNsPerMs = 1e6;
    out += fmt::format("; repeat {} of {} ({}), {:.3f} ms, median of all {:.3f} ms", link.repeat,
                       link.repeats, ShownText(link.choice),
                       static_cast<double>(link.repeat_ns) / kNsPerMs,
                       static_cast<double>(link.repeat_median_ns) / kNsPerMs);
  }
  return out;
}

std::string Summary(const std::vector<const LinkReport*>& links) {
  std::set<std::string> methods;
  std::uint64_t matched = 0;
  std::uint64_t host_records = 0;
  std::uint64_t repeats = 1;
  for (const LinkReport* link : links) {
    if (!link->method.empty()) {
      methods.insert(link->method);
      matched += link->matched;
      host_records += link->host_records;
      repeats = std::max(repeats, link->repeats);
    }
  }
  if (methods.empty()) {
    return {};
  }
  const std::string out =
      LinkedShare(methods.size() == 1 ? *methods.begin() : "several ways", matched, host_records);
  return repeats == 1 ? out : fmt::format("{}; one of up to {} repeats taken", out, repeats);
}

}  // namespace reprise
