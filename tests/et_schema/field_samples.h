// For each row of node_fields.h, a node with another value than the default.
#pragma once

#include <string>
#include <type_traits>
#include <vector>

#include "core/operators.h"
#include "et_schema/node_fields.h"

namespace reprise {

// A value that is not the default `value`.
template <typename T>
T SampleOf(const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    return !value;
  } else if constexpr (std::is_same_v<T, std::string>) {
    return "aten::linear";
  } else if constexpr (std::is_enum_v<T>) {
    return static_cast<T>(static_cast<int>(value) + 1);
  } else if constexpr (requires { value.size(); }) {
    T list = value;
    if constexpr (requires { list.resize(3); }) {
      list.resize(3);
    }
    for (auto& item : list) {
      item += 5;
    }
    return list;
  } else {
    return static_cast<T>(value + 7);
  }
}

// Waits for no other: of a host thread, of a device, and a collective.
inline Node PlainNode() {
  Node node;
  node.id = 1;
  node.name = "aten::mm";
  node.type = NodeType::kComp;
  node.actor = {Actor::Kind::kThread, 1, -1};
  node.start_ns = 1000;
  node.duration_ns = 500;
  return node;
}
inline Node DeviceNode() {
  Node node = PlainNode();
  node.actor = {Actor::Kind::kStream, 7, 0};
  node.device_work.emplace();
  return node;
}
inline Node TransferNode() {
  Node node = PlainNode();
  node.type = NodeType::kCommColl;
  node.kind = OpKind::kComm;
  node.op_class = OpClass::kComm;
  node.actor = {Actor::Kind::kGroup, 0, -1};
  node.comm.emplace().group = "1";
  return node;
}

struct FieldSample {
  std::string name;     // in files
  std::string sharing;  // what policies may say of it; empty: what they say of another field
  Node without, with;   // the default, and another value
};

inline std::vector<FieldSample> FieldSamples() {
  std::vector<FieldSample> samples;
  // `owner` has the members of a node that the table's rows are.
  const auto add = [&](const auto& table, const Node& base, const auto& owner) {
    ForEachMember(table, [&](const auto& row) {
      FieldSample& sample = samples.emplace_back(
          FieldSample{std::string(row.name), std::string(row.sharing.may), base, base});
      auto& value = row.Of(owner(sample.with));
      value = SampleOf(value);
    });
  };
  add(kNodeFields, PlainNode(), [](Node& node) -> Node& { return node; });
  add(kDeviceFields, DeviceNode(), [](Node& node) -> DeviceWork& { return *node.device_work; });
  add(kTransferFields, TransferNode(), [](Node& node) -> CommSpec& { return *node.comm; });
  for (FieldSample& sample : samples) {
    if (sample.with.comm) {
      sample.with.comm->outside = sample.with.comm->unmatched;  // which follows, in files or not
    }
  }
  return samples;
}

}  // namespace reprise
