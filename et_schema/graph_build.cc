#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <queue>

#include "et_schema/graph_impl.h"

namespace reprise {
namespace {

constexpr std::uint8_t kInferredBit = 0x80;
constexpr std::size_t kMaxListed = 20;

template <typename T>
void Permute(std::vector<T>& values, const std::vector<std::uint32_t>& order) {
  std::vector<T> out;
  out.reserve(order.size());
  for (const std::uint32_t i : order) {
    out.push_back(values[i]);
  }
  values = std::move(out);
}

// Adds the value, if there is one, to its table and returns its place.
template <typename T>
std::uint32_t PlaceIn(std::vector<T>& table, const T* value) {
  if (value == nullptr) {
    return IdTable::kNone;
  }
  table.push_back(*value);
  return static_cast<std::uint32_t>(table.size() - 1);
}

// An error, or one of the problems where these are collected.
Status Refuse(std::string message, std::vector<std::string>* problems) {
  if (problems == nullptr) {
    return BadInput(std::move(message));
  }
  problems->push_back(std::move(message));
  return {};
}

}  // namespace

std::size_t IdTable::Slot(std::uint64_t id) const {
  constexpr std::uint64_t kFibonacci = 0x9E3779B97F4A7C15U;
  return ((id * kFibonacci) >> 20) & (table_.size() - 1);
}

std::vector<std::uint32_t> IdTable::Build(const std::vector<std::uint64_t>& ids) {
  std::size_t size = 16;
  while (size < ids.size() + ids.size() / 2) {
    size *= 2;
  }
  table_.assign(size, 0);
  std::vector<std::uint32_t> duplicates;
  for (std::uint32_t i = 0; i < ids.size(); ++i) {
    std::size_t slot = Slot(ids[i]);
    while (table_[slot] != 0 && ids[table_[slot] - 1] != ids[i]) {
      slot = (slot + 1) & (size - 1);
    }
    if (table_[slot] != 0) {
      duplicates.push_back(i);
    } else {
      table_[slot] = i + 1;
    }
  }
  return duplicates;
}

std::uint32_t IdTable::Find(const std::vector<std::uint64_t>& ids, std::uint64_t id) const {
  if (table_.empty()) {
    return kNone;
  }
  for (std::size_t slot = Slot(id); table_[slot] != 0; slot = (slot + 1) & (table_.size() - 1)) {
    if (ids[table_[slot] - 1] == id) {
      return table_[slot] - 1;
    }
  }
  return kNone;
}

GraphBuilder::GraphBuilder(std::string origin)
    : origin_(std::move(origin)), impl_(std::make_unique<Graph::Impl>()) {}

std::uint32_t GraphBuilder::ActorIndex(const Actor& actor) {
  auto& table = impl_->actor_table;
  if (!impl_->actors.empty() && table[impl_->actors.back()] == actor) {
    return impl_->actors.back();
  }
  const auto it = std::find(table.begin(), table.end(), actor);  // few: threads and streams
  if (it == table.end()) {
    table.push_back(actor);
    return static_cast<std::uint32_t>(table.size() - 1);
  }
  return static_cast<std::uint32_t>(it - table.begin());
}

void GraphBuilder::Reserve(std::size_t nodes) {
  Graph::Impl& g = *impl_;
  NodeColumns::ForEach(g, [&](auto& column) { column.reserve(nodes); });
  dep_start_.reserve(nodes);
  dep_count_.reserve(nodes);
}

Status GraphBuilder::Add(const NodeView& view) {
  Graph::Impl& g = *impl_;
  constexpr std::size_t kMax = std::numeric_limits<std::uint32_t>::max() - 1;
  if (g.ids.size() >= kMax || dep_ids_.size() + view.deps.size() >= kMax) {
    return BadInput(fmt::format("{}: more than {} nodes or edges in one rank", origin_, kMax));
  }
  g.ids.push_back(view.id);
  g.names.push_back(g.strings.Intern(view.name));
  g.types.push_back(view.type);
  g.actors.push_back(ActorIndex(view.actor));
  g.rares.push_back(Graph::Impl::kNone);
  ForEachMember(kNodeFieldsOf<NodeView>, kNodeFieldsOf<NodeColumns>,
                [&](const auto& of, const auto& in) { g.Store(of.Of(view), in.Of(g)); });
  g.comms.push_back(PlaceIn(g.comm_table, view.comm ? &*view.comm : nullptr));
  g.device_works.push_back(
      PlaceIn(g.device_work_table, view.device_work ? &*view.device_work : nullptr));
  g.storages.push_back(PlaceIn(g.storage_table, view.storage ? &*view.storage : nullptr));
  const std::string_view form = view.args.form.bytes();
  g.arg_forms.push_back(form.empty() ? 0 : g.forms.Intern(form));
  g.arg_ids.push_back(g.id_bytes.size());
  g.id_bytes += view.args.ids.bytes();
  dep_start_.push_back(static_cast<std::uint32_t>(dep_ids_.size()));
  dep_count_.push_back(static_cast<std::uint32_t>(view.deps.size()));
  for (const Dependency& dep : view.deps) {
    dep_ids_.push_back(dep.node_id);
    dep_reasons_.push_back(static_cast<std::uint8_t>(static_cast<std::uint8_t>(dep.reason) |
                                                     (dep.inferred ? kInferredBit : 0)));
  }
  return {};
}

Status GraphBuilder::Add(const Node& node) {
  ViewOf(node, view_);
  return Add(view_);
}

Result<Graph> GraphBuilder::Finish(TraceMetadata metadata, const Diagnostics& diagnostics,
                                   std::vector<std::string>* problems) {
  Graph::Impl& g = *impl_;
  g.metadata = std::move(metadata);
  g.diagnostics = diagnostics;
  g.strings.Freeze();
  g.forms.Freeze();
  g.id_bytes.shrink_to_fit();
  SortByStart();
  REPRISE_TRY(CheckIds(problems));
  ResolveDeps();
  REPRISE_TRY(Order(problems));
  return Graph(std::move(impl_));
}

void GraphBuilder::SortByStart() {
  Graph::Impl& g = *impl_;
  if (std::is_sorted(g.start_ns.begin(), g.start_ns.end())) {
    return;
  }
  std::vector<std::uint32_t> order(g.ids.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return g.start_ns[a] < g.start_ns[b]; });
  NodeColumns::ForEach(g, [&](auto& column) { Permute(column, order); });
  Permute(dep_start_, order);
  Permute(dep_count_, order);
}

