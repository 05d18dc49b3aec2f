// NVIDIA's library of transfers among GPUs through its C interface (NCCL API,
// docs.nvidia.com/deeplearning/nccl/user-guide), opened at run time.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

#include "core/result.h"
#include "kernels/cuda/driver.h"

namespace reprise {

using NcclHandle = void*;  // ncclComm_t
// ncclUniqueId, which is passed by value.
struct NcclIdentity {
  char bytes[128];
};
// ncclConfig_t as of 2.14, which later releases read by its size and version.
struct NcclConfig {
  std::size_t size = sizeof(NcclConfig);
  unsigned int magic = 0xcafebeef;
  unsigned int version = 21400;
  int blocking = 0;
};

// Numbers of the interface.
inline constexpr int kNcclInProgress = 7;

// X(member, symbol, type)
#define REPRISE_NCCL_FUNCTIONS(X)                                                          \
  X(version, "ncclGetVersion", int(int*))                                                  \
  X(new_identity, "ncclGetUniqueId", int(NcclIdentity*))                                   \
  X(join, "ncclCommInitRankConfig", int(NcclHandle*, int, NcclIdentity, int, NcclConfig*)) \
  X(leave, "ncclCommDestroy", int(NcclHandle))                                             \
  X(end, "ncclCommAbort", int(NcclHandle))                                                 \
  X(state, "ncclCommGetAsyncError", int(NcclHandle, int*))                                 \
  X(error_text, "ncclGetErrorString", const char*(int))                                    \
  X(begin_group, "ncclGroupStart", int())                                                  \
  X(end_group, "ncclGroupEnd", int())                                                      \
  X(all_reduce, "ncclAllReduce",                                                           \
    int(CudaAddress, CudaAddress, std::size_t, int, int, NcclHandle, CudaHandle))          \
  X(reduce, "ncclReduce",                                                                  \
    int(CudaAddress, CudaAddress, std::size_t, int, int, int, NcclHandle, CudaHandle))     \
  X(broadcast, "ncclBroadcast",                                                            \
    int(CudaAddress, CudaAddress, std::size_t, int, int, NcclHandle, CudaHandle))          \
  X(all_gather, "ncclAllGather",                                                           \
    int(CudaAddress, CudaAddress, std::size_t, int, NcclHandle, CudaHandle))               \
  X(reduce_scatter, "ncclReduceScatter",                                                   \
    int(CudaAddress, CudaAddress, std::size_t, int, int, NcclHandle, CudaHandle))          \
  X(send, "ncclSend", int(CudaAddress, std::size_t, int, int, NcclHandle, CudaHandle))     \
  X(recv, "ncclRecv", int(CudaAddress, std::size_t, int, int, NcclHandle, CudaHandle))

// Thread-safe. Functions return the interface's code, 0 for success; where a communicator was
// joined without waiting, kNcclInProgress is success, too.
class Nccl {
 public:
  // By name, which also finds what PyTorch has loaded, else where PyTorch's wheels have it.
  // `torch`: a library of PyTorch's, or empty. Environment error if there is none, or an older one.
  [[nodiscard]] static Result<std::shared_ptr<const Nccl>> Open(const std::string& torch);
  // "NCCL 2.28.3"
  [[nodiscard]] const std::string& description() const { return description_; }
  // Environment error with the library's words.
  [[nodiscard]] Status Check(int code, std::string_view what) const;

#define REPRISE_DECLARE(member, symbol, ...) std::add_pointer_t<__VA_ARGS__> member = nullptr;
  REPRISE_NCCL_FUNCTIONS(REPRISE_DECLARE)
#undef REPRISE_DECLARE

 private:
  Nccl() = default;
  std::string description_;
};

}  // namespace reprise
