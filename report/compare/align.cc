#include "report/compare/align.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string>

namespace reprise {
namespace {

using Operations = std::span<const TimedOperation>;

// A name that two of a gap have in common says little: only so many beside each other count.
constexpr std::uint32_t kShortestRun = 3;

void Mix(std::uint64_t& key, std::string_view text) {
  key = (key ^ std::hash<std::string_view>{}(text)) * 0x9E3779B97F4A7C15ULL;
  key ^= key >> 29;
}

// "[8,64] [64,64]" → "[,] [,]".
std::string DimensionsOf(std::string_view shape) {
  std::string out;
  for (const char c : shape) {
    if (c == '[' || c == ']' || c == ',' || c == ' ') {
      out += c;
    }
  }
  return out;
}

// 0 where the operation has nothing to be aligned by.
std::uint64_t KeyOf(const TimedOperation& of, AlignedBy by) {
  std::uint64_t key = of.transfer ? 2 : 1;
  switch (by) {
    case AlignedBy::kAll:
      Mix(key, of.module);
      Mix(key, of.caller);
      Mix(key, of.name);
      Mix(key, of.shape);
      break;
    case AlignedBy::kPlace:
      Mix(key, of.module);
      Mix(key, of.caller);
      Mix(key, of.name);
      Mix(key, of.transfer ? std::string() : DimensionsOf(of.shape));
      break;
    case AlignedBy::kShapes:
      Mix(key, of.name);
      Mix(key, of.shape);
      break;
    case AlignedBy::kName:
      Mix(key, of.name);
      Mix(key, of.transfer ? std::string() : DimensionsOf(of.shape));
      break;
    case AlignedBy::kWorkalike:
      if (of.module.empty() && !of.caller.starts_with("aten::")) {
        return 0;
      }
      Mix(key, of.module);
      Mix(key, of.caller);
      Mix(key, Name(of.op_class));
      break;
  }
  return key;
}

class Aligner {
 public:
  Aligner(Operations a, Operations b) : a_(a), b_(b) {}

  std::vector<AlignedPair> Align() {
    Refine({0, Size(a_), 0, Size(b_)}, AlignedBy::kAll);
    return std::move(pairs_);
  }

 private:
  struct Gap {
    std::uint32_t a_first, a_last, b_first, b_last;
  };
  static std::uint32_t Size(Operations of) { return static_cast<std::uint32_t>(of.size()); }

  static std::vector<std::uint64_t> Keys(Operations of, std::uint32_t first, std::uint32_t last,
                                         AlignedBy by, std::uint64_t none) {
    std::vector<std::uint64_t> keys;
    keys.reserve(last - first);
    for (std::uint32_t i = first; i < last; ++i) {
      const std::uint64_t key = KeyOf(of[i], by);
      keys.push_back(key == 0 ? none + i : key);
    }
    return keys;
  }

  void Refine(const Gap& gap, AlignedBy by) {
    if (gap.a_first == gap.a_last || gap.b_first == gap.b_last) {
      return;
    }
    // Keys of what has none differ from all others, on either side.
    constexpr std::uint64_t kNoneOfB = std::uint64_t{1} << 32U;
    auto pairs = CommonSubsequence(Keys(a_, gap.a_first, gap.a_last, by, 0),
                                   Keys(b_, gap.b_first, gap.b_last, by, kNoneOfB));
    if (by == AlignedBy::kName) {
      DropShortRuns(pairs, gap);
    }
    Gap rest = gap;
    for (const auto& [a, b] : pairs) {
      rest.a_last = gap.a_first + a;
      rest.b_last = gap.b_first + b;
      Next(rest, by);
      pairs_.push_back({rest.a_last, rest.b_last, by});
      rest.a_first = rest.a_last + 1;
      rest.b_first = rest.b_last + 1;
    }
    rest.a_last = gap.a_last;
    rest.b_last = gap.b_last;
    Next(rest, by);
  }

  void Next(const Gap& gap, AlignedBy by) {
    if (by != AlignedBy::kWorkalike) {
      Refine(gap, static_cast<AlignedBy>(static_cast<int>(by) + 1));
    }
  }

