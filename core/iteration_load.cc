#include "core/iteration_load.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "core/text.h"

namespace reprise {
namespace {

constexpr std::array kMembers = {&IterationLoad::iteration,
                                 &IterationLoad::wall_ns,
                                 &IterationLoad::own_cpu_ns,
                                 &IterationLoad::busy_ns,
                                 &IterationLoad::stolen_ns,
                                 &IterationLoad::pressure_ns,
                                 &IterationLoad::involuntary_switches,
                                 &IterationLoad::load_hundredths};
static_assert(sizeof(IterationLoad) == kMembers.size() * sizeof(std::int64_t));

}  // namespace

std::string LoadsText(std::span<const IterationLoad> loads) {
  std::string text;
  for (const IterationLoad& load : loads) {
    std::array<std::int64_t, kMembers.size()> numbers{};
    for (std::size_t i = 0; i < kMembers.size(); ++i) {
      numbers[i] = load.*kMembers[i];
    }
    text += fmt::format("{}{}", text.empty() ? "" : "; ", fmt::join(numbers, " "));
  }
  return text;
}

std::optional<std::vector<IterationLoad>> ParseLoads(std::string_view text) {
  std::vector<IterationLoad> loads;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find("; "), text.size());
    const std::vector<std::string_view> parts = SplitText(text.substr(0, end), ' ');
    text.remove_prefix(std::min(end + 2, text.size()));
    IterationLoad& load = loads.emplace_back();
    for (std::size_t i = 0; i < kMembers.size(); ++i) {
      const auto number =
          parts.size() == kMembers.size() ? ParseNumber<std::int64_t>(parts[i]) : std::nullopt;
      if (!number) {
        return std::nullopt;
      }
      load.*kMembers[i] = *number;
    }
  }
  return loads;
}

}  // namespace reprise
