// The one way in which a test is skipped: for a reason that tests/needs.def names, and that
// REPRISE_REQUIRE may forbid.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace reprise {

// Why a test that lacks `need` fails instead of being skipped; empty: it may be skipped. A name
// that is not in tests/needs.def, such as a backend that every machine has, is never skipped for.
[[nodiscard]] std::string WhyNoSkip(std::string_view need);

}  // namespace reprise

// In a test, in SetUp or in a function that returns nothing: ends it.
#define REPRISE_SKIP(need, why)                                        \
  do {                                                                 \
    const std::string reprise_refusal = ::reprise::WhyNoSkip(need);    \
    if (!reprise_refusal.empty()) {                                    \
      FAIL() << reprise_refusal << ": " << (why);                      \
    }                                                                  \
    GTEST_SKIP() << "skipped for want of " << (need) << ": " << (why); \
  } while (false)
