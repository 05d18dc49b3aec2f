#include "core/counters.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

namespace reprise {
namespace {

// Of the recorded time. What cuts or drops more changes the reading.
constexpr double kNoticedShare = 1e-3;

struct CounterMeaning {
  std::string_view name;
  CounterWeight weight;
  std::string_view one, several;
  std::string_view whole = {};  // of time: the counter of all the time of its kind
};

constexpr CounterMeaning kCounterMeanings[] = {
#define COUNTER(name, weight, one, several) {#name, CounterWeight::weight, one, several},
#define COUNTER_OF_TIME(name, weight, whole, one, several) \
  {#name, CounterWeight::weight, one, several, #whole},
#include "core/counters.def"
#undef COUNTER
#undef COUNTER_OF_TIME
};

// What belongs to other counters' sentences: "stream_overlap_ns", "device_time_ns".
bool IsCounterTime(std::string_view base) {
  return std::any_of(
      std::begin(kCounterMeanings), std::end(kCounterMeanings), [base](const CounterMeaning& of) {
        return !of.whole.empty() &&
               (base == of.whole ||
                (base.ends_with("_ns") && base.substr(0, base.size() - 3) == of.name));
      });
}

std::string CounterTimeText(std::int64_t ns) {
  const auto of = static_cast<double>(ns);
  return ns < 1'000'000 ? fmt::format("{:.1f} us", of / 1e3) : fmt::format("{:.2f} ms", of / 1e6);
}

// "diagnostic.no_kernel: aten::add.Tensor" → "no_kernel" and "aten::add.Tensor".
struct CounterName {
  std::string_view base, detail;
};

CounterName SplitCounterName(std::string_view name) {
  CounterName out;
  const std::size_t colon = name.find(": ");
  if (colon != std::string_view::npos) {
    out.detail = name.substr(colon + 2);
  }
  out.base = name.substr(0, colon);
  if (const std::size_t dot = out.base.rfind('.'); dot != std::string_view::npos) {
    out.base.remove_prefix(dot + 1);
  }
  return out;
}

struct CounterSum {
  std::int64_t count = 0;
  std::vector<std::string_view> details;
};
using CounterSums = std::map<std::string_view, CounterSum>;

// Adds how much time a counter cut or dropped, and lets that decide its weight. Sets of earlier
// versions don't say how much it was.
void AddTime(const CounterMeaning& meaning, const CounterSums& sums, CounterSentence& out) {
  const auto cut = sums.find(std::string(meaning.name) + "_ns");
  const auto whole = sums.find(meaning.whole);
  if (cut == sums.end()) {
    return;
  }
  out.text += ": " + CounterTimeText(cut->second.count);
  if (whole == sums.end() || whole->second.count <= 0) {
    out.weight = std::max(out.weight, CounterWeight::kWorthALook);
    return;
  }
  const double share =
      static_cast<double>(cut->second.count) / static_cast<double>(whole->second.count);
  const double percent = 100 * share;
  out.text += percent < 10 ? fmt::format(", {:.2g} % of the recorded time", percent)
                           : fmt::format(", {:.0f} % of the recorded time", percent);
  out.weight = share > kNoticedShare ? CounterWeight::kChangesReading : out.weight;
}

CounterSentence SentenceOf(std::string_view base, const CounterSums& sums) {
  const auto& [count, details] = sums.at(base);
  constexpr std::size_t kMaxDetails = 3;
  const auto* const meaning =
      std::find_if(std::begin(kCounterMeanings), std::end(kCounterMeanings),
                   [base](const CounterMeaning& of) { return of.name == base; });
  CounterSentence out{.name = std::string(base), .count = count};
  const bool known = meaning != std::end(kCounterMeanings);
  out.text = known ? fmt::format("{} {}", count, count == 1 ? meaning->one : meaning->several)
                   : fmt::format("{} times {}", count, base);
  if (!details.empty()) {
    const std::size_t shown = std::min(details.size(), kMaxDetails);
    out.text += fmt::format(
        ": {}",
        fmt::join(details.begin(), details.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
    out.text += details.size() > shown ? fmt::format(", {} more", details.size() - shown) : "";
  }
  if (known) {
    out.weight = meaning->weight;
    if (!meaning->whole.empty()) {
      AddTime(*meaning, sums, out);
    }
    const std::string_view weight = Name(out.weight);
    out.text += out.weight == CounterWeight::kHarmless ? fmt::format(", {}", weight)
                                                       : fmt::format(" ({})", weight);
  }
  return out;
}

}  // namespace

std::vector<CounterSentence> DescribeCounters(const std::map<std::string, std::int64_t>& counts) {
  CounterSums sums;
  for (const auto& [name, count] : counts) {
    const CounterName split = SplitCounterName(name);
    CounterSum& sum = sums[split.base];
    sum.count += count;
    if (!split.detail.empty()) {
      sum.details.push_back(split.detail);
    }
  }
  std::vector<CounterSentence> sentences;
  sentences.reserve(sums.size());
  for (const auto& [base, sum] : sums) {
    if (!IsCounterTime(base)) {
      sentences.push_back(SentenceOf(base, sums));
    }
  }
  std::stable_sort(sentences.begin(), sentences.end(),
                   [](const auto& a, const auto& b) { return a.weight > b.weight; });
  return sentences;
}

void CountTime(std::string_view name, std::int64_t ns, Diagnostics& diagnostics,
               std::string_view example, std::uint64_t by) {
  diagnostics.Count(name, example, by);
  diagnostics.Count(std::string(name.substr(0, name.find(": "))) + "_ns", {},
                    ns > 0 ? static_cast<std::uint64_t>(ns) : 0);
}

}  // namespace reprise
