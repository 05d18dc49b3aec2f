#include "predict/workload/job/totals.h"

#include <algorithm>

namespace reprise {
namespace {

template <typename Visit>
void VisitTensors(const ValueList& values, const Visit& visit) {
  for (const Value& value : values) {
    if (const TensorDesc* tensor = value.AsTensor(); tensor != nullptr) {
      visit(*tensor);
    } else if (const ValueList* list = value.AsList();
               list != nullptr && !list->empty() && (*list)[0].AsTensor() != nullptr) {
      VisitTensors(*list, visit);
    }
  }
}

const std::vector<std::int64_t>& Shape(const Node& node, std::size_t i) {
  return node.inputs[i].AsTensor()->shape;
}

// Numbers in an element of this operand.
std::int64_t Packed(const Node& node, std::size_t i) {
  return ValuesPerElement(node.inputs[i].AsTensor()->dtype);
}

// Of sequences in a row, whose starts the call has: each query sees those of its own, or its
// window.
MatrixWork WorkOfPacked(const Node& node, bool backward) {
  const std::size_t first = backward ? 1 : 0;
  const auto& q = Shape(node, first);
  const ValueList& starts = *node.inputs[backward ? 6 : 3].AsList();
  const auto left = node.inputs[backward ? 15 : 11].AsNumber<std::int64_t>(q[0]);
  std::int64_t pairs = 0;
  for (std::size_t i = 0; i + 1 < starts.size(); ++i) {
    const std::int64_t tokens =
        starts[i + 1].AsNumber<std::int64_t>(0) - starts[i].AsNumber<std::int64_t>(0);
    pairs += tokens * std::min(tokens, left + 1);
  }
  const std::int64_t scores = 2 * pairs * q[1] * q[2];
  const std::int64_t values = 2 * pairs * q[1] * Shape(node, first + 2)[2];
  return backward ? MatrixWork{2 * (scores + values), scores} : MatrixWork{scores + values};
}

}  // namespace

MatrixWork MatrixWorkOf(const Node& node, std::int64_t of_part) {
  const std::string_view name = node.op.empty() ? node.name : node.op;
  const auto product = [&](std::size_t left, std::size_t right) {
    const auto& x = Shape(node, left);
    const auto& y = Shape(node, right);
    const std::int64_t batch = x.size() == 3 ? x[0] : 1;
    return MatrixWork{2 * batch * x[x.size() - 2] * x.back() * y.back() * Packed(node, left)};
  };
  if (node.inputs.empty()) {
    return {};  // the host's part of a launch
  }
  if (name == "aten::_grouped_mm" ||
      name == "aten::_scaled_grouped_mm") {  // each row once, in its group
    return {2 * node.inputs[0].AsTensor()->elements * Shape(node, 1).back() * Packed(node, 0)};
  }
  if (name == "aten::mm" || name == "aten::bmm" || name == "aten::_scaled_mm") {
    return product(0, 1);
  }
  if (name == "aten::addmm" || name == "aten::baddbmm") {
    return product(1, 2);
  }
  const bool windowed = name.starts_with("aten::_flash_attention");
  if (windowed || name.starts_with("aten::_scaled_dot_product_")) {
    const bool backward = name.ends_with("backward");
    const std::size_t first = backward ? 1 : 0;
    const auto& q = Shape(node, first);
    if (q.size() == 3) {
      return WorkOfPacked(node, backward);
    }
    const std::size_t tokens = windowed ? 1 : 2;
    std::int64_t keys = Shape(node, first + 1)[tokens];
    if (windowed) {  // a query sees its window
      keys = std::min(keys, node.inputs[backward ? 15 : 11].AsNumber<std::int64_t>(keys) + 1);
    }
    const std::int64_t pairs = q[0] * q[1] * q[2] * (of_part > 0 ? of_part : keys);
    const std::int64_t scores = 2 * pairs * q[3];
    const std::int64_t values = 2 * pairs * Shape(node, first + 2)[3];
    return backward ? MatrixWork{2 * (scores + values), scores} : MatrixWork{scores + values};
  }
  if (name == "aten::cudnn_convolution" || name == "aten::mkldnn_convolution") {
    const auto& weight = Shape(node, 1);
    const TensorDesc& out = *node.outputs[0].AsTensor();
    return {2 * out.elements * weight[1] * weight[2] * weight[3]};
  }
  if (name == "aten::convolution_backward") {  // of the weight alone
    const auto& weight = Shape(node, 2);
    return {2 * node.inputs[0].AsTensor()->elements * weight[1] * weight[2] * weight[3]};
  }
  return {};
}

void Totals::Use(const Share& share, const StoragePart& part) {
  const auto at = static_cast<std::size_t>(part.incarnation);
  if (at >= storages_.size()) {
    storages_.resize(at + 1 + at / 2);
  }
  const std::int64_t number = nodes - 1;
  Storage& storage = storages_[at];
  storage.bytes = std::max(storage.bytes, part.bytes);
  if (storage.first < 0) {
    storage.first = number;
    storage.forward = share.forward;
  }
  storage.last = number;
  storage.backward = storage.backward || share.backward;
  storage.layer = storage.layer || share.layer;
}

std::int32_t Totals::TransferOf(CommKind kind, std::string_view group) {
  const auto at = std::ranges::find_if(
      transfers, [&](const GroupTransfers& row) { return row.kind == kind && row.group == group; });
  if (at == transfers.end()) {
    transfers.push_back({kind, std::string(group), {}});
    return static_cast<std::int32_t>(transfers.size() - 1);
  }
  return static_cast<std::int32_t>(at - transfers.begin());
}

Totals::Share Totals::ShareOf(const Node& node, const NodeFacts& facts) {
  Share share;
  share.forward = facts.phase == Phase::kForward && !facts.recomputed;
  share.backward = facts.phase == Phase::kBackward;
  share.layer = share.backward && facts.in_layer;
  if (node.comm) {
    share.transfer = TransferOf(node.comm->kind, facts.group);
    share.transfer_bytes = std::max(node.comm->in_bytes, node.comm->out_bytes);
    return share;
  }
  const MatrixWork work = MatrixWorkOf(node, facts.keys);
  share.executed_flops = work.flops + work.recomputed;
  share.model_flops = facts.recomputed ? 0 : work.flops;
  share.copies = facts.copies;
  return share;
}

void Totals::AddShare(const Share& share) {
  ++nodes;
  if (share.transfer >= 0) {
    TransferSums& sums = transfers[static_cast<std::size_t>(share.transfer)].sums;
    ++sums.count;
    sums.bytes += share.transfer_bytes;
  }
  executed_flops += share.executed_flops;
  if (share.model_flops != 0) {
    model_flops[share.copies] += share.model_flops;
  }
}

void Totals::Add(const Node& node, const NodeFacts& facts, std::size_t storages) {
  const Share share = ShareOf(node, facts);
  AddShare(share);
  const auto use = [&](const TensorDesc& tensor) {
    if (!tensor.IsDefined()) {
      return;
    }
    const StoragePart part = {tensor.incarnation,
                              (tensor.offset + ExtentElements(tensor)) * SizeOf(tensor.dtype)};
    Use(share, part);
    if (repeatable_) {
      parts_.push_back(part);
    }
  };
  // Views take no memory and read none.
  if (node.kind != OpKind::kMetadata) {
    VisitTensors(node.inputs, use);
    VisitTensors(node.outputs, use);
  }
  if (repeatable_) {
    kept_.push_back({share, parts_.size(), storages});
  }
}

std::span<const Totals::StoragePart> Totals::PartsOf(std::size_t node) const {
  const std::size_t begin = node == 0 ? 0 : kept_[node - 1].parts;
  return {parts_.data() + begin, parts_.data() + kept_[node].parts};
}

std::int64_t Totals::StoragesBefore(std::size_t node) const {
  return node == 0 ? 0 : static_cast<std::int64_t>(kept_[node - 1].storages);
}

bool Totals::Repeats(const RepeatedPart& part) const {
  const std::size_t size = part.end - part.begin;
  const std::int64_t from = StoragesBefore(part.earliest);
  const std::int64_t more = StoragesBefore(part.end) - StoragesBefore(part.begin);
  if (StoragesBefore(part.begin) - StoragesBefore(part.begin - size) != more) {
    return false;
  }
  for (std::size_t node = part.begin; node < part.end; ++node) {
    const bool same = std::ranges::equal(
        PartsOf(node - size), PartsOf(node), [&](StoragePart before, const StoragePart& now) {
          before.incarnation += before.incarnation < from ? 0 : more;
          return before == now;
        });
    if (!same || kept_[node - size].share != kept_[node].share) {
      return false;
    }
  }
  return true;
}

Totals Totals::Repeated(const RepeatedPart& part, std::int64_t times) const {
  Totals out(false);
  out.transfers = transfers;
  for (GroupTransfers& row : out.transfers) {
    row.sums = {};
  }
  const std::int64_t from = StoragesBefore(part.earliest);
  const std::int64_t begin = StoragesBefore(part.begin);
  const std::int64_t end = StoragesBefore(part.end);
  const auto add = [&](std::size_t first, std::size_t behind, std::int64_t repetition) {
    const std::int64_t more = repetition * (end - begin);
    for (std::size_t node = first; node < behind; ++node) {
      out.AddShare(kept_[node].share);
      for (StoragePart own : PartsOf(node)) {
        own.incarnation += own.incarnation < from ? 0 : more;
        out.Use(kept_[node].share, own);
      }
    }
  };
  add(0, part.end, 0);
  out.uses_.assign(uses_.begin(), uses_.begin() + end);
  for (std::int64_t repetition = 1; repetition <= times; ++repetition) {
    add(part.begin, part.end, repetition);
    out.uses_.insert(out.uses_.end(), uses_.begin() + begin, uses_.begin() + end);
  }
  add(part.end, kept_.size(), times);
  out.uses_.insert(out.uses_.end(), uses_.begin() + end, uses_.end());
  return out;
}

std::int64_t Totals::Largest(const std::vector<const Storage*>& storages) const {
  std::vector<std::pair<std::int64_t, std::int64_t>> changes;
  for (const Storage* storage : storages) {
    changes.emplace_back(storage->first, storage->bytes);
    changes.emplace_back(storage->last + 1, -storage->bytes);  // free before the next begins
  }
  std::sort(changes.begin(), changes.end());
  std::int64_t now = 0;
  std::int64_t largest = 0;
  for (const auto& [at, bytes] : changes) {
    now += bytes;
    largest = std::max(largest, now);
  }
  return largest;
}

MemorySums Totals::Memory() const {
  MemorySums sums;
  std::vector<const Storage*> gradients;  // each step has its own
  std::vector<const Storage*> kept;
  std::vector<const Storage*> of_layers;
  std::vector<const Storage*> passing;
  for (std::size_t i = 0; i < storages_.size(); ++i) {
    const Storage& storage = storages_[i];
    if (storage.first < 0) {
      continue;
    }
    switch (uses_[i]) {
      case StorageUse::kParameter:
        sums.parameters += storage.bytes;
        break;
      case StorageUse::kGradient:
        gradients.push_back(&storage);
        break;
      case StorageUse::kOptimizer:
        sums.optimizer += storage.bytes;
        break;
      case StorageUse::kActivation:
        passing.push_back(&storage);
        if (storage.forward && storage.backward) {
          kept.push_back(&storage);
          if (storage.layer) {
            of_layers.push_back(&storage);
          }
        }
        break;
      default:
        passing.push_back(&storage);
    }
  }
  sums.gradients = Largest(gradients);
  sums.activations = Largest(kept);
  sums.layer_activations = Largest(of_layers);
  sums.peak = sums.parameters + sums.gradients + sums.optimizer + Largest(passing);
  return sums;
}

}  // namespace reprise
