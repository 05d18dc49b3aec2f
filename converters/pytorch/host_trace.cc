#include "converters/pytorch/host_trace.h"

#include <fmt/format.h>
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/enumerable_thread_specific.h>
#include <oneapi/tbb/parallel_for.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>

#include "converters/host_values.h"
#include "converters/json_split.h"
#include "converters/pytorch/string_pool.h"

namespace reprise::pytorch {
namespace {

using simdjson::dom::element;

constexpr std::string_view kGroupInit = "## process_group:init ##";

std::int64_t Integer(element value) {
  std::int64_t out = 0;
  if (std::uint64_t large = 0;
      value.get(out) != simdjson::SUCCESS && value.get(large) == simdjson::SUCCESS) {
    out = static_cast<std::int64_t>(large);
  }
  return out;
}

std::string Text(element value) {
  std::string_view text;
  return value.get(text) == simdjson::SUCCESS ? std::string(text) : std::string();
}

// {"name": "is_asynchronized_op", "type": "string", "value": false}
bool Truth(element value) {
  bool out = false;
  if (value.get(out) == simdjson::SUCCESS) {
    return out;
  }
  const std::string text = Text(value);
  return text == "true" || text == "True" || text == "1";
}

bool ReadCommAttribute(std::string_view name, element value, CommAttributes& comm) {
  if (name == "collective_name") {
    comm.collective = Text(value);
  } else if (name == "dtype") {
    comm.dtype = Text(value);
  } else if (name == "pg_name") {
    comm.group_name = Text(value);
  } else if (name == "pg_desc") {
    comm.group_description = Text(value);
  } else if (name == "in_msg_nelems") {
    comm.in_elements = Integer(value);
  } else if (name == "out_msg_nelems") {
    comm.out_elements = Integer(value);
  } else if (name == "in_split_size") {
    comm.in_splits = ParseIntegerList(Text(value));
  } else if (name == "out_split_size") {
    comm.out_splits = ParseIntegerList(Text(value));
  } else if (name == "pg_size") {
    comm.group_size = Integer(value);
  } else if (name == "is_asynchronized_op") {
    comm.async = Truth(value);
  } else {
    return false;
  }
  return true;
}

void ReadAttributes(element attributes, StringPool& strings, HostNode& node) {
  simdjson::dom::array list;
  if (attributes.get(list) != simdjson::SUCCESS) {
    return;
  }
  CommAttributes comm;
  bool has_comm = false;
  for (const element attribute : list) {
    std::string_view name;
    element value;
    if (attribute["name"].get(name) != simdjson::SUCCESS ||
        attribute["value"].get(value) != simdjson::SUCCESS) {
      continue;
    }
    if (name == "rf_id") {
      node.rf_id = Integer(value);
    } else if (name == "seq_id") {
      node.seq_id = Integer(value);
    } else if (name == "tid") {
      node.thread = Integer(value);
    } else if (name == "fw_tid") {
      node.forward_thread = Integer(value);
    } else if (name == "scope") {
      node.scope = static_cast<Scope>(Integer(value));
    } else if (name == "op_schema") {
      node.op_schema = strings.Intern(Text(value));
    } else if (ReadCommAttribute(name, value, comm)) {
      has_comm = true;
    }
  }
  if (has_comm) {
    node.comm = std::make_unique<CommAttributes>(std::move(comm));
  }
}

Status ReadNode(element root, const TextFile& file, std::string_view raw, StringPool& strings,
                HostNode& node) {
  std::string_view name;
  element inputs;
  element outputs;
  element attributes;
  if (root["id"].get(node.id) != simdjson::SUCCESS || root["name"].get(name) != simdjson::SUCCESS ||
      root["inputs"].get(inputs) != simdjson::SUCCESS ||
      root["outputs"].get(outputs) != simdjson::SUCCESS ||
      root["attrs"].get(attributes) != simdjson::SUCCESS) {
    return BadInput(fmt::format(
        "{}: the node at byte {} lacks one of id, name, inputs, outputs, attrs: not a host trace "
        "of schema 1.1 (schemas before 1.1 are not supported)",
        file.path(), file.OffsetOf(raw)));
  }
  node.name = strings.Intern(name);
  node.op_schema = strings.Intern("");
  node.inputs = ParseArguments(inputs);
  node.outputs = ParseArguments(outputs);
  ReadAttributes(attributes, strings, node);
  return {};
}

Status CheckSchema(const TextFile& file, const SplitJson& json, HostTrace& trace) {
  simdjson::dom::parser parser;
  const std::string_view raw = json.Member("schema");
  if (raw.size() >= 2 && raw.front() == '"') {
    trace.schema = raw.substr(1, raw.find('"', 1) - 1);
  }
  if (!json.has_array) {
    return BadInput(fmt::format("{}: no \"nodes\" list: not a host execution trace{}", file.path(),
                                json.Member("baseTimeNanoseconds").empty()
                                    ? ""
                                    : " but a Kineto file; are the two swapped?"));
  }
  if (!trace.schema.starts_with("1.1.")) {
    return BadInput(fmt::format(
        "{}: wrong schema {} at byte {}: this version reads host traces of schema 1.1.x; capture "
        "again with a recent PyTorch",
        file.path(), trace.schema.empty() ? "(none)" : trace.schema,
        raw.empty() ? 0 : file.OffsetOf(raw)));
  }
  return {};
}

void ReadGroups(HostTrace& trace) {
  for (const HostNode& node : trace.nodes) {
    if (*node.name == kGroupInit && !node.inputs.empty()) {
      if (const std::string* json = node.inputs[0].AsString()) {
        trace.groups = ParseGroupRecords(*json);
      }
    }
    trace.highest_id = std::max(trace.highest_id, node.id);
  }
}

}  // namespace

Result<HostTrace> ReadHostTrace(const TextFile& file, Diagnostics& diagnostics) {
  REPRISE_ASSIGN(const SplitJson json, SplitObject(file, "nodes"));
  HostTrace trace;
  REPRISE_TRY(CheckSchema(file, json, trace));
  trace.strings = std::make_shared<StringPool>();
  trace.nodes.resize(json.elements.size());
  std::mutex mutex;
  std::optional<std::pair<std::size_t, Error>> first_error;  // by position, whoever finds it
  std::atomic<std::uint64_t> patched_count = 0;
  oneapi::tbb::enumerable_thread_specific<simdjson::dom::parser> parsers;
  oneapi::tbb::parallel_for(oneapi::tbb::blocked_range<std::size_t>(0, json.elements.size(), 256),
                            [&](const oneapi::tbb::blocked_range<std::size_t>& range) {
                              simdjson::dom::parser& parser = parsers.local();
                              for (std::size_t i = range.begin(); i != range.end(); ++i) {
                                bool patched = false;
                                const auto root =
                                    ParseElement(parser, file, json.elements[i], &patched);
                                Status status = root ? ReadNode(*root, file, json.elements[i],
                                                                *trace.strings, trace.nodes[i])
                                                     : tl::unexpected<Error>(root.error());
                                patched_count += patched ? 1 : 0;
                                if (!status) {
                                  const std::scoped_lock lock(mutex);
                                  if (!first_error || i < first_error->first) {
                                    first_error.emplace(i, status.error());
                                  }
                                  return;
                                }
                              }
                            });
  if (first_error) {
    return tl::unexpected<Error>(std::move(first_error->second));
  }
  if (patched_count > 0) {
    diagnostics.Count("non_json_number", file.path(), patched_count);
  }
  ReadGroups(trace);
  return trace;
}

}  // namespace reprise::pytorch
