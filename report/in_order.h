// Work on many things of which few fit in memory: begun on several threads, ended in order. Only
// report/ sees this.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <optional>
#include <type_traits>
#include <vector>

#include "core/ordered_pipeline.h"
#include "core/parallel.h"
#include "core/result.h"

namespace reprise {

// begin(i), a Result, of 0 … count − 1, at most `most` of them at a time and no more than there are
// cores; end(value) of each in order, one at a time. After the first failure, which is returned,
// nothing more is begun.
template <typename Begin, typename End>
[[nodiscard]] Status ForEachInOrder(std::size_t count, std::size_t most, const Begin& begin,
                                    const End& end) {
  struct Slot {
    std::size_t item = 0;
    std::optional<std::invoke_result_t<const Begin&, std::size_t>> begun;
  };
  std::vector<Slot> slots(std::clamp<std::size_t>(most, 1, static_cast<std::size_t>(OwnCores())));
  std::size_t next_item = 0;
  Status outcome;
  std::atomic<bool> failed = false;
  const auto next = [&](std::size_t slot) {
    if (next_item == count || failed) {
      return false;
    }
    slots[slot].item = next_item++;
    return true;
  };
  const auto work = [&](std::size_t slot) { slots[slot].begun.emplace(begin(slots[slot].item)); };
  const auto finish = [&](std::size_t slot) {
    auto& begun = slots[slot].begun;
    if (!failed && *begun) {
      end(**begun);
    } else if (!failed) {
      outcome = tl::unexpected(begun->error());
      failed = true;
    }
    begun.reset();
  };
  RunOrderedPipeline(slots.size(), {.next = next, .work = work, .finish = finish});
  return outcome;
}

}  // namespace reprise
