#include "converters/chakra/linked_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "converters/host_arguments.h"
#include "converters/json_split.h"
#include "converters/tensors_in.h"

namespace reprise::chakra {
namespace {

using simdjson::dom::array;
using simdjson::dom::element;

// Storage ids stand in for incarnations, as in other foreign files.
void SetIncarnations(ValueList& values) {
  ForEachTensor(values, [](TensorDesc& tensor) {
    tensor.incarnation = tensor.storage_id > 0 ? tensor.storage_id : -1;
  });
}

class LinkedNodeReader {
 public:
  LinkedNodeReader(const TextFile& file, Diagnostics& diagnostics)
      : file_(file), diagnostics_(diagnostics) {}

  Result<LinkedTrace> Read() {
    REPRISE_ASSIGN(const SplitJson json, SplitObject(file_, "nodes"));
    LinkedTrace trace;
    const std::string_view schema = json.Member("schema");
    if (!json.has_array || schema.size() < 2 || schema.front() != '"') {
      return BadInput(
          fmt::format("{}: no \"schema\" and list of \"nodes\": not what chakra_trace_link writes",
                      file_.path()));
    }
    trace.schema = schema.substr(1, schema.size() - 2);
    trace.nodes.resize(json.elements.size());
    for (std::size_t i = 0; i < json.elements.size(); ++i) {
      offset_ = file_.OffsetOf(json.elements[i]);
      bool patched = false;
      REPRISE_ASSIGN(const element root, ParseElement(parser_, file_, json.elements[i], &patched));
      if (patched) {
        Count("non_json_number");
      }
      REPRISE_TRY(ReadNode(root, trace.nodes[i]));
    }
    return trace;
  }

 private:
  Status ReadNode(element root, LinkedNode& node) {
    element inputs;
    element outputs;
    if (root["id"].get(node.id) != simdjson::SUCCESS ||
        root["inputs"].get(inputs) != simdjson::SUCCESS ||
        root["outputs"].get(outputs) != simdjson::SUCCESS ||
        root["ctrl_deps"].error() != simdjson::SUCCESS) {
      return BadInput(fmt::format(
          "{}: the node at byte {} lacks one of id, ctrl_deps, inputs, outputs: not a linked trace "
          "of schema 1.0.2 or later",
          file_.path(), offset_));
    }
    node.caller = static_cast<std::uint64_t>(Whole(root, "ctrl_deps", 0));
    node.name = Text(root, "name");
    node.category = Text(root, "cat");
    node.stream = Whole(root, "stream", 0);
    node.group_name = Text(root, "pg_name");
    node.start_ns = Nanoseconds(root, "ts", -1);
    node.duration_ns = Nanoseconds(root, "inclusive_dur", Nanoseconds(root, "exclusive_dur", 0));
    bool odd = false;  // counted where a host trace is read for itself
    node.inputs = ParseArguments(NestedLists(inputs), odd);
    node.outputs = ParseArguments(NestedLists(outputs), odd);
    SetIncarnations(node.inputs);
    SetIncarnations(node.outputs);
    AddWaits(root, "inter_thread_dep", node);
    AddWaits(root, "sync_dep", node);
    ReadAttributes(root, node);
    return {};
  }

  void ReadAttributes(element root, LinkedNode& node) {
    array list;
    if (root["attrs"].get(list) != simdjson::SUCCESS) {
      Count("json_value_type", "attrs");
      return;
    }
    for (const element attribute : list) {
      const std::string name = Text(attribute, "name");
      if (name == "rf_id") {
        node.rf_id = Whole(attribute, "value", -1);
      } else if (name == "seq_id") {
        node.seq_id = Whole(attribute, "value", -1);
      } else if (name == "tid") {
        node.thread = Whole(attribute, "value", 0);
      } else if (name == "op_schema") {
        node.op_schema = Text(attribute, "value");
      } else if (name == "pg_name" && node.group_name.empty()) {
        node.group_name = Text(attribute, "value");
      } else if (name == "dtype") {
        node.dtype = Text(attribute, "value");
      } else if (name == "collective_name") {
        node.collective = Text(attribute, "value");
      } else if (name == "in_msg_nelems") {
        node.in_elements = Whole(attribute, "value", -1);
      } else if (name == "out_msg_nelems") {
        node.out_elements = Whole(attribute, "value", -1);
      }
    }
  }

