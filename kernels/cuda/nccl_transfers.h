// Transfers among CUDA devices by NCCL.
#pragma once

#include <memory>
#include <string>

#include "kernels/cuda/cuda_buffer.h"
#include "kernels/cuda/nccl.h"
#include "kernels/device_transfers.h"

namespace reprise {

class NcclTransfers final : public DeviceTransfers {
 public:
  NcclTransfers(std::shared_ptr<CudaContext> context, std::shared_ptr<const Nccl> nccl)
      : context_(std::move(context)), nccl_(std::move(nccl)) {}
  [[nodiscard]] const std::string& description() const override { return nccl_->description(); }
  // By NCCL's call of that name: all_reduce, reduce, broadcast, send and recv, a call for each
  // piece; all_gather and reduce_scatter of equal blocks. By sends and receives in one group:
  // all_to_all, gather, scatter, all_gather of unequal blocks. Not: other reductions than NCCL's,
  // reductions of types that it lacks, overlapping memory but in place as NCCL means it.
  [[nodiscard]] bool Takes(const DeviceTransfer& transfer, int rank, int size) const override;
  [[nodiscard]] Result<std::string> NewIdentity() override;
  [[nodiscard]] Result<std::unique_ptr<DeviceGroup>> Join(const std::string& identity, int rank,
                                                          int size) override;

 private:
  const std::shared_ptr<CudaContext> context_;
  const std::shared_ptr<const Nccl> nccl_;
};

}  // namespace reprise
