// Sizes as people write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace reprise {

// "8", "64K", "4MiB", "1g", "512KB": all units are powers of 1024, as nccl-tests has them. Nothing
// for anything else, negative numbers and overflow included.
[[nodiscard]] std::optional<std::int64_t> ParseBytes(std::string_view text);
// "4MiB", "64KiB", "100": the largest unit that divides it.
[[nodiscard]] std::string ShowBytes(std::int64_t bytes);
// "12 B", "1.10 MB": powers of 1000, as sizes of files and memory are read.
[[nodiscard]] std::string SizeText(std::int64_t bytes);

}  // namespace reprise
