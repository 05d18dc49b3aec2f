// Communication between ranks: Communicator, group transfers, agreement. Transports: MPI and local
// (ranks as threads of one process, for tests).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/comm.h"
#include "core/result.h"

namespace reprise {

// A started transfer. Progress happens in Test() only: the thread that starts transfers keeps
// testing them (the engine's communication thread does). Repeated tests of one transfer advance all
// that this rank had started before it through the same communicator or the same GroupMaker.
class Transfer {
 public:
  virtual ~Transfer() = default;
  // True once done, and from then on. Never blocks. An error of the transport, or the reason of an
  // abort that some rank raised meanwhile, ends the transfer: it is not tested again.
  [[nodiscard]] virtual Result<bool> Test() = 0;
};

// A process group of this rank. Not thread-safe: one thread per rank issues, in group order.
class GroupComm {
 public:
  virtual ~GroupComm() = default;
  [[nodiscard]] virtual int rank() const = 0;  // within the group
  [[nodiscard]] virtual int size() const = 0;
  // Starts `spec` on contiguous host memory of spec.in_bytes / spec.out_bytes (layout.h says which
  // of the two a kind needs). `in` and `out` may be the same memory or overlap (in place) and must
  // live until the transfer is done, or until the process ends where an abort cut it short.
  // Splits count elements. Peer and root are global ranks. Send/recv match by (group, peer, order
  // of issue); what one member calls the n-th collective must be the n-th on every member.
  [[nodiscard]] virtual Result<std::unique_ptr<Transfer>> Start(const CommSpec& spec,
                                                                std::span<const std::byte> in,
                                                                std::span<std::byte> out) = 0;
  // Messages, of which algorithms are made. `peer` is a position in the group, another than this
  // rank's; 0 <= tag < kMessageTags (transports take kTransportTags). The n-th message sent with a
  // tag matches the n-th that the peer receives with it, which has the same size. Messages do not
  // match transfers of Start.
  [[nodiscard]] virtual Result<std::unique_ptr<Transfer>> Send(int peer, int tag,
                                                               std::span<const std::byte> data) = 0;
  [[nodiscard]] virtual Result<std::unique_ptr<Transfer>> Recv(int peer, int tag,
                                                               std::span<std::byte> data) = 0;
};
inline constexpr int kMessageTags = 1008;
inline constexpr int kTransportTags = 1 << 22;  // UCX in Open MPI takes 2^23

// A short message outside of all transfers: ranks use notes to watch each other while they run.
struct Note {
  int from = 0;
  std::string text;
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
  // By rank: the lowest rank on the same host.
  [[nodiscard]] virtual std::span<const std::int32_t> nodes() const = 0;
  // False where a group's Start supports only send, recv and groups of one: all other collectives
  // are then made of messages (GroupMaker).
  [[nodiscard]] virtual bool HasCollectives() const { return true; }
  // Collective over all ranks of the run (also non-members, which get nullptr), same order
  // everywhere.
  [[nodiscard]] virtual Result<std::unique_ptr<GroupComm>> CreateGroup(
      const std::vector<std::int32_t>& ranks) = 0;
  // Coordination, blocking, outside of any timed part. Bytes of every rank, by rank.
  [[nodiscard]] virtual Result<std::vector<std::string>> AllGather(const std::string& mine) = 0;
  [[nodiscard]] virtual Status Barrier() = 0;
  // How long a rank waits for the others in AllGather, Barrier and Agree before it reports one of
  // them as stuck and raises an abort; negative (the default): for ever.
  void SetPatience(std::int64_t patience_ns) { patience_ns_ = patience_ns; }
  // Tests until the transfer is done, an abort is raised, or the others let this rank wait for
  // longer than its patience.
  [[nodiscard]] Status Await(Transfer& transfer);
  // Every rank calls it with its own outcome; all get the same answer: success, or the error of the
  // lowest failing rank with its number in the message. So no rank continues alone and hangs.
  [[nodiscard]] Status Agree(const Status& mine);
  // While running: notifies the others that this rank gives up. From then on everything blocking or
  // outstanding on every rank ends with that reason ("rank 3: <message>", same kind). A rank that
  // leaves early for any reason of its own calls this first, or the others wait for it for ever.
  // Call it while the buffers of this rank's unfinished transfers still exist. The first reason
  // stays; raising again is harmless. From any thread.
  virtual void RaiseAbort(const Error& why) = 0;
  void RaiseAbort(const std::string& why) { RaiseAbort(Error{ErrorKind::kCheckFailed, why}); }
  // The reason; nothing while no rank has raised an abort. Cheap enough to poll every millisecond.
  // From any thread.
  [[nodiscard]] virtual std::optional<Error> PollAbort() = 0;
  // Sends a note without waiting for its receiver, which may be stopped or gone. A note longer than
  // kNoteBytes may be cut. Notes of one sender arrive in order; none after an abort. From any
  // thread.
  virtual void PostNote(int to, std::string text) = 0;
  // The next note for this rank, if one has come; never blocks. One thread at a time.
  [[nodiscard]] virtual std::optional<Note> TakeNote() = 0;
  // Small enough to be sent at once by every transport (Open MPI's shared memory: 4 KiB), so that
  // it arrives although the receiver has posted nothing.
  static constexpr std::size_t kNoteBytes = 2000;
  // Transports between processes take longer notes: ranks as threads add an address.
  static constexpr std::size_t kCarriedNoteBytes = kNoteBytes + 32;
  // The last call after an abort, or after an error that all ranks agreed on, once everything worth
  // keeping is written and the reason printed: waits up to kAbortGraceNs for the other ranks to get
  // as far, then ends all processes of the run with `exit_code`. Returns where ranks are threads
  // (local transport), and where an MPI other than Open MPI lets this process end in good order by
  // itself. `unsaid` is what another rank prints for all; this one prints it where that rank does
  // not come. The destructor after an abort does it with 1.
  virtual void AbortNow(int exit_code, std::string_view unsaid) = 0;
  // The time that the other ranks get to write their results after an abort.
  static constexpr std::int64_t kAbortGraceNs = 2'000'000'000;

