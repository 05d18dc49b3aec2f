#include "predict/workload/job/totals.h"

#include <algorithm>

namespace reprise {
namespace {

void VisitTensors(const ValueList& values, const std::function<void(const TensorDesc&)>& visit) {
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

}  // namespace

MatrixWork MatrixWorkOf(const Node& node) {
  const std::string_view name = node.op.empty() ? node.name : node.op;
  const auto product = [&](std::size_t left, std::size_t right) {
    const auto& x = Shape(node, left);
    const auto& y = Shape(node, right);
    const std::int64_t batch = x.size() == 3 ? x[0] : 1;
    return MatrixWork{2 * batch * x[x.size() - 2] * x.back() * y.back()};
  };
  if (node.inputs.empty()) {
    return {};  // the host's part of a launch
  }
  if (name == "aten::mm" || name == "aten::bmm") {
    return product(0, 1);
  }
  if (name == "aten::addmm" || name == "aten::baddbmm") {
    return product(1, 2);
  }
  if (name.starts_with("aten::_scaled_dot_product_flash_attention")) {
    const bool backward = name.ends_with("backward");
    const auto& q = Shape(node, backward ? 1 : 0);
    const auto& k = Shape(node, backward ? 2 : 1);
    const std::int64_t one = 2 * q[0] * q[1] * q[2] * q[3] * k[2];
    return backward ? MatrixWork{4 * one, one} : MatrixWork{2 * one};
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

void Totals::Use(const TensorDesc& tensor, const NodeFacts& facts, std::int64_t number) {
  if (!tensor.IsDefined()) {
    return;
  }
  const auto at = static_cast<std::size_t>(tensor.incarnation);
  if (at >= storages_.size()) {
    storages_.resize(at + 1 + at / 2);
  }
  Storage& storage = storages_[at];
  storage.bytes =
      std::max(storage.bytes, (tensor.offset + ExtentElements(tensor)) * SizeOf(tensor.dtype));
  if (storage.first < 0) {
    storage.first = number;
    storage.forward = facts.phase == Phase::kForward && !facts.recomputed;
  }
  storage.last = number;
  if (facts.phase == Phase::kBackward) {
    storage.backward = true;
    storage.layer = storage.layer || facts.in_layer;
  }
}

void Totals::Add(const Node& node, const NodeFacts& facts) {
  const std::int64_t number = nodes++;
  const auto use = [&](const TensorDesc& tensor) { Use(tensor, facts, number); };
  // Views take no memory and read none.
  if (node.kind != OpKind::kMetadata) {
    VisitTensors(node.inputs, use);
    VisitTensors(node.outputs, use);
  }
  if (node.comm) {
    TransferSums& sums = transfers[{std::string(Name(node.comm->kind)), std::string(facts.group)}];
    ++sums.count;
    sums.bytes += std::max(node.comm->in_bytes, node.comm->out_bytes);
    return;
  }
  const MatrixWork work = MatrixWorkOf(node);
  if (work.flops == 0) {
    return;
  }
  executed_flops += work.flops + work.recomputed;
  if (!facts.recomputed) {
    model_flops[facts.copies] += work.flops;
  }
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
    switch (emitter_.UseOf(static_cast<std::int64_t>(i))) {
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
