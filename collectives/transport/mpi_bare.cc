// The yardstick: collectives as a plain MPI program writes them, on its own duplicate of
// MPI_COMM_WORLD, with nothing of Reprise's in between.
#include <mpi.h>

#include <algorithm>

#include "collectives/bench/variants.h"
#include "collectives/layout.h"
#include "collectives/transport/mpi_state.h"

namespace reprise {
namespace {

class MpiBare final : public BareCollective {
 public:
  explicit MpiBare(MPI_Comm comm) : comm_(comm) {
    MPI_Comm_size(comm_, &size_);
    MPI_Comm_rank(comm_, &rank_);
  }
  ~MpiBare() override { MPI_Comm_free(&comm_); }
  MpiBare(const MpiBare&) = delete;
  MpiBare& operator=(const MpiBare&) = delete;

  Status RunOnce(const CommSpec& spec, std::span<const std::byte> in,
                 std::span<std::byte> out) override {
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = Start(spec, in.data(), out.data(), &request);
    if (code != MPI_SUCCESS) {
      return CheckMpi(code, "a bare MPI call");
    }
    return CheckMpi(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
  }

 private:
  // Requires a plain type and operation: float32 or float64, sum.
  int Start(const CommSpec& spec, const std::byte* in, std::byte* out, MPI_Request* request) {
    const MPI_Datatype type = spec.dtype == DType::kFloat64 ? MPI_DOUBLE : MPI_FLOAT;
    const int width = SizeOf(spec.dtype);
    const auto in_bytes = static_cast<int>(spec.in_bytes);
    const auto out_bytes = static_cast<int>(spec.out_bytes);
    switch (spec.kind) {
      case CommKind::kAllReduce:
        return MPI_Iallreduce(in, out, in_bytes / width, type, MPI_SUM, comm_, request);
      case CommKind::kReduce:
        return MPI_Ireduce(in, out, in_bytes / width, type, MPI_SUM, spec.root, comm_, request);
      case CommKind::kReduceScatter:
        return MPI_Ireduce_scatter_block(in, out, out_bytes / width, type, MPI_SUM, comm_, request);
      case CommKind::kAllGather:
        return MPI_Iallgather(in, in_bytes, MPI_BYTE, out, in_bytes, MPI_BYTE, comm_, request);
      case CommKind::kGather:
        return MPI_Igather(in, in_bytes, MPI_BYTE, out, in_bytes, MPI_BYTE, spec.root, comm_,
                           request);
      case CommKind::kScatter:
        return MPI_Iscatter(in, out_bytes, MPI_BYTE, out, out_bytes, MPI_BYTE, spec.root, comm_,
                            request);
      case CommKind::kAllToAll:
        return MPI_Ialltoall(in, in_bytes / size_, MPI_BYTE, out, in_bytes / size_, MPI_BYTE, comm_,
                             request);
      case CommKind::kBroadcast: {
        // As Reprise does it: the root sends from where its data is, and keeps a copy in `out`.
        const bool is_root = spec.root == rank_;
        if (is_root) {
          std::copy_n(in, in_bytes, out);
        }
        return MPI_Ibcast(out, out_bytes, MPI_BYTE, spec.root, comm_, request);
      }
      case CommKind::kBarrier:
        return MPI_Ibarrier(comm_, request);
      default:
        return MPI_ERR_OTHER;
    }
  }

  MPI_Comm comm_;
  int size_ = 1;
  int rank_ = 0;
};

}  // namespace

Result<std::unique_ptr<BareCollective>> CreateBareCollective(Communicator& communicator) {
  if (communicator.transport() != "mpi") {
    return UsageError("a bare MPI loop needs MPI's communicator");
  }
  MPI_Comm comm = MPI_COMM_NULL;
  REPRISE_TRY(CheckMpi(MPI_Comm_dup(MPI_COMM_WORLD, &comm), "MPI_Comm_dup"));
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  return std::make_unique<MpiBare>(comm);
}

}  // namespace reprise
