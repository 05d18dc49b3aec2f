#include "converters/pytorch/host/host_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <iomanip>
#include <iterator>
#include <sstream>
#include <utility>

#include "converters/json_stream.h"
#include "converters/per_thread.h"
#include "converters/pytorch/host/host_node.h"
#include "converters/pytorch/host/id_index.h"
#include "converters/pytorch/host/plain_nodes.h"
#include "converters/pytorch/host/string_pool.h"

namespace reprise::pytorch {
namespace {

// Versions of the format.
constexpr std::array<std::string_view, 8> kHostSchemas = {
    "1.0.0",  // tensors without a device
    "1.0.1",
    "1.0.2-chakra.0.0.4",  // fields in attrs, inputs and outputs as objects, ctrl_deps
    "1.0.3-chakra.0.0.4",  // names of process groups with descriptions
    "1.0.4-chakra.0.0.4",  // kernel_backend, kernel_file
    "1.1.0-chakra.0.0.4",  // record_param_comms as attributes
    "1.1.1-chakra.0.0.4",  // strides
    "1.1.1-chakra.1.0.0",
};

// "1.2.0", "1.1.2-chakra.2.0.0".
bool IsOfThisFamily(std::string_view version) {
  constexpr std::string_view kMajor = "1.";
  if (!version.starts_with(kMajor)) {
    return false;
  }
  const std::string_view numbers = version.substr(0, version.find('-'));
  return numbers.find_first_not_of("0123456789.") == std::string_view::npos &&
         std::count(numbers.begin(), numbers.end(), '.') == 2 && numbers.back() != '.' &&
         numbers.find("..") == std::string_view::npos;
}

// The text of the "schema" member. Bad input if there is none, if it is no version, or of another
// major version. A version that is not known but of the same major one is read and counted
// (`host_schema_newer`): the fields say where they are, versions only ever added some.
Result<std::string> CheckHostSchema(const TextFile& file, const SplitJson& json,
                                    Diagnostics& diagnostics) {
  if (!json.has_array) {
    return BadInput(
        fmt::format("{}: no \"nodes\" list: not a host execution trace{}", file.path(),
                    json.Member("baseTimeNanoseconds").empty() && json.Member("traceEvents").empty()
                        ? ""
                        : " but a Kineto file; are the two swapped?"));
  }
  const std::string_view raw = json.Member("schema");
  std::string version;
  if (raw.size() >= 2 && raw.front() == '"') {
    version = raw.substr(1, raw.size() - 2);
  }
  if (std::find(kHostSchemas.begin(), kHostSchemas.end(), version) != kHostSchemas.end()) {
    return version;
  }
  if (!IsOfThisFamily(version)) {
    return BadInput(fmt::format(
        "{}: wrong schema {} at byte {}: host traces of schema {} to {} are read; capture again "
        "with a PyTorch that writes one of them",
        file.path(), version.empty() ? "(none)" : version, raw.empty() ? 0 : file.OffsetOf(raw),
        kHostSchemas.front(), kHostSchemas.back()));
  }
  diagnostics.Count("host_schema_newer", fmt::format("{}: schema {}", file.path(), version));
  return version;
}

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
  IdIndex seen(trace.highest_id, trace.nodes.size());
  for (HostNode& node : trace.nodes) {
    if (!seen.Insert(node.id, 0)) {
      diagnostics.Count("duplicate_node_id",
                        fmt::format("{}: node {} {}", path, node.id, *node.name));
      node.id = ++trace.highest_id;
    }
  }
}

void CountOddities(const std::string& path, const HostTrace& trace,
                   const std::vector<std::uint8_t>& oddities, Diagnostics& diagnostics) {
  constexpr std::pair<std::uint8_t, std::string_view> kNames[] = {
      {kNonJsonNumber, "non_json_number"},
      {kUnreadableAttribute, "host_attribute_unreadable"},
      {kListsDiffer, "host_argument_lists_differ"}};
  for (std::size_t i = 0; i < oddities.size(); ++i) {
    for (const auto& [bit, name] : kNames) {
      if ((oddities[i] & bit) != 0) {
        diagnostics.Count(
            name, fmt::format("{}: node {} {}", path, trace.nodes[i].id, *trace.nodes[i].name));
      }
    }
  }
}

// A whole number of the header; -1: absent, or something else, which is counted.
std::int64_t HeaderNumber(const TextFile& file, const SplitJson& json, std::string_view key,
                          Diagnostics& diagnostics) {
  const std::string_view raw = json.Member(key);
  if (raw.empty()) {
    return -1;
  }
  simdjson::dom::parser parser;
  std::int64_t number = -1;
  if (const auto root = ParseElement(parser, file, raw);
      root && root->get(number) == simdjson::SUCCESS && number >= 0) {
    return number;
  }
  diagnostics.Count("identity_unreadable", fmt::format("{}: {} {}", file.path(), key, raw));
  return -1;
}

// "2026-11-21 02:15:24" in seconds since the epoch, as if it were UTC; -1: no such text.
std::int64_t LocalSeconds(const TextFile& file, const SplitJson& json) {
  const std::string_view raw = json.Member("time");
  simdjson::dom::parser parser;
  std::string_view text;
  if (raw.empty()) {
    return -1;
  }
  if (const auto root = ParseElement(parser, file, raw);
      !root || root->get(text) != simdjson::SUCCESS) {
    return -1;
  }
  std::tm time{};
  std::istringstream in{std::string(text)};
  in >> std::get_time(&time, "%Y-%m-%d %H:%M:%S");
  return in.fail() ? -1 : static_cast<std::int64_t>(timegm(&time));
}

void ReadIdentity(const TextFile& file, const SplitJson& json, HostTrace& trace,
                  Diagnostics& diagnostics) {
  trace.process = HeaderNumber(file, json, "pid", diagnostics);
  trace.local_start_s = LocalSeconds(file, json);
  const std::int64_t start_ms = HeaderNumber(file, json, "start_ts", diagnostics);
  const std::int64_t finish_ms = HeaderNumber(file, json, "finish_ts", diagnostics);
  trace.length_ms = start_ms >= 0 && finish_ms >= start_ms ? finish_ms - start_ms : -1;
}

// What one batch of nodes holds.
struct HostTracePart {
  std::vector<HostNode> nodes;
  std::vector<std::uint8_t> oddities;
};

// One thread's.
struct HostTraceReader {
  explicit HostTraceReader(StringPool& pool) : strings(pool) {}
  PlainNodes plain;
  BatchStrings strings;
  std::size_t usual_nodes = 0;
};

// What PlainNodes gave up on: damage, old versions, NaN, …
Status ReadUnusual(const JsonBatch& batch, simdjson::dom::parser& parser, BatchStrings& strings,
                   HostTracePart& part) {
  return VisitElements(
      batch, parser,
      [&](simdjson::dom::element root, std::size_t index, ElementPlaces& places,
          bool patched) -> Status {
        HostNode& node = part.nodes.emplace_back();
        std::uint8_t& oddities = part.oddities.emplace_back(patched ? kNonJsonNumber : 0);
        if (ReadHostNode(root, batch.text, 0, strings, node, oddities)) {
          return {};
        }
        HostNode again;  // for its message, which says where
        return ReadHostNode(root, batch.text, places.AtByte(index), strings, again, oddities);
      });
}

Status ReadNodes(const JsonBatch& batch, simdjson::dom::parser& parser, HostTraceReader& reader,
                 HostTracePart& part) {
  part.nodes.reserve(reader.usual_nodes);
  if (!reader.plain.Read(batch, reader.strings, part.nodes, part.oddities)) {
    part = {};
    REPRISE_TRY(ReadUnusual(batch, parser, reader.strings, part));
  }
  reader.usual_nodes = part.nodes.size() + part.nodes.size() / 16;
  return {};
}

// Frees parts as it goes: there is never room for all of them twice.
std::vector<std::uint8_t> Join(std::vector<HostTracePart>& parts, HostTrace& trace) {
  std::size_t nodes = 0;
  for (const HostTracePart& part : parts) {
    nodes += part.nodes.size();
  }
  std::vector<std::uint8_t> oddities;
  oddities.reserve(nodes);
  trace.nodes.reserve(nodes);
  for (HostTracePart& part : parts) {
    trace.nodes.insert(trace.nodes.end(), std::make_move_iterator(part.nodes.begin()),
                       std::make_move_iterator(part.nodes.end()));
    oddities.insert(oddities.end(), part.oddities.begin(), part.oddities.end());
    part = {};
  }
  return oddities;
}

}  // namespace

