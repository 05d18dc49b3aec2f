// The two files linked: every operation with its times, its arguments and what encloses it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "converters/pytorch/alignment/link_by_alignment.h"
#include "converters/pytorch/host/host_trace.h"
#include "converters/pytorch/kineto/kineto.h"
#include "core/diagnostics.h"
#include "core/result.h"
#include "et_schema/link_report.h"

namespace reprise::pytorch {

struct Operation {
  const std::string* name = nullptr;
  std::int64_t start_ns = 0;  // since the epoch
  std::int64_t end_ns = 0;
  std::int64_t rf_id = -1;
  std::int32_t host = -1;    // index into HostTrace::nodes; -1: only Kineto saw it
  std::int32_t event = -1;   // index into KinetoTrace::events
  std::int32_t thread = -1;  // index into OperationList::threads
  std::int32_t parent = -1;  // index of the innermost enclosing operation of its thread, -1: none
  std::int32_t subtree = 0;  // one past the index of its last descendant
  bool annotation = false;
  // The record of a transfer itself ("gloo:all_reduce"), as opposed to the call that issued it.
  bool transfer = false;
};

struct OperationThread {
  std::int64_t kineto_id = 0;
  std::int64_t number = 0;           // the host trace's, if it knows the thread; else Kineto's
  std::int32_t first = 0, last = 0;  // [first, last) of OperationList::operations
};

// Operations thread by thread, each thread's in order of start, callers before what they call.
// gloo's send and recv records sit on the issuing thread, stick out of their caller and end at
// their wait, with hundreds of unrelated operations inside: they enclose nothing and are enclosed
// by nothing, and come after the threads' operations.
struct OperationList {
  std::vector<Operation> operations;
  std::vector<OperationThread> threads;
  std::int32_t loose = 0;  // operations from this index on are not nested

  // What the operations span, since the epoch. Where the Kineto file holds more steps than the host
  // trace, only the events of one are operations: what was launched outside belongs to others.
  std::int64_t start_ns = 0, end_ns = 0;
  LinkReport link;

  [[nodiscard]] const Operation& Op(std::int32_t i) const {
    return operations[static_cast<std::size_t>(i)];
  }
};

// Links by record-function id; by the order of calls (link_by_alignment.h) where the Kineto file
// has no ids, or less than 90 % of what the fitting ones span agrees, or they cover less than half
// of the smaller file. Bad input if ids fit and the processes differ (identity.h). Nests by
// Kineto's times: the host trace's own callers are wrong for up to 12 % of the nodes of
// asynchronous gloo captures. Only where times are whole µs and therefore ambiguous do callers
// decide. Counts what has no partner
// (`operation_without_host_record`, `host_record_without_time`) and what alignment found odd
// (`linked_by_order`, `linked_to_another_step`, `linked_to_another_process`). Bad input if the two
// files are not of one run, which less than 90 % of the host trace's records with a time show.
[[nodiscard]] Result<OperationList> LinkOperations(const HostTrace& host, const KinetoTrace& kineto,
                                                   RepeatChoice choice, const std::string& label,
                                                   Diagnostics& diagnostics);

// The last part of it (nesting.cc): which operation calls which, by their times. Sorts
// `list.operations` thread by thread, fills in threads, callers and subtrees. `order` (may be
// empty) tells by event which of two that start together came first. Where all times are whole µs,
// a call may seem to end after its caller, or to start when that has ended: there the host trace's
// callers decide, as far as one µs explains it.
void NestOperations(const HostTrace& host, const KinetoTrace& kineto,
                    const std::vector<std::int32_t>& order, const std::string& label,
                    OperationList& list, Diagnostics& diagnostics);

}  // namespace reprise::pytorch
