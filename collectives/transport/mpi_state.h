// What one process's MPI communicator, groups and transfers share.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "collectives/communicator.h"
#include "core/comm.h"
#include "core/result.h"

namespace reprise {

// The return code of an MPI call as a Status: EnvironmentError with the call and MPI's text.
[[nodiscard]] Status CheckMpi(int code, const char* call);

// How a reduction is expressed in MPI.
struct MpiReduction {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Op op = MPI_OP_NULL;
  std::int64_t type_bytes = 1;
};

class MpiState {
 public:
  MpiState() = default;
  MpiState(const MpiState&) = delete;
  MpiState& operator=(const MpiState&) = delete;

  // MPI is initialised already. Creates the communicators and operations.
  [[nodiscard]] Status Open();
  // Frees them, in the same order on every rank. Not after an abort.
  void Close();

  // Held around every MPI call where MPI grants less than MPI_THREAD_MULTIPLE; empty otherwise.
  [[nodiscard]] std::unique_lock<std::recursive_mutex> Guard() {
    return multiple ? std::unique_lock<std::recursive_mutex>() : std::unique_lock(serial_);
  }

  // Requires CanReduce(dtype, op).
  [[nodiscard]] MpiReduction ReductionOf(DType dtype, ReduceOp op) const;

  void RaiseAbort(const Error& why);
  // The reason, once a rank has raised an abort; checks for messages.
  [[nodiscard]] std::optional<Error> PollAbort();
  // The same every so many calls: for loops that test without end.
  [[nodiscard]] std::optional<Error> PollAbortSometimes();
  [[nodiscard]] bool Aborted() const { return aborted_.load(std::memory_order_acquire); }

  void PostNote(int to, std::string text);
  [[nodiscard]] std::optional<Note> TakeNote();

  // Waits for a request; an abort breaks it off where heeded. `deadline_ns` is
  // on MonotonicNs' scale, negative for none; false when it passed.
  [[nodiscard]] Result<bool> WaitFor(MPI_Request& request, std::int64_t deadline_ns,
                                     bool heed_abort);

  // Memory that MPI may still access after a wait was given up: kept to the process's end.
  void Keep(std::vector<std::byte> bytes);
  // A transfer was dropped before it was done. MPI may then still write into memory that is gone:
  // no progress must be made any more.
  void MarkUnfinished() { unfinished_ = true; }
  [[nodiscard]] bool Unfinished() const { return unfinished_; }

  bool multiple = false;
  int rank = 0;
  int size = 1;
  int most_tag = 32'767;  // that messages may have (MPI_TAG_UB); the standard grants no more
  std::int64_t max_message_bytes = 0;
  MPI_Comm base = MPI_COMM_NULL;          // parent of the groups
  MPI_Comm coordination = MPI_COMM_NULL;  // AllGather, Barrier, abort messages, notes
  MPI_Comm farewell = MPI_COMM_NULL;      // the barrier after an abort, which may cut others short
  std::vector<MPI_Comm> groups;           // freed at Close

 private:
  [[nodiscard]] std::optional<Error> LookForAbort();
  void SendAbort();

  std::recursive_mutex serial_;
  std::mutex abort_mutex_;  // guards abort_ and the messages
  std::optional<Error> abort_;
  std::atomic<bool> aborted_{false};
  std::atomic<unsigned> polls_{0};
  std::atomic<bool> unfinished_{false};
  std::string abort_text_;  // being sent
  std::vector<MPI_Request> abort_sends_;
  struct SentNote {
    std::string text;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  std::mutex notes_mutex_;
  std::list<SentNote> notes_;  // until MPI has let go of them
  std::mutex kept_mutex_;
  std::vector<std::vector<std::byte>> kept_;
  std::vector<MPI_Op> half_ops_;  // [float16, bfloat16] x [sum, prod, min, max]
};

}  // namespace reprise
