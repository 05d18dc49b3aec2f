#include "predict/rescale/rescaled_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

namespace reprise {
namespace {

tl::unexpected<Error> CannotRescale(const Node& node, std::string_view why) {
  return BadInput(fmt::format("node {} ({}, {}): {}", node.id, node.name,
                              node.comm ? Name(node.comm->kind) : "no transfer", why));
}

// DistributedDataParallel's, Megatron-LM's and FSDP2's, which bring a sum to its mean.
constexpr std::array<std::string_view, 2> kProducts = {"aten::mul", "aten::mul_"};
// Transfers without tensors that carry counts and norms, not parts of a model.
constexpr std::int64_t kSmallBytes = 512;

constexpr std::array<std::string_view, 2> kQuotients = {"aten::div", "aten::div_"};

// Elements that one member puts into an all-gather, or gets of anything else.
std::int64_t PartOf(const Node& node) {
  std::int64_t elements = 0;
  const bool gathers = node.comm->kind == CommKind::kAllGather;
  for (const TensorDesc* const tensor : TensorsIn(gathers ? node.inputs : node.outputs)) {
    elements += tensor->elements;
  }
  return elements;
}

}  // namespace

Result<std::size_t> RescaledRoles::RoleOf(const Node& node) const {
  const std::string group = node.comm->group.empty() ? "0" : node.comm->group;
  const auto found = by_id.find(group);
  if (found == by_id.end()) {
    return CannotRescale(node, fmt::format("its process group {} is none of the set's", group));
  }
  return found->second;
}

std::string RescaledRoles::NameWithoutAxis(std::size_t role) const {
  return roles[role].name + ".replica";
}

Result<std::optional<DividedAmong>> RescaledNodes::DivisionOf(const Node& node) const {
  REPRISE_ASSIGN(const std::size_t role, roles_.RoleOf(node));
  const CommKind kind = node.comm->kind;
  if ((kind != CommKind::kAllGather && kind != CommKind::kReduceScatter) ||
      roles_.SizeBefore(role) == roles_.SizeAfter(role)) {
    return std::optional<DividedAmong>();
  }
  if (!roles_.divides[role]) {
    return CannotRescale(node,
                         "its group has no reduce_scatter, so these are no parameters' parts: how "
                         "they grow with the group is not known");
  }
  return std::optional(DividedAmong{roles_.SizeBefore(role), roles_.SizeAfter(role)});
}

RescaledNodes::RescaledNodes(RescaledRoles& roles, std::int32_t rank, bool folded)
    : roles_(roles), rank_(rank), folded_(folded) {
  if (roles_.kind == GroupKind::kTensor) {
    const std::size_t axis = roles_.mesh.axis();
    divided_.emplace(
        DividedAmong{roles_.mesh.before().sizes[axis], roles_.mesh.after().sizes[axis]},
        roles_.kv_heads);
  } else if (of_experts()) {
    const RankMesh &from = roles_.mesh.before(), &to = roles_.mesh.after();
    const std::size_t axis = roles_.mesh.axis(), replicas = *roles_.mesh.other_axis();
    divided_.emplace(DividedAmong{from.sizes[axis], to.sizes[axis]},
                     DividedAmong{from.sizes[replicas], to.sizes[replicas]});
  }
}

Status RescaledNodes::EndMeasure() {
  if (divided_) {
    return divided_->Solve();
  }
  shards_.EndMeasure();
  return {};
}

Result<AmongWhom> RescaledNodes::WhomOf(const Node& node) const {
  REPRISE_ASSIGN(const std::size_t role, roles_.RoleOf(node));
  if (roles_.SizeBefore(role) == roles_.SizeAfter(role)) {
    return AmongWhom::kOthers;
  }
  if (!of_experts()) {
    return AmongWhom::kDividing;
  }
  const std::vector<std::size_t>& axes = roles_.places[role].axes;
  if (std::ranges::find(axes, roles_.mesh.axis()) == axes.end()) {
    return AmongWhom::kReplicas;
  }
  if (axes.size() > 1) {
    return CannotRescale(node,
                         "its group has expert-parallel ranks and others, as with tensor "
                         "parallelism of experts' own: what it would move is not known");
  }
  return AmongWhom::kDividing;
}

Status RescaledNodes::MeasureSum(const Node& node) {
  REPRISE_ASSIGN(const std::size_t role, roles_.RoleOf(node));
  if (IsReduction(node.comm->kind) && roles_.SizeBefore(role) != roles_.SizeAfter(role)) {
    for (const ValueList* const values : {&node.inputs, &node.outputs}) {
      for (const TensorDesc* const tensor : TensorsIn(*values)) {
        summed_.try_emplace(tensor->incarnation,
                            DividedAmong{roles_.SizeBefore(role), roles_.SizeAfter(role)});
      }
    }
  }
  return {};
}

Status RescaledNodes::Measure(const Node& node) {
  if (divided_) {
    AmongWhom whom = AmongWhom::kOthers;
    DividedAmong group;
    if (node.comm) {
      REPRISE_ASSIGN(whom, WhomOf(node));
      REPRISE_ASSIGN(const std::size_t role, roles_.RoleOf(node));
      group = {roles_.SizeBefore(role), roles_.SizeAfter(role)};
    }
    divided_->Collect(node, whom, group);
    return whom == AmongWhom::kReplicas ? MeasureSum(node) : Status{};
  }
  if (!node.comm) {
    shards_.Measure(node, std::nullopt);
    return {};
  }
  REPRISE_ASSIGN(const std::optional<DividedAmong> division, DivisionOf(node));
  shards_.Measure(node, division);
  return MeasureSum(node);
}

Result<std::int64_t> RescaledNodes::PositionOf(const Node& node, std::size_t role,
                                               std::int64_t member) const {
  if (folded_ || role + 1 == roles_.roles.size()) {
    return member;
  }
  for (const std::vector<std::int32_t>& group : roles_.roles[role].groups) {
    const auto at = std::ranges::find(group, static_cast<std::int32_t>(member));
    if (at != group.end() && std::ranges::find(group, rank_) != group.end()) {
      return at - group.begin();
    }
  }
  return CannotRescale(node, fmt::format("rank {} is not in its process group", member));
}

// Messages go to the same replica, whichever that is.
Status RescaledNodes::ChangePeer(const Node& node, std::size_t role, CommSpec& spec) {
  REPRISE_ASSIGN(const std::int64_t peer, PositionOf(node, role, spec.peer));
  const WidenedMesh& mesh = roles_.mesh;
  const MeshRole& place = roles_.places[role];
  const bool as_large = roles_.SizeBefore(role) == roles_.SizeAfter(role);
  if (mesh.other_axis() ? as_large : !mesh.Widens(place)) {
    spec.peer = static_cast<std::int32_t>(peer);
    return {};
  }
  if (mesh.other_axis() ||
      mesh.ReplicaAt(place, peer) != mesh.before().PlaceOf(rank_, mesh.axis())) {
    return CannotRescale(node,
                         "it goes to another rank of those that there would be more or fewer of: "
                         "to which one is not known");
  }
  roles_.without_axis.insert(role);
  spec.group = roles_.NameWithoutAxis(role);
  spec.peer = static_cast<std::int32_t>(mesh.PositionWithout(place, peer));
  return {};
}

void RescaledNodes::ChangeBytes(CommSpec& spec, std::int64_t elements_before,
                                std::int64_t elements_after,
                                const std::optional<DividedAmong>& division) {
  const auto scaled = [&](std::int64_t bytes) {
    return elements_before == 0 ? bytes : bytes * elements_after / elements_before;
  };
  if (!division) {  // all that it moves is a shard
    spec.in_bytes = scaled(spec.in_bytes);
    spec.out_bytes = scaled(spec.out_bytes);
  } else if (spec.kind == CommKind::kAllGather) {
    spec.in_bytes = scaled(spec.in_bytes);
    spec.out_bytes = spec.in_bytes * division->to;
  } else {
    spec.out_bytes = scaled(spec.out_bytes);
    spec.in_bytes = spec.out_bytes * division->to;
  }
  if (spec.largest_bytes >= 0) {
    spec.largest_bytes = ContributedBytes(spec);
  }
}

Status RescaledNodes::ChangeShards(Node& node, const Node& before) const {
  REPRISE_ASSIGN(const std::optional<DividedAmong> division, DivisionOf(node));
  CommSpec& spec = *node.comm;
  if (spec.bytes_known && (division || shards_.DivisionOfAll(before))) {
    std::int64_t elements = PartOf(before), after = PartOf(node);
    if (elements == 0 && division) {  // without tensors
      const std::int64_t bytes = spec.kind == CommKind::kAllGather ? spec.in_bytes : spec.out_bytes;
      elements = bytes / std::max<std::int64_t>(SizeOf(spec.dtype), 1);
      after = ShardedTensors::Divided(elements, *division);
    }
    ChangeBytes(spec, elements, after, division);
  }
  return {};
}

Status RescaledNodes::ChangeTensors(Node& node, const Node& before) const {
  CommSpec& spec = *node.comm;
  if (!spec.bytes_known) {
    return {};
  }
  REPRISE_ASSIGN(const std::size_t role, roles_.RoleOf(node));
  std::vector<const TensorDesc*> old = TensorsIn(before.inputs), now = TensorsIn(node.inputs);
  for (const TensorDesc* const tensor : TensorsIn(before.outputs)) {
    old.push_back(tensor);
  }
  for (const TensorDesc* const tensor : TensorsIn(node.outputs)) {
    now.push_back(tensor);
  }
  const bool among = roles_.SizeBefore(role) != roles_.SizeAfter(role);
  if (old.empty() && (among || spec.in_bytes + spec.out_bytes > kSmallBytes)) {
    return CannotRescale(node, "it has no tensors: how many bytes it would move is not known");
  }
  for (std::int64_t* const bytes : {&spec.in_bytes, &spec.out_bytes}) {
    for (std::size_t i = 0; i < old.size(); ++i) {
      if (old[i]->elements * SizeOf(old[i]->dtype) == *bytes) {
        *bytes = now[i]->elements * SizeOf(now[i]->dtype);
        break;
      }
    }
  }
  const bool resized =
      !std::ranges::equal(old, now, {}, &TensorDesc::elements, &TensorDesc::elements);
  if (resized && spec.in_bytes == before.comm->in_bytes &&
      spec.out_bytes == before.comm->out_bytes) {
    return CannotRescale(node, "its bytes are not those of one of its tensors, which change");
  }
  if (spec.largest_bytes >= 0) {
    spec.largest_bytes = ContributedBytes(spec);
  }
  return {};
}

Status RescaledNodes::ChangeTransfer(Node& node, const Node& before, bool& changed) {
  REPRISE_TRY(divided_ ? ChangeTensors(node, before) : ChangeShards(node, before));
  REPRISE_ASSIGN(const std::size_t role, roles_.RoleOf(node));
  CommSpec& spec = *node.comm;
  spec.group = roles_.roles[role].name;
  changed = roles_.SizeBefore(role) != roles_.SizeAfter(role);
  if (IsPointToPoint(spec.kind)) {
    changed = false;
    return spec.peer < 0 ? Status{} : ChangePeer(node, role, spec);
  }
  if (spec.root >= 0) {
    REPRISE_ASSIGN(const std::int64_t root, PositionOf(node, role, spec.root));
    const std::int64_t after = roles_.mesh.PositionAfter(roles_.places[role], root);
    if (after < 0) {
      return CannotRescale(node, "its root is one of the ranks that would be left out");
    }
    spec.root = static_cast<std::int32_t>(after);
  }
  if (!changed) {
    return {};
  }
  const bool by_member = spec.kind == CommKind::kAllToAll || spec.kind == CommKind::kGather ||
                         spec.kind == CommKind::kScatter || !spec.in_splits.empty() ||
                         !spec.out_splits.empty();
  if (of_experts() && spec.kind == CommKind::kAllToAll) {
    return ChangeExchange(node, roles_.SizeAfter(role), spec);
  }
  if (by_member) {
    return CannotRescale(node,
                         "it has a part for each member of its group: those of other members "
                         "are not in the set");
  }
  return {};
}

// Even ones alone are left here (ExpertSeeds::Check).
Status RescaledNodes::ChangeExchange(const Node& node, std::int64_t members, CommSpec& spec) {
  for (std::vector<std::int64_t>* const splits : {&spec.in_splits, &spec.out_splits}) {
    const std::int64_t elements = std::accumulate(splits->begin(), splits->end(), std::int64_t{0});
    if (elements % members != 0) {
      return CannotRescale(
          node, fmt::format("{} elements are no equal parts for {} members", elements, members));
    }
    if (!splits->empty()) {
      splits->assign(static_cast<std::size_t>(members), elements / members);
    }
  }
  return {};
}

Status RescaledNodes::CheckReplicaSum(const Node& node, const Node& before) const {
  const CommSpec& spec = *before.comm;
  if (spec.op == ReduceOp::kMax || spec.op == ReduceOp::kMin) {
    return {};  // one number of each tensor
  }
  const RankMesh &from = roles_.mesh.before(), &to = roles_.mesh.after();
  const std::int64_t ranks = from.sizes[roles_.mesh.axis()];
  const std::int64_t ranks_after = to.sizes[roles_.mesh.axis()];
  const std::int64_t whole = std::max(spec.in_bytes, spec.out_bytes);
  const std::int64_t whole_after = std::max(node.comm->in_bytes, node.comm->out_bytes);
  if (whole_after * ranks_after != whole * ranks) {
    return CannotRescale(node,
                         "it is among ranks that hold the same experts, but not of tensors that "
                         "expert-parallel ranks divide: what it would move is not known");
  }
  return {};
}

bool RescaledNodes::ChangeMean(Node& node) const {
  const std::string& name = node.op.empty() ? node.name : node.op;
  const bool product = std::ranges::find(kProducts, name) != kProducts.end();
  if (!product && std::ranges::find(kQuotients, name) == kQuotients.end()) {
    return false;
  }
  const DividedAmong* sum = nullptr;
  for (const ValueList* const values : {&node.inputs, &node.outputs}) {
    for (const TensorDesc* const tensor : TensorsIn(*values)) {
      const auto found = summed_.find(tensor->incarnation);
      sum = found == summed_.end() ? sum : &found->second;
    }
  }
  if (sum == nullptr) {
    return false;
  }
  bool changed = false;
  const auto share = [product](std::int64_t ranks) {
    return product ? 1 / static_cast<double>(ranks) : static_cast<double>(ranks);
  };
  for (Value& value : node.inputs) {
    if (auto* const factor = std::get_if<double>(&value.data);
        factor != nullptr && *factor == share(sum->from)) {
      *factor = share(sum->to);
      changed = true;
    } else if (auto* const whole = std::get_if<std::int64_t>(&value.data);
               !product && whole != nullptr && *whole == sum->from) {
      *whole = sum->to;
      changed = true;
    }
  }
  return changed;
}

Result<Rescaled> RescaledNodes::Change(Node& node) {
  const Node before = node.comm ? node : Node();
  REPRISE_ASSIGN(const bool changed, divided_ ? divided_->Change(node) : shards_.Change(node));
  if (node.comm) {
    bool of_group = false;
    REPRISE_TRY(ChangeTransfer(node, before, of_group));
    if (of_experts()) {
      REPRISE_ASSIGN(const AmongWhom whom, WhomOf(before));
      REPRISE_TRY(whom == AmongWhom::kReplicas ? CheckReplicaSum(node, before) : Status{});
    }
    return of_group ? Rescaled::kGroup : changed ? Rescaled::kShard : Rescaled::kNo;
  }
  const bool mean = (!divided_ || of_experts()) && ChangeMean(node);
  return changed ? Rescaled::kShard : mean ? Rescaled::kMean : Rescaled::kNo;
}

}  // namespace reprise
