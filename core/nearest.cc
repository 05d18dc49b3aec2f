#include "core/nearest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace reprise {
namespace {

std::string AlikeLetters(std::string_view text) {
  std::string out;
  for (const char c : text) {
    out += c == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return out;
}

}  // namespace

std::size_t EditDistance(std::string_view a, std::string_view b) {
  const std::string from = AlikeLetters(a);
  const std::string to = AlikeLetters(b);
  // Three rows of the matrix: two letters ago, one ago, now.
  std::vector<std::size_t> before(to.size() + 1);
  std::vector<std::size_t> last(to.size() + 1);
  std::vector<std::size_t> now(to.size() + 1);
  for (std::size_t j = 0; j <= to.size(); ++j) {
    last[j] = j;
  }
  for (std::size_t i = 1; i <= from.size(); ++i) {
    now[0] = i;
    for (std::size_t j = 1; j <= to.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (from[i - 1] == to[j - 1] ? 0 : 1);
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1]) {
        now[j] = std::min(now[j], before[j - 2] + 1);
      }
    }
    std::swap(before, last);
    std::swap(last, now);
  }
  return last[to.size()];
}

std::string NearestName(std::string_view given, const std::vector<std::string>& known) {
  const std::string* nearest = nullptr;
  std::size_t least = 0;
  for (const std::string& name : known) {
    const std::size_t distance = EditDistance(given, name);
    const std::size_t most = (std::max(given.size(), name.size()) + 2) / 3;
    if (distance <= most && (nearest == nullptr || distance < least)) {
      nearest = &name;
      least = distance;
    }
  }
  return nearest == nullptr ? "" : *nearest;
}

std::string DidYouMean(std::string_view given, const std::vector<std::string>& known) {
  const std::string name = NearestName(given, known);
  return name.empty() ? "" : fmt::format("; did you mean {}?", name);
}

std::string NameHint(std::string_view given, const std::vector<std::string>& known) {
  constexpr std::size_t kMinOfBeginning = 3;
  std::string hint;
  for (const std::string& name : known) {
    if (given.size() >= kMinOfBeginning && EditDistance(name.substr(0, given.size()), given) == 0) {
      hint += (hint.empty() ? "; did you mean " : " or ") + name;
    }
  }
  return hint.empty() ? DidYouMean(given, known) : hint + "?";
}

}  // namespace reprise
