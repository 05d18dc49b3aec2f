// Communication kernels: which they are, and what their names and arguments say of a transfer.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "converters/pytorch/rank/rank_capture.h"
#include "core/comm.h"

namespace reprise::pytorch {

// "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)",
// "ncclDevKernel_AllReduce_Sum_f32_RING_LL(…)", "ncclAllReduceRingLLKernel_sum_f32(ncclColl)",
// RCCL's likewise.
[[nodiscard]] bool IsNcclKernel(std::string_view name);
// Those, and kernels of other libraries that move data between devices (MSCCL, NVSHMEM, DeepEP,
// custom all-reduces, HCCL, …). Their names alone say no kind.
[[nodiscard]] bool IsCommKernel(std::string_view name);

struct NcclName {
  // SendRecv serves send, recv and every all_to_all: nothing then; nor for "ncclDevKernel_Generic".
  std::optional<CommKind> kind;
  DType dtype = DType::kUnknown;  // SendRecv moves bytes whatever they are: unknown
  std::optional<ReduceOp> op;
  bool send_recv = false;
};
[[nodiscard]] NcclName ParseNcclName(std::string_view name);

// One transfer for every kernel that has arguments of record_param_comms, or a name of IsCommKernel
// (comm_sources.h says what is believed of it).
//
// PyTorch opens a batch (batch_isend_irecv, a coalescing manager), issues its parts without
// launching anything, and launches one kernel where it closes it: that kernel is the first part's
// transfer, the other parts are transfers of the same time that it carried.
//
// Counts `call_with_several_kernels`, `batched_transfer` (parts beyond the first).
[[nodiscard]] std::vector<TransferRecord> FindDeviceTransfers(RankCapture& rank);

}  // namespace reprise::pytorch
