#include "converters/pytorch/nsight/nsight_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <iterator>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "converters/pytorch/kineto/event_times.h"
#include "converters/pytorch/nsight/nccl_arguments.h"
#include "converters/pytorch/nsight/nccl_ranges.h"
#include "converters/pytorch/nsight/nvtx_ranges.h"
#include "core/clock.h"

namespace reprise::pytorch {
namespace {

constexpr std::int64_t kMostNs = kMaxUs * kNsPerUs;

// Columns that several tables begin with.
enum WorkColumn : int { kStart, kEnd, kDevice, kContext, kStream, kCorrelation, kOwn };

// "cudaLaunchKernel_v7000" → "cudaLaunchKernel"; "cuMemAlloc_v2" is a name.
std::string_view WithoutRelease(std::string_view call) {
  constexpr std::size_t kLeastDigits = 4;
  const std::size_t at = call.rfind("_v");
  if (at == std::string_view::npos) {
    return call;
  }
  const std::string_view digits = call.substr(at + 2);
  const bool release = digits.size() >= kLeastDigits &&
                       digits.find_first_not_of("0123456789") == std::string_view::npos;
  return release ? call.substr(0, at) : call;
}

// Kineto's words for the kinds of ENUM_CUDA_MEMCPY_OPER.
std::string_view CopyKind(std::int64_t kind) {
  constexpr std::array<std::string_view, 14> kKinds = {"",     "HtoD", "DtoH", "HtoA", "AtoH",
                                                       "AtoA", "AtoD", "DtoA", "DtoD", "HtoH",
                                                       "PtoP", "HtoD", "DtoH", "DtoD"};
  return kind >= 0 && kind < std::ssize(kKinds) ? kKinds[static_cast<std::size_t>(kind)] : "";
}

// Of ENUM_CUPTI_SYNC_TYPE.
std::string_view SyncName(std::int64_t type) {
  constexpr std::array<std::string_view, 5> kNames = {
      "Synchronization", "Event Sync", "Stream Wait Event", "Stream Sync", "Context Sync"};
  return type >= 0 && type < std::ssize(kNames) ? kNames[static_cast<std::size_t>(type)]
                                                : kNames.front();
}

class RowEvents final : public NsightEvents {
 public:
  RowEvents(NsightTables& tables, const NsightFile& file, std::int64_t process, EventList& events)
      : tables_(tables), file_(file), process_(process), events_(events) {}

  Status Begin() {
    REPRISE_ASSIGN(payloads_, NcclPayloads::Read(tables_));
    REPRISE_TRY(ReadMemoryKinds());
    REPRISE_TRY(ReadEventRecords());
    REPRISE_ASSIGN(steps_, FindStepRanges(tables_, OfThreads()));
    const std::string process = OfProcess();
    const std::string threads = OfThreads();
    REPRISE_TRY(Add("CUPTI_ACTIVITY_KIND_RUNTIME",
                    {"start", "end", "globalTid", "correlationId", "nameId"}, threads,
                    &RowEvents::AddCall));
    REPRISE_TRY(
        Add("CUPTI_ACTIVITY_KIND_KERNEL",
            {"start", "end", "deviceId", "contextId", "streamId", "correlationId", "demangledName",
             "shortName", "registersPerThread", "gridX", "gridY", "gridZ", "blockX", "blockY",
             "blockZ", "staticSharedMemory", "dynamicSharedMemory", "graphNodeId", "graphId"},
            process, &RowEvents::AddKernel));
    REPRISE_TRY(Add("CUPTI_ACTIVITY_KIND_MEMCPY",
                    {"start", "end", "deviceId", "contextId", "streamId", "correlationId", "bytes",
                     "copyKind", "srcKind", "dstKind", "graphNodeId"},
                    process, &RowEvents::AddCopy));
    REPRISE_TRY(Add("CUPTI_ACTIVITY_KIND_MEMSET",
                    {"start", "end", "deviceId", "contextId", "streamId", "correlationId", "bytes",
                     "memKind", "graphNodeId"},
                    process, &RowEvents::AddFill));
    REPRISE_TRY(Add("CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
                    {"start", "end", "deviceId", "contextId", "streamId", "correlationId",
                     "graphId", "graphExecId"},
                    process, &RowEvents::AddGraph));
    REPRISE_TRY(Add("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
                    {"start", "end", "deviceId", "contextId", "streamId", "correlationId",
                     "syncType", "eventSyncId"},
                    process, &RowEvents::AddSync));
    REPRISE_TRY(Add("NVTX_EVENTS",
                    {"start", "end", "globalTid", "eventType", "text", "textId", "binaryData"},
                    threads, &RowEvents::AddRange));
    return {};
  }

