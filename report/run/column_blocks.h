// Columns of integers as bytes: blocks of rows, in each of them column by column. A column's values
// are as many bytes wide as the widest of them needs, above the least of them or of their
// differences, whichever is narrower.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace reprise {

// Of all blocks of a table but the last.
inline constexpr std::size_t kRowsOfBlock = 4096;

// Appends a block of `columns` columns, each of `rows` values: the values of column c begin at
// values[c * kRowsOfBlock].
void AppendColumnBlock(const std::vector<std::int64_t>& values, std::size_t columns,
                       std::size_t rows, std::string& out);

// The other way round, into the same places of `values`, which it makes large enough. Others may
// have written the bytes: false where they are no such block.
[[nodiscard]] bool ReadColumnBlock(std::string_view bytes, std::size_t columns, std::size_t rows,
                                   std::vector<std::int64_t>& values);

}  // namespace reprise