 protected:
  [[nodiscard]] std::int64_t patience_ns() const { return patience_ns_; }
  // Raises an abort because this rank has waited for the others for longer than its patience.
  [[nodiscard]] Error GiveUpWaiting();

 private:
  std::int64_t patience_ns_ = -1;
};

// MPI_Init_thread / Finalize are inside: once per process. A program not started by mpirun is rank
// 0 of 1. Longer messages than `max_message_bytes` are cut (MPI counts are ints).
[[nodiscard]] Result<std::unique_ptr<Communicator>> CreateMpiCommunicator(
    int* argc, char*** argv, std::int64_t max_message_bytes = std::int64_t{1} << 30);
// For a process that MPI's launcher started and that ends before it has created a communicator, all
// ranks for the same reason, which has been printed: ends all of them with `exit_code`, without the
// launcher's lines about it. Starts MPI for that, which waits until every rank has come. Returns
// where this MPI cannot; the caller then ends its process.
void EndMpiJob(int exit_code);
// Name and version of the MPI library that the process has loaded ("Open MPI v4.1.4"). May be
// called before MPI is initialised, and by any thread.
[[nodiscard]] std::string MpiLibraryVersion();
// `size` ranks in this process, one thread each.
[[nodiscard]] std::vector<std::unique_ptr<Communicator>> CreateLocalCommunicators(int size);

constexpr int kMaxRanksPerProcess = 64;
// Several ranks in each process, one thread each: `ranks` in all, in blocks over the ranks of
// `processes`, as evenly as it goes. Returns those of this process, in order. `processes` must
// outlive them and is used for nothing else until they are gone; AbortNow is then its caller's.
// Usage error for fewer ranks than processes, or over kMaxRanksPerProcess in one.
[[nodiscard]] Result<std::vector<std::unique_ptr<Communicator>>> CreateThreadedCommunicators(
    Communicator& processes, int ranks);

// This rank's place in a process group: the global ranks in group order, and its position in them.
struct GroupPlace {
  std::span<const std::int32_t> ranks;
  int rank = 0;  // ranks[rank] is this rank
  [[nodiscard]] int size() const { return static_cast<int>(ranks.size()); }
};

// Of a group id, the ranks; empty: unknown.
using RanksOfGroup = std::function<std::vector<std::int32_t>(const std::string&)>;

}  // namespace reprise
