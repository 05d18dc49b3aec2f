// What the registries of families, schedules and parallelisms share: rows with a name.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/nearest.h"
#include "core/result.h"

namespace reprise {

// Null: none of that name.
template <typename Kind>
[[nodiscard]] const Kind* FindByName(std::span<const Kind> registry, std::string_view name) {
  const auto found = std::ranges::find(registry, name, &Kind::name);
  return found == registry.end() ? nullptr : &*found;
}

// Bad input: none of that name; says which there are. `what`: "schedule".
template <typename Kind>
[[nodiscard]] Status CheckName(std::span<const Kind> registry, std::string_view what,
                               const std::string& name) {
  if (FindByName(registry, name) != nullptr) {
    return {};
  }
  std::vector<std::string> names;
  for (const Kind& known : registry) {
    names.emplace_back(known.name);
  }
  return BadInput(fmt::format("no {} is called \"{}\"{}; there are {}", what, name,
                              DidYouMean(name, names), fmt::join(names, ", ")));
}

}  // namespace reprise
