#include "kernels/host/host_lowering.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "kernels/cpu/parallel_for.h"
#include "kernels/host/host_buffer.h"
#include "kernels/host/host_probe.h"
#include "kernels/ops/common/host_clones.h"

namespace reprise {
namespace {

// The host backend's buffers as the host memory that they are at the time: a library's results may
// have taken their place. A call names few storages, so a scan beats a map.
class BufferBindings : public HostBindings {
 public:
  BufferBindings(std::vector<std::pair<std::int64_t, Buffer*>> buffers,
                 std::shared_ptr<const Blas> blas)
      : buffers_(std::move(buffers)), blas_(std::move(blas)) {}
  [[nodiscard]] std::span<std::byte> Find(std::int64_t incarnation) const override {
    const auto it = std::find_if(buffers_.begin(), buffers_.end(),
                                 [&](const auto& entry) { return entry.first == incarnation; });
    return it == buffers_.end() ? std::span<std::byte>()
                                : std::span(it->second->host_data(),
                                            static_cast<std::size_t>(it->second->size_bytes()));
  }
  [[nodiscard]] const Blas* blas() const override { return blas_.get(); }
  // Each buffer once.
  [[nodiscard]] std::vector<HostBuffer*> Used() const {
    std::vector<HostBuffer*> used;
    for (const auto& [incarnation, any] : buffers_) {
      auto* buffer = dynamic_cast<HostBuffer*>(any);
      if (buffer != nullptr && std::find(used.begin(), used.end(), buffer) == used.end()) {
        used.push_back(buffer);
      }
    }
    return used;
  }

 private:
  std::vector<std::pair<std::int64_t, Buffer*>> buffers_;
  std::shared_ptr<const Blas> blas_;
};

Result<BufferBindings> BindHost(const OpCall& call, const Bindings& memory,
                                std::shared_ptr<const Blas> blas) {
  std::vector<std::pair<std::int64_t, Buffer*>> buffers;
  for (const ValueList* values : {&call.inputs, &call.outputs}) {
    for (const TensorDesc* tensor : TensorsIn(*values)) {
      Buffer* buffer = memory.Find(tensor->incarnation);
      if (buffer == nullptr || buffer->host_data() == nullptr) {
        return UsageError(call.name + ": storage incarnation " +
                          std::to_string(tensor->incarnation) + " has no host memory");
      }
      buffers.emplace_back(tensor->incarnation, buffer);
    }
  }
  return BufferBindings(std::move(buffers), std::move(blas));
}

// Blocks of words that stay in registers, so that their chains of multiply-adds overlap.
REPRISE_CLONES void WalkOnHost(float* words, std::int64_t count, std::int32_t fma_per_word) {
  constexpr std::int64_t kBlock = 64;
  float block[kBlock] = {};
  for (std::int64_t i = 0; i < count; i += kBlock) {
    const std::int64_t size = std::min(kBlock, count - i);
    std::copy_n(words + i, size, block);
    for (std::int32_t k = 0; k < fma_per_word; ++k) {
      for (float& x : block) {
        x = x * 0.5F + 0.25F;
      }
    }
    std::copy_n(block, size, words + i);
  }
}

void RunSurrogate(const SurrogatePlan& plan, float* scratch) {
  const double bytes_like = 2.0 * sizeof(float) + 0.5 * plan.fma_per_word;
  for (std::int64_t pass = 0; pass < plan.passes; ++pass) {
    ParallelFor(plan.words, GrainSize(bytes_like), [&](std::int64_t begin, std::int64_t end) {
      WalkOnHost(scratch + begin, end - begin, plan.fma_per_word);
    });
  }
}

}  // namespace

Result<std::vector<Launch>> HostLowering::Lower(const Kernel& kernel, const OpCall& call,
                                                const LowerContext& context) const {
  REPRISE_ASSIGN(BufferBindings bindings, BindHost(call, context.memory, blas_));
  // The run points into the call, which the task keeps.
  const auto kept = std::make_shared<const OpCall>(call);
  REPRISE_ASSIGN(HostRun run, kernel.LowerToHost(*kept));
  HostTask task{[kept, run = std::move(run), bindings] { return run(bindings); }};
  if (torch_ != nullptr) {
    if (auto by_torch = torch_->TaskOrElse(call, context.memory, task.run)) {
      task = std::move(*by_torch);
    }
    std::vector<HostBuffer*> used = bindings.Used();
    for (HostBuffer* buffer : used) {
      buffer->AddUser();
    }
    task.after = [used = std::move(used)] {
      for (HostBuffer* buffer : used) {
        buffer->UserIsDone();
      }
    };
  }
  return std::vector<Launch>{std::move(task)};
}

Launch HostLowering::Surrogate(const SurrogatePlan& plan, Buffer* scratch,
                               const DeviceInfo& /*device*/) const {
  return HostTask{[plan, scratch]() -> Status {
    RunSurrogate(plan, reinterpret_cast<float*>(scratch->host_data()));
    return {};
  }};
}

Launch HostLowering::CopyProbe(Buffer* to, Buffer* from, std::int64_t bytes,
                               const DeviceInfo& /*device*/) const {
  return HostTask{[=]() -> Status {
    CopyOnAllCores(to->host_data(), from->host_data(), static_cast<std::size_t>(bytes));
    return {};
  }};
}

MultiplyAddProbe HostLowering::MultiplyAdd(DType dtype, std::int32_t rounds, Buffer* /*out*/,
                                           const DeviceInfo& /*device*/) const {
  return {HostTask{[=]() -> Status {
            MultiplyAddOnAllCores(dtype, rounds);
            return {};
          }},
          MultiplyAddFlopsPerRound(dtype)};
}

}  // namespace reprise