Result<HostTrace> ReadHostTrace(TextSource& source, Diagnostics& diagnostics) {
  HostTrace trace;
  trace.strings = std::make_shared<StringPool>();
  std::vector<HostTracePart> parts;
  PerThread<HostTraceReader> readers(
      [&] { return std::make_unique<HostTraceReader>(*trace.strings); });
  const auto read = [&](const JsonBatch& batch,
                        simdjson::dom::parser& parser) -> Result<std::function<void()>> {
    const auto part = std::make_shared<HostTracePart>();
    REPRISE_TRY(ReadNodes(batch, parser, readers.Mine(), *part));
    return [&parts, part] { parts.push_back(std::move(*part)); };
  };
  REPRISE_ASSIGN(const JsonFrame frame, StreamObject(source, "nodes", read));
  REPRISE_ASSIGN(trace.schema, CheckHostSchema(frame.file, frame.json, diagnostics));
  ReadIdentity(frame.file, frame.json, trace, diagnostics);
  if (frame.element_error) {
    return tl::unexpected<Error>(*frame.element_error);
  }
  CountOddities(source.path(), trace, Join(parts, trace), diagnostics);
  MakeIdsUnique(trace, source.path(), diagnostics);
  ReadGroups(trace);
  return trace;
}

}  // namespace reprise::pytorch
