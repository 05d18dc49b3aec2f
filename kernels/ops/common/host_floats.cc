#include "kernels/ops/common/host_floats.h"

#include "kernels/ops/common/host_convert.h"
#include "kernels/views.h"

namespace reprise {
namespace {

bool IsInPlace(const TensorDesc& tensor) {
  return tensor.dtype == DType::kFloat32 && IsContiguous(tensor);
}

}  // namespace

bool AreFloats(std::initializer_list<const TensorDesc*> tensors) {
  return std::all_of(tensors.begin(), tensors.end(), [](const TensorDesc* tensor) {
    return tensor == nullptr || tensor->dtype == DType::kFloat32 ||
           tensor->dtype == DType::kFloat16 || tensor->dtype == DType::kBFloat16;
  });
}

Result<FloatsIn> FloatsIn::Read(const TensorDesc& tensor, const HostBindings& memory) {
  FloatsIn out;
  if (ElementCount(tensor.shape) == 0) {
    return out;
  }
  REPRISE_ASSIGN(const HostTensor bound, HostTensor::Bind(tensor, memory));
  if (IsInPlace(tensor)) {
    out.data_ = bound.As<float>();
    return out;
  }
  out.copy_.resize(static_cast<std::size_t>(bound.count()));
  LoadAll(bound.data(), tensor, out.copy_.data());
  out.data_ = out.copy_.data();
  return out;
}

Result<FloatsIn> FloatsIn::ReadOr(const TensorDesc* tensor, const HostBindings& memory,
                                  std::int64_t count, float fallback) {
  if (tensor != nullptr) {
    return Read(*tensor, memory);
  }
  FloatsIn out;
  out.copy_.assign(static_cast<std::size_t>(count), fallback);
  out.data_ = out.copy_.data();
  return out;
}

Result<FloatsOut> FloatsOut::Write(const TensorDesc& tensor, const HostBindings& memory) {
  return WriteOr(&tensor, memory, Count(tensor));
}

Result<FloatsOut> FloatsOut::WriteOr(const TensorDesc* tensor, const HostBindings& memory,
                                     std::int64_t count) {
  FloatsOut out;
  out.tensor_ = tensor;
  count = tensor != nullptr ? Count(*tensor) : count;
  if (tensor != nullptr && count > 0 && IsInPlace(*tensor)) {
    REPRISE_ASSIGN(const HostTensor bound, HostTensor::Bind(*tensor, memory));
    out.data_ = bound.As<float>();
    return out;
  }
  out.copy_.resize(static_cast<std::size_t>(count));
  out.data_ = out.copy_.data();
  return out;
}

Status FloatsOut::Store(const HostBindings& memory) const {
  if (tensor_ == nullptr || copy_.empty()) {
    return {};
  }
  REPRISE_ASSIGN(const HostTensor bound, HostTensor::Bind(*tensor_, memory));
  StoreAll(copy_.data(), bound.data(), *tensor_);
  return {};
}

}  // namespace reprise
