#include "converters/pytorch/rocprof/rocprof_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>
#include <utility>

#include "converters/pytorch/kineto/event_text.h"
#include "converters/pytorch/rocprof/rocpd_rows.h"
#include "converters/pytorch/rocprof/rocprof_events.h"
#include "converters/pytorch/rocprof/rocprof_json.h"

namespace reprise::pytorch {
namespace {

bool BeginsAsJson(const std::string& path) {
  constexpr std::size_t kHeadOfJson = 256;
  return BeginsAsRocprofJson(ReadHead(path, kHeadOfJson));
}

class RocprofText final : public EventText {
 public:
  static Result<std::unique_ptr<TextSource>> Open(const std::string& path, std::int64_t index) {
    REPRISE_ASSIGN(std::vector<RocprofProcess> processes, RocprofProcesses(path));
    const std::int64_t count = std::ssize(processes);
    if (count == 0) {
      return NoRocprofKernels(path);
    }
    if (index >= count || (index < 0 && count > 1)) {
      return SeveralProcesses(path, processes.size());
    }
    RocprofProcess& process = processes[static_cast<std::size_t>(std::max<std::int64_t>(index, 0))];
    REPRISE_ASSIGN(std::unique_ptr<RocprofReader> reader,
                   BeginsAsJson(path) ? ReadRocprofJson(path, process) : ReadRocpd(path, process));
    return std::unique_ptr<TextSource>(
        new RocprofText(path, std::move(process), std::move(reader)));
  }

 private:
  RocprofText(const std::string& path, RocprofProcess process,
              std::unique_ptr<RocprofReader> reader)
      : EventText(path),
        process_(std::move(process)),
        reader_(std::move(reader)),
        records_({.path = path,
                  .process = process_.number,
                  .has_hip_calls = reader_->has_hip_calls,
                  .rccl_members = reader_->rccl_members},
                 events_) {}

  Result<bool> Append() override { return reader_->Append(records_); }

  Status AppendEnd() override {
    REPRISE_TRY(records_.Finish());
    events_.text += "],\"baseTimeNanoseconds\":0";
    AppendHost(process_.host);
    AppendRank(process_.rank, process_.world_size);
    events_.text += ",\"deviceProperties\":[";
    for (std::size_t i = 0; i < process_.gpus.size(); ++i) {
      fmt::format_to(std::back_inserter(events_.text), R"({}{{"id":{},"name":)", i == 0 ? "" : ",",
                     process_.gpus[i].number);
      AppendQuoted(process_.gpus[i].name, events_.text);
      events_.text += '}';
    }
    events_.text += ']';
    return {};
  }

  RocprofProcess process_;
  std::unique_ptr<RocprofReader> reader_;
  RocprofEvents records_;
};

}  // namespace

bool IsRocprofFile(const std::string& path) { return IsRocpdDatabase(path) || BeginsAsJson(path); }

tl::unexpected<Error> NoRocprofKernels(const std::string& path) {
  return BadInput(
      path +
      ": results of rocprofv3 without a kernel on a GPU: profile with `rocprofv3 --kernel-trace "
      "--hip-trace --memory-copy-trace --marker-trace --rccl-trace`, while the job computes");
}

Result<std::vector<RocprofProcess>> RocprofProcesses(const std::string& path) {
  REPRISE_ASSIGN(std::vector<RocprofProcess> out,
                 BeginsAsJson(path) ? RocprofJsonProcesses(path) : RocpdProcesses(path));
  // Where two claim one rank, their launcher numbered something else.
  std::set<std::int32_t> ranks;
  const bool clear = std::ranges::all_of(out, [&ranks](const RocprofProcess& process) {
    return process.rank < 0 || ranks.insert(process.rank).second;
  });
  for (RocprofProcess& process : out) {
    process.rank = clear ? process.rank : -1;
    process.world_size = clear ? process.world_size : -1;
  }
  std::ranges::stable_sort(out, {}, [](const RocprofProcess& one) {
    return std::tuple(one.rank, one.device, one.number);
  });
  return out;
}

Result<std::unique_ptr<TextSource>> OpenRocprofText(const std::string& path, std::int64_t process) {
  return RocprofText::Open(path, process);
}

}  // namespace reprise::pytorch
