#include "et_schema/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/for_each_read.h"
#include "core/json_fields.h"
#include "et_schema/header_fields.h"
#include "et_schema/io.h"
#include "et_schema/node_fields.h"
#include "et_schema/storage_fields.h"

namespace reprise {

REPRISE_JSON_FIELDS(TensorDesc, tensor_id, storage_id, incarnation, offset, elements, dtype, shape,
                    strides, device)
REPRISE_JSON_FIELDS(Actor, kind, id, device)
REPRISE_JSON_FIELDS(Step, name, start_ns, duration_ns)
REPRISE_JSON_FIELDS(Range, name, thread, start_ns, duration_ns, step)
REPRISE_JSON_FIELDS(IndexRange, incarnation, low, high)
REPRISE_JSON_FIELDS(SampledSeries, quantity, device, times_ns, millionths)
REPRISE_JSON_FIELDS(ProcessGroup, id, description, ranks)
inline void to_json(Json& json, const Dependency& dep) {
  json = {{"id", dep.node_id}, {"reason", dep.reason}, {"inferred", dep.inferred}};
}
inline void to_json(Json& json, const LinkReport::Thread& thread) {
  json = {{"host", thread.host},
          {"kineto", thread.timed},
          {"matched", thread.matched},
          {"host_records", thread.host_records},
          {"kineto_records", thread.timed_records}};
}
inline void to_json(Json& json, const Value& value) {
  if (const auto* b = std::get_if<bool>(&value.data)) {
    json = *b;
  } else if (const auto* i = std::get_if<std::int64_t>(&value.data)) {
    json = *i;
  } else if (const auto* d = std::get_if<double>(&value.data)) {
    // JSON has no word for infinities and NaN; a string could be an argument.
    json = std::isfinite(*d) ? Json(*d) : Json{{"double", fmt::format("{}", *d)}};
  } else if (const std::string* s = value.AsString()) {
    json = *s;
  } else if (const TensorDesc* t = value.AsTensor()) {
    json = *t;
  } else if (const ValueList* list = value.AsList()) {
    json = *list;
  } else {
    json = nullptr;
  }
}

namespace {

// A member of `T`; keys are in the order of places.
template <typename T>
struct JsonRow {
  static constexpr int kOptional = 100;  // from here on: only where the value is not the default
  int place;
  std::string_view key;
  Json (*value)(const T&);
  bool (*is_default)(const T&) = nullptr;
};

// The rows and those of the tables. Keys are names in files, but for the comm_ of transfers.
template <typename T, typename... Tables>
std::vector<JsonRow<T>> InOrder(std::vector<JsonRow<T>> rows, const Tables&... tables) {
  const auto add = [&]<typename Row>(const Row& row) {
    constexpr std::string_view kPrefix = "comm_";
    const std::string_view name =
        row.name.substr(row.name.starts_with(kPrefix) ? kPrefix.size() : 0);
    rows.push_back({row.json, row.key.empty() ? name : row.key,
                    [](const T& of) { return Json(Row::Of(of)); },
                    [](const T& of) { return Row::IsDefault(of); }});
  };
  (ForEachMember(tables, add), ...);
  std::ranges::stable_sort(rows, {}, &JsonRow<T>::place);
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

Json DeviceWorkJson(const DeviceWork& work) {
  static const auto rows = InOrder<DeviceWork>({}, kDeviceFields);
  return ObjectJson(rows, work);
}

// {"level": "fs", "fs": {"op": "read", …}}; a number that has no name stays one.
Json StorageJson(const StorageWork& work) {
  const auto value = [](const SchemaNames* names, const auto& member) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(member)>, SchemaNumber>) {
      if (names != nullptr && names->Has(member)) {
        return Json(names->Of(member));
      }
    }
    return Json(member);
  };
  Json json = {{"level", value(&schema_names::kLevel, work.level)}};
  VisitDetail(work, [&]<typename Operation>(const Operation& detail) {
    Json& fields = json[std::string(StorageTable<Operation>::kName)] = Json::object();
    ForEachStorageField<Operation>(
        [&](const auto& row) { fields.emplace(row.name, value(row.names, row.Of(detail))); });
  });
  return json;
}

Json CommJson(const CommSpec& spec) {
  static const auto rows = InOrder<CommSpec>({}, kTransferFields);
  Json out = ObjectJson(rows, spec);
  if (!spec.bytes_known) {
    out["in_bytes"] = out["out_bytes"] = nullptr;
  }
  return out;
}

Json TraceNodeJson(const Node& node) {
  static const auto rows = InOrder<Node>(
      {// Members that have no row of their own.
       {0, "id", [](const Node& of) { return Json(of.id); }},
       {1, "name", [](const Node& of) { return Json(of.name); }},
       {2, "type", [](const Node& of) { return Json(of.type); }},
       {5, "actor", [](const Node& of) { return Json(of.actor); }},
       {6, "deps", [](const Node& of) { return Json(of.deps); }},
       {18, "inputs", [](const Node& of) { return Json(of.inputs); }},
       {19, "outputs", [](const Node& of) { return Json(of.outputs); }},
       {100, "comm", [](const Node& of) { return CommJson(*of.comm); },
        [](const Node& of) { return !of.comm; }},
       {104, "device_work", [](const Node& of) { return DeviceWorkJson(*of.device_work); },
        [](const Node& of) { return !of.device_work; }},
       {107, "storage", [](const Node& of) { return StorageJson(*of.storage); },
        [](const Node& of) { return !of.storage; }}},
      kNodeFields);
  return ObjectJson(rows, node);
}

Json CountersJson(const TraceMetadata& metadata) {
  Json diagnostics = Json::object();
  for (const auto& [name, count] : metadata.diagnostics) {
    diagnostics[name] = count;
  }
  return diagnostics;
}

Json HeaderJson(const TraceMetadata& metadata) {
  using Header = TraceMetadata;
  static const auto rows =
      InOrder<Header>({{0, "version", [](const Header& of) { return Json(of.version); }},
                       {5, "steps", [](const Header& of) { return Json(of.steps); }},
                       {6, "ranges", [](const Header& of) { return Json(of.ranges); }},
                       {9, "machine", [](const Header& of) { return ToJson(of.machine); }},
                       {13, "link", [](const Header& of) { return ToJson(of.link); }},
                       {14, "diagnostics", CountersJson},
                       {100, "index_ranges", [](const Header& of) { return Json(of.index_ranges); },
                        [](const Header& of) { return of.index_ranges.empty(); }},
                       {100, "samples", [](const Header& of) { return Json(of.samples); },
                        [](const Header& of) { return of.samples.empty(); }},
                       {101, "groups", [](const Header& of) { return Json(of.groups); },
                        [](const Header& of) { return of.groups.empty(); }},
                       {102, "placement", [](const Header& of) { return ToJson(of.placement); },
                        [](const Header& of) { return of.placement == RankPlacement{}; }}},
                      kHeaderFields, kClockFields);
  return ObjectJson(rows, metadata);
}

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

Json ToJson(const RecordedMachine& machine) {
  if (machine == RecordedMachine{}) {
    return nullptr;
  }
  Json out;
  ForEachMember(kMachineFields, [&](const auto& row) {
    out.emplace(row.name.substr(kMachinePrefix.size()), row.Of(machine));
  });
  return out;
}

Json ToJson(const RankPlacement& placement) {
  if (placement == RankPlacement{}) {
    return nullptr;
  }
  Json out;
  ForEachMember(kPlacementFields, [&](const auto& row) {
    out.emplace(row.name.substr(kPlacementPrefix.size()),
                row.IsDefault(placement) ? Json() : Json(row.Of(placement)));
  });
  return out;
}

Json ToJson(const LinkReport& link) {
  if (link.method.empty()) {
    return nullptr;
  }
  Json json;
  REPRISE_ADD_FIELDS(json, link, method, matched, host_records)
  json["kineto_records"] = link.timed_records;
  REPRISE_ADD_FIELDS(json, link, repeats, repeat, choice, repeat_ns, repeat_median_ns, threads,
                     unmatched)
  return json;
}

Result<std::uint64_t> WriteJson(const std::string& et_path, std::ostream& out,
                                std::optional<std::int32_t> step) {
  REPRISE_ASSIGN(const auto reader, EtReader::Open(et_path));
  out << "{\"metadata\": " << Dump(HeaderJson(reader->metadata())) << ",\n\"nodes\": [";
  std::uint64_t nodes = 0;
  REPRISE_TRY(ForEachRead<Node>(*reader, [&](const Node& node) -> Status {
    if (!step || node.step == *step) {
      out << (nodes == 0 ? "\n" : ",\n") << Dump(TraceNodeJson(node));
      ++nodes;
    }
    return {};
  }));
  return Finish(et_path, "\n]}\n", nodes, out);
}

Result<std::uint64_t> WriteJson(const TraceSet& set, std::ostream& out,
                                std::optional<std::int32_t> step) {
  Json groups = Json::object();
  for (const auto& [id, group] : set.Groups()) {
    groups[id] = {{"description", group.description}, {"ranks", group.ranks}};
  }
  out << "{\"name\": " << Dump(set.name) << ",\n\"world_size\": " << set.world_size
      << ",\n\"groups\": " << Dump(groups) << ",\n\"ranks\": [\n";
  std::uint64_t nodes = 0;
  const char* separator = "";
  for (const auto& [rank, file] : set.RankPaths()) {
    out << std::exchange(separator, ",\n");
    REPRISE_ASSIGN(const std::uint64_t of_rank, WriteJson(file, out, step));
    nodes += of_rank;
  }
  return Finish(set.directory, "]}\n", nodes, out);
}

}  // namespace reprise
