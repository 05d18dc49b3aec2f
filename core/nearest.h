// "Did you mean": the known name that is nearest to one that was mistyped.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/enum_names.h"

namespace reprise {

// Least number of letters to insert, delete, replace or swap with their neighbour; upper and lower
// case and '-' and '_' are alike.
[[nodiscard]] std::size_t EditDistance(std::string_view a, std::string_view b);

// The nearest of `known`, the first of equally near ones. Nothing (empty) where none is near: a
// third of the letters may differ.
[[nodiscard]] std::string NearestName(std::string_view given,
                                      const std::vector<std::string>& known);

// "; did you mean gemm?", to follow what is wrong; empty where no name is near.
[[nodiscard]] std::string DidYouMean(std::string_view given, const std::vector<std::string>& known);
// The same among the names of an enumeration.
template <HasNames Enum>
[[nodiscard]] std::string DidYouMean(std::string_view given) {
  return DidYouMean(given, std::vector<std::string>(kNamesOf<Enum>.begin(), kNamesOf<Enum>.end()));
}

// The names that begin with what was given, if that has three letters or more: "; did you mean
// h100-hgx or h100-study?". Else as DidYouMean.
[[nodiscard]] std::string NameHint(std::string_view given, const std::vector<std::string>& known);

}  // namespace reprise