  // A run that fills the gap, from aligned operations to aligned operations, is as good as long.
  static void DropShortRuns(std::vector<std::pair<std::uint32_t, std::uint32_t>>& pairs,
                            const Gap& gap) {
    const std::uint32_t most = std::max(gap.a_last - gap.a_first, gap.b_last - gap.b_first);
    std::vector<std::pair<std::uint32_t, std::uint32_t>> kept;
    for (std::size_t i = 0; i < pairs.size();) {
      std::size_t end = i + 1;
      while (end < pairs.size() && pairs[end].first == pairs[end - 1].first + 1 &&
             pairs[end].second == pairs[end - 1].second + 1) {
        ++end;
      }
      if (end - i >= std::min(kShortestRun, most)) {
        kept.insert(kept.end(), pairs.begin() + static_cast<std::ptrdiff_t>(i),
                    pairs.begin() + static_cast<std::ptrdiff_t>(end));
      }
      i = end;
    }
    pairs = std::move(kept);
  }

  Operations a_, b_;
  std::vector<AlignedPair> pairs_;
};

// A thread's operations of one step.
struct NodeRange {
  std::uint32_t first = 0, last = 0;
};
using NodeRanges = std::map<std::int64_t, std::map<std::int32_t, NodeRange>>;  // by thread and step

NodeRanges NodeRangesOf(const RankOperations& rank) {
  NodeRanges out;
  for (std::uint32_t i = 0; i < rank.operations.size(); ++i) {
    const TimedOperation& of = rank.operations[i];
    const auto [at, added] = out[of.thread].try_emplace(of.step, NodeRange{i, i});
    at->second.last = i + 1;
  }
  return out;
}

std::map<std::string_view, std::int64_t> NameCounts(
    const RankOperations& rank, const std::map<std::int32_t, NodeRange>& steps) {
  std::map<std::string_view, std::int64_t> counts;
  for (const auto& [step, range] : steps) {
    for (std::uint32_t i = range.first; i < range.last; ++i) {
      ++counts[rank.operations[i].name];
    }
  }
  return counts;
}

// Threads of a and of b, those with most names in common first. What no thread called stays among
// itself.
std::vector<std::pair<std::int64_t, std::int64_t>> PairThreads(const RankOperations& a,
                                                               const NodeRanges& of_a,
                                                               const RankOperations& b,
                                                               const NodeRanges& of_b) {
  struct Candidate {
    std::int64_t common, a, b;
  };
  std::vector<Candidate> candidates;
  for (const auto& [thread_a, steps_a] : of_a) {
    const auto counts = NameCounts(a, steps_a);
    for (const auto& [thread_b, steps_b] : of_b) {
      if ((thread_a < 0 || thread_b < 0) && thread_a != thread_b) {
        continue;
      }
      std::int64_t common = 0;
      for (const auto& [name, count] : NameCounts(b, steps_b)) {
        const auto found = counts.find(name);
        common += found == counts.end() ? 0 : std::min(count, found->second);
      }
      candidates.push_back({common, thread_a, thread_b});
    }
  }
  std::ranges::stable_sort(candidates, std::greater(), &Candidate::common);
  std::vector<std::pair<std::int64_t, std::int64_t>> pairs;
  for (const Candidate& of : candidates) {
    const bool taken = std::ranges::any_of(
        pairs, [&of](const auto& pair) { return pair.first == of.a || pair.second == of.b; });
    if (!taken) {
      pairs.emplace_back(of.a, of.b);
    }
  }
  return pairs;
}

}  // namespace

std::vector<AlignedPair> AlignSequences(std::span<const TimedOperation> a,
                                        std::span<const TimedOperation> b) {
  return Aligner(a, b).Align();
}

std::vector<AlignedPair> AlignRanks(const RankOperations& a, const RankOperations& b) {
  const NodeRanges of_a = NodeRangesOf(a);
  const NodeRanges of_b = NodeRangesOf(b);
  std::vector<AlignedPair> out;
  for (const auto& [thread_a, thread_b] : PairThreads(a, of_a, b, of_b)) {
    for (const auto& [step, range] : of_a.at(thread_a)) {
      const auto found = of_b.at(thread_b).find(step);
      if (found == of_b.at(thread_b).end()) {
        continue;
      }
      const NodeRange& other = found->second;
      const Operations all_a = a.operations;
      const Operations all_b = b.operations;
      for (AlignedPair pair :
           AlignSequences(all_a.subspan(range.first, range.last - range.first),
                          all_b.subspan(other.first, other.last - other.first))) {
        pair.a += range.first;
        pair.b += other.first;
        out.push_back(pair);
      }
    }
  }
  std::ranges::sort(out, [](const auto& x, const auto& y) { return x.a < y.a; });
  return out;
}

}  // namespace reprise
