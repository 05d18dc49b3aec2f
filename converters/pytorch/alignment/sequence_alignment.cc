#include "converters/pytorch/alignment/sequence_alignment.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

namespace reprise::pytorch {
namespace {

constexpr std::size_t kRun = 8;  // so many equal symbols in a row are no accident

// Hashes of all runs of `length` symbols, by where they start.
std::vector<std::uint64_t> RunHashes(std::span<const Token> tokens, std::size_t length) {
  constexpr std::uint64_t kBase = 0x9E3779B97F4A7C15;
  std::vector<std::uint64_t> out;
  if (length == 0 || tokens.size() < length) {
    return out;
  }
  std::uint64_t highest = 1;
  for (std::size_t i = 1; i < length; ++i) {
    highest *= kBase;
  }
  const auto term = [](const Token& token) { return std::uint64_t{token.symbol} + 1; };
  std::uint64_t hash = 0;
  out.reserve(tokens.size() - length + 1);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (i >= length) {
      hash -= highest * term(tokens[i - length]);
    }
    hash = hash * kBase + term(tokens[i]);
    if (i + 1 >= length) {
      out.push_back(hash);
    }
  }
  return out;
}

// right − left, and where on the left.
using Vote = std::pair<std::int64_t, std::int32_t>;

// Where each run of some length begins on the left. Runs that occur once tell one place: they are
// made longer until there are some.
struct LeftRuns {
  std::size_t length = 0;
  std::size_t most = 1;  // occurrences that a run may have to tell a place
  std::unordered_map<std::uint64_t, std::vector<std::int32_t>> places;
};

LeftRuns FindRuns(std::span<const Token> left, std::size_t longest) {
  LeftRuns out;
  for (const std::size_t length : {kRun, 4 * kRun, 16 * kRun}) {
    if (length > longest && out.length > 0) {
      break;
    }
    LeftRuns runs{.length = std::min(length, longest)};
    const std::vector<std::uint64_t> hashes = RunHashes(left, runs.length);
    for (std::size_t i = 0; i < hashes.size(); ++i) {
      runs.places[hashes[i]].push_back(static_cast<std::int32_t>(i));
    }
    const auto unique = std::count_if(runs.places.begin(), runs.places.end(),
                                      [](const auto& place) { return place.second.size() == 1; });
    if (static_cast<std::size_t>(unique) * 50 >= hashes.size()) {
      return runs;
    }
    if (out.length == 0) {
      out = std::move(runs);
    }
  }
  // The left repeats itself as a whole: several steps.
  out.most = 16;
  return out;
}

std::vector<Vote> CollectVotes(std::span<const Token> left, std::span<const Token> right) {
  const LeftRuns runs = FindRuns(left, std::min(left.size(), right.size()));
  std::vector<Vote> votes;
  const std::vector<std::uint64_t> right_runs = RunHashes(right, runs.length);
  for (std::size_t j = 0; j < right_runs.size(); ++j) {
    const auto it = runs.places.find(right_runs[j]);
    if (it == runs.places.end() || it->second.size() > runs.most) {
      continue;
    }
    for (const std::int32_t i : it->second) {
      votes.emplace_back(static_cast<std::int64_t>(j) - i, i);
    }
  }
  return votes;
}

// A sequence from some index on, in either direction.
class Ray {
 public:
  Ray(std::span<const Token> tokens, std::int32_t from, bool forward)
      : tokens_(tokens), from_(from), forward_(forward) {}
  [[nodiscard]] std::int32_t size() const {
    return forward_ ? static_cast<std::int32_t>(tokens_.size()) - from_ : from_;
  }
  [[nodiscard]] std::int32_t Index(std::int32_t i) const {
    return forward_ ? from_ + i : from_ - 1 - i;
  }
  [[nodiscard]] const Token& operator[](std::int32_t i) const {
    return tokens_[static_cast<std::size_t>(Index(i))];
  }

 private:
  std::span<const Token> tokens_;
  std::int32_t from_;
  bool forward_;
};

class Walk {
 public:
  Walk(const Ray& left, const Ray& right, bool with_shapes, std::int32_t may_lose, Alignment& out)
      : left_(left), right_(right), with_shapes_(with_shapes), may_lose_(may_lose), out_(out) {}

