// Measured times of single kernels, as tables have them: one row a shape and type
// (docs/kernel_tables.md).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.h"
#include "predict/simulator/operator_times.h"

namespace reprise {

struct KernelRow {
  OperatorWork work;
  double ns = 0;
  std::uint64_t line = 0;  // of the file, from 1
};

struct KernelTable {
  std::string name;  // the file's, without folders
  OpClass op_class = OpClass::kOther;
  std::vector<KernelRow> rows;
  // Left out: rows of types that the columns' file does not name.
  std::uint64_t other_types = 0;
  // Left out: rows whose time is more than twice, or less than half, that of an earlier row of the
  // same shape and type.
  std::uint64_t contradicting = 0;
};

// CSV with a header, plain or packed (gz, zstd). `columns`: files that say which column is what,
// tried before the built-in ones; the first of which the table has all columns is taken. Bad input,
// with file and line: no file of columns fits; a field is missing, no number, or not positive; more
// than 1 % of the rows contradict others; no row is left.
[[nodiscard]] Result<KernelTable> ReadKernelTable(const std::string& path,
                                                  const std::vector<std::string>& columns);

// Whether the name is a table's: .csv, .csv.gz or .csv.zst.
[[nodiscard]] bool IsKernelTable(const std::string& path);

}  // namespace reprise
