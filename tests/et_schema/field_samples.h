// For each field of fields.def that a node has, a node with another value than the default.
#pragma once

#include <string>
#include <type_traits>
#include <vector>

#include "core/operators.h"
#include "et_schema/node.h"

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
  const auto add = [&](const char* name, std::string_view sharing, const Node& base,
                       const auto& set) {
    FieldSample& sample = samples.emplace_back(name, std::string(sharing), base, base);
    set(sample.with);
  };
#define NODE_FIELD(symbol, member, key, type, value, written, storage, json, sharing) \
  add(key, (sharing).actions, PlainNode(),                                            \
      [](Node& node) { node.member = SampleOf<field::type::Value>(node.member); });
#define DEVICE_FIELD(symbol, member, key, type, value, written, sharing)               \
  add(key, (sharing).actions, DeviceNode(), [](Node& node) {                           \
    node.device_work->member = SampleOf<field::type::Value>(node.device_work->member); \
  });
#define COMM_FIELD(symbol, member, key, type, value, written, json, sharing) \
  add(key, (sharing).actions, TransferNode(),                                \
      [](Node& node) { node.comm->member = SampleOf<field::type::Value>(node.comm->member); });
#define COMM_PART(symbol, member, key, type, value, written, json, of) \
  add(key, "", TransferNode(),                                         \
      [](Node& node) { node.comm->member = SampleOf<field::type::Value>(node.comm->member); });
#include "et_schema/fields.def"
  return samples;
}

}  // namespace reprise
