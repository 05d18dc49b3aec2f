// One rank's trace in memory: compact, indexed, dependency lists in one array (CSR).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/diagnostics.h"
#include "core/result.h"
#include "et_schema/node.h"

namespace reprise {

// A part of a trace that repeats, as indices of nodes. Each further repetition follows `end` and
// copies the nodes from `begin` on. Their references move along, except those to nodes before
// `earliest`. The part itself repeats the nodes right before it.
struct RepeatedPart {
  std::uint32_t earliest = 0, begin = 0, end = 0;
};
// Rows of nodes, with `times` more repetitions of a part.
template <typename Row>
[[nodiscard]] std::vector<Row> RepeatedRows(const std::vector<Row>& rows, const RepeatedPart& part,
                                            std::int64_t times) {
  const auto begin = rows.begin() + part.begin;
  const auto end = rows.begin() + part.end;
  std::vector<Row> out;
  out.reserve(rows.size() + static_cast<std::size_t>((end - begin) * times));
  out.assign(rows.begin(), end);
  for (std::int64_t i = 0; i < times; ++i) {
    out.insert(out.end(), begin, end);
  }
  out.insert(out.end(), end, rows.end());
  return out;
}

// Immutable after Load/Build; safe to read from many threads. Nodes are addressed by index, in
// order of recorded start (ties: file order); every dependency that names a missing node was
// dropped and counted (`dangling_dependency`). Goal: < 300 bytes a node at 1 M nodes.
class Graph {
 public:
  using Index = std::uint32_t;

  static Result<Graph> Load(const std::string& path);
  // From nodes in any order, e.g. straight from a converter or a test. Fails on duplicate ids and
  // cycles, as Load does.
  static Result<Graph> Build(TraceMetadata metadata, std::vector<Node> nodes);

  // A graph of the nodes for which `edit` returns true, as it left them (dependencies are by id;
  // one on a node that is left out is dropped and counted, unless `edit` removes it). One node is
  // decoded at a time.
  using Edit = std::function<bool(Index, Node&)>;
  [[nodiscard]] Result<Graph> Rewrite(TraceMetadata metadata, const Edit& edit) const;

  // Of nodes without arguments, rf_id, seq_id and correlation: whether the nodes before the part
  // are the same as its own, and the graph in which it comes `times` times more.
  [[nodiscard]] bool Repeats(const RepeatedPart& part) const;
  [[nodiscard]] Graph Repeated(const RepeatedPart& part, std::int64_t times) const;

  Graph(Graph&&) noexcept;
  Graph& operator=(Graph&&) noexcept;
  ~Graph();

  [[nodiscard]] const TraceMetadata& metadata() const;
  [[nodiscard]] Index size() const;
  [[nodiscard]] std::uint64_t id(Index i) const;
  [[nodiscard]] std::string_view name(Index i) const;
  [[nodiscard]] NodeType type(Index i) const;
  [[nodiscard]] Actor actor(Index i) const;
  // As NodeFields has them.
  [[nodiscard]] std::int64_t start_ns(Index i) const;
  [[nodiscard]] std::int64_t duration_ns(Index i) const;
  [[nodiscard]] bool untimed(Index i) const;
  [[nodiscard]] std::int64_t delay_ns(Index i) const;
  [[nodiscard]] std::int64_t transfer_ns(Index i) const;
  // Clamped to [0, duration or delay], whatever the file holds.
  [[nodiscard]] std::int64_t tracing_ns(Index i) const;
  [[nodiscard]] std::int64_t tracing_delay_ns(Index i) const;
  [[nodiscard]] OpKind kind(Index i) const;
  [[nodiscard]] OpClass op_class(Index i) const;
  [[nodiscard]] std::int32_t step(Index i) const;
  [[nodiscard]] std::int64_t rf_id(Index i) const;
  [[nodiscard]] std::int64_t seq_id(Index i) const;
  [[nodiscard]] std::string_view parent(Index i) const;
  [[nodiscard]] std::string_view op_schema(Index i) const;
  [[nodiscard]] bool results_inferred(Index i) const;
  [[nodiscard]] std::int64_t num_ops(Index i) const;
  [[nodiscard]] std::int64_t tensor_bytes(Index i) const;
  [[nodiscard]] std::string_view op(Index i) const;
  [[nodiscard]] OpSource op_source(Index i) const;
  [[nodiscard]] std::int32_t graph(Index i) const;
  [[nodiscard]] Rescaled rescaled(Index i) const;
  [[nodiscard]] std::span<const Index> deps(Index i) const;
  [[nodiscard]] std::span<const EdgeReason> reasons(Index i) const;  // parallel to deps
  [[nodiscard]] bool inferred(Index i, std::size_t dep) const;
  [[nodiscard]] const CommSpec* comm(Index i) const;           // nullptr unless a transfer
  [[nodiscard]] const DeviceWork* device_work(Index i) const;  // nullptr unless a device node
  [[nodiscard]] const StorageWork* storage(Index i) const;     // nullptr where a file has none
  // Decoded on demand from the compact form; name (of a device node: its op), inputs and outputs.
  [[nodiscard]] Result<OpCall> Call(Index i) const;
  // The whole node again (dependencies by id), e.g. for export.
  [[nodiscard]] Result<Node> Decode(Index i) const;
  [[nodiscard]] std::optional<Index> FindId(std::uint64_t id) const;
  // A topological order (dependencies first; ties by recorded start).
  [[nodiscard]] std::span<const Index> order() const;
  [[nodiscard]] const Diagnostics& diagnostics() const;
  [[nodiscard]] std::size_t MemoryBytes() const;

 private:
  friend class GraphBuilder;
  struct Impl;
  explicit Graph(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

class GraphBuilder;

// As Graph::Build, of nodes that come one after the other and are kept nowhere else.
class GraphStream {
 public:
  // `origin` begins messages.
  explicit GraphStream(const std::string& origin);
  ~GraphStream();
  [[nodiscard]] Status Add(const Node& node);
  // Once, after the last node.
  [[nodiscard]] Result<Graph> Finish(TraceMetadata metadata);

 private:
  std::unique_ptr<GraphBuilder> builder_;
};

}  // namespace reprise
