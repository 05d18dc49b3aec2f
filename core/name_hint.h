// "Did you mean", also for names that are given by their beginning: "h100" of h100-hgx.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "core/nearest.h"

namespace reprise {

// As DidYouMean; where no name is near, those that begin with what was given, if that has three
// letters or more: "; did you mean h100-hgx or h100-study?".
[[nodiscard]] inline std::string NameHint(std::string_view given,
                                          const std::vector<std::string>& known) {
  constexpr std::size_t kMinOfBeginning = 3;
  std::string hint = DidYouMean(given, known);
  if (!hint.empty() || given.size() < kMinOfBeginning) {
    return hint;
  }
  for (const std::string& name : known) {
    if (EditDistance(name.substr(0, given.size()), given) == 0) {
      hint += (hint.empty() ? "; did you mean " : " or ") + name;
    }
  }
  return hint.empty() ? hint : hint + "?";
}

}  // namespace reprise