  void Run() {
    std::int32_t i = 0;
    std::int32_t j = 0;
    while (i < left_.size() && j < right_.size()) {
      if (Agree(i, j)) {
        Pair(i++, j++);
        continue;
      }
      const auto gap = NextAgreement(i, j);
      if (!gap || lost_ > may_lose_) {
        constexpr std::int32_t kMaxAtTheEnd = 256;
        const std::int32_t rest = std::min(kMaxAtTheEnd, left_.size() - i);
        FillGap(i, rest, j, std::min(rest, right_.size() - j));
        return;
      }
      FillGap(i, gap->first, j, gap->second);
      i += gap->first;
      j += gap->second;
    }
  }

 private:
  void Pair(std::int32_t i, std::int32_t j) {
    const std::uint32_t a = left_[i].shape;
    const std::uint32_t b = right_[j].shape;
    out_.both_shapes += a != 0 && b != 0 ? 1 : 0;
    out_.same_shapes += a != 0 && a == b ? 1 : 0;
    out_.pairs.emplace_back(left_.Index(i), right_.Index(j));
  }

  // How many elements of either side to skip until a run agrees; as few as possible.
  [[nodiscard]] std::optional<std::pair<std::int32_t, std::int32_t>> NextAgreement(
      std::int32_t i, std::int32_t j) const {
    constexpr std::int32_t kMaxSkipped = 4096;
    for (std::int32_t skipped = 1; skipped <= kMaxSkipped; ++skipped) {
      const std::int32_t a_first = std::max(0, skipped - (right_.size() - j) + 1);
      const std::int32_t a_last = std::min(skipped, left_.size() - i - 1);
      for (std::int32_t a = a_first; a <= a_last; ++a) {
        if (RunAgrees(i + a, j + skipped - a)) {
          return std::pair(a, skipped - a);
        }
      }
      if (a_first > a_last) {
        return std::nullopt;
      }
    }
    return std::nullopt;
  }

  [[nodiscard]] bool RunAgrees(std::int32_t i, std::int32_t j) const {
    constexpr auto kLength = static_cast<std::int32_t>(kRun);
    if (left_.size() - i < kLength || right_.size() - j < kLength) {
      return false;  // what remains is compared as one gap
    }
    for (std::int32_t k = 0; k < kLength; ++k) {
      if (!Agree(i + k, j + k)) {
        return false;
      }
    }
    return true;
  }

  [[nodiscard]] bool Agree(std::int32_t i, std::int32_t j) const {
    const Token& a = left_[i];
    const Token& b = right_[j];
    return a.symbol == b.symbol &&
           (!with_shapes_ || a.shape == b.shape || a.shape == 0 || b.shape == 0);
  }

  // The best common subsequence, then what merely changed places.
  void FillGap(std::int32_t i, std::int32_t a, std::int32_t j, std::int32_t b) {
    std::vector<bool> left_used(static_cast<std::size_t>(a), false);
    std::vector<bool> right_used(static_cast<std::size_t>(b), false);
    PairInOrder(i, j, left_used, right_used);
    for (const bool shapes_too : {true, false}) {
      PairMoved(i, j, shapes_too, left_used, right_used);
    }
    lost_ += static_cast<std::int32_t>(std::count(left_used.begin(), left_used.end(), false));
  }

  [[nodiscard]] bool SameShape(std::int32_t i, std::int32_t j) const {
    return left_[i].shape == right_[j].shape;
  }

  void PairInOrder(std::int32_t i, std::int32_t j, std::vector<bool>& left_used,
                   std::vector<bool>& right_used) {
    const std::size_t a = left_used.size();
    const std::size_t b = right_used.size();
    constexpr std::size_t kMaxCells = 1 << 18;
    if (a == 0 || b == 0 || a * b > kMaxCells) {
      return;
    }
    // best[x][y]: of what is left from x and y on. A symbol counts four, its shape one more.
    std::vector<std::int32_t> best((a + 1) * (b + 1), 0);
    const auto at = [&](std::size_t x, std::size_t y) -> std::int32_t& {
      return best[x * (b + 1) + y];
    };
    const auto worth = [&](std::size_t x, std::size_t y) {
      const std::int32_t l = i + static_cast<std::int32_t>(x);
      const std::int32_t r = j + static_cast<std::int32_t>(y);
      return left_[l].symbol != right_[r].symbol ? 0 : SameShape(l, r) ? 5 : 4;
    };
    for (std::size_t x = a; x-- > 0;) {
      for (std::size_t y = b; y-- > 0;) {
        const std::int32_t both = worth(x, y) == 0 ? 0 : worth(x, y) + at(x + 1, y + 1);
        at(x, y) = std::max({both, at(x + 1, y), at(x, y + 1)});
      }
    }
    for (std::size_t x = 0, y = 0; x < a && y < b;) {
      if (worth(x, y) > 0 && at(x, y) == worth(x, y) + at(x + 1, y + 1)) {
        left_used[x] = right_used[y] = true;
        Pair(i + static_cast<std::int32_t>(x++), j + static_cast<std::int32_t>(y++));
      } else if (at(x, y) == at(x + 1, y)) {
        ++x;
      } else {
        ++y;
      }
    }
  }