  Result<bool> Append() override {
    while (next_ < parts_.size()) {
      Part& part = parts_[next_];
      REPRISE_ASSIGN(const bool more, part.rows.Next());
      if (more) {
        ++row_;
        REPRISE_TRY((this->*part.append)(part.rows));
        return true;
      }
      ++next_;
      row_ = 0;
    }
    return false;
  }

 private:
  // A table, and how a row of it becomes an event.
  struct Part {
    std::string_view table;
    Statement rows;
    Status (RowEvents::*append)(const Statement& row);
  };

  [[nodiscard]] std::string OfProcess() const {
    return process_ < 0 ? std::string() : fmt::format("globalPid = {}", process_);
  }
  [[nodiscard]] std::string OfThreads() const {
    return process_ < 0 ? std::string()
                        : fmt::format("globalTid BETWEEN {} AND {}", process_,
                                      process_ | std::int64_t{0xffffff});
  }

  Status Add(std::string_view table, std::initializer_list<std::string_view> columns,
             const std::string& condition, Status (RowEvents::*append)(const Statement&)) {
    REPRISE_ASSIGN(Statement rows, tables_.Select(table, columns, condition));
    parts_.push_back({.table = table, .rows = std::move(rows), .append = append});
    return {};
  }

  // Older exports number kinds of memory otherwise, and have no such table.
  Status ReadMemoryKinds() {
    REPRISE_ASSIGN(Statement rows, tables_.Select("ENUM_CUDA_MEM_KIND", {"id", "label"}));
    for (;;) {
      REPRISE_ASSIGN(const bool more, rows.Next());
      if (!more) {
        return {};
      }
      memory_kinds_.insert_or_assign(rows.Int(0), std::string(rows.View(1)));
    }
  }

  Status ReadEventRecords() {
    REPRISE_ASSIGN(Statement rows,
                   tables_.Select("CUPTI_ACTIVITY_KIND_CUDA_EVENT",
                                  {"eventSyncId", "correlationId", "streamId"}, OfProcess()));
    for (;;) {
      REPRISE_ASSIGN(const bool more, rows.Next());
      if (!more) {
        return {};
      }
      if (rows.StoredType(0) == StoredAs::kInteger && rows.StoredType(1) == StoredAs::kInteger) {
        records_.insert_or_assign(rows.Int(0), std::pair(rows.Int(1), rows.Int(2)));
      }
    }
  }

  [[nodiscard]] tl::unexpected<Error> Damaged(std::string_view what) const {
    return BadInput(fmt::format(
        "{}: table {}, row {}{}: {}; export the report again", tables_.path(), parts_[next_].table,
        row_, process_ < 0 ? "" : fmt::format(" of process {}", LocalProcess(process_)), what));
  }

  // Begins an event with its times; its members follow.
  Status BeginEvent(const Statement& row, std::string_view category, std::string_view name) {
    const bool numbers =
        row.StoredType(kStart) == StoredAs::kInteger && row.StoredType(kEnd) == StoredAs::kInteger;
    const std::int64_t start_ns = row.Int(kStart);
    const std::int64_t end_ns = row.Int(kEnd);
    if (!numbers || start_ns <= -kMostNs || end_ns >= kMostNs || end_ns < start_ns) {
      return Damaged(numbers ? fmt::format("from {} to {} ns can't be", start_ns, end_ns)
                             : "start and end are no whole numbers");
    }
    events_.Begin("X");
    events_.AddText("cat", category);
    events_.AddText("name", name);
    events_.AddTime(start_ns);
    events_.AddDuration(end_ns - start_ns);
    return {};
  }

