// The transfers of one rank, each once, although up to four records show it:
//   _c10d_functional::all_reduce > c10d::allreduce_ > record_param_comms > gloo:all_reduce
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "converters/pytorch/rank/comm_arguments.h"
#include "converters/pytorch/rank/operation_list.h"
#include "converters/pytorch/rank/roles.h"
#include "core/diagnostics.h"

namespace reprise::pytorch {

struct TransferRecord {
  std::int32_t call = -1;          // operation that issued it; -1: none was recorded
  std::int32_t leaf = -1;          // the transfer's own (first) record; -1: a device event
  std::int32_t device_event = -1;  // index into DeviceTrace::events: NCCL; -1: gloo
  std::int32_t carrier = -1;  // device event that moved it beside others: a batch is one kernel
  std::int32_t thread = -1;   // index of the thread that issued it
  std::int64_t worker = -1;   // Kineto thread that ran it; distinguishes groups (gloo)
  std::int64_t start_ns = 0;  // this rank's arrival
  std::int64_t end_ns = 0;
  std::int64_t wait_ns = -1;      // point-to-point: when the wait for it returned
  bool wait_blocked = false;      // … and the host had been doing nothing else before
  std::int64_t transfer_ns = -1;  // what is left of it after the last needed arrival
  CommArguments arguments;        // .spec is complete once groups are assigned
  // The group as the capture names it; empty if it doesn't.
  std::string group_name;
  std::string group_description;
  std::vector<std::int32_t> group_ranks;
  bool group_recorded = false;
};

// The group as a host record says it or, where that does not, Kineto's, the first of them first;
// each of these may be nullptr.
void NameGroup(const HostNode* record, std::initializer_list<const KinetoComm*> comms,
               TransferRecord& transfer);

// gloo's transfers; NCCL's are FindDeviceTransfers' (nccl.h). Those that nothing issued are counted
// (`transfer_without_call`).
//
// A collective arrives when its record on the worker thread starts. A send or receive arrives when
// its call starts: gloo writes the data inside the call and opens the record only afterwards
// (measured: up to 4.8 ms later), so that a receive would end before its send began.
[[nodiscard]] std::vector<TransferRecord> FindTransfers(
    const OperationList& list, const std::vector<Classified>& roles, const HostTrace& host,
    const KinetoTrace& kineto, const std::string& label, Diagnostics& diagnostics);

// Where nothing recorded the transfers themselves (a host trace alone): one for every call that
// says what it is.
void FindIssuedTransfers(const OperationList& list, const std::vector<Classified>& roles,
                         const HostTrace& host, const KinetoTrace& kineto,
                         std::vector<TransferRecord>& transfers);

// In order of issue: that is the order within a group. Calls that never became a transfer (an
// exception, a capture that ended before) are counted (`call_without_transfer`).
void OrderTransfers(const OperationList& list, const std::vector<Classified>& roles,
                    const std::string& label, std::vector<TransferRecord>& transfers,
                    Diagnostics& diagnostics);

}  // namespace reprise::pytorch
