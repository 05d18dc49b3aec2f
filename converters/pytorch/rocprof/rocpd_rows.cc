#include "converters/pytorch/rocprof/rocpd_rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <simdjson.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "converters/json_members.h"
#include "converters/pytorch/rocprof/rocprof_events.h"
#include "core/text.h"

namespace reprise::pytorch {
namespace {

std::optional<std::int64_t> IntegerAt(const Statement& row, int column) {
  return row.StoredType(column) == StoredAs::kInteger ? std::optional(row.Int(column))
                                                      : std::nullopt;
}

struct RocpdAgent {
  std::int64_t number = 0;  // among those of its type
  bool is_gpu = false;
  std::string name;
};
using RocpdAgents = std::map<std::int64_t, RocpdAgent>;

Result<RocpdAgents> AgentsOf(RocpdTables& tables, const std::string& ending) {
  RocpdAgents out;
  REPRISE_ASSIGN(
      Statement rows,
      tables.Select(ending, "info_agent", {"id", "type", "type_index", "product_name", "name"}));
  std::int64_t gpus = 0;
  for (;;) {
    REPRISE_ASSIGN(const bool more, rows.Next());
    if (!more) {
      return out;
    }
    RocpdAgent& agent = out[rows.Int(0)];
    agent.is_gpu = rows.View(1) == "GPU";
    agent.number = IntegerAt(rows, 2).value_or(gpus);
    agent.name = rows.View(3).empty() ? rows.View(4) : rows.View(3);
    gpus += agent.is_gpu ? 1 : 0;
  }
}

// Of the file's calls alone; a number that no agent has is a device of that number.
std::int64_t DeviceOf(const RocpdAgents& agents, std::int64_t id) {
  const auto found = agents.find(id);
  return found == agents.end() ? id : found->second.number;
}

// What the file says of the process beside its work.
Status DescribeProcess(RocpdTables& tables, const RocpdAgents& agents, RocprofProcess& process) {
  for (const auto& [id, agent] : agents) {
    if (agent.is_gpu) {
      process.gpus.push_back({.number = agent.number, .name = agent.name});
    }
  }
  REPRISE_ASSIGN(Statement rows, tables.Select(process.tables, "info_process",
                                               {"id", "pid", "nid", "environment"}));
  std::optional<std::int64_t> node;
  for (;;) {
    REPRISE_ASSIGN(const bool more, rows.Next());
    if (!more) {
      break;
    }
    if (rows.Int(0) == process.own) {
      process.number = IntegerAt(rows, 1).value_or(-1);
      node = IntegerAt(rows, 2);
      SetRank(rows.View(3), process);
    }
  }
  REPRISE_ASSIGN(Statement nodes, tables.Select(process.tables, "info_node", {"id", "hostname"}));
  for (;;) {
    REPRISE_ASSIGN(const bool more, nodes.Next());
    if (!more) {
      return {};
    }
    if (node && nodes.Int(0) == *node) {
      process.host = nodes.View(1);
    }
  }
}

class RocpdReader final : public RocprofReader {
 public:
  RocpdReader(RocpdTables tables, const RocprofProcess& process)
      : tables_(std::move(tables)), ending_(process.tables), process_(process.own) {}

  Status Begin() {
    REPRISE_ASSIGN(agents_, AgentsOf(tables_, ending_));
    REPRISE_TRY(ReadKernelNames());
    REPRISE_TRY(ReadArguments());
    REPRISE_TRY(Add("region",
                    {"start", "end", "tid", "name_id", "event_id", "event.stack_id",
                     "event.category_id", "event.extdata"},
                    &RocpdReader::AddRegion));
    REPRISE_TRY(Add("kernel_dispatch",
                    {"start", "end", "agent_id", "queue_id", "stream_id", "event.stack_id",
                     "kernel_id", "dispatch_id", "group_segment_size", "grid_size_x", "grid_size_y",
                     "grid_size_z", "workgroup_size_x", "workgroup_size_y", "workgroup_size_z"},
                    &RocpdReader::AddDispatch));
    REPRISE_TRY(Add("memory_copy",
                    {"start", "end", "dst_agent_id", "src_agent_id", "stream_id", "event.stack_id",
                     "name_id", "size", "queue_id"},
                    &RocpdReader::AddCopy));
    return {};
  }