Status GraphBuilder::CheckIds(std::vector<std::string>* problems) {
  const std::vector<std::uint32_t> duplicates = impl_->by_id.Build(impl_->ids);
  if (duplicates.empty()) {
    return {};
  }
  std::vector<std::uint64_t> listed;
  for (std::size_t i = 0; i < std::min(duplicates.size(), kMaxListed); ++i) {
    listed.push_back(impl_->ids[duplicates[i]]);
  }
  return Refuse(
      fmt::format("{}: {} nodes have an id that another node has: {}{}", origin_, duplicates.size(),
                  fmt::join(listed, ", "), listed.size() < duplicates.size() ? ", …" : ""),
      problems);
}

void GraphBuilder::ResolveDeps() {
  Graph::Impl& g = *impl_;
  std::uint64_t dangling = 0;
  g.dep_begin.reserve(g.ids.size() + 1);
  g.deps.reserve(dep_ids_.size());
  g.reasons.reserve(dep_ids_.size());
  g.inferred.reserve(dep_ids_.size());
  for (std::size_t i = 0; i < g.ids.size(); ++i) {
    g.dep_begin.push_back(static_cast<std::uint32_t>(g.deps.size()));
    for (std::uint32_t d = dep_start_[i]; d < dep_start_[i] + dep_count_[i]; ++d) {
      const std::uint32_t index = g.by_id.Find(g.ids, dep_ids_[d]);
      if (index == IdTable::kNone) {
        if (++dangling <= Diagnostics::kMaxExamples) {
          g.diagnostics.Count("dangling_dependency", fmt::format("{}: node {} waits for {}",
                                                                 origin_, g.ids[i], dep_ids_[d]));
        }
        continue;
      }
      g.deps.push_back(index);
      g.reasons.push_back(static_cast<EdgeReason>(dep_reasons_[d] & ~kInferredBit));
      g.inferred.push_back((dep_reasons_[d] & kInferredBit) != 0);
    }
  }
  g.dep_begin.push_back(static_cast<std::uint32_t>(g.deps.size()));
  if (dangling > Diagnostics::kMaxExamples) {
    g.diagnostics.Count("dangling_dependency", {}, dangling - Diagnostics::kMaxExamples);
  }
  dep_ids_ = {};
  dep_reasons_ = {};
  dep_start_ = {};
  dep_count_ = {};
}

