#include "report/values/machines.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <string_view>

#include "core/text_in.h"
#include "run/run.h"

namespace reprise {
namespace {

std::vector<std::int64_t> NumberList(std::string_view text) {
  std::vector<std::int64_t> numbers;
  while (!text.empty()) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{}) {
      break;
    }
    numbers.push_back(number);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    text.remove_prefix(std::min<std::size_t>(1, text.size()));  // the comma
  }
  return numbers;
}

// What the ranks have of a fact; empty where one lacks it.
std::string JoinedFact(const RunData& run, const char* name) {
  std::set<std::string> values;
  for (const RankData& rank : run.ranks) {
    values.insert(TextIn(rank.facts, name));
  }
  return values.contains("") ? "" : fmt::format("{}", fmt::join(values, ", "));
}

}  // namespace

Machine RecordingMachine(const RunData& run) {
  Machine machine{.processor = JoinedFact(run, kFactRecordedProcessor),
                  .device = JoinedFact(run, kFactRecordedDevice),
                  .threads = JoinedFact(run, kFactRecordedThreads)};
  if (machine.device.empty() && !machine.processor.empty()) {
    machine.device = "cpu";  // a capture that names the processor names accelerators too
  }
  return machine;
}

Machine ReplayingMachine(const RunData& run) {
  return {.processor = JoinedFact(run, kFactProcessor),
          .device = JoinedFact(run, kFactComputesOn),
          .threads = JoinedFact(run, kFactComputeThreads)};
}

std::vector<HostLoad> HostLoads(const RunData& run) {
  std::map<std::string, HostLoad> loads;
  std::map<std::string, std::set<std::int64_t>> cores;
  for (const RankData& rank : run.ranks) {
    const auto threads = NumberList(TextIn(rank.facts, kFactComputeThreads));
    if (threads.empty()) {
      return {};
    }
    HostLoad& load = loads[rank.host];
    load.host = rank.host;
    ++load.ranks;
    load.threads += static_cast<std::int32_t>(threads.front());
    const auto numbers = NumberList(TextIn(rank.facts, kFactCores));
    cores[rank.host].insert(numbers.begin(), numbers.end());
  }
  std::vector<HostLoad> out;
  for (auto& [host, load] : loads) {
    load.cores = static_cast<std::int32_t>(cores[host].size());
    out.push_back(std::move(load));
  }
  return out;
}

std::vector<std::int64_t> RecordedStepsNs(const RunData& run) {
  std::vector<std::int64_t> longest_ns;
  for (const RankData& rank : run.ranks) {
    const auto own_ns = NumberList(TextIn(rank.facts, kFactRecordedStepsNs));
    if (own_ns.empty() || (!longest_ns.empty() && own_ns.size() != longest_ns.size())) {
      return {};
    }
    longest_ns.resize(own_ns.size());
    std::transform(own_ns.begin(), own_ns.end(), longest_ns.begin(), longest_ns.begin(),
                   [](std::int64_t a, std::int64_t b) { return std::max(a, b); });
  }
  return longest_ns;
}

}  // namespace reprise