  void ArgumentIfKnown(std::string_view name, const Statement& row, int column) {
    if (row.StoredType(column) == StoredAs::kInteger) {
      args_.Add(name, row.Int(column));
    }
  }
  void EndEvent() {
    if (!args_.empty()) {
      events_.AddArguments(args_.Take());
    }
    events_.End();
  }

  // What all work on a stream has.
  Status BeginWork(const Statement& row, std::string_view category, std::string_view name) {
    REPRISE_TRY(BeginEvent(row, category, name));
    events_.AddRow(row.Int(kDevice), row.Int(kStream));
    args_.Add("device", row.Int(kDevice));
    args_.Add("context", row.Int(kContext));
    args_.Add("stream", row.Int(kStream));
    ArgumentIfKnown("correlation", row, kCorrelation);
    return {};
  }

  // Of a graph's node; 0 where it is of none.
  void AddGraphNode(const Statement& row, int column) {
    if (row.Int(column) != 0) {
      args_.Add("graph node id", row.Int(column));
    }
  }

  Status AddKernel(const Statement& row) {
    constexpr int kShort = kOwn + 1;
    constexpr int kRegisters = kOwn + 2;
    constexpr int kGrid = kOwn + 3;
    constexpr int kBlock = kOwn + 6;
    constexpr int kShared = kOwn + 9;
    constexpr int kGraphNode = kOwn + 11;
    REPRISE_ASSIGN(std::string_view name, tables_.Text(row.Int(kOwn)));
    if (name.empty()) {
      REPRISE_ASSIGN(name, tables_.Text(row.Int(kShort)));
    }
    REPRISE_TRY(BeginWork(row, "kernel", name));
    ArgumentIfKnown("registers per thread", row, kRegisters);
    if (row.StoredType(kShared) == StoredAs::kInteger &&
        row.StoredType(kShared + 1) == StoredAs::kInteger) {
      constexpr std::int64_t kMost = INT32_MAX;
      args_.Add("shared memory", std::clamp<std::int64_t>(row.Int(kShared), 0, kMost) +
                                     std::clamp<std::int64_t>(row.Int(kShared + 1), 0, kMost));
    }
    for (const auto& [of, column] : {std::pair("grid", kGrid), std::pair("block", kBlock)}) {
      args_.Add(of, std::array{row.Int(column), row.Int(column + 1), row.Int(column + 2)});
    }
    AddGraphNode(row, kGraphNode);
    if (row.Int(kGraphNode + 1) != 0) {
      args_.Add("graph id", row.Int(kGraphNode + 1));
    }
    EndEvent();
    return {};
  }

  // A graph that was recorded as a whole (`--cuda-graph-trace=graph`).
  Status AddGraph(const Statement& row) {
    REPRISE_TRY(BeginWork(row, "kernel", fmt::format("CUDA graph {}", row.Int(kOwn))));
    ArgumentIfKnown("graph id", row, kOwn);
    EndEvent();
    return {};
  }

  [[nodiscard]] std::string_view MemoryKind(const Statement& row, int column) const {
    const auto found = row.StoredType(column) == StoredAs::kInteger
                           ? memory_kinds_.find(row.Int(column))
                           : memory_kinds_.end();
    return found == memory_kinds_.end() ? std::string_view() : std::string_view(found->second);
  }

  Status AddCopy(const Statement& row) {
    const std::string_view kind = CopyKind(row.Int(kOwn + 1));
    const std::string_view from = MemoryKind(row, kOwn + 2);
    const std::string_view to = MemoryKind(row, kOwn + 3);
    std::string name = kind.empty() ? "Memcpy" : fmt::format("Memcpy {}", kind);
    if (!from.empty() && !to.empty()) {
      name += fmt::format(" ({} -> {})", from, to);
    }
    REPRISE_TRY(BeginWork(row, "gpu_memcpy", name));
    ArgumentIfKnown("bytes", row, kOwn);
    AddGraphNode(row, kOwn + 4);
    EndEvent();
    return {};
  }

  Status AddFill(const Statement& row) {
    const std::string_view memory = MemoryKind(row, kOwn + 1);
    REPRISE_TRY(BeginWork(row, "gpu_memset",
                          memory.empty() ? "Memset" : fmt::format("Memset ({})", memory)));
    ArgumentIfKnown("bytes", row, kOwn);
    AddGraphNode(row, kOwn + 2);
    EndEvent();
    return {};
  }

