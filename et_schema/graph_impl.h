// How a Graph keeps its nodes: one array per field, everything that repeats interned. Only
// et_schema sees this.
#pragma once

#include <cstdint>
#include <string>
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

struct Graph::Impl {
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  // What few nodes have, apart.
  struct Rare {
    std::int64_t transfer_ns = -1;
    std::int64_t num_ops = -1;
    std::int64_t tensor_bytes = -1;
    bool operator==(const Rare&) const = default;
  };

  TraceMetadata metadata;
  Diagnostics diagnostics;

  std::vector<std::uint64_t> ids;
  std::vector<std::int64_t> start_ns, duration_ns, delay_ns, tracing_ns, tracing_delay_ns, rf_ids,
      seq_ids;
  std::vector<StringPool::Id> names, parents, schemas, ops;
  std::vector<NodeType> types;
  std::vector<OpKind> kinds;
  std::vector<OpClass> classes;
  std::vector<std::uint32_t> actors;  // into actor_table
  std::vector<std::int32_t> steps;
  std::vector<std::uint8_t> results_inferred;
  std::vector<std::uint32_t> comms;         // into comm_table, or kNone
  std::vector<std::uint32_t> rares;         // into rare_table, or kNone
  std::vector<std::uint32_t> device_works;  // into device_work_table, or kNone
  std::vector<StringPool::Id> arg_forms;    // into forms
  std::vector<std::uint64_t> arg_ids;       // offset in id_bytes
  std::vector<std::uint32_t> dep_begin;     // size + 1
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
  std::vector<Rare> rare_table;
  std::vector<DeviceWork> device_work_table;

  [[nodiscard]] Rare RareOf(Index i) const {
    return rares[i] == kNone ? Rare{} : rare_table[rares[i]];
  }
};

// Collects nodes in any order, then sorts, resolves and checks.
class GraphBuilder {
 public:
  // `origin` begins every message: a path, or what else the nodes come from.
  explicit GraphBuilder(std::string origin);
  void Reserve(std::size_t nodes);
  [[nodiscard]] Status Add(const NodeView& view);
  // Fails on duplicate ids and on a cycle; with `problems`, adds all of them there instead and
  // goes on (a duplicate's first node counts; the order of a cyclic graph is incomplete).
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
  std::vector<std::uint64_t> dep_ids_;
  std::vector<std::uint8_t> dep_reasons_;  // EdgeReason, kInferredBit
  std::vector<std::uint32_t> dep_start_;   // per node, by order of Add
  std::vector<std::uint32_t> dep_count_;
};

}  // namespace reprise
