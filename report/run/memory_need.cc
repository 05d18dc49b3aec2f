#include "report/run/memory_need.h"

#include <fmt/format.h>
#include <sys/sysinfo.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <vector>

#include "core/parallel.h"
#include "core/sqlite/database.h"
#include "report/run/schema.h"
#include "report/run/schema_check.h"

namespace reprise {
namespace {

// Memory for a byte on disk, read and analysed: 2.4 to 3 of schema 10, 5.5 to 6.1 since schema 11,
// whose files hold shared columns once. Refused is what would not fit at the least of them.
constexpr double kAtLeast = 2;
constexpr double kAbout = 7;

// Stored rows, and those that come of them.
struct RowCounts {
  double stored = 0, all = 0;
};

Result<RowCounts> CountRows(const std::string& path) {
  REPRISE_ASSIGN(Database database, Database::Open(path, Database::Access::kRead));
  REPRISE_TRY(CheckSchema(database, path));  // a foreign query need not end
  RowCounts counts;
  for (const RunTable& table : RunTables()) {
    if (!table.HasShared()) {
      continue;
    }
    REPRISE_ASSIGN(Statement select,
                   database.Prepare(fmt::format(
                       "SELECT total(last - first + 1), total((last - first + 1) * (repetition = "
                       "0)) FROM {}",
                       PartsOf(table.name))));
    REPRISE_ASSIGN(const bool found, select.Next());
    counts.all += found ? select.Real(0) : 0;
    counts.stored += found ? select.Real(1) : 0;
  }
  return counts;
}

// By how much the rows of a file are more than it stores. 1 for files without repetition, and for
// those whose damage their reader reports.
double RepetitionOf(const std::string& path) {
  const Result<RowCounts> counts = CountRows(path);
  const double more = counts && counts->stored > 0 ? counts->all / counts->stored : 1;
  return more > 1 ? more : 1;
}

}  // namespace

std::int64_t RankSizes::BytesOf(std::span<const std::int32_t> ranks) {
  std::vector<std::int32_t> unknown;
  std::ranges::copy_if(ranks, std::back_inserter(unknown),
                       [this](std::int32_t rank) { return !bytes_.contains(rank); });
  std::vector<double> bytes(unknown.size(), 0);
  ForEachInParallel(unknown.size(), [&](std::size_t i) {
    const std::string path = RankPath(directory_, unknown[i]);
    std::error_code error;
    const auto size = std::filesystem::file_size(path, error);
    bytes[i] = error ? 0 : static_cast<double>(size) * RepetitionOf(path);
  });
  for (std::size_t i = 0; i < unknown.size(); ++i) {
    bytes_.emplace(unknown[i], bytes[i]);
  }
  double sum = 0;
  for (const std::int32_t rank : ranks) {
    sum += bytes_.at(rank);
  }
  return static_cast<std::int64_t>(std::min(sum, 1e18));
}

std::int64_t MachineMemoryBytes() {
  struct sysinfo machine = {};
  if (sysinfo(&machine) != 0) {
    return INT64_MAX;  // not known: nothing is refused
  }
  return static_cast<std::int64_t>(machine.totalram + machine.totalswap) *
         static_cast<std::int64_t>(machine.mem_unit);
}

std::size_t RanksAtATime(RankSizes& sizes, std::span<const std::int32_t> ranks,
                         std::int64_t memory_bytes) {
  std::int64_t most_bytes = 1;
  for (const std::int32_t rank : ranks) {
    most_bytes = std::max(most_bytes, sizes.BytesOf(std::array{rank}));
  }
  const double fit = static_cast<double>(memory_bytes) / (kAbout * static_cast<double>(most_bytes));
  return static_cast<std::size_t>(std::clamp(fit, 1.0, 1e6));
}

bool FitsInMemory(std::int64_t file_bytes, std::int64_t memory_bytes) {
  return kAbout * static_cast<double>(file_bytes) <= static_cast<double>(memory_bytes);
}

Status CheckMemory(RankSizes& sizes, std::span<const std::int32_t> ranks,
                   std::int64_t memory_bytes) {
  const auto bytes = static_cast<double>(sizes.BytesOf(ranks));
  if (kAtLeast * bytes <= static_cast<double>(memory_bytes)) {
    return {};
  }
  const std::string files =
      ranks.size() == 1
          ? fmt::format("rank{}.sqlite holds", ranks.front())
          : fmt::format("the files of {} ranks{} hold", ranks.size(),
                        ranks.empty() ? "" : fmt::format(" (from {} on)", ranks.front()));
  return EnvironmentError(fmt::format(
      "{}: {} rows of {:.1f} GB, which take about {:.0f} GB of memory to read; "
      "there are {:.1f} GB. Read it on a machine with more, or copy manifest.json and the "
      "rank<N>.sqlite of the ranks that matter to a directory of their own and read that; each "
      "file also answers SQL (docs/run_format.md)",
      sizes.directory(), files, bytes * 1e-9, kAbout * bytes * 1e-9,
      static_cast<double>(memory_bytes) * 1e-9));
}

}  // namespace reprise
