// How a Graph keeps its nodes: one array per field, everything that repeats interned. Only
// et_schema sees this.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "et_schema/graph.h"
#include "et_schema/node_stream.h"
#include "et_schema/string_pool.h"

namespace reprise {

// id → index, open addressing; the ids themselves stay in the Graph's array.
class IdTable {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  // Indices whose id an earlier index has already.
  std::vector<std::uint32_t> Build(const std::vector<std::uint64_t>& ids);
  [[nodiscard]] std::uint32_t Find(const std::vector<std::uint64_t>& ids, std::uint64_t id) const;
  [[nodiscard]] std::size_t MemoryBytes() const { return table_.capacity() * sizeof(table_[0]); }

 private:
  [[nodiscard]] std::size_t Slot(std::uint64_t id) const;
  std::vector<std::uint32_t> table_;  // index + 1, 0: free
};

// Where a field of fields.def is: an array, or the table of what few nodes have.
#define GRAPH_IS_COLUMN_Column(...) __VA_ARGS__
#define GRAPH_IS_COLUMN_Rare(...)
#define GRAPH_IS_RARE_Column(...)
#define GRAPH_IS_RARE_Rare(...) __VA_ARGS__

// What few nodes have, apart.
struct RareFields {
#define NODE_FIELD(symbol, member, name, type, value, written, storage, ...) \
  GRAPH_IS_RARE_##storage(field::type::Stored member = value;)
#include "et_schema/fields.def"
  bool operator==(const RareFields&) const = default;
};

// An array per field, by index of the node.
struct NodeColumns {
  std::vector<std::uint64_t> ids;
  std::vector<StringPool::Id> names;
  std::vector<NodeType> types;
  std::vector<std::uint32_t> actors;  // into actor_table
#define NODE_FIELD(symbol, member, name, type, value, written, storage, ...) \
  GRAPH_IS_COLUMN_##storage(std::vector<field::type::Stored> member;)
#include "et_schema/fields.def"
  std::vector<std::uint32_t> comms;         // into comm_table, or kNone
  std::vector<std::uint32_t> rares;         // into rare_table, or kNone
  std::vector<std::uint32_t> device_works;  // into device_work_table, or kNone
  std::vector<StringPool::Id> arg_forms;    // into forms
  std::vector<std::uint64_t> arg_ids;       // offset in id_bytes

  template <typename Visit>
  static void ForEach(auto& columns, const Visit& visit) {
    visit(columns.ids);
    visit(columns.names);
    visit(columns.types);
    visit(columns.actors);
#define NODE_FIELD(symbol, member, name, type, value, written, storage, ...) \
  GRAPH_IS_COLUMN_##storage(visit(columns.member);)
#include "et_schema/fields.def"
    visit(columns.comms);
    visit(columns.rares);
    visit(columns.device_works);
    visit(columns.arg_forms);
    visit(columns.arg_ids);
  }
};

struct Graph::Impl : NodeColumns {
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  TraceMetadata metadata;
  Diagnostics diagnostics;

  std::vector<std::uint32_t> dep_begin;  // size + 1
  std::vector<Index> deps;
  std::vector<EdgeReason> reasons;
  std::vector<bool> inferred;
  std::vector<Index> order;
  IdTable by_id;

  StringPool strings;
  StringPool forms;
  std::string id_bytes;
  std::vector<Actor> actor_table;
  std::vector<CommSpec> comm_table;
  std::vector<RareFields> rare_table;
  std::vector<DeviceWork> device_work_table;

  [[nodiscard]] RareFields RareOf(Index i) const {
    return rares[i] == kNone ? RareFields{} : rare_table[rares[i]];
  }
  // Between a field as nodes have it and as columns have it.
  template <typename Type>
  [[nodiscard]] auto Store(const typename Type::View& value) {
    if constexpr (std::is_same_v<Type, field::Text>) {
      return value.empty() ? StringPool::Id{0} : strings.Intern(value);
    } else {
      return static_cast<typename Type::Stored>(value);
    }
  }
  template <typename Type>
  [[nodiscard]] typename Type::View Restore(const typename Type::Stored& stored) const {
    if constexpr (std::is_same_v<Type, field::Text>) {
      return strings.Get(stored);
    } else {
      return static_cast<typename Type::View>(stored);
    }
  }
};

// Collects nodes in any order, then sorts, resolves and checks.
class GraphBuilder {
 public:
  // `origin` begins every message: a path, or what else the nodes come from.
  explicit GraphBuilder(std::string origin);
  void Reserve(std::size_t nodes);
  [[nodiscard]] Status Add(const NodeView& view);
  [[nodiscard]] Status Add(const Node& node);
  // Fails on duplicate ids and on a cycle; with `problems`, adds all of them there instead and
  // continues (a duplicate's first node counts; the order of a cyclic graph is incomplete).
  [[nodiscard]] Result<Graph> Finish(TraceMetadata metadata, const Diagnostics& diagnostics,
                                     std::vector<std::string>* problems = nullptr);

 private:
  [[nodiscard]] std::uint32_t ActorIndex(const Actor& actor);
  void SortByStart();
  [[nodiscard]] Status CheckIds(std::vector<std::string>* problems);
  void ResolveDeps();
  [[nodiscard]] Status Order(std::vector<std::string>* problems);
  [[nodiscard]] Status OrderWithHeap(std::vector<std::string>* problems);
  [[nodiscard]] std::string DescribeCycle(const std::vector<std::uint32_t>& pending) const;

  std::string origin_;
  std::unique_ptr<Graph::Impl> impl_;
  NodeView view_;  // of the node that is added; its memory stays
  std::vector<std::uint64_t> dep_ids_;
  std::vector<std::uint8_t> dep_reasons_;  // EdgeReason, kInferredBit
  std::vector<std::uint32_t> dep_start_;   // per node, by order of Add
  std::vector<std::uint32_t> dep_count_;
};

}  // namespace reprise
