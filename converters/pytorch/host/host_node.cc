#include "converters/pytorch/host/host_node.h"

#include <fmt/format.h>

#include <string_view>

#include "converters/host_arguments.h"
#include "converters/json_members.h"
#include "converters/pytorch/host/host_fields.h"

namespace reprise::pytorch {
namespace {

using simdjson::dom::element;

// Since 1.0.2: [{"name": "rf_id", "type": "uint64", "value": 4}, …]. Before: members of the node.
void ReadAttributes(const simdjson::dom::array& attributes, HostFields<element>& fields,
                    std::uint8_t& oddities) {
  for (const element attribute : attributes) {
    const auto [named, value] = FindMembers(attribute, {"name", "value"});
    std::string_view name;
    if (named.get(name) != simdjson::SUCCESS || value.error() != simdjson::SUCCESS) {
      oddities |= kUnreadableAttribute;
      continue;
    }
    fields.Read(HostFieldOf(name), value.value_unsafe());
  }
}

// The caller is not needed to read a trace: one that makes no sense is none.
std::uint64_t Caller(const JsonMember& ctrl_deps, const JsonMember& parent) {
  std::uint64_t caller = 0;
  if (ctrl_deps.get(caller) != simdjson::SUCCESS && parent.get(caller) != simdjson::SUCCESS) {
    return 0;
  }
  return caller;
}

Status CheckId(const JsonMember& id, const TextFile& file, std::size_t at_byte, HostNode& node) {
  if (id.get(node.id) != simdjson::SUCCESS || node.id >= kNodeIdLimit) {
    return BadInput(fmt::format(
        "{}: the node at byte {} has no id, or one that is no whole number from 0 to 2^62: not a "
        "host trace, or damaged",
        file.path(), at_byte));
  }
  return {};
}

}  // namespace

Status ReadHostNode(element root, const TextFile& file, std::size_t at_byte, BatchStrings& strings,
                    HostNode& node, std::uint8_t& oddities) {
  const auto [id, named, ctrl_deps, parent, inputs, outputs, attrs] =
      FindMembers(root, {"id", "name", "ctrl_deps", "parent", "inputs", "outputs", "attrs"});
  REPRISE_TRY(CheckId(id, file, at_byte, node));
  const auto lacks = [&](std::string_view what) {
    return BadInput(fmt::format(
        "{}: node {} at byte {} lacks {}: not a host trace of a schema that is read, or damaged",
        file.path(), node.id, at_byte, what));
  };
  std::string_view name;
  if (named.get(name) != simdjson::SUCCESS) {
    return lacks("a name (text)");
  }
  node.name = strings.Intern(name);
  node.op_schema = strings.Intern("");
  node.caller = Caller(ctrl_deps, parent);
  bool odd = false;
  simdjson::dom::array attributes;
  if (inputs.error() != simdjson::SUCCESS || outputs.error() != simdjson::SUCCESS) {
    return lacks("inputs or outputs");
  }
  HostFields<element> fields(strings, node, oddities);
  if (attrs.get(attributes) == simdjson::SUCCESS) {
    node.inputs = ParseArguments(NestedLists(inputs.value_unsafe()), odd);
    node.outputs = ParseArguments(NestedLists(outputs.value_unsafe()), odd);
    ReadAttributes(attributes, fields, oddities);
  } else if (simdjson::dom::object members;
             root["tid"].error() == simdjson::SUCCESS && root.get(members) == simdjson::SUCCESS) {
    node.inputs = ParseArguments(
        {inputs, root["input_shapes"], root["input_types"], root["input_strides"]}, odd);
    node.outputs = ParseArguments(
        {outputs, root["output_shapes"], root["output_types"], root["output_strides"]}, odd);
    for (const auto& [member, value] : members) {
      fields.Read(HostFieldOf(member), value);
    }
  } else {
    return lacks("its fields, both as attrs and as members (tid, …)");
  }
  oddities |= odd ? kListsDiffer : 0;
  return {};
}

}  // namespace reprise::pytorch