  void PairMoved(std::int32_t i, std::int32_t j, bool shapes_too, std::vector<bool>& left_used,
                 std::vector<bool>& right_used) {
    std::unordered_map<std::uint64_t, std::vector<std::size_t>>
        waiting;  // of the right, last first
    const auto key = [&](const Token& token) {
      return std::uint64_t{token.symbol} << 32U | (shapes_too ? token.shape : 0);
    };
    for (std::size_t y = right_used.size(); y-- > 0;) {
      if (!right_used[y]) {
        waiting[key(right_[j + static_cast<std::int32_t>(y)])].push_back(y);
      }
    }
    for (std::size_t x = 0; x < left_used.size(); ++x) {
      const auto l = i + static_cast<std::int32_t>(x);
      const auto it = left_used[x] ? waiting.end() : waiting.find(key(left_[l]));
      if (it == waiting.end() || it->second.empty()) {
        continue;
      }
      const std::size_t y = it->second.back();
      it->second.pop_back();
      left_used[x] = right_used[y] = true;
      Pair(l, j + static_cast<std::int32_t>(y));
    }
  }

  Ray left_, right_;
  bool with_shapes_;
  std::int32_t may_lose_, lost_ = 0;
  Alignment& out_;
};

Alignment AlignBy(std::span<const Token> left, std::span<const Token> right, const Anchor& anchor,
                  bool with_shapes) {
  Alignment out;
  const auto may_lose = static_cast<std::int32_t>(std::max<std::size_t>(64, left.size() / 3));
  for (const bool forward : {true, false}) {
    Walk(Ray(left, anchor.left, forward), Ray(right, anchor.right, forward), with_shapes, may_lose,
         out)
        .Run();
  }
  if (out.pairs.empty()) {
    return out;
  }
  std::sort(out.pairs.begin(), out.pairs.end());
  out.left_first = out.pairs.front().first;
  out.left_last = out.pairs.back().first + 1;
  const auto [low, high] =
      std::minmax_element(out.pairs.begin(), out.pairs.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; });
  out.right_first = low->second;
  out.right_last = high->second + 1;
  return out;
}

}  // namespace

std::vector<Anchor> FindAnchors(std::span<const Token> left, std::span<const Token> right) {
  std::vector<Vote> votes = CollectVotes(left, right);
  std::sort(votes.begin(), votes.end());
  // What a few missing elements shift is one place.
  const std::int64_t near = std::clamp<std::int64_t>(std::ssize(left) / 8, 1, 16);
  std::vector<Anchor> out;
  for (std::size_t first = 0, last = 0; first < votes.size(); first = last) {
    for (last = first + 1;
         last < votes.size() && votes[last].first - votes[last - 1].first <= near;) {
      ++last;
    }
    const Vote& middle = votes[first + (last - first) / 2];
    out.push_back(
        {middle.second, static_cast<std::int32_t>(middle.first + middle.second), last - first});
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Anchor& a, const Anchor& b) { return a.votes > b.votes; });
  const std::size_t most = left.empty() ? 0 : 4 * (right.size() / left.size() + 2);
  while (out.size() > most || (!out.empty() && out.back().votes * 4 < out.front().votes)) {
    out.pop_back();
  }
  return out;
}

double Alignment::Agreement() const {
  const std::int32_t longer = std::max(left_last - left_first, right_last - right_first);
  return longer == 0 ? 0 : static_cast<double>(pairs.size()) / longer;
}

Alignment AlignFrom(std::span<const Token> left, std::span<const Token> right,
                    const Anchor& anchor) {
  Alignment out = AlignBy(left, right, anchor, false);
  // Where shapes mostly agree, those that do not tell what names alone can't: which of several
  // equal ones is missing.
  if (out.same_shapes < out.both_shapes && out.same_shapes * 2 > out.both_shapes) {
    Alignment exact = AlignBy(left, right, anchor, true);
    if (exact.same_shapes > out.same_shapes && exact.pairs.size() * 50 >= out.pairs.size() * 49) {
      return exact;
    }
  }
  return out;
}

}  // namespace reprise::pytorch
