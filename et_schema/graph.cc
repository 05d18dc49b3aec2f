#include "et_schema/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "et_schema/graph_impl.h"

namespace reprise {

Graph::Graph(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Graph::Graph(Graph&&) noexcept = default;
Graph& Graph::operator=(Graph&&) noexcept = default;
Graph::~Graph() = default;

Result<Graph> Graph::Load(const std::string& path) {
  REPRISE_ASSIGN(auto stream, NodeStream::Open(path));
  GraphBuilder builder(path);
  // As far as the file can hold what its header promises.
  constexpr std::uint64_t kMinNodeBytes = 8;
  std::error_code code;
  const std::uint64_t file_bytes = std::filesystem::file_size(path, code);
  if (const auto nodes = stream->expected_nodes(); nodes && !code) {
    builder.Reserve(std::min(*nodes, file_bytes / kMinNodeBytes));
  }
  NodeView view;
  while (true) {
    REPRISE_ASSIGN(const bool more, stream->Next(view));
    if (!more) {
      return builder.Finish(stream->metadata(), stream->diagnostics());
    }
    REPRISE_TRY(builder.Add(view));
  }
}

Result<Graph> Graph::Build(TraceMetadata metadata, std::vector<Node> nodes) {
  GraphBuilder builder(fmt::format("rank {}", metadata.rank));
  builder.Reserve(nodes.size());
  NodeView view;
  for (const Node& node : nodes) {
    ViewOf(node, view);
    REPRISE_TRY(builder.Add(view));
  }
  nodes = {};
  return builder.Finish(std::move(metadata), {});
}

Result<Graph> Graph::Rewrite(TraceMetadata metadata, const Edit& edit) const {
  GraphBuilder builder(fmt::format("rank {}", metadata.rank));
  NodeView view;
  for (Index i = 0; i < size(); ++i) {
    REPRISE_ASSIGN(Node node, Decode(i));
    if (edit(i, node)) {
      ViewOf(node, view);
      REPRISE_TRY(builder.Add(view));
    }
  }
  return builder.Finish(std::move(metadata), diagnostics());
}

const TraceMetadata& Graph::metadata() const { return impl_->metadata; }
Graph::Index Graph::size() const { return static_cast<Index>(impl_->ids.size()); }
std::uint64_t Graph::id(Index i) const { return impl_->ids[i]; }
std::string_view Graph::name(Index i) const { return impl_->strings.Get(impl_->names[i]); }
NodeType Graph::type(Index i) const { return impl_->types[i]; }
OpKind Graph::kind(Index i) const { return impl_->kinds[i]; }
OpClass Graph::op_class(Index i) const { return impl_->classes[i]; }
Actor Graph::actor(Index i) const { return impl_->actor_table[impl_->actors[i]]; }
std::int64_t Graph::start_ns(Index i) const { return impl_->start_ns[i]; }
std::int64_t Graph::duration_ns(Index i) const { return impl_->duration_ns[i]; }
std::int64_t Graph::delay_ns(Index i) const { return impl_->delay_ns[i]; }
std::int64_t Graph::tracing_ns(Index i) const {
  return std::clamp<std::int64_t>(duration_ns(i), 0,
                                  std::max<std::int64_t>(0, impl_->tracing_ns[i]));
}
std::int64_t Graph::tracing_delay_ns(Index i) const {
  return std::clamp<std::int64_t>(delay_ns(i), 0,
                                  std::max<std::int64_t>(0, impl_->tracing_delay_ns[i]));
}
std::int64_t Graph::transfer_ns(Index i) const { return impl_->RareOf(i).transfer_ns; }
std::int64_t Graph::num_ops(Index i) const { return impl_->RareOf(i).num_ops; }
std::int64_t Graph::tensor_bytes(Index i) const { return impl_->RareOf(i).tensor_bytes; }
std::int32_t Graph::step(Index i) const { return impl_->steps[i]; }
std::span<const Graph::Index> Graph::order() const { return impl_->order; }
const Diagnostics& Graph::diagnostics() const { return impl_->diagnostics; }

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

std::string_view Graph::parent(Index i) const { return impl_->strings.Get(impl_->parents[i]); }

std::string_view Graph::op(Index i) const { return impl_->strings.Get(impl_->ops[i]); }

const DeviceWork* Graph::device_work(Index i) const {
  const std::uint32_t at = impl_->device_works[i];
  return at == Impl::kNone ? nullptr : &impl_->device_work_table[at];
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
  node.kind = kind(i);
  node.op_class = op_class(i);
  node.actor = actor(i);
  for (std::size_t d = 0; d < deps(i).size(); ++d) {
    node.deps.push_back(
        {.node_id = id(deps(i)[d]), .reason = reasons(i)[d], .inferred = inferred(i, d)});
  }
  node.start_ns = start_ns(i);
  node.duration_ns = duration_ns(i);
  node.delay_ns = delay_ns(i);
  node.tracing_ns = impl_->tracing_ns[i];
  node.tracing_delay_ns = impl_->tracing_delay_ns[i];
  const Impl::Rare rare = impl_->RareOf(i);
  node.transfer_ns = rare.transfer_ns;
  node.num_ops = rare.num_ops;
  node.tensor_bytes = rare.tensor_bytes;
  node.step = step(i);
  node.rf_id = impl_->rf_ids[i];
  node.seq_id = impl_->seq_ids[i];
  node.parent = impl_->strings.Get(impl_->parents[i]);
  node.op_schema = impl_->strings.Get(impl_->schemas[i]);
  node.results_inferred = impl_->results_inferred[i] != 0;
  node.inputs = std::move(call.inputs);
  node.outputs = std::move(call.outputs);
  node.op = op(i);
  if (const DeviceWork* work = device_work(i)) {
    node.device_work = *work;
  }
  if (const CommSpec* spec = comm(i)) {
    node.comm = *spec;
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
  std::size_t total = bytes(
      g.ids, g.start_ns, g.duration_ns, g.delay_ns, g.rf_ids, g.seq_ids, g.names, g.parents,
      g.schemas, g.ops, g.types, g.kinds, g.classes, g.actors, g.steps, g.results_inferred, g.comms,
      g.rares, g.device_works, g.arg_forms, g.arg_ids, g.dep_begin, g.deps, g.reasons, g.order,
      g.actor_table, g.comm_table, g.rare_table, g.device_work_table, g.id_bytes);
  for (const CommSpec& spec : g.comm_table) {
    total += bytes(spec.in_splits, spec.out_splits);
  }
  return total + g.inferred.capacity() / 8 + g.by_id.MemoryBytes() + g.strings.MemoryBytes() +
         g.forms.MemoryBytes();
}

}  // namespace reprise
