#include "converters/pytorch/nsight/nsight_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <utility>

#include "converters/pytorch/kineto/event_text.h"
#include "converters/pytorch/kineto/event_times.h"
#include "converters/pytorch/nsight/nsight_events.h"
#include "converters/pytorch/nsight/nsight_file.h"
#include "converters/pytorch/nsight/nsight_tables.h"
#include "core/clock.h"

namespace reprise::pytorch {
namespace {

class NsightText final : public EventText {
 public:
  static Result<std::unique_ptr<TextSource>> Open(const std::string& path, std::int64_t process) {
    REPRISE_ASSIGN(NsightTables tables, NsightTables::Open(path));
    REPRISE_ASSIGN(NsightFile file, DescribeNsightFile(tables));
    if (process < 0 && file.processes.size() > 1) {
      return SeveralProcesses(path, file.processes.size());
    }
    process = process < 0 ? file.processes.front().global : process;
    auto out = std::unique_ptr<NsightText>(
        new NsightText(path, process, std::move(tables), std::move(file)));
    REPRISE_ASSIGN(out->rows_, ReadNsightEvents(out->tables_, out->file_, process, out->events_));
    return out;
  }

 private:
  NsightText(const std::string& path, std::int64_t process, NsightTables tables, NsightFile file)
      : EventText(path), process_(process), tables_(std::move(tables)), file_(std::move(file)) {}

  Result<bool> Append() override { return rows_->Append(); }

  Status AppendEnd() override {
    const auto own = std::ranges::find(file_.processes, process_, &NsightProcess::global);
    fmt::format_to(std::back_inserter(events_.text), "],\"baseTimeNanoseconds\":{}",
                   file_.start_ns > 0 && file_.start_ns < kMaxUs * kNsPerUs ? file_.start_ns : 0);
    AppendHost(file_.host);
    if (own != file_.processes.end()) {
      AppendRank(own->rank, own->world_size);
    }
    return AddDevices();
  }

  // A process's numbers of devices are its own where it sees only some.
  Status AddDevices() {
    std::unordered_map<std::int64_t, std::int64_t> gpus;  // by the process's number
    REPRISE_ASSIGN(Statement mapped,
                   tables_.Select("TARGET_INFO_CUDA_DEVICE", {"cudaId", "gpuId"},
                                  process_ < 0 ? std::string()
                                               : fmt::format("pid = {}", LocalProcess(process_))));
    for (;;) {
      REPRISE_ASSIGN(const bool more, mapped.Next());
      if (!more) {
        break;
      }
      gpus.insert_or_assign(mapped.Int(1), mapped.Int(0));
    }
    REPRISE_ASSIGN(Statement rows, tables_.Select("TARGET_INFO_GPU", {"id", "name"}));
    std::string list;
    for (;;) {
      REPRISE_ASSIGN(const bool more, rows.Next());
      if (!more) {
        break;
      }
      const auto own = gpus.find(rows.Int(0));
      if (!gpus.empty() && own == gpus.end()) {
        continue;
      }
      list += list.empty() ? "" : ",";
      fmt::format_to(std::back_inserter(list), R"({{"id":{},"name":)",
                     own == gpus.end() ? rows.Int(0) : own->second);
      AppendQuoted(rows.View(1), list);
      list += '}';
    }
    events_.text += ",\"deviceProperties\":[" + list + ']';
    return {};
  }

  std::int64_t process_;
  NsightTables tables_;
  NsightFile file_;
  std::unique_ptr<NsightEvents> rows_;
};

}  // namespace

Result<std::unique_ptr<TextSource>> OpenNsightText(const std::string& path, std::int64_t process) {
  return NsightText::Open(path, process);
}

}  // namespace reprise::pytorch
