#include "kernels/ops/attention/attention_host_rows.h"

#include <algorithm>
#include <utility>

#include "kernels/ops/common/host_convert.h"

namespace reprise {

Result<AttentionMemory> AttentionMemory::Bind(const AttentionCall& a, const HostBindings& memory) {
  AttentionMemory t;
  const std::pair<const TensorDesc*, std::optional<HostTensor>*> pairs[] = {
      {a.q, &t.q},
      {a.k, &t.k},
      {a.v, &t.v},
      {a.mask, &t.mask},
      {a.out, &t.out},
      {a.lse, &t.lse},
      {a.out_grad, &t.out_grad},
      {a.q_grad, &t.q_grad},
      {a.k_grad, &t.k_grad},
      {a.v_grad, &t.v_grad}};
  for (const auto& [desc, bound] : pairs) {
    if (desc != nullptr) {
      REPRISE_ASSIGN(*bound, HostTensor::Bind(*desc, memory));
    }
  }
  return t;
}

HostMatrix FloatMatrix(const float* first, std::int64_t row, std::int64_t column) {
  return {reinterpret_cast<std::byte*>(const_cast<float*>(first)), DType::kFloat32, 0, row, column};
}

HeadRows::HeadRows(const HostTensor& tensor, std::int64_t b, std::int64_t h, Use use)
    : storage_(tensor.data()), dtype_(tensor.dtype()) {
  const TensorDesc& desc = tensor.desc();
  at_ = desc.offset + b * desc.strides[0] + h * desc.strides[1];
  token_step_ = desc.strides[2];
  feature_step_ = desc.strides[3];
  tokens_ = desc.shape[2];
  features_ = desc.shape[3];
  if (dtype_ == DType::kFloat32 && feature_step_ == 1) {
    data_ = reinterpret_cast<float*>(storage_) + at_;
    stride_ = token_step_;
    for (std::int64_t i = 0; use == kZeroed && i < tokens_; ++i) {
      std::fill_n(row(i), features_, 0.0F);
    }
    return;
  }
  copy_.resize(static_cast<std::size_t>(tokens_ * features_));
  data_ = copy_.data();
  stride_ = features_;
  for (std::int64_t i = 0; use == kRead && i < tokens_; ++i) {
    LoadRun(storage_, dtype_, at_ + i * token_step_, feature_step_, row(i), features_);
  }
}

void HeadRows::Store() const {
  for (std::int64_t i = 0; !copy_.empty() && i < tokens_; ++i) {
    StoreRun(row(i), features_, storage_, dtype_, at_ + i * token_step_, feature_step_);
  }
}

}  // namespace reprise
