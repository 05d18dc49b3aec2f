#include "core/counters.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

namespace reprise {
namespace {

struct CounterMeaning {
  std::string_view name;
  CounterWeight weight;
  std::string_view one, several;
};

constexpr CounterMeaning kCounterMeanings[] = {
#define COUNTER(name, weight, one, several) {#name, CounterWeight::weight, one, several},
#include "core/counters.def"
#undef COUNTER
};

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

CounterSentence SentenceOf(std::string_view base, std::int64_t count,
                           const std::vector<std::string_view>& details) {
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
    const std::string_view weight = Name(out.weight);
    out.text += out.weight == CounterWeight::kHarmless ? fmt::format(", {}", weight)
                                                       : fmt::format(" ({})", weight);
  }
  return out;
}

}  // namespace

std::vector<CounterSentence> DescribeCounters(const std::map<std::string, std::int64_t>& counts) {
  struct Sum {
    std::int64_t count = 0;
    std::vector<std::string_view> details;
  };
  std::map<std::string_view, Sum> sums;
  for (const auto& [name, count] : counts) {
    const CounterName split = SplitCounterName(name);
    Sum& sum = sums[split.base];
    sum.count += count;
    if (!split.detail.empty()) {
      sum.details.push_back(split.detail);
    }
  }
  std::vector<CounterSentence> sentences;
  sentences.reserve(sums.size());
  for (const auto& [base, sum] : sums) {
    sentences.push_back(SentenceOf(base, sum.count, sum.details));
  }
  std::stable_sort(sentences.begin(), sentences.end(),
                   [](const auto& a, const auto& b) { return a.weight > b.weight; });
  return sentences;
}

}  // namespace reprise
