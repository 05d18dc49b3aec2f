#include "et_schema/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>
#include <type_traits>
#include <vector>

#include "core/for_each_read.h"
#include "et_schema/io.h"
#include "et_schema/raw_node.h"

namespace reprise {
namespace {

using Json = nlohmann::ordered_json;

Json ToJson(const ValueList& list);

Json ToJson(const TensorDesc& t) {
  return {{"tensor_id", t.tensor_id}, {"storage_id", t.storage_id}, {"incarnation", t.incarnation},
          {"offset", t.offset},       {"elements", t.elements},     {"dtype", Name(t.dtype)},
          {"shape", t.shape},         {"strides", t.strides},       {"device", t.device}};
}

Json ToJson(const Value& value) {
  if (const auto* b = std::get_if<bool>(&value.data)) {
    return *b;
  }
  if (const auto* i = std::get_if<std::int64_t>(&value.data)) {
    return *i;
  }
  if (const auto* d = std::get_if<double>(&value.data)) {
    // JSON has no word for these; a string could be an argument.
    return std::isfinite(*d) ? Json(*d) : Json{{"double", fmt::format("{}", *d)}};
  }
  if (const std::string* s = value.AsString()) {
    return *s;
  }
  if (const TensorDesc* t = value.AsTensor()) {
    return ToJson(*t);
  }
  if (const ValueList* list = value.AsList()) {
    return ToJson(*list);
  }
  return nullptr;
}

Json ToJson(const ValueList& list) {
  Json out = Json::array();
  for (const Value& value : list) {
    out.push_back(ToJson(value));
  }
  return out;
}

Json ToJson(const Dependency& dep) {
  return {{"id", dep.node_id}, {"reason", Name(dep.reason)}, {"inferred", dep.inferred}};
}
Json ToJson(const Actor& actor) {
  return {{"kind", Name(actor.kind)}, {"id", actor.id}, {"device", actor.device}};
}
Json ToJson(const Step& step) {
  return {{"name", step.name}, {"start_ns", step.start_ns}, {"duration_ns", step.duration_ns}};
}
Json ToJson(const Range& range) {
  return {{"name", range.name},
          {"thread", range.thread},
          {"start_ns", range.start_ns},
          {"duration_ns", range.duration_ns},
          {"step", range.step}};
}
Json ToJson(const IndexRange& range) {
  return {{"incarnation", range.incarnation}, {"low", range.low}, {"high", range.high}};
}
Json ToJson(const ProcessGroup& group) {
  return {{"id", group.id}, {"description", group.description}, {"ranks", group.ranks}};
}

// The value of a field: numbers, texts and lists of them as they are.
template <typename T>
Json FieldJson(const T& value) {
  if constexpr (std::is_enum_v<T>) {
    return Name(value);
  } else if constexpr (requires { ToJson(value); }) {
    return ToJson(value);
  } else {
    return value;
  }
}
template <typename T>
Json ListJson(const std::vector<T>& list) {
  Json out = Json::array();
  for (const T& item : list) {
    out.push_back(ToJson(item));
  }
  return out;
}

// A member of `T`; keys are in the order of places.
template <typename T>
struct JsonRow {
  static constexpr int kOptional = 100;  // from here on: only where the value is not the default
  int place;
  std::string_view key;
  Json (*value)(const T&);
  bool (*is_default)(const T&) = nullptr;
};

template <typename T>
std::vector<JsonRow<T>> InOrder(std::vector<JsonRow<T>> rows) {
  std::sort(rows.begin(), rows.end(),
            [](const JsonRow<T>& a, const JsonRow<T>& b) { return a.place < b.place; });
  return rows;
}

template <typename T>
Json ObjectJson(const std::vector<JsonRow<T>>& rows, const T& of) {
  Json out = Json::object();
  for (const JsonRow<T>& row : rows) {
    if (row.place < JsonRow<T>::kOptional || !row.is_default(of)) {
      out.emplace(row.key, row.value(of));
    }
  }
  return out;
}

template <typename T>
bool IsValue(const T& value, const std::type_identity_t<T>& other) {
  return value == other;
}
#define JSON_ROW(Owner, place, key, member, value)                   \
  {place, key, [](const Owner& of) { return FieldJson(of.member); }, \
   [](const Owner& of) { return IsValue(of.member, value); }},

Json ToJson(const DeviceWork& work) {
  static const auto rows = InOrder<DeviceWork>({
#define DEVICE_FIELD(symbol, member, name, type, value, ...) \
  JSON_ROW(DeviceWork, __COUNTER__, name, member, value)
#include "et_schema/fields.def"
  });
  return ObjectJson(rows, work);
}

// Attributes of transfers begin with comm_, but for two.
constexpr std::string_view CommKey(std::string_view name) {
  constexpr std::string_view kPrefix = "comm_";
  return name == "pg_name" ? "group" : name == "comm_type" ? "kind" : name.substr(kPrefix.size());
}

Json ToJson(const CommSpec& spec) {
  static const auto rows = InOrder<CommSpec>({
#define COMM_FIELD(symbol, member, name, type, value, written, json, ...) \
  JSON_ROW(CommSpec, json, CommKey(name), member, value)
#define COMM_PART(...) COMM_FIELD(__VA_ARGS__)
#include "et_schema/fields.def"
  });
  return ObjectJson(rows, spec);
}

// Of the members that have no row of their own.
const std::vector<JsonRow<Node>>& NodeRows() {
  static const auto rows = InOrder<Node>({
      {0, "id", [](const Node& node) -> Json { return node.id; }},
      {1, "name", [](const Node& node) -> Json { return node.name; }},
      {2, "type", [](const Node& node) -> Json { return Name(node.type); }},
      {5, "actor", [](const Node& node) { return ToJson(node.actor); }},
      {6, "deps", [](const Node& node) { return ListJson(node.deps); }},
      {18, "inputs", [](const Node& node) { return ToJson(node.inputs); }},
      {19, "outputs", [](const Node& node) { return ToJson(node.outputs); }},
      {100, "comm", [](const Node& node) { return ToJson(*node.comm); },
       [](const Node& node) { return !node.comm; }},
      {103, "device_work", [](const Node& node) { return ToJson(*node.device_work); },
       [](const Node& node) { return !node.device_work; }},
#define NODE_FIELD(symbol, member, name, type, value, written, storage, json, ...)              \
  JSON_ROW(Node, json, Attribute::k##symbol == Attribute::kTensorSize ? #member : name, member, \
           value)
#include "et_schema/fields.def"
  });
  return rows;
}
Json ToJson(const Node& node) { return ObjectJson(NodeRows(), node); }

Json CountersJson(const TraceMetadata& metadata) {
  Json diagnostics = Json::object();
  for (const auto& [name, count] : metadata.diagnostics) {
    diagnostics[name] = count;
  }
  return diagnostics;
}

Json ToJson(const TraceMetadata& metadata) {
  using Header = TraceMetadata;
  static const auto rows = InOrder<Header>({
      {0, "version", [](const Header& header) -> Json { return header.version; }},
      {5, "steps", [](const Header& header) { return ListJson(header.steps); }},
      {6, "ranges", [](const Header& header) { return ListJson(header.ranges); }},
      {9, "machine", [](const Header& header) { return reprise::ToJson(header.machine); }},
      {13, "link", [](const Header& header) { return reprise::ToJson(header.link); }},
      {14, "diagnostics", CountersJson},
      {100, "index_ranges", [](const Header& header) { return ListJson(header.index_ranges); },
       [](const Header& header) { return header.index_ranges.empty(); }},
      {101, "groups", [](const Header& header) { return ListJson(header.groups); },
       [](const Header& header) { return header.groups.empty(); }},
      {102, "placement", [](const Header& header) { return reprise::ToJson(header.placement); },
       [](const Header& header) { return header.placement == RankPlacement{}; }},
#define HEADER_FIELD(symbol, member, name, type, value, written, json, ...) \
  JSON_ROW(Header, json, name, member, value)
#define HEADER_PART(member, name, type, value, written, json) \
  JSON_ROW(Header, json, name, member, value)
#include "et_schema/fields.def"
  });
  return ObjectJson(rows, metadata);
}
#undef JSON_ROW

std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// `nodes`, when all is written.
Result<std::uint64_t> Finish(const std::string& path, std::string_view end, std::uint64_t nodes,
                             std::ostream& out) {
  out << end << std::flush;
  return out ? Result<std::uint64_t>(nodes)
             : EnvironmentError(fmt::format("{}: its JSON could not be written", path));
}

}  // namespace

nlohmann::ordered_json ToJson(const RecordedMachine& machine) {
  if (machine == RecordedMachine{}) {
    return nullptr;
  }
  nlohmann::ordered_json out;
#define MACHINE_FIELD(member, ...) out[#member] = machine.member;
#include "et_schema/fields.def"
  return out;
}

nlohmann::ordered_json ToJson(const RankPlacement& placement) {
  if (placement == RankPlacement{}) {
    return nullptr;
  }
  nlohmann::ordered_json out;
#define PLACEMENT_FIELD(member, name, type, value)                             \
  out[std::string(name).substr(kPlacementPrefix.size())] =                     \
      placement.member == field::type::Value(value) ? nlohmann::ordered_json() \
                                                    : nlohmann::ordered_json(placement.member);
#include "et_schema/fields.def"
  return out;
}

nlohmann::ordered_json ToJson(const LinkReport& link) {
  using Json = nlohmann::ordered_json;
  if (link.method.empty()) {
    return nullptr;
  }
  Json threads = Json::array();
  for (const LinkReport::Thread& thread : link.threads) {
    threads.push_back({{"host", thread.host},
                       {"kineto", thread.timed},
                       {"matched", thread.matched},
                       {"host_records", thread.host_records},
                       {"kineto_records", thread.timed_records}});
  }
  return {{"method", link.method},
          {"matched", link.matched},
          {"host_records", link.host_records},
          {"kineto_records", link.timed_records},
          {"repeats", link.repeats},
          {"repeat", link.repeat},
          {"choice", link.choice},
          {"repeat_ns", link.repeat_ns},
          {"repeat_median_ns", link.repeat_median_ns},
          {"threads", std::move(threads)},
          {"unmatched", link.unmatched}};
}

Result<std::uint64_t> WriteJson(const std::string& et_path, std::ostream& out,
                                std::optional<std::int32_t> step) {
  REPRISE_ASSIGN(const auto reader, EtReader::Open(et_path));
  out << "{\"metadata\": " << Dump(ToJson(reader->metadata())) << ",\n\"nodes\": [";
  std::uint64_t nodes = 0;
  REPRISE_TRY(ForEachRead<Node>(*reader, [&](const Node& node) -> Status {
    if (!step || node.step == *step) {
      out << (nodes == 0 ? "\n" : ",\n") << Dump(ToJson(node));
      ++nodes;
    }
    return {};
  }));
  return Finish(et_path, "\n]}\n", nodes, out);
}

Result<std::uint64_t> WriteJson(const TraceSet& set, std::ostream& out,
                                std::optional<std::int32_t> step) {
  Json groups = Json::object();
  for (const auto& [id, group] : set.groups) {
    groups[id] = {{"description", group.description}, {"ranks", group.ranks}};
  }
  out << "{\"name\": " << Dump(set.name) << ",\n\"world_size\": " << set.world_size
      << ",\n\"groups\": " << Dump(groups) << ",\n\"ranks\": [\n";
  std::uint64_t nodes = 0;
  for (const auto& [rank, file] : set.files) {
    out << (rank == set.files.begin()->first ? "" : ",\n");
    REPRISE_ASSIGN(const std::uint64_t of_rank, WriteJson(file, out, step));
    nodes += of_rank;
  }
  return Finish(set.directory, "]}\n", nodes, out);
}

}  // namespace reprise