  Result<bool> Append(RocprofEvents& events) override {
    while (next_ < parts_.size()) {
      Part& part = parts_[next_];
      REPRISE_ASSIGN(const bool more, part.rows.Next());
      if (more) {
        ++row_;
        REPRISE_TRY((this->*part.append)(part.rows, events));
        return true;
      }
      ++next_;
      row_ = 0;
    }
    return false;
  }

 private:
  struct Kernel {
    std::string name;
    std::optional<std::int64_t> registers;
  };
  // A table, and how a row of it becomes a record.
  struct Part {
    std::string table;
    Statement rows;
    Status (RocpdReader::*append)(const Statement& row, RocprofEvents& events);
  };

  Status Add(std::string_view table, std::initializer_list<std::string_view> columns,
             Status (RocpdReader::*append)(const Statement&, RocprofEvents&)) {
    REPRISE_ASSIGN(Statement rows, tables_.Select(ending_, table, columns, &process_));
    parts_.push_back({.table = fmt::format("table rocpd_{}{}", table, ending_),
                      .rows = std::move(rows),
                      .append = append});
    return {};
  }

  Status ReadKernelNames() {
    REPRISE_ASSIGN(Statement rows,
                   tables_.Select(ending_, "info_kernel_symbol",
                                  {"id", "display_name", "kernel_name", "arch_vgpr_count"}));
    for (;;) {
      REPRISE_ASSIGN(const bool more, rows.Next());
      if (!more) {
        return {};
      }
      Kernel& kernel = kernels_[rows.Int(0)];
      kernel.name = rows.View(1).empty() ? rows.View(2) : rows.View(1);
      kernel.registers = IntegerAt(rows, 3);
    }
  }

  // Which rows of regions are calls of functions of these names (LIKE's pattern).
  [[nodiscard]] std::string CallsOf(std::string_view pattern) const {
    return fmt::format("T.name_id IN (SELECT id FROM {} WHERE string LIKE '{}')",
                       tables_.Name(ending_, "string"), pattern);
  }
  // Whether there are any.
  Result<bool> Calls(std::string_view pattern) {
    if (!tables_.HasColumn(ending_, "region", "name_id")) {
      return false;
    }
    REPRISE_ASSIGN(Statement rows,
                   tables_.Ask(fmt::format("SELECT 1 FROM {} AS T WHERE {} LIMIT 1",
                                           tables_.Name(ending_, "region"), CallsOf(pattern))));
    return rows.Next();
  }
  // Event, name and value of the arguments that are read, of calls of these names.
  Result<Statement> ArgumentsOf(std::string_view pattern) {
    return tables_.Ask(fmt::format(
        "SELECT event_id, name, value FROM {} WHERE event_id IN (SELECT T.event_id FROM {} AS T "
        "WHERE {}) AND name IN ('{}')",
        tables_.Name(ending_, "arg"), tables_.Name(ending_, "region"), CallsOf(pattern),
        fmt::join(kUsedArguments, "', '")));
  }

  Status ReadArguments() {
    REPRISE_ASSIGN(has_hip_calls, Calls("hip%"));
    const bool whole = tables_.HasColumn(ending_, "arg", "event_id") &&
                       tables_.HasColumn(ending_, "arg", "name") &&
                       tables_.HasColumn(ending_, "arg", "value") &&
                       tables_.HasColumn(ending_, "region", "event_id") &&
                       tables_.HasColumn(ending_, "region", "name_id");
    if (!whole) {
      return {};
    }
    REPRISE_TRY(KeepArguments("nccl%"));
    REPRISE_ASSIGN(const bool splits, Calls("ncclCommSplit%"));
    rccl_members = communicators_ == 1 && !splits ? rccl_members : 0;
    REPRISE_ASSIGN(const bool waits, Calls("hipStreamWaitEvent%"));
    if (!waits) {
      return {};
    }
    REPRISE_TRY(KeepArguments("hipStreamWaitEvent%"));
    REPRISE_TRY(KeepArguments("hipEventRecord%"));
    REPRISE_TRY(KeepLaunches("hip%LaunchKernel%"));
    return KeepLaunches("hipMemcpy%Async%");
  }

