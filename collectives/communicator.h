// Communication between ranks: Communicator, group transfers, agreement. Transports: MPI and local
// (ranks as threads of one process, for tests).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/comm.h"
#include "core/result.h"

namespace reprise {

// A started transfer. Progress happens in Test() and Wait() only: whoever starts transfers keeps
// testing them (the engine's communication thread does).
class Transfer {
 public:
  virtual ~Transfer() = default;
  [[nodiscard]] virtual Result<bool> Test() = 0;
};

// A process group of this rank. Not thread-safe: one thread per rank issues, in group order.
class GroupComm {
 public:
  virtual ~GroupComm() = default;
  [[nodiscard]] virtual int rank() const = 0;  // within the group
  [[nodiscard]] virtual int size() const = 0;
  // Starts `spec` on contiguous host memory of spec.in_bytes / spec.out_bytes. `in` and `out` may
  // be the same memory (in place) and must live until the transfer is done. Splits count elements.
  // Peer and root are global ranks. Send/recv match by (group, peer, order of issue).
  [[nodiscard]] virtual Result<std::unique_ptr<Transfer>> Start(const CommSpec& spec,
                                                                std::span<const std::byte> in,
                                                                std::span<std::byte> out) = 0;
};

// All ranks of a run. Created once per rank; destroyed collectively.
class Communicator {
 public:
  virtual ~Communicator() = default;
  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  [[nodiscard]] virtual std::string_view transport() const = 0;  // "mpi", "local"
  [[nodiscard]] virtual const std::string& host() const = 0;
  [[nodiscard]] virtual int local_rank() const = 0;  // among the ranks of this host
  [[nodiscard]] virtual int local_size() const = 0;
  // Collective over all ranks of the run (also non-members, who get nullptr), same order
  // everywhere.
  [[nodiscard]] virtual Result<std::unique_ptr<GroupComm>> CreateGroup(
      const std::vector<std::int32_t>& ranks) = 0;
  // Coordination, blocking, outside of any timed part. Bytes of every rank, by rank.
  [[nodiscard]] virtual Result<std::vector<std::string>> AllGather(const std::string& mine) = 0;
  [[nodiscard]] virtual Status Barrier() = 0;
  // Every rank calls it with its own outcome; all get the same answer: success, or the error of the
  // lowest failing rank with its number in the message. How no rank runs into a hang alone.
  [[nodiscard]] Status Agree(const Status& mine);
  // While running: tells the others that this rank gives up; polled by their engines.
  virtual void RaiseAbort(const std::string& why) = 0;
  // Empty while nobody has. Cheap enough to poll every millisecond.
  [[nodiscard]] virtual std::string PollAbort() = 0;
};

// MPI_Init_thread / Finalize are inside. A program not started by mpirun is rank 0 of 1.
[[nodiscard]] Result<std::unique_ptr<Communicator>> CreateMpiCommunicator(int* argc, char*** argv);
// `size` ranks in this process, one thread each.
[[nodiscard]] std::vector<std::unique_ptr<Communicator>> CreateLocalCommunicators(int size);

// One kind of collective, registered in builtin.def: algebra that does not depend on transport.
class Collective {
 public:
  virtual ~Collective() = default;
  [[nodiscard]] virtual CommKind kind() const = 0;
  [[nodiscard]] virtual std::string_view name() const = 0;
  // Exactly representable input of a rank (small integers), so that any order of summation is
  // exact.
  virtual void FillInput(const CommSpec& spec, int group_rank, int group_size,
                         std::span<std::byte> in) const = 0;
  // What must be in `out` afterwards. Needs only the spec of this rank and the group's shape;
  // `in_splits_of[r]` are the in_splits of every member (uneven all_to_all), else empty.
  [[nodiscard]] virtual Status Verify(const CommSpec& spec, int group_rank, int group_size,
                                      const std::vector<std::vector<std::int64_t>>& in_splits_of,
                                      std::span<const std::byte> out) const = 0;
};
class CollectiveRegistry {
 public:
  static const CollectiveRegistry& Builtin();
  [[nodiscard]] std::span<const std::unique_ptr<Collective>> all() const { return collectives_; }
  [[nodiscard]] const Collective* Find(CommKind kind) const;

 private:
  CollectiveRegistry();
  std::vector<std::unique_ptr<Collective>> collectives_;
};

// What one rank is about to do in one sequence; exchanged before anything runs.
struct PlannedTransfer {
  std::uint64_t node_id = 0;
  CommSpec spec;
};
// The n-th transfer of each sequence must agree on every member: kind, dtype, sizes, root, splits;
// every send needs its recv. `plans[r]` is rank r's list in issue order; groups map ids to ranks.
// One message per mismatch, naming both ranks' node ids and what differs; success if none.
[[nodiscard]] Status MatchTransfers(
    const std::vector<std::vector<PlannedTransfer>>& plans,
    const std::function<std::vector<std::int32_t>(const std::string&)>& ranks_of_group);

}  // namespace reprise
