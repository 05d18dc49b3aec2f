#include "synthetic_capture.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "converters/converter.h"
#include "core/value.h"

namespace reprise::pytorch {

using nlohmann::json;
namespace fs = std::filesystem;

namespace {

int ItemBytes(const std::string& dtype) { return SizeOf(ParseDType(dtype)); }

json Arguments(const std::vector<Arg>& args) {
  json out = {{"values", json::array()},
              {"shapes", json::array()},
              {"types", json::array()},
              {"strides", json::array()}};
  for (const Arg& arg : args) {
    out["values"].push_back(arg.value);
    out["shapes"].push_back(arg.shape);
    out["types"].push_back(arg.type);
    out["strides"].push_back(arg.stride);
  }
  return out;
}

json Attribute(const std::string& name, const std::string& type, json value) {
  return {{"name", name}, {"type", type}, {"value", std::move(value)}};
}

}  // namespace

Arg TensorArg(int storage, std::vector<std::int64_t> shape, const std::string& dtype,
              std::int64_t offset) {
  const std::int64_t elements = ElementCount(shape);
  return {.value = {storage * 10 + 1, storage, offset, elements, ItemBytes(dtype), "cpu"},
          .shape = shape,
          .stride = ContiguousStrides(shape),
          .type = "Tensor(" + dtype + ")"};
}
Arg UndefinedArg() {
  return {.value = {9999, 0, 0, 0, 0, ""}, .type = "Tensor(nullptr (uninitialized))"};
}
Arg IntArg(std::int64_t value) { return {.value = value, .type = "Int"}; }
Arg BoolArg(bool value) { return {.value = value, .type = "Bool"}; }
Arg DoubleArg(double value) { return {.value = value, .type = "Double"}; }
Arg LiteralArg(const std::string& type) { return {.value = "<" + type + ">", .type = type}; }
Arg ListArg(std::vector<Arg> items, const std::string& kind) {
  Arg out{.value = json::array(), .type = kind + "["};
  for (const Arg& item : items) {
    out.value.push_back(item.value);
    out.shape.push_back(item.shape);
    out.stride.push_back(item.stride);
    out.type += (out.type.back() == '[' ? "" : ",") + item.type;
  }
  out.type += "]";
  return out;
}

SyntheticCapture::SyntheticCapture(int rank, int world_size)
    : rank_(rank),
      world_size_(world_size),
      nodes_(json::array()),
      events_(json::array()),
      groups_(json::array()) {
  Add({.name = "[pytorch|profiler|execution_trace|thread]", .in_kineto = false});
  nodes_.back()["attrs"][0]["value"] = 0;  // rf_id 0: shared by process and thread nodes
  nodes_.push_back(nodes_.back());
  nodes_.back()["id"] = 1;
  nodes_.back()["ctrl_deps"] = 1;  // the process is its own parent
  nodes_.back()["name"] = "[pytorch|profiler|execution_trace|process]";
}

SyntheticCapture& SyntheticCapture::Add(SyntheticOp op) {
  const std::int64_t rf_id = next_rf_++;
  if (op.in_host) {
    json attributes = {Attribute("rf_id", "uint64", rf_id),
                       Attribute("fw_parent", "uint64", 0),
                       Attribute("seq_id", "int64", op.seq_id),
                       Attribute("scope", "uint64", op.scope),
                       Attribute("tid", "uint64", op.host_thread),
                       Attribute("fw_tid", "uint64", op.forward_thread),
                       Attribute("op_schema", "string", op.schema)};
    for (const auto& [name, value] : op.comm.items()) {
      attributes.push_back(Attribute(name, "string", value));
    }
    nodes_.push_back({{"id", next_id_},
                      {"name", op.name},
                      {"ctrl_deps", op.caller},
                      {"inputs", Arguments(op.inputs)},
                      {"outputs", Arguments(op.outputs)},
                      {"attrs", attributes}});
  }
  next_id_ += 2;  // ids have gaps
  if (op.in_kineto) {
    json args = {{"External id", 77}, {"Record function id", rf_id}, {"Ev Idx", rf_id}};
    if (op.kineto_args.is_object()) {
      args.update(op.kineto_args);
    }
    events_.push_back({{"ph", "X"},
                       {"cat", op.category},
                       {"name", op.name},
                       {"pid", 1},
                       {"tid", op.tid},
                       {"ts", op.start_us},
                       {"dur", op.duration_us},
                       {"args", args}});
  }
  return *this;
}

SyntheticCapture& SyntheticCapture::Groups(json groups) {
  groups_ = std::move(groups);
  Add({.name = "## process_group:init ##",
       .inputs = {{.value = groups_.dump(), .type = "String"}},
       .schema = "",
       .scope = 7,
       .in_kineto = false});
  return *this;
}

SyntheticCapture& SyntheticCapture::Step(double start_us, double duration_us) {
  return Add({.name = "ProfilerStep#3",
              .start_us = start_us,
              .duration_us = duration_us,
              .schema = "",
              .category = "user_annotation",
              .scope = 7});
}

SyntheticCapture& SyntheticCapture::AllReduce(double call_us, double start_us, double end_us,
                                              int storage, std::int64_t elements,
                                              std::int64_t worker, bool blocking) {
  const Arg tensor = TensorArg(storage, {elements});
  Add({.name = "c10d::allreduce_",
       .start_us = call_us,
       .duration_us = 20,
       .inputs = {ListArg({tensor}), LiteralArg("Object"), LiteralArg("Object"), LiteralArg("None"),
                  BoolArg(!blocking), IntArg(-1)},
       .outputs = {ListArg({tensor}), LiteralArg("Object")},
       .schema = "c10d::allreduce_(Tensor[] tensors, __torch__.torch.classes.c10d.ProcessGroup "
                 "process_group, __torch__.torch.classes.c10d.ReduceOp reduce_op, Tensor? "
                 "sparse_indices, bool async_op=True, int timeout=-1) -> (Tensor[], Work)"});
  return Add({.name = "gloo:all_reduce",
              .start_us = start_us,
              .duration_us = end_us - start_us,
              .tid = worker,
              .inputs = {tensor},
              .schema = "",
              .category = "user_annotation",
              .scope = 7});
}

SyntheticCapture& SyntheticCapture::Call(const std::string& name, double start_us,
                                         double duration_us, std::int64_t correlation,
                                         std::int64_t tid) {
  events_.push_back({{"ph", "X"},
                     {"cat", "cuda_runtime"},
                     {"name", name},
                     {"pid", 100},
                     {"tid", tid},
                     {"ts", start_us},
                     {"dur", duration_us},
                     {"args", {{"correlation", correlation}, {"cbid", 1}}}});
  return *this;
}

SyntheticCapture& SyntheticCapture::Kernel(const std::string& name, double start_us,
                                           double duration_us, std::int64_t correlation,
                                           std::int64_t stream, const std::string& category,
                                           json args) {
  json all = {{"device", 0},       {"stream", stream},     {"correlation", correlation},
              {"grid", {4, 2, 1}}, {"block", {128, 1, 1}}, {"registers per thread", 32}};
  if (args.is_object()) {
    all.update(args);
  }
  events_.push_back({{"ph", "X"},
                     {"cat", category},
                     {"name", name},
                     {"pid", 0},
                     {"tid", stream},
                     {"ts", start_us},
                     {"dur", duration_us},
                     {"args", all}});
  return *this;
}

SyntheticCapture& SyntheticCapture::Sync(const std::string& kind, std::int64_t correlation,
                                         std::int64_t stream, std::int64_t source_stream,
                                         std::int64_t source_correlation) {
  events_.push_back({{"ph", "X"},
                     {"cat", "cuda_sync"},
                     {"name", kind},
                     {"pid", 0},
                     {"tid", stream},
                     {"ts", 0},
                     {"dur", 1},
                     {"args",
                      {{"correlation", correlation},
                       {"device", 0},
                       {"stream", stream},
                       {"wait_on_stream", source_stream},
                       {"wait_on_cuda_event_record_corr_id", source_correlation}}}});
  return *this;
}

std::string SyntheticCapture::HostText() const {
  return json{{"schema", schema}, {"pid", 1}, {"time", "now"}, {"nodes", nodes_}}.dump();
}

std::string SyntheticCapture::KinetoText() const {
  json config = json::array();
  for (json group : groups_) {
    group["pg_size"] = group["group_size"];
    if (group["ranks"].empty()) {
      for (int r = 0; r < world_size_; ++r) {
        group["ranks"].push_back(r);
      }
    }
    config.push_back(group);
  }
  json out = {{"schemaVersion", 1}, {"baseTimeNanoseconds", kBaseNs}, {"traceEvents", events_}};
  if (world_size_ > 1) {
    out["distributedInfo"] = {{"rank", rank_}, {"world_size", world_size_}, {"pg_config", config}};
  }
  return out.dump();
}

void SyntheticCapture::Write(const std::string& directory) const {
  const std::string stem = directory + "/rank" + std::to_string(rank_);
  WriteText(stem + ".et.json", HostText());
  WriteText(stem + ".kineto.json", KinetoText());
}

std::string FreshDirectory(const std::string& name) {
  const fs::path path = fs::path(REPRISE_BINARY_DIR) / "test_converters_files" / name;
  fs::remove_all(path);
  fs::create_directories(path);
  return path.string();
}

void WriteText(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

const Node* LoadedTrace::Find(const std::string& name, std::size_t nth) const {
  for (const Node& node : nodes) {
    if (node.name == name && nth-- == 0) {
      return &node;
    }
  }
  return nullptr;
}

const Node* LoadedTrace::ById(std::uint64_t id) const {
  const auto it =
      std::find_if(nodes.begin(), nodes.end(), [&](const Node& node) { return node.id == id; });
  return it == nodes.end() ? nullptr : &*it;
}

std::uint64_t LoadedTrace::Diagnostic(const std::string& name) const {
  for (const auto& [counter, count] : metadata.diagnostics) {
    if (counter == name) {
      return count;
    }
  }
  return 0;
}

EdgeReason LoadedTrace::Edge(const Node& from, const Node& to) const {
  for (const Dependency& dep : to.deps) {
    if (dep.node_id == from.id) {
      return dep.reason;
    }
  }
  return EdgeReason::kUnknown;
}

Result<LoadedTrace> Load(const std::string& path) {
  REPRISE_ASSIGN(auto reader, EtReader::Open(path));
  LoadedTrace out{.metadata = reader->metadata(), .nodes = {}};
  for (Node node;;) {
    REPRISE_ASSIGN(const bool more, reader->Next(node));
    if (!more) {
      return out;
    }
    out.nodes.push_back(node);
  }
}

Result<std::vector<LoadedTrace>> ConvertAll(const std::string& name,
                                            const std::vector<SyntheticCapture>& captures) {
  const std::string root = FreshDirectory(name);
  const std::string in = root + "/capture";
  fs::create_directories(in);
  for (const SyntheticCapture& capture : captures) {
    capture.Write(in);
  }
  REPRISE_ASSIGN(const ConvertReport report,
                 FindConverter("pytorch")->convert(
                     {.input_directory = in, .output_directory = root + "/out", .name = "t"}));
  std::vector<LoadedTrace> out;
  for (const ConvertedRank& rank : report.ranks) {
    REPRISE_ASSIGN(LoadedTrace trace, Load(rank.path));
    out.push_back(std::move(trace));
  }
  return out;
}

}  // namespace reprise::pytorch
