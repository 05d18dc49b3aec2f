// Which column of a table of kernels is what: small JSON files (docs/kernel_tables.md).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.h"
#include "core/enum_names.h"
#include "core/result.h"

namespace reprise {

// What a table's rows are (docs/kernel_tables.md).
enum class TableClass : std::uint8_t {
  kGemm,
  kAttention,
  kReduction,   // of blocks of a row: memory-bound
  kExperts,     // a layer of experts
  kCollective,  // in one domain of the innermost link
};
REPRISE_NAMES(TableClass, "gemm", "attention", "reduction", "experts", "collective");

struct TableColumns {
  std::string file;  // where it was read
  TableClass of_class = TableClass::kGemm;
  // What a class needs ("m", "type", "time", …) → the table's column.
  std::map<std::string, std::string> names;
  // The table's columns of watts and of the power limit; empty: the file names none. A table may
  // lack them all the same.
  std::string watts, limit_watts;
  double ns_per_unit = 1;
  std::map<std::string, DType> types;  // the table's word → type
};

// Bad input: no such file, no file of columns, a member that is missing or unknown.
[[nodiscard]] Result<TableColumns> ReadTableColumns(std::string_view text,
                                                    const std::string& origin);
// Of the files named, then the built-in ones.
[[nodiscard]] Result<std::vector<TableColumns>> AllTableColumns(
    const std::vector<std::string>& files);

}  // namespace reprise
