// Checks of options that are numbers. CLI11's own name the largest double in 309 digits, and take
// the largest integer for one that does not fit.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdint>
#include <string>

#include "core/text.h"

namespace reprise {

[[nodiscard]] inline CLI::Validator NumberCheck(bool zero_too, const std::string& kind) {
  return {[zero_too](std::string& text) {
            double value = 0;
            const bool fits = !IsNumber(text) || ParseNumber<std::int64_t>(text).has_value();
            const bool allowed = CLI::detail::lexical_cast(text, value) && std::isfinite(value) &&
                                 fits && (value > 0 || (zero_too && value == 0));
            return allowed ? std::string()
                           : "expected a number " +
                                 std::string(zero_too ? "of at least 0" : "above 0") +
                                 (fits ? "" : " and below 2^63") + ", not '" + text + "'";
          },
          kind};
}
[[nodiscard]] inline CLI::Validator Positive() { return NumberCheck(false, "POSITIVE"); }
// CLI::Range accepts NaN.
[[nodiscard]] inline CLI::Validator Between(double least, double most) {
  return {[least, most](std::string& text) {
            double value = 0;
            const bool allowed =
                CLI::detail::lexical_cast(text, value) && value >= least && value <= most;
            return allowed ? std::string()
                           : fmt::format("expected a number from {} to {}, not '{}'", least, most,
                                         text);
          },
          fmt::format("FLOAT in [{} - {}]", least, most)};
}
[[nodiscard]] inline CLI::Validator NotNegative() { return NumberCheck(true, "NONNEGATIVE"); }
// Three years: ten times that fits in 64 bits of nanoseconds.
inline constexpr double kMostSeconds = 1e8;

}  // namespace reprise
