#include "et_schema/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "core/for_each_read.h"
#include "et_schema/graph_impl.h"
#include "et_schema/storage_fields.h"

namespace reprise {

namespace {

std::int64_t Part(std::int64_t part_ns, std::int64_t whole_ns) {
  return std::clamp<std::int64_t>(part_ns, 0, std::max<std::int64_t>(0, whole_ns));
}

}  // namespace

Graph::Graph(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Graph::Graph(Graph&&) noexcept = default;
Graph& Graph::operator=(Graph&&) noexcept = default;
Graph::~Graph() = default;

Result<Graph> Graph::Load(const std::string& path) {
  REPRISE_ASSIGN(auto stream, NodeStream::Open(path));
  GraphBuilder builder(path);
  // As far as the file can hold what its header promises.
  constexpr std::uint64_t kMinNodeBytes = 8;
  if (const auto nodes = stream->expected_nodes()) {
    builder.Reserve(std::min(*nodes, stream->file_bytes() / kMinNodeBytes));
  }
  REPRISE_TRY(
      ForEachRead<NodeView>(*stream, [&builder](NodeView& view) { return builder.Add(view); }));
  return builder.Finish(stream->metadata(), stream->diagnostics());
}

Result<Graph> Graph::Build(TraceMetadata metadata, std::vector<Node> nodes) {
  GraphBuilder builder(fmt::format("rank {}", metadata.rank));
  builder.Reserve(nodes.size());
  for (const Node& node : nodes) {
    REPRISE_TRY(builder.Add(node));
  }
  nodes = {};
  return builder.Finish(std::move(metadata), {});
}

Result<Graph> Graph::Rewrite(TraceMetadata metadata, const Edit& edit) const {
  GraphBuilder builder(fmt::format("rank {}", metadata.rank));
  for (Index i = 0; i < size(); ++i) {
    REPRISE_ASSIGN(Node node, Decode(i));
    if (edit(i, node)) {
      REPRISE_TRY(builder.Add(node));
    }
  }
  return builder.Finish(std::move(metadata), diagnostics());
}

GraphStream::GraphStream(const std::string& origin)
    : builder_(std::make_unique<GraphBuilder>(origin)) {}
GraphStream::~GraphStream() = default;
Status GraphStream::Add(const Node& node) { return builder_->Add(node); }
Result<Graph> GraphStream::Finish(TraceMetadata metadata) {
  return builder_->Finish(std::move(metadata), {});
}

const TraceMetadata& Graph::metadata() const { return impl_->metadata; }
Graph::Index Graph::size() const { return static_cast<Index>(impl_->ids.size()); }
std::uint64_t Graph::id(Index i) const { return impl_->ids[i]; }
std::string_view Graph::name(Index i) const { return impl_->strings.Get(impl_->names[i]); }
NodeType Graph::type(Index i) const { return impl_->types[i]; }
Actor Graph::actor(Index i) const { return impl_->actor_table[impl_->actors[i]]; }
std::span<const Graph::Index> Graph::order() const { return impl_->order; }
const Diagnostics& Graph::diagnostics() const { return impl_->diagnostics; }

std::int64_t Graph::start_ns(Index i) const { return impl_->start_ns[i]; }
std::int64_t Graph::duration_ns(Index i) const { return impl_->duration_ns[i]; }
bool Graph::untimed(Index i) const { return impl_->untimed[i] != 0; }
std::int64_t Graph::delay_ns(Index i) const { return impl_->delay_ns[i]; }
std::int64_t Graph::transfer_ns(Index i) const {
  return impl_->Get<std::int64_t>(impl_->transfer_ns, i);
}
std::int64_t Graph::tracing_ns(Index i) const { return Part(impl_->tracing_ns[i], duration_ns(i)); }
std::int64_t Graph::tracing_delay_ns(Index i) const {
  return Part(impl_->tracing_delay_ns[i], delay_ns(i));
}
OpKind Graph::kind(Index i) const { return impl_->kind[i]; }
OpClass Graph::op_class(Index i) const { return impl_->op_class[i]; }
std::int32_t Graph::step(Index i) const { return impl_->step[i]; }
std::int64_t Graph::rf_id(Index i) const { return impl_->rf_id[i]; }
std::int64_t Graph::seq_id(Index i) const { return impl_->seq_id[i]; }
std::string_view Graph::parent(Index i) const {
  return impl_->Get<std::string_view>(impl_->parent, i);
}
std::string_view Graph::op_schema(Index i) const {
  return impl_->Get<std::string_view>(impl_->op_schema, i);
}
bool Graph::results_inferred(Index i) const { return impl_->results_inferred[i] != 0; }
std::int64_t Graph::num_ops(Index i) const { return impl_->Get<std::int64_t>(impl_->num_ops, i); }
std::int64_t Graph::tensor_bytes(Index i) const {
  return impl_->Get<std::int64_t>(impl_->tensor_bytes, i);
}
std::string_view Graph::op(Index i) const { return impl_->Get<std::string_view>(impl_->op, i); }
OpSource Graph::op_source(Index i) const { return impl_->op_source[i]; }
std::int32_t Graph::graph(Index i) const { return impl_->graph[i]; }
Rescaled Graph::rescaled(Index i) const { return impl_->rescaled[i]; }

std::span<const Graph::Index> Graph::deps(Index i) const {
  const std::uint32_t begin = impl_->dep_begin[i];
  return {impl_->deps.data() + begin, impl_->dep_begin[i + 1] - begin};
}

std::span<const EdgeReason> Graph::reasons(Index i) const {
  const std::uint32_t begin = impl_->dep_begin[i];
  return {impl_->reasons.data() + begin, impl_->dep_begin[i + 1] - begin};
}

bool Graph::inferred(Index i, std::size_t dep) const {
  return impl_->inferred[impl_->dep_begin[i] + dep];
}

const CommSpec* Graph::comm(Index i) const {
  return impl_->comms[i] == Impl::kNone ? nullptr : &impl_->comm_table[impl_->comms[i]];
}

const DeviceWork* Graph::device_work(Index i) const {
  const std::uint32_t at = impl_->device_works[i];
  return at == Impl::kNone ? nullptr : &impl_->device_work_table[at];
}

const StorageWork* Graph::storage(Index i) const {
  const std::uint32_t at = impl_->storages[i];
  return at == Impl::kNone ? nullptr : &impl_->storage_table[at];
}

Result<OpCall> Graph::Call(Index i) const {
  OpCall call;
  const std::string_view form = impl_->forms.Get(impl_->arg_forms[i]);
  const std::string_view ids = std::string_view(impl_->id_bytes).substr(impl_->arg_ids[i]);
  if (!form.empty() && !DecodeArgs(form, ids, call.inputs, call.outputs)) {
    return BadInput(fmt::format("node {}: arguments cannot be decoded", id(i)));
  }
  call.name = op(i).empty() ? name(i) : op(i);
  return call;
}

Result<Node> Graph::Decode(Index i) const {
  REPRISE_ASSIGN(OpCall call, Call(i));
  Node node;
  node.id = id(i);
  node.name = name(i);
  node.type = type(i);
  node.actor = actor(i);
  for (std::size_t d = 0; d < deps(i).size(); ++d) {
    node.deps.push_back(
        {.node_id = id(deps(i)[d]), .reason = reasons(i)[d], .inferred = inferred(i, d)});
  }
  ForEachMember(kNodeFields, kNodeFieldsOf<NodeColumns>, [&](const auto& in, const auto& of) {
    auto& member = in.Of(node);
    member = impl_->Get<std::remove_reference_t<decltype(member)>>(of.Of(*impl_), i);
  });
  node.inputs = std::move(call.inputs);
  node.outputs = std::move(call.outputs);
  if (const DeviceWork* work = device_work(i)) {
    node.device_work = *work;
  }
  if (const CommSpec* spec = comm(i)) {
    node.comm = *spec;
  }
  if (const StorageWork* work = storage(i)) {
    node.storage = *work;
  }
  return node;
}

std::optional<Graph::Index> Graph::FindId(std::uint64_t id) const {
  const std::uint32_t index = impl_->by_id.Find(impl_->ids, id);
  return index == IdTable::kNone ? std::nullopt : std::optional<Index>(index);
}

std::size_t Graph::MemoryBytes() const {
  const Impl& g = *impl_;
  const auto bytes = [](const auto&... arrays) {
    return ((arrays.capacity() * sizeof(arrays[0])) + ...);
  };
  std::size_t total = bytes(g.dep_begin, g.deps, g.reasons, g.order, g.actor_table, g.comm_table,
                            g.device_work_table, g.storage_table, g.id_bytes);
  NodeColumns::ForEach(g, [&](const auto& column) { total += bytes(column); });
  ForEachMember(kNodeFieldsOf<NodeColumns>, [&](const auto& row) {
    if constexpr (requires { row.Of(g).values; }) {
      total += bytes(row.Of(g).values);
    }
  });
  for (const CommSpec& spec : g.comm_table) {
    total += bytes(spec.in_splits, spec.out_splits);
  }
  for (const StorageWork& work : g.storage_table) {
    ForEachStorageText(work, [&](const std::string& text) { total += text.capacity(); });
  }
  return total + g.inferred.capacity() / 8 + g.by_id.MemoryBytes() + g.strings.MemoryBytes() +
         g.forms.MemoryBytes();
}

}  // namespace reprise
