#include "predict/rescale/data_axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

namespace reprise {
namespace {

// Replaces one digit of a position: the groups' axes are its digits, the first one lowest.
struct Digits {
  std::vector<std::int64_t> sizes, values;

  Digits(const RankMesh& mesh, const MeshRole& role, std::int64_t position) {
    for (const std::size_t axis : role.axes) {
      const std::int64_t size =
          role.at.empty() ? mesh.sizes[axis] : static_cast<std::int64_t>(role.at.size());
      sizes.push_back(size);
      values.push_back(position % size);
      position /= size;
    }
  }
  [[nodiscard]] std::int64_t Number() const {
    std::int64_t number = 0;
    for (std::size_t i = sizes.size(); i-- > 0;) {
      number = number * sizes[i] + values[i];
    }
    return number;
  }
};

}  // namespace

Result<DataAxis> FindDataAxis(const RankMesh& mesh, const std::vector<GroupKind>& kinds,
                              GroupKind all_ranks) {
  std::vector<bool> of_data(mesh.sizes.size(), all_ranks == GroupKind::kData);
  std::vector<bool> of_others(mesh.sizes.size()), of_experts(mesh.sizes.size());
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    for (const std::size_t axis : mesh.roles[i].axes) {
      of_data[axis] = of_data[axis] || kinds[i] == GroupKind::kData;
      of_experts[axis] = of_experts[axis] || kinds[i] == GroupKind::kExpert;
      of_others[axis] = of_others[axis] || kinds[i] == GroupKind::kTensor ||
                        kinds[i] == GroupKind::kPipeline || kinds[i] == GroupKind::kContext;
    }
  }
  std::vector<std::size_t> axes;
  for (std::size_t axis = 0; axis < mesh.sizes.size(); ++axis) {
    if (of_data[axis] && !of_others[axis] && !of_experts[axis]) {
      axes.push_back(axis);
    }
  }
  if (axes.empty()) {
    return BadInput(
        "no transfers among data-parallel ranks alone: what another number of them would move is "
        "not in the set (--group NAME=dp names their groups, if there are any)");
  }
  // Where parameters are divided among some replicas, and their gradients summed over others, the
  // outer ones are added or left out: as many ranks divide the parameters as before.
  DataAxis found{.axis = axes.back()};
  for (std::size_t axis = 0; axis < mesh.sizes.size(); ++axis) {
    if (of_data[axis] && !of_others[axis]) {
      found.data_parallel *= mesh.sizes[axis];
    }
  }
  return found;
}

Result<std::size_t> FindTensorAxis(const RankMesh& mesh, const std::vector<GroupKind>& kinds,
                                   GroupKind all_ranks) {
  std::vector<bool> of_tensors(mesh.sizes.size(), all_ranks == GroupKind::kTensor);
  std::vector<bool> of_others(mesh.sizes.size());
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    for (const std::size_t axis : mesh.roles[i].axes) {
      of_tensors[axis] = of_tensors[axis] || kinds[i] == GroupKind::kTensor;
      of_others[axis] =
          of_others[axis] || (kinds[i] != GroupKind::kTensor && kinds[i] != GroupKind::kOther);
    }
  }
  std::optional<std::size_t> found;
  for (std::size_t axis = 0; axis < mesh.sizes.size(); ++axis) {
    if (!of_tensors[axis] || mesh.sizes[axis] == 1) {
      continue;
    }
    if (of_others[axis] || found) {
      return BadInput(
          "tensor-parallel ranks are of another kind, too, or lie along several axes of the mesh: "
          "which of them another number would change is not known");
    }
    found = axis;
  }
  if (!found) {
    return BadInput(
        "no transfers among tensor-parallel ranks: what they would divide is not in the set "
        "(--group NAME=tp names their groups, if there are any)");
  }
  return *found;
}

WidenedMesh::WidenedMesh(const RankMesh& mesh, std::size_t axis, std::int64_t size)
    : before_(mesh), after_(mesh), axis_(axis) {
  after_.sizes[axis] = size;
}

WidenedMesh::WidenedMesh(const RankMesh& mesh, std::size_t axis, std::int64_t size,
                         std::size_t other, std::int64_t other_size)
    : WidenedMesh(mesh, axis, size) {
  after_.sizes[other] = other_size;
  other_axis_ = other;
}

std::int32_t WidenedMesh::world_size() const {
  return static_cast<std::int32_t>(std::accumulate(after_.sizes.begin(), after_.sizes.end(),
                                                   std::int64_t{1}, std::multiplies<>()));
}

std::int32_t WidenedMesh::SourceOf(std::int32_t rank,
                                   const std::optional<std::int64_t>& replica) const {
  if (other_axis_) {
    return rank;
  }
  const std::int64_t stride = before_.StrideOf(axis_);
  const std::int64_t inner = rank % stride;
  const std::int64_t own = rank / stride % after_.sizes[axis_];
  const std::int64_t outer = rank / (stride * after_.sizes[axis_]);
  return static_cast<std::int32_t>(inner + stride * (replica.value_or(own % before_.sizes[axis_]) +
                                                     before_.sizes[axis_] * outer));
}

bool WidenedMesh::Widens(const MeshRole& role) const {
  return std::ranges::find(role.axes, axis_) != role.axes.end();
}

std::int64_t WidenedMesh::ReplicaAt(const MeshRole& role, std::int64_t position) const {
  const Digits digits(before_, role, position);
  const auto at = std::ranges::find(role.axes, axis_);
  return at == role.axes.end() ? 0
                               : digits.values[static_cast<std::size_t>(at - role.axes.begin())];
}

std::int64_t WidenedMesh::PositionAfter(const MeshRole& role, std::int64_t position) const {
  if (other_axis_) {
    const bool as_large = before_.GroupSize(role) == after_.GroupSize(role);
    return as_large || position == 0 ? position : -1;
  }
  Digits digits(before_, role, position);
  for (std::size_t i = 0; i < role.axes.size(); ++i) {
    if (role.axes[i] == axis_) {
      digits.sizes[i] = after_.sizes[axis_];
      if (digits.values[i] >= digits.sizes[i]) {
        return -1;
      }
    }
  }
  return digits.Number();
}

std::int64_t WidenedMesh::PositionWithout(const MeshRole& role, std::int64_t position) const {
  Digits digits(before_, role, position);
  for (std::size_t i = 0; i < role.axes.size(); ++i) {
    if (role.axes[i] == axis_) {
      digits.sizes[i] = 1;
      digits.values[i] = 0;
    }
  }
  return digits.Number();
}

}  // namespace reprise
