#include "report/run/memory_need.h"

#include <fmt/format.h>
#include <sys/sysinfo.h>

#include <filesystem>
#include <system_error>

#include "report/run/schema.h"

namespace reprise {
namespace {

// Memory for a byte on disk, read and analysed: 2.4 to 3 of schema 10, 6.9 of schema 11, whose
// files hold shared columns once. Refused is what would not fit at the least of them.
constexpr double kAtLeast = 2;
constexpr double kAbout = 8;

}  // namespace

std::int64_t BytesOnDisk(const std::string& directory, std::span<const std::int32_t> ranks) {
  std::int64_t bytes = 0;
  for (const std::int32_t rank : ranks) {
    std::error_code error;
    const auto size = std::filesystem::file_size(RankPath(directory, rank), error);
    bytes += error ? 0 : static_cast<std::int64_t>(size);
  }
  return bytes;
}

std::int64_t MachineMemoryBytes() {
  struct sysinfo machine = {};
  if (sysinfo(&machine) != 0) {
    return INT64_MAX;  // not known: nothing is refused
  }
  return static_cast<std::int64_t>(machine.totalram + machine.totalswap) *
         static_cast<std::int64_t>(machine.mem_unit);
}

bool FitsInMemory(const std::string& directory, std::span<const std::int32_t> ranks,
                  std::int64_t memory_bytes) {
  return FitsInMemory(BytesOnDisk(directory, ranks), memory_bytes);
}

bool FitsInMemory(std::int64_t file_bytes, std::int64_t memory_bytes) {
  return kAbout * static_cast<double>(file_bytes) <= static_cast<double>(memory_bytes);
}

Status CheckMemory(const std::string& directory, std::span<const std::int32_t> ranks,
                   std::int64_t memory_bytes) {
  const auto bytes = static_cast<double>(BytesOnDisk(directory, ranks));
  if (kAtLeast * bytes <= static_cast<double>(memory_bytes)) {
    return {};
  }
  return EnvironmentError(fmt::format(
      "{}: the files of {} ranks{} hold {:.1f} GB, which take about {:.0f} GB of memory to read; "
      "there are {:.1f} GB. Read it on a machine with more, or copy manifest.json and the "
      "rank<N>.sqlite of the ranks that matter to a directory of their own and read that; each "
      "file also answers SQL (docs/run_format.md)",
      directory, ranks.size(), ranks.empty() ? "" : fmt::format(" (from {} on)", ranks.front()),
      bytes * 1e-9, kAbout * bytes * 1e-9, static_cast<double>(memory_bytes) * 1e-9));
}

}  // namespace reprise