  Status KeepArguments(std::string_view pattern) {
    REPRISE_ASSIGN(Statement rows, ArgumentsOf(pattern));
    for (;;) {
      REPRISE_ASSIGN(const bool more, rows.Next());
      if (!more) {
        return {};
      }
      arguments_[rows.Int(0)].emplace_back(rows.View(1), rows.View(2));
      if (rows.View(1) == "nranks") {
        ++communicators_;
        rccl_members = ParseNumber<std::int64_t>(rows.View(2)).value_or(0);
      }
    }
  }

  // Of some launches on each stream.
  Status KeepLaunches(std::string_view pattern) {
    REPRISE_ASSIGN(Statement rows, ArgumentsOf(pattern));
    std::unordered_map<std::string, std::size_t> kept;  // by stream
    for (;;) {
      REPRISE_ASSIGN(const bool more, rows.Next());
      if (!more) {
        return {};
      }
      if (rows.View(1).ends_with("tream") &&
          ++kept[std::string(rows.View(2))] <= StreamWaits::kLaunchesOfAStream) {
        arguments_[rows.Int(0)].emplace_back(rows.View(1), rows.View(2));
      }
    }
  }

  [[nodiscard]] RocprofPlace Place() const { return {.list = parts_[next_].table, .record = row_}; }

  Status AddDispatch(const Statement& row, RocprofEvents& events) {
    enum : int { kStart, kEnd, kAgent, kQueue, kStream, kStack, kKernel, kDispatch, kLds, kGrid };
    constexpr int kWorkgroup = kGrid + 3;
    const auto kernel = kernels_.find(row.Int(kKernel));
    RocprofKernel out{.start_ns = IntegerAt(row, kStart),
                      .end_ns = IntegerAt(row, kEnd),
                      .device = DeviceOf(agents_, row.Int(kAgent)),
                      .queue = row.Int(kQueue),
                      .stream = IntegerAt(row, kStream).value_or(row.Int(kQueue)),
                      .correlation = IntegerAt(row, kStack),
                      .dispatch = IntegerAt(row, kDispatch),
                      .lds_bytes = IntegerAt(row, kLds)};
    if (kernel != kernels_.end()) {
      out.name = kernel->second.name;
      out.registers = kernel->second.registers;
    }
    for (int i = 0; i < 3; ++i) {
      out.grid.at(static_cast<std::size_t>(i)) = row.Int(kGrid + i);
      out.workgroup.at(static_cast<std::size_t>(i)) = row.Int(kWorkgroup + i);
    }
    return events.Add(out, Place());
  }

  [[nodiscard]] std::optional<bool> IsGpu(std::optional<std::int64_t> agent) const {
    const auto found = agent ? agents_.find(*agent) : agents_.end();
    return found == agents_.end() ? std::nullopt : std::optional(found->second.is_gpu);
  }

  Status AddCopy(const Statement& row, RocprofEvents& events) {
    enum : int { kStart, kEnd, kTo, kFrom, kStream, kStack, kName, kSize, kQueue };
    const std::optional<bool> to_gpu = IsGpu(IntegerAt(row, kTo));
    REPRISE_ASSIGN(const std::string_view direction, tables_.Text(ending_, row.Int(kName)));
    return events.Add(
        RocprofCopy{.direction = direction,
                    .from_gpu = IsGpu(IntegerAt(row, kFrom)),
                    .to_gpu = to_gpu,
                    .start_ns = IntegerAt(row, kStart),
                    .end_ns = IntegerAt(row, kEnd),
                    .device = DeviceOf(agents_, row.Int(to_gpu.value_or(false) ? kTo : kFrom)),
                    .stream = IntegerAt(row, kStream).value_or(row.Int(kQueue)),
                    .correlation = IntegerAt(row, kStack),
                    .bytes = IntegerAt(row, kSize)},
        Place());
  }

