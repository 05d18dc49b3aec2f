// Repeats a part of a graph.
#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <numeric>

#include "et_schema/graph_impl.h"

namespace reprise {
namespace {

// Stands for the rank itself among peers; no position in a group is as large.
constexpr std::int32_t kOwnRank = std::numeric_limits<std::int32_t>::max();

bool SameTransfer(const CommSpec* a, const CommSpec* b) {
  if (a == nullptr || b == nullptr) {
    return a == b;
  }
  CommSpec moved = *a;
  moved.index = b->index;
  moved.sequence = b->sequence;
  return moved == *b;
}

}  // namespace

bool Graph::Repeats(const RepeatedPart& part) const {
  const Impl& g = *impl_;
  const Index more = part.end - part.begin;
  const auto same = [&](const auto& column, Index i) { return column[i - more] == column[i]; };
  for (Index i = part.begin; i < part.end; ++i) {
    const std::span<const Index> own = deps(i);
    const std::span<const Index> before = deps(i - more);
    const bool same_deps = std::ranges::equal(before, own, [&](Index a, Index b) {
      return (a < part.earliest ? a : a + more) == b && b < i;
    });
    const bool same_node =
        g.ids[i - more] + more == g.ids[i] && g.start_ns[i - more] + more == g.start_ns[i] &&
        same(g.names, i) && same(g.types, i) && same(g.actors, i) && same(g.duration_ns, i) &&
        same(g.delay_ns, i) && same(g.kind, i) && same(g.op_class, i) && same(g.step, i) &&
        same(g.parent, i) && same(g.op, i) && SameTransfer(comm(i - more), comm(i)) &&
        (device_work(i - more) == nullptr) == (device_work(i) == nullptr) &&
        (storage(i - more) == nullptr) == (storage(i) == nullptr);
    if (!same_deps || !same_node || !std::ranges::equal(reasons(i - more), reasons(i))) {
      return false;
    }
  }
  return std::ranges::is_sorted(g.order);
}

Graph Graph::Repeated(const RepeatedPart& part, std::int64_t times) const {
  const Impl& g = *impl_;
  auto out = std::make_unique<Impl>();
  static_cast<NodeColumns&>(*out) = g;
  NodeColumns::ForEach(*out, [&](auto& column) { column = RepeatedRows(column, part, times); });
  out->metadata = g.metadata;
  out->diagnostics = g.diagnostics;
  out->strings = g.strings;
  out->forms = g.forms;
  out->id_bytes = g.id_bytes;
  out->actor_table = g.actor_table;
  out->device_work_table = g.device_work_table;
  out->storage_table = g.storage_table;
  out->rare_nodes = g.rare_nodes;

  // By how much a transfer's place in its sequence moves with each repetition.
  std::map<SequenceKey, std::int64_t> transfers;
  for (Index i = part.begin; i < part.end; ++i) {
    if (const CommSpec* const spec = comm(i); spec != nullptr) {
      ++transfers[SequenceOf(*spec, kOwnRank)];
    }
  }
  std::vector<std::int64_t> steps(size(), 0);
  for (Index i = part.begin; i < size(); ++i) {
    if (const CommSpec* const spec = comm(i); spec != nullptr) {
      const auto at = transfers.find(SequenceOf(*spec, kOwnRank));
      steps[i] = at != transfers.end() ? at->second : 0;
    }
  }

  const Index more = part.end - part.begin;
  Index row = 0;
  const auto add = [&](Index first, Index behind, std::int64_t repetition) {
    const auto shift = static_cast<Index>(repetition * more);
    for (Index i = first; i < behind; ++i, ++row) {
      out->ids[row] += shift;
      out->start_ns[row] += shift;
      out->dep_begin.push_back(static_cast<std::uint32_t>(out->deps.size()));
      for (const Index dep : deps(i)) {
        out->deps.push_back(dep < part.earliest ? dep : dep + shift);
      }
      if (const CommSpec* const spec = comm(i); spec != nullptr) {
        out->comms[row] = static_cast<std::uint32_t>(out->comm_table.size());
        CommSpec& moved = out->comm_table.emplace_back(*spec);
        moved.index += repetition * steps[i];
        moved.sequence += repetition * steps[i];
      }
    }
    const auto begin = g.dep_begin[first];
    const auto end = g.dep_begin[behind];
    out->reasons.insert(out->reasons.end(), g.reasons.begin() + begin, g.reasons.begin() + end);
    out->inferred.insert(out->inferred.end(), g.inferred.begin() + begin, g.inferred.begin() + end);
  };
  out->dep_begin.reserve(out->ids.size() + 1);
  out->deps.reserve(g.deps.size() / size() * out->ids.size());
  add(0, part.end, 0);
  for (std::int64_t repetition = 1; repetition <= times; ++repetition) {
    add(part.begin, part.end, repetition);
  }
  add(part.end, size(), times);
  out->dep_begin.push_back(static_cast<std::uint32_t>(out->deps.size()));
  out->order.resize(out->ids.size());
  std::iota(out->order.begin(), out->order.end(), Index{0});
  out->by_id.Build(out->ids);
  return Graph(std::move(out));
}

}  // namespace reprise
