#include "converters/pytorch/rocprof/rocprof_json.h"

#include <simdjson.h>

#include <array>
#include <optional>
#include <utility>

#include "converters/json_members.h"
#include "converters/json_walk.h"
#include "converters/pytorch/rocprof/json_entry.h"
#include "converters/pytorch/rocprof/rocprof_events.h"
#include "converters/pytorch/rocprof/stream_waits.h"
#include "converters/text_source.h"

namespace reprise::pytorch {
namespace {

using simdjson::dom::element;

class JsonReader final : public RocprofReader {
 public:
  JsonReader(std::unique_ptr<TextSource> names, std::unique_ptr<TextSource> source,
             const RocprofProcess& process)
      : path_(source->path()),
        names_source_(std::move(names)),
        source_(std::move(source)),
        walk_(*source_),
        values_(walk_, path_),
        entry_(process.own) {
    has_hip_calls = process.has_hip_calls;
    rccl_members = process.rccl_members;
  }

  Status Begin() {
    {
      JsonWalk walk(*names_source_);
      REPRISE_TRY(GoToEntry(walk, entry_, path_));
      REPRISE_TRY(ReadEntryNames(walk, path_, names_));
    }
    names_source_.reset();
    REPRISE_TRY(GoToEntry(walk_, entry_, path_));
    REPRISE_TRY(walk_.Enter());
    return {};
  }

  Result<bool> Append(RocprofEvents& events) override {
    for (;;) {
      if (add_ != nullptr) {
        REPRISE_ASSIGN(const bool more, walk_.NextElement());
        if (more) {
          ++record_;
          REPRISE_ASSIGN(const element root, values_.Parse());
          REPRISE_TRY((this->*add_)(root, events));
          return true;
        }
        add_ = nullptr;
      }
      REPRISE_ASSIGN(const bool more, NextList());
      if (!more) {
        return false;
      }
    }
  }

 private:
  using AddRecord = Status (JsonReader::*)(element root, RocprofEvents& events);

  // Goes into the next list that is read. False: the entry ended.
  Result<bool> NextList() {
    constexpr std::array<std::pair<std::string_view, AddRecord>, 6> kLists = {
        {{"kernel_dispatch", &JsonReader::AddDispatch},
         {"hip_api", &JsonReader::AddCall},
         {"hsa_api", &JsonReader::AddCall},
         {"marker_api", &JsonReader::AddCall},
         {"rccl_api", &JsonReader::AddCall},
         {"memory_copy", &JsonReader::AddCopy}}};
    for (;;) {
      REPRISE_ASSIGN(const bool more, walk_.NextMember(list_));
      if (!more && !in_records_) {
        return false;
      }
      if (!more) {
        in_records_ = false;
        continue;
      }
      REPRISE_ASSIGN(const char c, walk_.Peek());
      if (!in_records_ && list_ == "buffer_records" && c == '{') {
        REPRISE_TRY(walk_.Enter());
        in_records_ = true;
        continue;
      }
      for (const auto& [name, add] : kLists) {
        add_ = in_records_ && c == '[' && list_ == name ? add : add_;
      }
      if (add_ != nullptr) {
        REPRISE_TRY(walk_.Enter());
        record_ = 0;
        place_ = "list " + list_;
        return true;
      }
      REPRISE_TRY(walk_.Skip());
    }
  }

  [[nodiscard]] RocprofPlace Place() const { return {.list = place_, .record = record_}; }

  static std::array<std::int64_t, 3> SizesIn(const JsonMember& value) {
    return {WholeIn(value["x"]).value_or(0), WholeIn(value["y"]).value_or(0),
            WholeIn(value["z"]).value_or(0)};
  }

  Status AddDispatch(element root, RocprofEvents& events) {
    const auto [start, end, correlation, info, stream] = FindMembers(
        root, {"start_timestamp", "end_timestamp", "correlation_id", "dispatch_info", "stream_id"});
    const JsonMember dispatch = info;
    const auto kernel = names_.kernels.find(WholeIn(dispatch["kernel_id"]).value_or(-1));
    const std::int64_t queue = HandleIn(dispatch["queue_id"]).value_or(0);
    RocprofKernel out{.start_ns = WholeIn(start),
                      .end_ns = WholeIn(end),
                      .device = names_.DeviceOf(HandleIn(dispatch["agent_id"])),
                      .queue = queue,
                      .stream = HandleIn(stream).value_or(queue),
                      .correlation = WholeIn(correlation["internal"]),
                      .dispatch = WholeIn(dispatch["dispatch_id"]),
                      .grid = SizesIn(dispatch["grid_size"]),
                      .workgroup = SizesIn(dispatch["workgroup_size"]),
                      .lds_bytes = WholeIn(dispatch["group_segment_size"])};
    if (kernel != names_.kernels.end()) {
      out.name = kernel->second.name;
      out.registers = kernel->second.registers;
    }
    return events.Add(out, Place());
  }