  // One id, a list of ids, or null.
  void AddWaits(element root, const char* key, LinkedNode& node) {
    element value;
    if (root[key].get(value) != simdjson::SUCCESS || value.is_null()) {
      return;
    }
    std::uint64_t id = 0;
    array list;
    if (value.get(id) == simdjson::SUCCESS) {
      node.waits_for.push_back(id);
    } else if (value.get(list) == simdjson::SUCCESS) {
      for (const element item : list) {
        item.get(id) == simdjson::SUCCESS ? node.waits_for.push_back(id)
                                          : Count("json_value_type", key);
      }
    } else {
      Count("json_value_type", key);
    }
  }

  std::string Text(element root, const char* key) {
    element value;
    std::string_view text;
    if (root[key].get(value) != simdjson::SUCCESS || value.is_null()) {
      return {};
    }
    if (value.get(text) != simdjson::SUCCESS) {
      Count("json_value_type", key);
    }
    return std::string(text);
  }

  std::int64_t Whole(element root, const char* key, std::int64_t absent) {
    element value;
    std::int64_t number = absent;
    if (root[key].get(value) == simdjson::SUCCESS && !value.is_null() &&
        value.get(number) != simdjson::SUCCESS) {
      Count("json_value_type", key);
    }
    return number;
  }

  // Times are microseconds, with a fraction.
  std::int64_t Nanoseconds(element root, const char* key, std::int64_t absent) {
    constexpr double kMax = 4e15;  // µs; a century
    element value;
    double micros = 0;
    if (root[key].get(value) != simdjson::SUCCESS || value.is_null()) {
      return absent;
    }
    if (value.get(micros) != simdjson::SUCCESS || !(micros >= 0 && micros < kMax)) {
      Count("json_value_type", key);
      return absent;
    }
    const double whole = std::floor(micros);
    return static_cast<std::int64_t>(whole) * 1000 + std::llround((micros - whole) * 1000);
  }

  void Count(std::string_view name, std::string_view what = {}) {
    diagnostics_.Count(name, fmt::format("{}: at byte {}{}{}", file_.path(), offset_,
                                         what.empty() ? "" : ", ", what));
  }

  const TextFile& file_;
  Diagnostics& diagnostics_;
  simdjson::dom::parser parser_;
  std::size_t offset_ = 0;
};

std::int64_t BytesOf(std::int64_t count, std::int64_t bytes) {
  constexpr std::int64_t kMax = std::int64_t{1} << 50;
  return std::min(count, kMax) * bytes;
}

std::int64_t Sum(const ValueList& values) {
  std::int64_t bytes = 0;
  for (const TensorDesc* tensor : TensorsIn(values)) {
    bytes += BytesOf(std::max<std::int64_t>(tensor->elements, 0), SizeOf(tensor->dtype));
  }
  return bytes;
}

}  // namespace

Result<LinkedTrace> ReadLinkedNodes(const TextFile& file, Diagnostics& diagnostics) {
  return LinkedNodeReader(file, diagnostics).Read();
}

void FillLinkedTransfer(CommKind kind, const LinkedNode& from, Node& node) {
  CommSpec& spec = node.comm.emplace();
  spec.kind = kind;
  spec.group = from.group_name;
  spec.async = true;
  spec.dtype = ParseDType(from.dtype);
  const std::int64_t bytes = SizeOf(spec.dtype);
  spec.in_bytes = from.in_elements >= 0 ? BytesOf(from.in_elements, bytes) : Sum(node.inputs);
  spec.out_bytes = from.out_elements >= 0 ? BytesOf(from.out_elements, bytes) : spec.in_bytes;
  if (spec.dtype == DType::kUnknown) {
    const auto tensors = TensorsIn(node.inputs);
    spec.dtype = tensors.empty() ? DType::kUnknown : tensors.front()->dtype;
  }
  node.type = NodeType::kCommColl;
  node.kind = OpKind::kComm;
  node.op_class = OpClass::kComm;
  node.actor = {.kind = Actor::Kind::kGroup};
}

}  // namespace reprise::chakra
