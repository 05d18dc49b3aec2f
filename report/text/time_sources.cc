#include "report/text/time_sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

namespace reprise {
namespace {

// Shares of what has a source, the largest first.
std::vector<std::pair<double, TimeSource>> SharesOf(const SourceTimes& from_ns) {
  const std::int64_t all_ns = std::accumulate(from_ns.begin() + 1, from_ns.end(), std::int64_t{0});
  std::vector<std::pair<double, TimeSource>> shares;
  for (std::size_t i = 1; i < from_ns.size(); ++i) {
    if (from_ns[i] > 0) {
      shares.emplace_back(static_cast<double>(from_ns[i]) / static_cast<double>(all_ns),
                          static_cast<TimeSource>(i));
    }
  }
  std::ranges::stable_sort(shares, std::greater{}, [](const auto& share) { return share.first; });
  return shares;
}

std::string ShareText(double share) {
  const double percent = 100 * share;
  return percent < 0.5    ? "< 1 %"
         : percent > 99.5 ? (share < 1 ? "> 99 %" : "100 %")
                          : fmt::format("{:.0f} %", percent);
}

}  // namespace

RunSources SourcesOf(const Report& report) {
  RunSources sources;
  for (const ClassRow& row : report.classes) {
    const bool transfers = row.name == Name(OpClass::kComm);
    SourceTimes& sum = transfers ? sources.transfers_ns : sources.operations_ns;
    std::transform(row.from_ns.begin(), row.from_ns.end(), sum.begin(), sum.begin(), std::plus<>());
  }
  return sources;
}

bool HasSources(const RunSources& sources) {
  const auto any = [](const SourceTimes& from_ns) {
    return std::any_of(from_ns.begin() + 1, from_ns.end(), [](std::int64_t ns) { return ns > 0; });
  };
  return any(sources.operations_ns) || any(sources.transfers_ns);
}

std::string SourcesText(const SourceTimes& from_ns) {
  std::string text;
  for (const auto& [share, source] : SharesOf(from_ns)) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", Name(source), ShareText(share));
  }
  return text;
}

std::string MainSourceText(const SourceTimes& from_ns) {
  const auto shares = SharesOf(from_ns);
  if (shares.empty()) {
    return "-";
  }
  const auto& [share, source] = shares.front();
  return shares.size() == 1 ? std::string(Name(source))
                            : fmt::format("{} {}", Name(source), ShareText(share));
}

}  // namespace reprise
