#include "converters/operation_cost.h"

#include <algorithm>
#include <cmath>

namespace reprise {

void AddCost(const CostTable& table, Node& node) {
  if (!table || node.kind != OpKind::kWork || node.comm || node.num_ops >= 0 ||
      node.tensor_bytes >= 0) {
    return;
  }
  OperationCost cost;
  if (node.device_work && node.device_work->copied_bytes >= 0) {
    cost = {0, static_cast<double>(node.device_work->copied_bytes)};
  } else if (!node.inputs.empty() || !node.outputs.empty()) {
    cost = table(node);
  }
  if (cost.bytes < 0) {
    return;
  }
  constexpr double kMax = 4e18;  // within 63 bits
  const auto whole = [kMax](double value) {
    return static_cast<std::int64_t>(std::clamp(std::round(value), 1.0, kMax));
  };
  node.num_ops = whole(cost.flops);
  node.tensor_bytes = whole(cost.bytes);
}

}  // namespace reprise
