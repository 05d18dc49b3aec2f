#include "et_schema/json.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>

#include "et_schema/io.h"

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

Json ToJson(const CommSpec& spec) {
  constexpr std::array<std::string_view, 3> kCertainty = {"recorded", "inferred", "unknown"};
  Json out = {{"kind", Name(spec.kind)},
              {"group", spec.group},
              {"certainty", kCertainty.at(static_cast<std::size_t>(spec.certainty))},
              {"index", spec.index},
              {"sequence", spec.sequence},
              {"dtype", Name(spec.dtype)},
              {"in_bytes", spec.in_bytes},
              {"out_bytes", spec.out_bytes},
              {"in_splits", spec.in_splits},
              {"out_splits", spec.out_splits},
              {"root", spec.root},
              {"peer", spec.peer},
              {"tag", spec.tag},
              {"reduce_op", Name(spec.op)},
              {"reduce_op_recorded", spec.op_recorded},
              {"async", spec.async}};
  return out;
}

Json ToJson(const Node& node) {
  Json deps = Json::array();
  for (const Dependency& dep : node.deps) {
    deps.push_back({{"id", dep.node_id}, {"reason", Name(dep.reason)}, {"inferred", dep.inferred}});
  }
  Json out = {
      {"id", node.id},
      {"name", node.name},
      {"type", Name(node.type)},
      {"op_kind", Name(node.kind)},
      {"op_class", Name(node.op_class)},
      {"actor",
       {{"kind", Name(node.actor.kind)}, {"id", node.actor.id}, {"device", node.actor.device}}},
      {"deps", std::move(deps)},
      {"start_ns", node.start_ns},
      {"duration_ns", node.duration_ns},
      {"delay_ns", node.delay_ns},
      {"transfer_ns", node.transfer_ns},
      {"tracing_ns", node.tracing_ns},
      {"tracing_delay_ns", node.tracing_delay_ns},
      {"step", node.step},
      {"rf_id", node.rf_id},
      {"seq_id", node.seq_id},
      {"parent", node.parent},
      {"op_schema", node.op_schema},
      {"inputs", ToJson(node.inputs)},
      {"outputs", ToJson(node.outputs)}};
  if (node.comm) {
    out["comm"] = ToJson(*node.comm);
  }
  if (!node.op.empty()) {
    out["op"] = node.op;
  }
  if (node.results_inferred) {
    out["results_inferred"] = true;
  }
  if (node.device_work) {
    const DeviceWork& work = *node.device_work;
    out["device_work"] = {{"correlation", work.correlation},
                          {"launch_recorded", work.launch_recorded},
                          {"grid", work.grid},
                          {"block", work.block},
                          {"registers_per_thread", work.registers_per_thread},
                          {"shared_memory_bytes", work.shared_memory_bytes},
                          {"copied_bytes", work.copied_bytes}};
  }
  if (node.num_ops >= 0) {
    out["num_ops"] = node.num_ops;
  }
  if (node.tensor_bytes >= 0) {
    out["tensor_bytes"] = node.tensor_bytes;
  }
  return out;
}

Json ToJson(const TraceMetadata& metadata) {
  Json steps = Json::array();
  for (const Step& step : metadata.steps) {
    steps.push_back(
        {{"name", step.name}, {"start_ns", step.start_ns}, {"duration_ns", step.duration_ns}});
  }
  Json ranges = Json::array();
  for (const Range& range : metadata.ranges) {
    ranges.push_back({{"name", range.name},
                      {"thread", range.thread},
                      {"start_ns", range.start_ns},
                      {"duration_ns", range.duration_ns},
                      {"step", range.step}});
  }
  Json diagnostics = Json::object();
  for (const auto& [name, count] : metadata.diagnostics) {
    diagnostics[name] = count;
  }
  return {{"version", metadata.version},
          {"rank", metadata.rank},
          {"world_size", metadata.world_size},
          {"base_ns", metadata.base_ns},
          {"source", metadata.source},
          {"steps", std::move(steps)},
          {"ranges", std::move(ranges)},
          {"untraced_step_ns", metadata.untraced_step_ns},
          {"tracing_call_ns", metadata.tracing_call_ns},
          {"machine", reprise::ToJson(metadata.machine)},
          {"clock_offset_ns", metadata.clock_offset_ns},
          {"clock_drift", metadata.clock_drift},
          {"clock_uncertainty_ns", metadata.clock_uncertainty_ns},
          {"link", reprise::ToJson(metadata.link)},
          {"diagnostics", std::move(diagnostics)}};
}

std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

nlohmann::ordered_json ToJson(const RecordedMachine& machine) {
  if (machine == RecordedMachine{}) {
    return nullptr;
  }
  return {{"processor", machine.processor},
          {"device", machine.device},
          {"framework", machine.framework},
          {"threads", machine.threads},
          {"cores", machine.cores}};
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
  Node node;
  std::uint64_t nodes = 0;
  for (;;) {
    REPRISE_ASSIGN(const bool more, reader->Next(node));
    if (!more) {
      break;
    }
    if (!step || node.step == *step) {
      out << (nodes == 0 ? "\n" : ",\n") << Dump(ToJson(node));
      ++nodes;
    }
  }
  out << "\n]}\n";
  out.flush();
  if (!out) {
    return EnvironmentError(fmt::format("{}: its JSON could not be written", et_path));
  }
  return nodes;
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
  out << "]}\n";
  out.flush();
  if (!out) {
    return EnvironmentError(fmt::format("{}: its JSON could not be written", set.directory));
  }
  return nodes;
}

}  // namespace reprise
