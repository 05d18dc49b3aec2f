#include "converters/pytorch/host_trace.h"

#include <fmt/format.h>
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/enumerable_thread_specific.h>
#include <oneapi/tbb/parallel_for.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <unordered_set>
#include <utility>

#include "converters/json_split.h"
#include "converters/pytorch/host_node.h"
#include "converters/pytorch/host_schema.h"
#include "converters/pytorch/string_pool.h"

namespace reprise::pytorch {
namespace {

constexpr std::string_view kGroupInit = "## process_group:init ##";

void ReadGroups(HostTrace& trace) {
  for (const HostNode& node : trace.nodes) {
    if (*node.name == kGroupInit && !node.inputs.empty()) {
      if (const std::string* json = node.inputs[0].AsString()) {
        trace.groups = ParseGroupRecords(*json);
      }
    }
  }
}

// The observer writes id 0 for every call whose inputs it could not look at.
void MakeIdsUnique(HostTrace& trace, const std::string& path, Diagnostics& diagnostics) {
  for (const HostNode& node : trace.nodes) {
    trace.highest_id = std::max(trace.highest_id, node.id);
  }
  std::unordered_set<std::uint64_t> seen;
  seen.reserve(trace.nodes.size());
  for (HostNode& node : trace.nodes) {
    if (!seen.insert(node.id).second) {
      diagnostics.Count("duplicate_node_id",
                        fmt::format("{}: node {} {}", path, node.id, *node.name));
      node.id = ++trace.highest_id;
    }
  }
}

void CountOddities(const TextFile& file, const HostTrace& trace,
                   const std::vector<std::uint8_t>& oddities, Diagnostics& diagnostics) {
  constexpr std::pair<std::uint8_t, std::string_view> kNames[] = {
      {kNonJsonNumber, "non_json_number"},
      {kUnreadableAttribute, "host_attribute_unreadable"},
      {kListsDiffer, "host_argument_lists_differ"}};
  for (std::size_t i = 0; i < oddities.size(); ++i) {
    for (const auto& [bit, name] : kNames) {
      if ((oddities[i] & bit) != 0) {
        diagnostics.Count(name, fmt::format("{}: node {} {}", file.path(), trace.nodes[i].id,
                                            *trace.nodes[i].name));
      }
    }
  }
}

std::int64_t Process(const TextFile& file, const SplitJson& json) {
  const std::string_view raw = json.Member("pid");
  simdjson::dom::parser parser;
  std::int64_t process = -1;
  if (raw.empty()) {
    return process;
  }
  if (const auto root = ParseElement(parser, file, raw);
      !root || root->get(process) != simdjson::SUCCESS) {
    return -1;
  }
  return process;
}

}  // namespace

Result<HostTrace> ReadHostTrace(const TextFile& file, Diagnostics& diagnostics) {
  REPRISE_ASSIGN(const SplitJson json, SplitObject(file, "nodes"));
  HostTrace trace;
  REPRISE_ASSIGN(trace.schema, CheckHostSchema(file, json, diagnostics));
  trace.process = Process(file, json);
  trace.strings = std::make_shared<StringPool>();
  trace.nodes.resize(json.elements.size());
  std::vector<std::uint8_t> oddities(json.elements.size(), 0);
  std::mutex mutex;
  std::optional<std::pair<std::size_t, Error>> first_error;  // by position, whoever finds it
  oneapi::tbb::enumerable_thread_specific<simdjson::dom::parser> parsers;
  const auto read = [&](std::size_t i) -> Status {
    const std::string_view raw = json.elements[i];
    bool patched = false;
    REPRISE_ASSIGN(const simdjson::dom::element root,
                   ParseElement(parsers.local(), file, raw, &patched));
    oddities[i] |= patched ? kNonJsonNumber : 0;
    return ReadHostNode(root, file, file.OffsetOf(raw), *trace.strings, trace.nodes[i],
                        oddities[i]);
  };
  oneapi::tbb::parallel_for(oneapi::tbb::blocked_range<std::size_t>(0, json.elements.size(), 256),
                            [&](const oneapi::tbb::blocked_range<std::size_t>& range) {
                              for (std::size_t i = range.begin(); i != range.end(); ++i) {
                                if (Status status = read(i); !status) {
                                  const std::scoped_lock lock(mutex);
                                  if (!first_error || i < first_error->first) {
                                    first_error.emplace(i, std::move(status.error()));
                                  }
                                  return;
                                }
                              }
                            });
  if (first_error) {
    return tl::unexpected<Error>(std::move(first_error->second));
  }
  CountOddities(file, trace, oddities, diagnostics);
  MakeIdsUnique(trace, file.path(), diagnostics);
  ReadGroups(trace);
  return trace;
}

}  // namespace reprise::pytorch
