#include "kernels/ops/attention/attention_host_rows.h"

#include <algorithm>
#include <utility>

#include "kernels/ops/common/host_convert.h"
#include "kernels/ops/common/host_loops.h"

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

HeadRows::HeadRows(const HostTensor& tensor, std::int64_t b, std::int64_t h, Use use)
    : storage_(tensor.data()), dtype_(tensor.dtype()) {
  const TensorDesc& desc = tensor.desc();
  at_ = desc.offset + b * desc.strides[0] + h * desc.strides[1];
  token_step_ = desc.strides[2];
  feature_step_ = desc.strides[3];
  tokens_ = desc.shape[2];
  features_ = desc.shape[3];
  if (dtype_ == DType::kFloat32 && feature_step_ == 1 && features_ == width()) {
    data_ = reinterpret_cast<float*>(storage_) + at_;
    stride_ = token_step_;
    for (std::int64_t i = 0; use == kZeroed && i < tokens_; ++i) {
      std::fill_n(row(i), features_, 0.0F);
    }
    return;
  }
  copy_.resize(static_cast<std::size_t>(tokens_ * width()));
  data_ = copy_.data();
  stride_ = width();
  for (std::int64_t i = 0; use == kRead && i < tokens_; ++i) {
    LoadRun(storage_, dtype_, at_ + i * token_step_, feature_step_, row(i), features_);
  }
}

void HeadRows::Scale(float factor) {
  for (std::int64_t i = 0; i < tokens_; ++i) {
    loops::ScaleShift(row(i), factor, 0, row(i), features_);
  }
}

void HeadRows::Store() const {
  for (std::int64_t i = 0; !copy_.empty() && i < tokens_; ++i) {
    StoreRun(row(i), features_, storage_, dtype_, at_ + i * token_step_, feature_step_);
  }
}

void PackedRows::Pack(const HeadRows& rows, float factor) {
  constexpr std::int64_t kPanel = SmallRight::kPanel;
  panel_ = rows.features() * kPanel;
  data_.assign(static_cast<std::size_t>(PanelsOf(rows.tokens()) * rows.features()), 0);
  for (std::int64_t first = 0; first < rows.tokens(); first += kPanel) {
    float* panel = data_.data() + first * rows.features();
    const std::int64_t n = std::min(kPanel, rows.tokens() - first);
    for (std::int64_t e = 0; e < rows.features(); ++e) {
      for (std::int64_t j = 0; j < n; ++j) {
        panel[e * kPanel + j] = rows.row(first + j)[e] * factor;
      }
    }
  }
}

}  // namespace reprise
