// machines/*.json, embedded by CMake.
#pragma once

#include <span>
#include <string_view>

namespace reprise {

struct EmbeddedMachine {
  std::string_view name;  // "a100-hgx.json"
  std::string_view text;
};

// Defined in the generated file; by name.
[[nodiscard]] std::span<const EmbeddedMachine> EmbeddedMachines();

}  // namespace reprise
