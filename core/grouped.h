// Values by key, all in one array (CSR).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace reprise {

struct Grouped {
  std::vector<std::uint32_t> offset = {0};  // of each key's first value, and the end
  std::vector<std::uint32_t> values;

  [[nodiscard]] std::size_t keys() const { return offset.size() - 1; }
  [[nodiscard]] std::span<const std::uint32_t> Of(std::size_t key) const {
    return {values.data() + offset[key], values.data() + offset[key + 1]};
  }
};

// By counting: `visit` calls its argument with (key, value), in the same order both times that it
// is called. Keys are below `keys`; a key's values stay in the order of `visit`.
template <typename Visit>
[[nodiscard]] Grouped GroupByKey(std::size_t keys, const Visit& visit) {
  Grouped grouped;
  grouped.offset.assign(keys + 1, 0);
  visit([&](std::size_t key, std::uint32_t /*value*/) { ++grouped.offset[key + 1]; });
  for (std::size_t key = 0; key < keys; ++key) {
    grouped.offset[key + 1] += grouped.offset[key];
  }
  grouped.values.resize(grouped.offset.back());
  std::vector<std::uint32_t> next(grouped.offset);
  visit([&](std::size_t key, std::uint32_t value) { grouped.values[next[key]++] = value; });
  return grouped;
}

}  // namespace reprise
