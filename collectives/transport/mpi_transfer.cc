#include "collectives/transport/mpi_transfer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "collectives/host_reduction.h"

namespace reprise {

MpiTransfer::MpiTransfer(std::shared_ptr<MpiState> state, const CommSpec& spec)
    : state_(std::move(state)), dtype_(spec.dtype), kind_(spec.kind) {}

MpiTransfer::~MpiTransfer() {
  const bool open = std::ranges::any_of(
      requests_, [](MPI_Request request) { return request != MPI_REQUEST_NULL; });
  if (open) {
    // MPI offers no way to take back a collective; its requests are left to the process's end.
    state_->MarkUnfinished();
    state_->Keep(std::move(staged_));
  }
}

const std::byte* MpiTransfer::Stage(std::span<const std::byte> data) {
  staged_.assign(data.begin(), data.end());
  return staged_.data();
}

void MpiTransfer::AverageAtEnd(std::span<std::byte> out, int ranks) {
  average_ = out;
  average_ranks_ = ranks;
}

Result<bool> MpiTransfer::Test() {
  if (done_) {
    return true;
  }
  int flag = 0;
  {
    const auto guard = state_->Guard();
    if (requests_.size() == 1) {
      REPRISE_TRY(
          CheckMpi(MPI_Test(&requests_.front(), &flag, MPI_STATUS_IGNORE), Name(kind_).data()));
    } else {
      std::vector<MPI_Status> statuses(requests_.size());
      const int code =
          MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &flag, statuses.data());
      if (code == MPI_ERR_IN_STATUS) {
        for (const MPI_Status& status : statuses) {
          if (status.MPI_ERROR != MPI_ERR_PENDING) {
            REPRISE_TRY(CheckMpi(status.MPI_ERROR, Name(kind_).data()));
          }
        }
      }
      REPRISE_TRY(CheckMpi(code, Name(kind_).data()));
    }
  }
  if (flag != 0) {
    if (average_ranks_ > 0) {
      FinishAverage(dtype_, average_ranks_, average_);
    }
    done_ = true;
    return true;
  }
  if (const auto why = state_->PollAbortSometimes()) {
    return tl::unexpected<Error>(*why);
  }
  return false;
}

}  // namespace reprise
