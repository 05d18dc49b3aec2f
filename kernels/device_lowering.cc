#include "kernels/device_lowering.h"

#include <algorithm>
#include <cstdlib>

#include "kernels/views.h"

namespace reprise {
namespace {

// Items that are worth a CPU work-item of their own (a few microseconds), and how many per core.
constexpr std::int64_t kCpuItems = 4096;
constexpr std::int64_t kCpuWorkersPerCore = 4;
constexpr std::size_t kGpuLocal = 256;
constexpr std::int64_t kGpuGroupsPerUnit = 16;

struct Dim {
  std::int64_t extent;
  std::array<std::int64_t, IndexSpace::kMaxOperands> strides;
};

bool Merges(const Dim& outer, const Dim& inner, std::size_t operands) {
  for (std::size_t k = 0; k < operands; ++k) {
    if (outer.strides[k] != inner.strides[k] * inner.extent) {
      return false;
    }
  }
  return true;
}

}  // namespace

Result<Buffer*> BufferOf(const TensorDesc& tensor, const LowerContext& context) {
  Buffer* buffer = context.memory.Find(tensor.incarnation);
  if (buffer == nullptr) {
    return UsageError("storage incarnation " + std::to_string(tensor.incarnation) +
                      " was never allocated");
  }
  REPRISE_TRY(CheckHolds(tensor, buffer->size_bytes()));
  return buffer;
}

std::string TypeOption(std::string_view macro, DType dtype) {
  return " -D" + std::string(macro) + "=" + std::string(Name(dtype));
}

bool IsKernelType(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat64 || dtype == DType::kFloat16 ||
         dtype == DType::kBFloat16 || IsIntegral(dtype);
}

Status CheckHasType(DType dtype, const DeviceInfo& device) {
  if (IsKernelType(dtype) && (dtype != DType::kFloat64 || device.fp64)) {
    return {};
  }
  return EnvironmentError(device.name + " has no " + std::string(Name(dtype)) +
                          "; try another device, or --ops timed");
}

bool IndexSpace::IsLinear(int operands) const {
  return count <= 1 || (dims == 1 && std::all_of(strides.begin(), strides.begin() + operands,
                                                 [](const auto& s) { return s[0] == 1; }));
}

std::vector<std::int64_t> BroadcastStrides(const TensorDesc& tensor,
                                           const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> strides(shape.size(), 0);
  const std::size_t rank = std::min(shape.size(), tensor.shape.size());
  for (std::size_t i = 1; i <= rank; ++i) {
    if (tensor.shape[tensor.shape.size() - i] != 1) {
      strides[shape.size() - i] = tensor.strides[tensor.strides.size() - i];
    }
  }
  return strides;
}

std::optional<IndexSpace> MakeIndexSpace(const std::vector<std::int64_t>& shape,
                                         std::span<const TensorDesc* const> operands,
                                         bool reorder) {
  if (operands.size() > IndexSpace::kMaxOperands) {
    return std::nullopt;
  }
  IndexSpace space;
  space.count = ElementCount(shape);
  std::vector<Dim> dims(shape.size());
  for (std::size_t d = 0; d < shape.size(); ++d) {
    dims[d] = {shape[d], {}};
  }
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const TensorDesc& tensor = *operands[k];
    space.offset[k] = tensor.offset;
    for (std::size_t i = 1; i <= tensor.shape.size(); ++i) {
      const std::int64_t extent = tensor.shape[tensor.shape.size() - i];
      if (extent != 1 && (i > shape.size() || extent != shape[shape.size() - i])) {
        return std::nullopt;
      }
    }
    const std::vector<std::int64_t> strides = BroadcastStrides(tensor, shape);
    for (std::size_t d = 0; d < shape.size(); ++d) {
      dims[d].strides[k] = strides[d];
    }
  }
  std::erase_if(dims, [](const Dim& dim) { return dim.extent == 1; });
  if (reorder) {
    std::ranges::stable_sort(dims, std::greater(),
                             [](const Dim& dim) { return std::abs(dim.strides[0]); });
  }
  std::vector<Dim> merged;
  for (const Dim& dim : dims) {
    if (!merged.empty() && Merges(merged.back(), dim, operands.size())) {
      merged.back() = {merged.back().extent * dim.extent, dim.strides};
    } else {
      merged.push_back(dim);
    }
  }
  if (merged.size() > IndexSpace::kMaxDims) {
    return std::nullopt;
  }
  space.dims = std::max<std::int64_t>(1, static_cast<std::int64_t>(merged.size()));
  space.shape.fill(1);
  for (std::size_t d = 0; d < merged.size(); ++d) {
    space.shape[d] = merged[d].extent;
    for (std::size_t k = 0; k < operands.size(); ++k) {
      space.strides[k][d] = merged[d].strides[k];
    }
  }
  return space;
}

void SetItemsLaunch(DeviceKernel& kernel, std::int64_t items, const DeviceInfo& device) {
  const auto units = static_cast<std::int64_t>(std::max(1, device.compute_units));
  if (device.is_cpu) {
    const std::int64_t workers =
        std::clamp<std::int64_t>(items / kCpuItems, 1, units * kCpuWorkersPerCore);
    kernel.global = {static_cast<std::size_t>(items == 0 ? 0 : workers), 1, 1};
    kernel.local = {1, 1, 1};
    return;
  }
  const std::size_t local =
      std::min(kGpuLocal, std::max<std::size_t>(1, device.max_work_group_size));
  const auto groups = std::min<std::int64_t>(
      (items + static_cast<std::int64_t>(local) - 1) / static_cast<std::int64_t>(local),
      units * kGpuGroupsPerUnit);
  kernel.global = {static_cast<std::size_t>(groups) * local, 1, 1};
  kernel.local = {local, 1, 1};
}

}  // namespace reprise
