// What becomes of a node's time, whether a recording or a model gives it.
#pragma once

#include <cstdint>
#include <optional>

#include "core/nanoseconds.h"

namespace reprise {

struct TimeChange {
  double factor = 1;
  std::optional<std::int64_t> ns;  // in its place
  std::int64_t delay_ns = 0;       // between what it waits for and its start

  [[nodiscard]] std::int64_t Of(std::int64_t given_ns) const {
    const std::int64_t base_ns = ns.value_or(given_ns);
    return factor == 1 ? base_ns : NsOf(static_cast<double>(base_ns) * factor);
  }
};

}  // namespace reprise
