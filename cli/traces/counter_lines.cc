#include "cli/traces/counter_lines.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/counters.h"

namespace reprise {
namespace {

// The first example of a counter by its name without place and detail.
std::string ExampleOf(const CounterMap& counters, const std::string& name) {
  const auto found = counters.find(name);
  return found == counters.end() || found->second.examples.empty()
             ? std::string()
             : ", e.g. " + found->second.examples.front();
}

}  // namespace

std::vector<std::string> CounterLines(const CounterMap& counters, bool verbose) {
  constexpr std::size_t kMaxLines = 5;
  std::map<std::string, std::int64_t> counts;
  for (const auto& [name, counter] : counters) {
    counts[name] = static_cast<std::int64_t>(counter.count);
  }
  std::vector<std::string> lines;
  for (const CounterSentence& sentence : DescribeCounters(counts)) {
    if (verbose || sentence.weight != CounterWeight::kHarmless) {
      lines.push_back(sentence.text + ExampleOf(counters, sentence.name));
    }
  }
  if (lines.size() > kMaxLines && !verbose) {
    const std::size_t more = lines.size() - kMaxLines + 1;
    lines.resize(kMaxLines - 1);
    lines.push_back(fmt::format("{} more kinds of notes; -v lists them", more));
  }
  return lines;
}

}  // namespace reprise
