// What the registries of families, schedules and parallelisms share: one object for each line of
// their .def, by name.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/nearest.h"
#include "core/result.h"

namespace reprise {

template <typename Kind>
using KindRegistry = std::vector<std::unique_ptr<Kind>>;

// Null: none of that name.
template <typename Kind>
[[nodiscard]] const Kind* FindByName(const KindRegistry<Kind>& registry, std::string_view name) {
  for (const auto& one : registry) {
    if (one->name() == name) {
      return one.get();
    }
  }
  return nullptr;
}

// Bad input: none of that name; says which there are. `what`: "schedule".
template <typename Kind>
[[nodiscard]] Status CheckName(const KindRegistry<Kind>& registry, std::string_view what,
                               const std::string& name) {
  if (FindByName(registry, name) != nullptr) {
    return {};
  }
  std::vector<std::string> names;
  for (const auto& known : registry) {
    names.emplace_back(known->name());
  }
  return BadInput(fmt::format("no {} is called \"{}\"{}; there are {}", what, name,
                              DidYouMean(name, names), fmt::join(names, ", ")));
}

}  // namespace reprise
