#include "converters/pytorch/files/export_ranks.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "converters/pytorch/nsight/nsight_file.h"
#include "converters/pytorch/nsight/nsight_tables.h"
#include "converters/pytorch/rocprof/rocprof_text.h"
#include "converters/pytorch/xla/xla_text.h"
#include "core/text.h"

namespace reprise::pytorch {
namespace {

constexpr std::string_view kNsight = "nsight systems";
constexpr std::string_view kRocprof = "rocprofv3";
constexpr std::string_view kXla = "xla profiler";
constexpr std::string_view kDatabase = ".db";

struct ExportedProcess {
  std::int64_t of = -1;  // CapturedFile::of_process
  std::int64_t number = -1, device = -1;
  std::int32_t rank = -1;
  std::string host;
  std::int64_t start_ns = -1;
};

Result<std::vector<ExportedProcess>> ExportedProcesses(const std::string& path,
                                                       std::string_view profiler) {
  std::vector<ExportedProcess> out;
  if (profiler == kNsight) {
    REPRISE_ASSIGN(NsightTables tables, NsightTables::Open(path));
    REPRISE_ASSIGN(const NsightFile found, DescribeNsightFile(tables));
    for (const NsightProcess& process : found.processes) {
      out.push_back({.of = process.global,
                     .number = process.process,
                     .device = process.device,
                     .rank = process.rank,
                     .host = found.host,
                     .start_ns = found.start_ns});
    }
    return out;
  }
  if (profiler == kXla) {
    REPRISE_ASSIGN(const XlaProfile found, XlaProfile::Describe(path));
    for (std::size_t i = 0; i < found.devices().size(); ++i) {
      out.push_back({.of = static_cast<std::int64_t>(i),
                     .device = found.devices()[i].ordinal,
                     .host = found.host(),
                     .start_ns = found.base_ns() > 0 ? found.base_ns() : -1});
    }
    return out;
  }
  REPRISE_ASSIGN(const std::vector<RocprofProcess> processes, RocprofProcesses(path));
  for (const RocprofProcess& process : processes) {
    out.push_back({.of = std::ssize(out),
                   .number = process.number,
                   .device = process.device,
                   .rank = process.rank,
                   .host = process.host});
  }
  return out;
}

// "node7/4711_results.db", of process 4711: rocprofv3's own names.
bool NamesProcess(std::string_view name, std::int64_t process) {
  const std::size_t slash = name.rfind('/');
  name = name.substr(slash == std::string_view::npos ? 0 : slash + 1);
  const std::size_t digits = name.find_first_not_of("0123456789");
  return process >= 0 && ParseNumber<std::int64_t>(name.substr(0, digits)) == process;
}

// The name that results in both forms share: "node7/4711_results" of "node7/4711_results.json.gz".
std::string_view WithoutForm(std::string_view name) {
  for (const std::string_view ending : {".gz", ".zst", ".json", ".db"}) {
    name = name.ends_with(ending) ? name.substr(0, name.size() - ending.size()) : name;
  }
  return name;
}

// A file of a process without a rank, by what else it says.
struct NumberedFile {
  std::string host;
  std::int64_t device = -1;
  std::size_t index = 0;
};

// By host and device, if no two files are of one device.
void RankByDevice(std::vector<NumberedFile>& numbered, std::vector<CapturedFile>& files) {
  std::ranges::sort(numbered, {}, [](const NumberedFile& one) {
    return std::tuple(std::string_view(one.host), one.device);
  });
  const auto same = [](const NumberedFile& one, const NumberedFile& other) {
    return one.host == other.host && one.device == other.device;
  };
  if (std::ranges::adjacent_find(numbered, same) != numbered.end()) {
    return;
  }
  for (std::size_t i = 0; i < numbered.size(); ++i) {
    files[numbered[i].index].rank = static_cast<std::int32_t>(i);
  }
}

}  // namespace

std::string_view ProfilerOf(const std::string& path) {
  return IsNsightExport(path)  ? kNsight
         : IsRocprofFile(path) ? kRocprof
         : IsXlaProfile(path)  ? kXla
                               : std::string_view();
}

Status OpenExports(std::vector<CapturedFile>& files, Diagnostics* diagnostics) {
  std::vector<CapturedFile> out;
  std::vector<const CapturedFile*> idle;
  std::vector<NumberedFile> numbered;
  std::set<std::string, std::less<>> databases;
  for (const CapturedFile& file : files) {
    if (file.name.ends_with(kDatabase)) {
      databases.emplace(WithoutForm(file.name));
    }
  }
  std::int32_t next = 0;                                          // rank of those that say none
  std::map<std::string, std::int32_t, std::less<>> device_ranks;  // next, by directory
  bool any = false;
  for (CapturedFile& file : files) {
    file.profiler = ProfilerOf(file.path);
    if (file.profiler.empty()) {
      out.push_back(std::move(file));
      continue;
    }
    if (file.profiler == kRocprof && !file.name.ends_with(kDatabase) &&
        databases.contains(WithoutForm(file.name))) {
      continue;
    }
    REPRISE_ASSIGN(const std::vector<ExportedProcess> processes,
                   ExportedProcesses(file.path, file.profiler));
    if (processes.empty()) {
      idle.push_back(&file);
      continue;
    }
    any = true;
    // Devices of XLA count host by host, those of one folder together.
    std::int32_t& device_rank =
        device_ranks.try_emplace(std::string(DirectoryOf(file.name)), 0).first->second;
    const std::int32_t first_rank = device_rank;
    const bool several = processes.size() > 1;
    const bool known = std::ranges::none_of(
        processes, [](const ExportedProcess& process) { return process.rank < 0; });
    for (const ExportedProcess& process : processes) {
      CapturedFile& rank = out.emplace_back(file);
      rank.bytes = file.bytes / processes.size();
      rank.of_process = process.of;
      rank.head = {.kind = CaptureKind::kKineto,
                   .rank = known ? process.rank : -1,
                   .process = process.number,
                   .host = process.host,
                   .start_ns = process.start_ns};
      rank.rank = !several ? -1 : known ? process.rank : next++;
      if (file.profiler == kXla) {
        rank.of_process = XlaRank{.index = process.of, .first_rank = first_rank}.Number();
        rank.rank = device_rank++;
        continue;
      }
      if (!several && !known && NamesProcess(file.name, process.number)) {
        numbered.push_back(
            {.host = process.host, .device = process.device, .index = out.size() - 1});
      }
    }
  }
  for (CapturedFile& file : out) {
    if (file.profiler == kXla) {
      XlaRank rank = XlaRank::Of(file.of_process);
      rank.ranks = device_ranks.find(DirectoryOf(file.name))->second;
      file.of_process = rank.Number();
    }
  }
  if (!idle.empty() && !any) {
    return idle.front()->profiler == kXla ? NoXlaWork(idle.front()->path)
                                          : NoRocprofKernels(idle.front()->path);
  }
  for (const CapturedFile* const file : idle) {
    if (diagnostics != nullptr) {
      diagnostics->Count("export_without_kernels", file->path);
    }
  }
  if (numbered.size() > 1) {
    RankByDevice(numbered, out);
  }
  files = std::move(out);
  return {};
}

}  // namespace reprise::pytorch
