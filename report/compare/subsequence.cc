#include <algorithm>
#include <cstdlib>

#include "report/compare/align.h"

namespace reprise {
namespace {

using Positions = std::pair<std::uint32_t, std::uint32_t>;
using Keys = std::span<const std::uint64_t>;

// Differences that are searched at a time: beyond, the path that came farthest is taken and the
// search begins anew from its end. That bounds time and memory for sequences without likeness.
constexpr std::ptrdiff_t kMaxDifferences = 1024;

// One search from the beginning of both. `x` of the farthest path on each diagonal x − y, after
// each number of differences.
class FarthestPaths {
 public:
  FarthestPaths(Keys a, Keys b)
      : a_(a), b_(b), x_(2 * kMaxDifferences + 3, 0), n_(std::ssize(a)), m_(std::ssize(b)) {}

  // Appends the pairs of the best path; how far it came in both.
  Positions Search(std::vector<Positions>& pairs) {
    const std::ptrdiff_t most = std::min(n_ + m_, kMaxDifferences);
    for (std::ptrdiff_t d = 0; d <= most; ++d) {
      for (std::ptrdiff_t k = -d; k <= d; k += 2) {
        Advance(d, k);
        if (At(k) >= n_ && At(k) - k >= m_) {
          Keep(d);
          return Trace(d, k, pairs);
        }
      }
      Keep(d);
    }
    // Of those that came as far, the one that left as much of either behind.
    std::ptrdiff_t best = -most;
    for (std::ptrdiff_t k = -most; k <= most; k += 2) {
      const bool farther = Sum(k) > Sum(best);
      best = farther || (Sum(k) == Sum(best) && std::abs(k) < std::abs(best)) ? k : best;
    }
    return Trace(most, best, pairs);
  }

 private:
  std::ptrdiff_t& At(std::ptrdiff_t k) {
    return x_[static_cast<std::size_t>(k + kMaxDifferences + 1)];
  }
  // How far both came; a path that left a sequence is none.
  std::ptrdiff_t Sum(std::ptrdiff_t k) { return At(k) > n_ || At(k) - k > m_ ? -1 : 2 * At(k) - k; }
  // The element that the d-th difference on diagonal k skips is one of b (down).
  static bool Down(std::ptrdiff_t d, std::ptrdiff_t k, const auto& at) {
    return k == -d || (k != d && at(k - 1) < at(k + 1));
  }

  void Advance(std::ptrdiff_t d, std::ptrdiff_t k) {
    const auto at = [this](std::ptrdiff_t of) { return At(of); };
    std::ptrdiff_t x = d == 0 ? 0 : Down(d, k, at) ? At(k + 1) : At(k - 1) + 1;
    while (x < n_ && x - k < m_ && x - k >= 0 &&
           a_[static_cast<std::size_t>(x)] == b_[static_cast<std::size_t>(x - k)]) {
      ++x;
    }
    At(k) = x;
  }

  void Keep(std::ptrdiff_t d) {
    history_.emplace_back(x_.begin() + (kMaxDifferences + 1 - d),
                          x_.begin() + (kMaxDifferences + 2 + d));
  }

  Positions Trace(std::ptrdiff_t d, std::ptrdiff_t k, std::vector<Positions>& pairs) {
    const auto kept = [this](std::ptrdiff_t of, std::ptrdiff_t diagonal) {
      return history_[static_cast<std::size_t>(of)][static_cast<std::size_t>(diagonal + of)];
    };
    const std::size_t first = pairs.size();
    std::ptrdiff_t x = kept(d, k);
    const Positions end = {static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(x - k)};
    for (; d >= 0; --d) {
      const auto before = [&](std::ptrdiff_t of) {
        return std::abs(of) > d - 1 ? -1 : kept(d - 1, of);
      };
      const bool down = d > 0 && Down(d, k, before);
      const std::ptrdiff_t begin = d == 0 ? 0 : down ? before(k + 1) : before(k - 1) + 1;
      for (; x > begin; --x) {
        pairs.emplace_back(static_cast<std::uint32_t>(x - 1),
                           static_cast<std::uint32_t>(x - 1 - k));
      }
      x = d == 0 ? 0 : down ? before(k + 1) : before(k - 1);
      k += down ? 1 : -1;
    }
    std::reverse(pairs.begin() + static_cast<std::ptrdiff_t>(first), pairs.end());
    return end;
  }

  Keys a_, b_;
  std::vector<std::ptrdiff_t> x_;
  std::ptrdiff_t n_, m_;
  std::vector<std::vector<std::ptrdiff_t>> history_;
};

}  // namespace

std::vector<Positions> CommonSubsequence(Keys a, Keys b) {
  std::vector<Positions> pairs;
  std::uint32_t x = 0;
  std::uint32_t y = 0;
  while (x < a.size() && y < b.size()) {
    const std::size_t first = pairs.size();
    const Positions end = FarthestPaths(a.subspan(x), b.subspan(y)).Search(pairs);
    for (std::size_t i = first; i < pairs.size(); ++i) {
      pairs[i].first += x;
      pairs[i].second += y;
    }
    x += end.first;
    y += end.second;
  }
  return pairs;
}

}  // namespace reprise