  Status AddRegion(const Statement& row, RocprofEvents& events) {
    enum : int { kStart, kEnd, kThread, kName, kEvent, kStack, kCategory, kExtra };
    REPRISE_ASSIGN(const std::string_view name, tables_.Text(ending_, row.Int(kName)));
    REPRISE_ASSIGN(const std::string_view domain, tables_.Text(ending_, row.Int(kCategory)));
    const auto arguments = arguments_.find(row.Int(kEvent));
    return events.Add(
        RocprofCall{.domain = domain,
                    .name = name,
                    .message = MessageIn(row.View(kExtra)),
                    .start_ns = IntegerAt(row, kStart),
                    .end_ns = IntegerAt(row, kEnd),
                    .thread = row.Int(kThread),
                    .correlation = IntegerAt(row, kStack),
                    .arguments = arguments == arguments_.end() ? nullptr : &arguments->second},
        Place());
  }

  // Of {"message": "forward"}.
  std::string_view MessageIn(std::string_view json) {
    if (json.size() <= 2) {
      return {};
    }
    message_ = simdjson::padded_string(json);
    simdjson::dom::element root;
    return parser_.parse(message_).get(root) == simdjson::SUCCESS ? TextOr(root["message"])
                                                                  : std::string_view();
  }

  RocpdTables tables_;
  std::string ending_;
  std::int64_t process_;
  RocpdAgents agents_;
  std::unordered_map<std::int64_t, Kernel> kernels_;
  std::unordered_map<std::int64_t, RocprofArguments> arguments_;  // of some calls, by event
  std::int64_t communicators_ = 0;                                // that calls have made
  std::vector<Part> parts_;
  std::size_t next_ = 0;   // part
  std::uint64_t row_ = 0;  // of it
  simdjson::dom::parser parser_;
  simdjson::padded_string message_;
};

}  // namespace

Result<std::vector<RocprofProcess>> RocpdProcesses(const std::string& path) {
  REPRISE_ASSIGN(RocpdTables tables, RocpdTables::Open(path));
  std::vector<RocprofProcess> out;
  for (const std::string& ending : tables.endings()) {
    REPRISE_ASSIGN(const RocpdAgents agents, AgentsOf(tables, ending));
    std::map<std::int64_t, std::int64_t> devices;  // lowest, by process
    REPRISE_ASSIGN(Statement rows,
                   tables.Ask(fmt::format("SELECT {}, {}{} GROUP BY 1, 2",
                                          tables.Column(ending, "kernel_dispatch", "pid"),
                                          tables.Column(ending, "kernel_dispatch", "agent_id"),
                                          tables.From(ending, "kernel_dispatch"))));
    for (;;) {
      REPRISE_ASSIGN(const bool more, rows.Next());
      if (!more) {
        break;
      }
      const std::int64_t device = DeviceOf(agents, rows.Int(1));
      const auto [at, fresh] = devices.try_emplace(rows.Int(0), device);
      at->second = std::min(at->second, device);
    }
    for (const auto& [own, device] : devices) {
      RocprofProcess& process = out.emplace_back();
      process.device = device;
      process.tables = ending;
      process.own = own;
      REPRISE_TRY(DescribeProcess(tables, agents, process));
    }
  }
  return out;
}

Result<std::unique_ptr<RocprofReader>> ReadRocpd(const std::string& path,
                                                 const RocprofProcess& process) {
  REPRISE_ASSIGN(RocpdTables tables, RocpdTables::Open(path));
  auto out = std::make_unique<RocpdReader>(std::move(tables), process);
  REPRISE_TRY(out->Begin());
  return out;
}

}  // namespace reprise::pytorch
