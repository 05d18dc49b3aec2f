// A started transfer over MPI: its requests, the memory it owns, what is left to do at the end.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "collectives/communicator.h"
#include "collectives/layout.h"
#include "collectives/transport/mpi_state.h"

namespace reprise {

class MpiTransfer final : public Transfer {
 public:
  MpiTransfer(std::shared_ptr<MpiState> state, const CommSpec& spec);
  ~MpiTransfer() override;
  MpiTransfer(const MpiTransfer&) = delete;
  MpiTransfer& operator=(const MpiTransfer&) = delete;

  Result<bool> Test() override;

  // For the MPI call that starts a part of the transfer; valid until the next one.
  [[nodiscard]] MPI_Request* NewRequest() { return &requests_.emplace_back(MPI_REQUEST_NULL); }
  [[nodiscard]] CommKind kind() const { return kind_; }
  // A copy that exists as long as MPI may read it.
  [[nodiscard]] const std::byte* Stage(std::span<const std::byte> data);
  // Divide `out` by `ranks` when all parts are done.
  void AverageAtEnd(std::span<std::byte> out, int ranks);

 private:
  std::shared_ptr<MpiState> state_;
  std::vector<MPI_Request> requests_;
  std::vector<std::byte> staged_;
  std::span<std::byte> average_;
  int average_ranks_ = 0;
  DType dtype_;
  CommKind kind_;
  bool done_ = false;
};

// Starts one message to or from a peer (whichever of `in` and `out` the transfer's kind takes), cut
// where it is longer than `most_bytes`.
[[nodiscard]] Status StartMessage(MpiTransfer& transfer, std::int64_t most_bytes, MPI_Comm comm,
                                  int peer, int tag, std::span<const std::byte> in,
                                  std::span<std::byte> out);
// Tags below are send's and recv's, and of uneven blocks.
inline constexpr int kMessageTagBase = 16;

// Environment error where a message's tag is more than this MPI takes.
[[nodiscard]] Status CheckTag(int tag, int most_tag);

// One started transfer in the making: what the calls for each kind need. Parts larger than the
// state's limit are cut.
struct MpiCall {
  MpiState& state;
  MpiTransfer& transfer;
  MPI_Comm comm;
  const CommSpec& spec;
  const TransferLayout& layout;
  GroupPlace place;
  std::span<const std::byte> in;  // exactly as long as the layout requires
  std::span<std::byte> out;

  // Each starts everything it takes and returns at once.
  [[nodiscard]] Status StartReduction();     // all_reduce, reduce, reduce_scatter
  [[nodiscard]] Status StartEvenBlocks();    // all_gather, gather, scatter, all_to_all
  [[nodiscard]] Status StartUnevenBlocks();  // the same, block sizes differ
  [[nodiscard]] Status StartBroadcast();
  [[nodiscard]] Status StartPointToPoint();
};

// MPI forbids overlapping buffers except where it takes MPI_IN_PLACE, which for each call means
// one place in `out`; a copy serves otherwise.
inline const std::byte* Source(const MpiCall& call, const std::byte* in_place_at) {
  if (!Overlap(call.in, call.out)) {
    return call.in.data();
  }
  return call.in.data() == in_place_at ? static_cast<const std::byte*>(MPI_IN_PLACE)
                                       : call.transfer.Stage(call.in);
}

inline const std::byte* Advance(const std::byte* source, std::int64_t bytes) {
  return source == static_cast<const std::byte*>(MPI_IN_PLACE) ? source : source + bytes;
}

// Calls part(offset, bytes) over `total` in pieces of at most `most`, whole units.
template <typename Part>
Status InParts(std::int64_t total, std::int64_t most, std::int64_t unit, Part part) {
  const std::int64_t step = std::max<std::int64_t>(1, most / unit) * unit;
  for (std::int64_t offset = 0; offset < total; offset += step) {
    REPRISE_TRY(part(offset, std::min(step, total - offset)));
  }
  return {};
}

}  // namespace reprise