  Status AddCopy(element root, RocprofEvents& events) {
    const auto [start, end, correlation, kind, operation, to, from, bytes, stream] =
        FindMembers(root, {"start_timestamp", "end_timestamp", "correlation_id", "kind",
                           "operation", "dst_agent_id", "src_agent_id", "bytes", "stream_id"});
    const auto to_handle = HandleIn(to);
    const auto from_handle = HandleIn(from);
    const std::optional<bool> to_gpu = names_.IsGpu(to_handle);
    return events.Add(
        RocprofCopy{
            .direction = names_.OperationOf(GetOr(kind, UINT64_MAX), GetOr(operation, UINT64_MAX)),
            .from_gpu = names_.IsGpu(from_handle),
            .to_gpu = to_gpu,
            .start_ns = WholeIn(start),
            .end_ns = WholeIn(end),
            .device = names_.DeviceOf(to_gpu.value_or(false) ? to_handle : from_handle),
            .stream = HandleIn(stream).value_or(0),
            .correlation = WholeIn(correlation["internal"]),
            .bytes = WholeIn(bytes)},
        Place());
  }

  Status AddCall(element root, RocprofEvents& events) {
    const auto [start, end, correlation, kind, operation, thread, args] =
        FindMembers(root, {"start_timestamp", "end_timestamp", "correlation_id", "kind",
                           "operation", "thread_id", "args"});
    const EntryNames::Domain* const domain = names_.DomainOf(GetOr(kind, UINT64_MAX));
    const auto number = WholeIn(correlation["internal"]);
    const auto message = number ? names_.messages.find(*number) : names_.messages.end();
    const bool marks = list_ == "marker_api";
    const std::string_view name =
        names_.OperationOf(GetOr(kind, UINT64_MAX), GetOr(operation, UINT64_MAX));
    const bool arguments = list_ == "rccl_api" || StreamCallOf(name) != StreamCall::kNone;
    if (arguments) {
      ReadArguments(args);
    }
    return events.Add(
        RocprofCall{.domain = domain == nullptr ? std::string_view(list_) : domain->name,
                    .name = name,
                    .message = marks && message != names_.messages.end() ? *message->second
                                                                         : std::string_view(),
                    .start_ns = WholeIn(start),
                    .end_ns = WholeIn(end),
                    .thread = WholeIn(thread).value_or(0),
                    .correlation = number,
                    .arguments = arguments ? &arguments_ : nullptr},
        Place());
  }

  void ReadArguments(const JsonMember& args) {
    arguments_.clear();
    simdjson::dom::array list;
    if (args.get(list) != simdjson::SUCCESS) {
      return;
    }
    for (const element argument : list) {
      if (const std::string_view name = TextOr(argument["name"]); IsUsedArgument(name)) {
        arguments_.emplace_back(name, TextOr(argument["value"]));
      }
    }
  }

  std::string path_;
  std::unique_ptr<TextSource> names_source_, source_;
  JsonWalk walk_;
  ValueReader values_;
  std::int64_t entry_;
  EntryNames names_;
  bool in_records_ = false;
  std::string list_, place_;
  AddRecord add_ = nullptr;  // of the list that the walk is in
  std::uint64_t record_ = 0;
  RocprofArguments arguments_;
};

}  // namespace

bool BeginsAsRocprofJson(std::string_view head) {
  for (const std::string_view token :
       {std::string_view("{"), std::string_view("\""), std::string_view("rocprofiler-sdk-tool")}) {
    const std::size_t at = head.find_first_not_of(" \n\r\t");
    if (at == std::string_view::npos || !head.substr(at).starts_with(token)) {
      return false;
    }
    head = head.substr(at + token.size());
  }
  return head.starts_with('"');
}

Result<std::vector<RocprofProcess>> RocprofJsonProcesses(const std::string& path) {
  REPRISE_ASSIGN(const std::unique_ptr<TextSource> source, TextSource::Open(path));
  JsonWalk walk(*source);
  std::vector<RocprofProcess> out;
  REPRISE_ASSIGN(bool more, GoToEntries(walk));
  if (!more) {
    return BadInput(path + ": not of rocprofv3: \"rocprofiler-sdk-tool\" is no list");
  }
  for (std::int64_t i = 0; more; ++i) {
    REPRISE_ASSIGN(more, walk.NextElement());
    if (more) {
      RocprofProcess process;
      process.own = i;
      REPRISE_ASSIGN(const std::uint64_t kernels, DescribeEntry(walk, path, process));
      if (kernels > 0) {
        out.push_back(std::move(process));
      }
    }
  }
  std::string name;
  for (more = true; more;) {
    REPRISE_ASSIGN(more, walk.NextMember(name));
    if (more) {
      REPRISE_TRY(walk.Skip());
    }
  }
  REPRISE_TRY(walk.End());
  return out;
}

Result<std::unique_ptr<RocprofReader>> ReadRocprofJson(const std::string& path,
                                                       const RocprofProcess& process) {
  REPRISE_ASSIGN(std::unique_ptr<TextSource> names, TextSource::Open(path));
  REPRISE_ASSIGN(std::unique_ptr<TextSource> source, TextSource::Open(path));
  auto out = std::make_unique<JsonReader>(std::move(names), std::move(source), process);
  REPRISE_TRY(out->Begin());
  return out;
}

}  // namespace reprise::pytorch
