#include "cli/traces/counter_lines.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/counted.h"
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
  std::size_t harmless_kinds = 0;
  std::int64_t harmless = 0;
  for (const CounterSentence& sentence : DescribeCounters(counts)) {
    if (verbose) {
      lines.push_back(sentence.text + ExampleOf(counters, sentence.name));
    } else if (sentence.weight == CounterWeight::kHarmless) {
      ++harmless_kinds;
      harmless += sentence.count;
    } else {
      lines.push_back(sentence.text);
    }
  }
  if (lines.size() > kMaxLines && !verbose) {
    const std::size_t more = lines.size() - kMaxLines + 1;
    lines.resize(kMaxLines - 1);
    lines.push_back(fmt::format("{} more kinds of notes; -v lists them", more));
  }
  if (harmless_kinds > 0) {
    lines.push_back(fmt::format("{} of {}; -v lists them", Counted(harmless, "harmless note"),
                                Counted(harmless_kinds, "kind")));
  }
  return lines;
}

}  // namespace reprise
