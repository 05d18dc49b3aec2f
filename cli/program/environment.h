// The environment, which only cli/ reads.
#pragma once

#include <cstdlib>
#include <string>

namespace reprise {

// Empty where the variable is not set.
[[nodiscard]] inline std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace reprise
