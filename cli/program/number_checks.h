// Checks of options that are numbers. CLI11's own name the largest double in 309 digits.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace reprise {

[[nodiscard]] inline CLI::Validator NumberCheck(bool zero_too, const std::string& kind) {
  return {[zero_too](std::string& text) {
            double value = 0;
            const bool allowed =
                CLI::detail::lexical_cast(text, value) && (value > 0 || (zero_too && value == 0));
            return allowed ? std::string()
                           : "expected a number " +
                                 std::string(zero_too ? "of at least 0" : "above 0") + ", not '" +
                                 text + "'";
          },
          kind};
}
[[nodiscard]] inline CLI::Validator Positive() { return NumberCheck(false, "POSITIVE"); }
[[nodiscard]] inline CLI::Validator NotNegative() { return NumberCheck(true, "NONNEGATIVE"); }

}  // namespace reprise
