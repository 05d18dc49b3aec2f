#include "converters/pytorch/host_node.h"

#include <fmt/format.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "converters/host_values.h"

namespace reprise::pytorch {
namespace {

using simdjson::dom::element;
using Member = simdjson::simdjson_result<element>;

// Fresh node ids come after the recorded ones.
constexpr std::uint64_t kHighestId = std::uint64_t{1} << 62;

// The members of these names, found in one walk; of two of a name, the first.
template <std::size_t kCount>
std::array<Member, kCount> FindMembers(element root, const std::string_view (&names)[kCount]) {
  std::array<Member, kCount> out;
  out.fill(Member(simdjson::NO_SUCH_FIELD));
  simdjson::dom::object object;
  if (root.get(object) != simdjson::SUCCESS) {
    return out;
  }
  for (const auto& [key, value] : object) {
    for (std::size_t i = 0; i < kCount; ++i) {
      if (key == names[i] && out[i].error() != simdjson::SUCCESS) {
        out[i] = Member(element(value));
      }
    }
  }
  return out;
}

class NodeReader {
 public:
  NodeReader(BatchStrings& strings, HostNode& node, std::uint8_t& oddities)
      : strings_(strings), node_(node), oddities_(oddities) {}

  // Since 1.0.2: [{"name": "rf_id", "type": "uint64", "value": 4}, …].
  void ReadAttributes(simdjson::dom::array attributes) {
    for (const element attribute : attributes) {
      const auto [named, value] = FindMembers(attribute, {"name", "value"});
      std::string_view name;
      if (named.get(name) != simdjson::SUCCESS || value.error() != simdjson::SUCCESS) {
        oddities_ |= kUnreadableAttribute;
        continue;
      }
      Read(name, value.value_unsafe());
    }
    Finish();
  }

  // Before: members of the node itself.
  void ReadMembers(const simdjson::dom::object& members) {
    for (const auto& [name, value] : members) {
      Read(name, value);
    }
    Finish();
  }

 private:
  void Read(std::string_view name, element value) {
    if (!ReadField(name, value) && ReadComm(name, value)) {
      has_comm_ = true;
    }
  }

  void Finish() {
    if (has_comm_) {
      node_.comm = std::make_unique<CommAttributes>(std::move(comm_));
    }
  }

  bool ReadField(std::string_view name, element value) {
    if (name == "rf_id") {
      Number(value, node_.rf_id);
    } else if (name == "seq_id") {
      Number(value, node_.seq_id);
    } else if (name == "tid") {
      Number(value, node_.thread);
    } else if (name == "fw_tid") {
      Number(value, node_.forward_thread);
    } else if (name == "scope") {
      std::int64_t scope = 0;
      Number(value, scope);
      node_.scope = static_cast<Scope>(scope);
    } else if (name == "op_schema") {
      node_.op_schema = strings_.Intern(Text(value));
    } else {
      return false;
    }
    return true;
  }

  bool ReadComm(std::string_view name, element value) {
    if (name == "collective_name") {
      comm_.collective = Text(value);
    } else if (name == "dtype") {
      comm_.dtype = Text(value);
    } else if (name == "pg_name") {
      comm_.group_name = Text(value);
    } else if (name == "pg_desc") {
      comm_.group_description = Text(value);
    } else if (name == "in_msg_nelems") {
      Number(value, comm_.in_elements);
    } else if (name == "out_msg_nelems") {
      Number(value, comm_.out_elements);
    } else if (name == "in_split_size") {
      comm_.in_splits = ParseIntegerList(Text(value));
    } else if (name == "out_split_size") {
      comm_.out_splits = ParseIntegerList(Text(value));
    } else if (name == "pg_size") {
      Number(value, comm_.group_size);
    } else if (name == "is_asynchronized_op") {
      comm_.async = Truth(value);
    } else {
      return false;
    }
    return true;
  }

  void Number(element value, std::int64_t& out) {
    if (value.get(out) != simdjson::SUCCESS) {
      oddities_ |= kUnreadableAttribute;
    }
  }

  std::string_view Text(element value) {
    std::string_view text;
    if (value.get(text) != simdjson::SUCCESS) {
      oddities_ |= kUnreadableAttribute;
    }
    return text;
  }

  // {"name": "is_asynchronized_op", "type": "string", "value": false}
  bool Truth(element value) {
    bool out = false;
    if (value.get(out) == simdjson::SUCCESS) {
      return out;
    }
    const std::string_view text = Text(value);
    return text == "true" || text == "True" || text == "1";
  }

  BatchStrings& strings_;
  HostNode& node_;
  std::uint8_t& oddities_;
  CommAttributes comm_;
  bool has_comm_ = false;
};

// The caller is not needed to read a trace: one that makes no sense is none.
std::uint64_t Caller(const Member& ctrl_deps, const Member& parent) {
  std::uint64_t caller = 0;
  if (ctrl_deps.get(caller) != simdjson::SUCCESS && parent.get(caller) != simdjson::SUCCESS) {
    return 0;
  }
  return caller;
}

Status CheckId(const Member& id, const TextFile& file, std::size_t at_byte, HostNode& node) {
  if (id.get(node.id) != simdjson::SUCCESS || node.id >= kHighestId) {
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
  NodeReader reader(strings, node, oddities);
  if (attrs.get(attributes) == simdjson::SUCCESS) {
    node.inputs = ParseArguments(NestedLists(inputs.value_unsafe()), odd);
    node.outputs = ParseArguments(NestedLists(outputs.value_unsafe()), odd);
    reader.ReadAttributes(attributes);
  } else if (simdjson::dom::object members;
             root["tid"].error() == simdjson::SUCCESS && root.get(members) == simdjson::SUCCESS) {
    node.inputs = ParseArguments(
        {inputs, root["input_shapes"], root["input_types"], root["input_strides"]}, odd);
    node.outputs = ParseArguments(
        {outputs, root["output_shapes"], root["output_types"], root["output_strides"]}, odd);
    reader.ReadMembers(members);
  } else {
    return lacks("its fields, both as attrs and as members (tid, …)");
  }
  oddities |= odd ? kListsDiffer : 0;
  return {};
}

}  // namespace reprise::pytorch