Status GraphBuilder::Order(std::vector<std::string>* problems) {
  Graph::Impl& g = *impl_;
  bool sorted = true;  // as a trace usually is: what a node waits for started earlier
  for (std::uint32_t i = 0; i < g.ids.size() && sorted; ++i) {
    for (std::uint32_t d = g.dep_begin[i]; d < g.dep_begin[i + 1]; ++d) {
      sorted = sorted && g.deps[d] < i;
    }
  }
  if (!sorted) {
    return OrderWithHeap(problems);
  }
  g.order.resize(g.ids.size());
  std::iota(g.order.begin(), g.order.end(), 0U);
  return {};
}

Status GraphBuilder::OrderWithHeap(std::vector<std::string>* problems) {
  Graph::Impl& g = *impl_;
  const std::size_t size = g.ids.size();
  std::vector<std::uint32_t> pending(size);
  std::vector<std::uint32_t> next_begin(size + 1, 0);
  for (const Graph::Index dep : g.deps) {
    ++next_begin[dep + 1];
  }
  std::partial_sum(next_begin.begin(), next_begin.end(), next_begin.begin());
  std::vector<std::uint32_t> next(g.deps.size());
  std::vector<std::uint32_t> fill(next_begin.begin(), next_begin.end() - 1);
  std::priority_queue<Graph::Index, std::vector<Graph::Index>, std::greater<>> ready;
  for (std::uint32_t i = 0; i < size; ++i) {
    pending[i] = g.dep_begin[i + 1] - g.dep_begin[i];
    for (std::uint32_t d = g.dep_begin[i]; d < g.dep_begin[i + 1]; ++d) {
      next[fill[g.deps[d]]++] = i;
    }
    if (pending[i] == 0) {
      ready.push(i);
    }
  }
  g.order.reserve(size);
  while (!ready.empty()) {
    const Graph::Index node = ready.top();
    ready.pop();
    g.order.push_back(node);
    for (std::uint32_t k = next_begin[node]; k < next_begin[node + 1]; ++k) {
      if (--pending[next[k]] == 0) {
        ready.push(next[k]);
      }
    }
  }
  return g.order.size() == size ? Status() : Refuse(DescribeCycle(pending), problems);
}

// From any node that could not be ordered, back along what it waits for, until one comes again.
std::string GraphBuilder::DescribeCycle(const std::vector<std::uint32_t>& pending) const {
  const Graph::Impl& g = *impl_;
  const auto blocked = [&](std::uint32_t i) { return pending[i] > 0; };
  std::uint32_t at = 0;
  while (!blocked(at)) {
    ++at;
  }
  std::vector<std::uint32_t> path;
  std::vector<bool> seen(g.ids.size(), false);
  while (!seen[at]) {
    seen[at] = true;
    path.push_back(at);
    std::uint32_t d = g.dep_begin[at];
    while (!blocked(g.deps[d])) {
      ++d;
    }
    at = g.deps[d];
  }
  path.erase(path.begin(), std::find(path.begin(), path.end(), at));
  std::vector<std::uint64_t> listed;
  for (std::size_t i = 0; i < std::min(path.size(), kMaxListed); ++i) {
    listed.push_back(g.ids[path[i]]);
  }
  return fmt::format(
      "{}: cycle of {} nodes, each waits for the next: {}, {}; {} nodes can never start", origin_,
      path.size(), fmt::join(listed, ", "),
      listed.size() < path.size() ? std::string("…") : std::to_string(listed.front()),
      g.ids.size() - g.order.size());
}

}  // namespace reprise
