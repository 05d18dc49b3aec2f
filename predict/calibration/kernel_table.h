// Measured times of single kernels, as tables have them: one row a shape and type
// (docs/kernel_tables.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/comm.h"
#include "core/result.h"
#include "predict/calibration/table_columns.h"
#include "predict/simulator/expert_times.h"
#include "predict/simulator/operator_times.h"

namespace reprise {

// A meter's mean over a loop is not this much above the device's limit.
inline constexpr double kMostOfLimit = 1.2;

// A collective of devices that the innermost link joins.
struct CollectiveCall {
  CommKind kind = CommKind::kUnknown;
  std::int32_t members = 0;
  double bytes = 0;  // those that algbw counts (core/comm.h, AlgorithmBytes)
};

struct KernelRow {
  OperatorWork work;  // of collectives and expert layers the type alone
  double ns = 0;
  std::uint64_t line = 0;  // of the file, from 1
  // Of the device, while this kernel ran over and over; absent where the table has none.
  std::optional<double> watts, limit_watts;
  std::optional<CollectiveCall> collective;  // of tables of collectives
  std::optional<ExpertCall> experts;         // of tables of expert layers
};

struct KernelTable {
  std::string name;  // the file's, without folders
  TableClass of_class = TableClass::kGemm;
  OpClass op_class = OpClass::kOther;  // of its rows; of collectives and expert layers kOther
  std::vector<KernelRow> rows;
  // Left out: rows of types that the columns' file does not name.
  std::uint64_t other_types = 0;
  // Left out: rows whose time is more than twice, or less than half, that of an earlier row of the
  // same shape and type.
  std::uint64_t contradicting = 0;
  // Rows whose watts are more than kMostOfLimit times their limit: they have none.
  std::uint64_t beyond_limit = 0;
  // Left out by LeaveOutUnpredictable: rows that were faster than the memory's peak allows, and
  // rows shorter than the machine's least kernel time.
  std::uint64_t from_caches = 0, below_least = 0;
};

// CSV with a header, plain or packed (gz, zstd). `columns`: files that say which column is what,
// tried before the built-in ones; the first of which the table has all columns is taken. Bad input,
// with file and line: no file of columns fits; a field is missing, no number, or not positive; an
// operation that is no collective; more than 1 % of the rows contradict others, or have watts
// beyond their limit; no row is left.
[[nodiscard]] Result<KernelTable> ReadKernelTable(const std::string& path,
                                                  const std::vector<std::string>& columns);

// Whether the name is a table's: .csv, .csv.gz or .csv.zst.
[[nodiscard]] bool IsKernelTable(const std::string& path);

}  // namespace reprise