  Status AddSync(const Statement& row) {
    REPRISE_TRY(BeginWork(row, "cuda_sync", SyncName(row.Int(kOwn))));
    const auto record = row.StoredType(kOwn + 1) == StoredAs::kInteger
                            ? records_.find(row.Int(kOwn + 1))
                            : records_.end();
    if (record != records_.end()) {
      args_.Add("wait_on_cuda_event_record_corr_id", record->second.first);
      args_.Add("wait_on_stream", record->second.second);
    }
    EndEvent();
    return {};
  }

  void AddThread(const Statement& row, int column) {
    const std::int64_t thread = row.Int(column);
    events_.AddRow(LocalProcess(ProcessOfThread(thread)), LocalThread(thread));
  }

  Status AddCall(const Statement& row) {
    constexpr int kThread = 2;
    REPRISE_ASSIGN(const std::string_view text, tables_.Text(row.Int(kThread + 2)));
    const std::string_view name = WithoutRelease(text);
    REPRISE_TRY(BeginEvent(row, name.starts_with("cuda") ? "cuda_runtime" : "cuda_driver", name));
    AddThread(row, kThread);
    ArgumentIfKnown("correlation", row, kThread + 1);
    EndEvent();
    return {};
  }

  Status AddRange(const Statement& row) {
    constexpr int kThread = 2;
    constexpr int kType = 3;
    constexpr int kText = 4;
    if (!IsNvtxRange(row.Int(kType)) || row.StoredType(kEnd) == StoredAs::kNothing) {
      return {};  // a mark, a name, or a range that was open when the profiler stopped
    }
    std::string_view text = row.View(kText);
    if (text.empty()) {
      REPRISE_ASSIGN(text, tables_.Text(row.Int(kText + 1)));
    }
    if (const auto number = steps_.NumberOf(text, row.Int(kThread), row.Int(kStart))) {
      REPRISE_TRY(BeginEvent(row, "user_annotation", fmt::format("ProfilerStep#{}", *number)));
      AddThread(row, kThread);
      EndEvent();
    }
    if (const auto kind = NcclCallKind(text)) {
      return AddTransfer(row, *kind, payloads_.Decode(row.Bytes(kText + 2)));
    }
    const bool group = text == "ncclGroupEnd";  // launches what the group's calls asked for
    const NvtxRange range = group ? NvtxRange{.name = "nccl:coalesced"} : ParseNvtxRange(text);
    REPRISE_TRY(BeginEvent(row, range.is_operator ? "cpu_op" : "user_annotation", range.name));
    AddThread(row, kThread);
    if (range.sequence) {
      args_.Add("Sequence number", *range.sequence);
    }
    if (range.is_backward) {
      args_.Add("Fwd thread id", 1);  // which one, the sequence number says
    }
    EndEvent();
    return {};
  }

  Status AddTransfer(const Statement& row, CommKind kind, const NcclPayload& payload) {
    constexpr int kThread = 2;
    REPRISE_TRY(BeginEvent(row, "cpu_op", "record_param_comms"));
    AddThread(row, kThread);
    AddNcclArguments(kind, payload, file_, args_);
    EndEvent();
    return {};
  }

  NsightTables& tables_;
  const NsightFile& file_;
  std::int64_t process_;
  EventList& events_;
  NcclPayloads payloads_;
  StepRanges steps_;
  std::unordered_map<std::int64_t, std::string> memory_kinds_;
  std::unordered_map<std::int64_t, std::pair<std::int64_t, std::int64_t>>
      records_;  // of events, by the number that waits name: call and stream
  std::vector<Part> parts_;
  std::size_t next_ = 0;   // part
  std::uint64_t row_ = 0;  // of it
  EventArguments args_;    // of the event that is written
};

}  // namespace

Result<std::unique_ptr<NsightEvents>> ReadNsightEvents(NsightTables& tables, const NsightFile& file,
                                                       std::int64_t process, EventList& events) {
  auto out = std::make_unique<RowEvents>(tables, file, process, events);
  REPRISE_TRY(out->Begin());
  return out;
}

}  // namespace reprise::pytorch
