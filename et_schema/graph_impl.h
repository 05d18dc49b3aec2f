// How a Graph keeps its nodes: one array per field, everything that repeats interned. Only
// et_schema sees this.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "et_schema/graph.h"
#include "et_schema/node_fields.h"
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

// A member that most nodes lack: the values of the others, at their places in NodeColumns::rares.
struct RareColumn {
  static constexpr std::int64_t kAbsent = -1;
  std::vector<std::int64_t> values;  // up to the last that is not absent
};

// An array per member of Node, by index of the node. Texts are in `strings`.
struct NodeColumns {
  std::vector<std::uint64_t> ids;
  std::vector<StringPool::Id> names;
  std::vector<NodeType> types;
  std::vector<std::uint32_t> actors;  // into actor_table
  std::vector<std::int64_t> start_ns;
  std::vector<std::int64_t> duration_ns;
  std::vector<std::uint8_t> untimed;
  std::vector<std::int64_t> delay_ns;
  RareColumn transfer_ns;
  std::vector<std::int64_t> tracing_ns;
  std::vector<std::int64_t> tracing_delay_ns;
  std::vector<OpKind> kind;
  std::vector<OpClass> op_class;
  std::vector<std::int32_t> step;
  std::vector<std::int64_t> rf_id;
  std::vector<std::int64_t> seq_id;
  std::vector<StringPool::Id> parent;
  std::vector<StringPool::Id> op_schema;
  std::vector<std::uint8_t> results_inferred;
  RareColumn num_ops;
  RareColumn tensor_bytes;
  std::vector<StringPool::Id> op;
  std::vector<OpSource> op_source;
  std::vector<std::int32_t> graph;
  std::vector<Rescaled> rescaled;
  std::vector<std::uint32_t> comms;         // into comm_table, or kNone
  std::vector<std::uint32_t> rares;         // into each RareColumn, or kNone
  std::vector<std::uint32_t> device_works;  // into device_work_table, or kNone
  std::vector<std::uint32_t> storages;      // into storage_table, or kNone
  std::vector<StringPool::Id> arg_forms;    // into forms
  std::vector<std::uint64_t> arg_ids;       // offset in id_bytes

  // The arrays of all nodes.
  template <typename Visit>
  static void ForEach(auto& columns, const Visit& visit) {
    visit(columns.ids);
    visit(columns.names);
    visit(columns.types);
    visit(columns.actors);
    ForEachMember(kNodeFieldsOf<NodeColumns>, [&]<typename Row>(const Row& row) {
      if constexpr (!std::is_same_v<typename Row::Value, RareColumn>) {
        visit(row.Of(columns));
      }
    });
    visit(columns.comms);
    visit(columns.rares);
    visit(columns.device_works);
    visit(columns.storages);
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
  std::uint32_t rare_nodes = 0;
  std::vector<DeviceWork> device_work_table;
  std::vector<StorageWork> storage_table;

  // Appends the value of a node, whose place in `rares` is the last.
  template <typename Value, typename Stored>
  void Store(const Value& value, std::vector<Stored>& column) {
    if constexpr (std::is_same_v<Value, std::string_view>) {
      column.push_back(value.empty() ? StringPool::Id{0} : strings.Intern(value));
    } else {
      column.push_back(static_cast<Stored>(value));
    }
  }
  void Store(std::int64_t value, RareColumn& column) {
    if (value != RareColumn::kAbsent) {
      rares.back() = rares.back() == kNone ? rare_nodes++ : rares.back();
      column.values.resize(rares.back(), RareColumn::kAbsent);
      column.values.push_back(value);
    }
  }
  template <typename Value, typename Stored>
  [[nodiscard]] Value Get(const std::vector<Stored>& column, Index i) const {
    if constexpr (std::is_same_v<Value, std::string_view> || std::is_same_v<Value, std::string>) {
      return Value(strings.Get(column[i]));
    } else {
      return static_cast<Value>(column[i]);
    }
  }
  template <typename Value>
  [[nodiscard]] Value Get(const RareColumn& column, Index i) const {
    return rares[i] < column.values.size() ? column.values[rares[i]] : RareColumn::kAbsent;
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
