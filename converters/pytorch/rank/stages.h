// The stages of ReadRank, in order; each has a .cc of its own.
#pragma once

#include <cstddef>
#include <vector>

#include "converters/pytorch/rank/rank_capture.h"
#include "et_schema/node.h"

namespace reprise::pytorch {

// host_alone.cc. A host trace alone has no times, so that its order stands in for them: one event
// for every node, thread by thread in order of creation, within its caller; a nanosecond stands
// between any two. Sets record-function ids where the trace has none. Counts `no_times`.
[[nodiscard]] KinetoTrace KinetoOf(HostTrace& host, Diagnostics& diagnostics);

// roles.cc. Fills `roles`. Operators that the operator table lacks are work if they are dispatched
// operators with a schema, touch tensors, take time and call no work; all are counted
// (`unknown_operator`).
void Classify(RankCapture& rank);

// device_links.cc. Fills `links`: by correlation id, else by External id. Adds threads that only
// called the runtime to `list`. Counts `kernel_without_launch`.
void LinkDevice(RankCapture& rank);

// wait_sources.cc. Fills the `sources` of `links`: by the recorded ids of events, else by order and
// thread. Counts `wait_source_inferred`, `wait_without_source` (nothing was enqueued where it
// looks), `wait_source_late` (what should have been waited for ended after the wait; an earlier one
// on the stream is taken).
void FindWaitSources(RankCapture& rank);

// kineto_results.cc. Kineto alone: gives work operations that will have their arguments in the
// trace the outputs that follow from their inputs (infer_results.h), each new tensor with an
// identity of its own, and marks them (`results_inferred`). Others stay without outputs
// (`results_unknown`).
void InferKinetoResults(RankCapture& rank);

// incarnations.cc. Storage ids are reused after free: sets TensorDesc::incarnation in every
// argument of the host trace, walking all operations in order of time, those inside work operations
// included. A new incarnation begins
// - when an operation that aliases no input returns the storage id, unless something that it called
//   returned it already;
// - when device, size or element type contradict what is known of the storage
//   (`storage_contradiction`: an allocation that the capture does not show).
// Counts reuse (`storage_id_reused`).
void AssignIncarnations(RankCapture& rank);

// kernel_classes.cc. Sets EventLink::named_class of kernels that no known operator launched, by
// their names (core/kernel_names.h).
void ClassifyByKernelNames(RankCapture& rank);

// transfer_records.cc. Fills `transfers`: gloo's and NCCL's (nccl.h), in order of issue, which is
// the order within a group. Counts gloo's that nothing issued (`transfer_without_call`), and calls
// that never became a transfer (`call_without_transfer`: an exception, a capture that ended
// before). Where nothing recorded the transfers themselves (a host trace alone), every call that
// says what it is makes one.
//
// A collective of gloo's arrives when its record on the worker thread starts. A send or receive
// arrives when its call starts: gloo writes the data inside the call and opens the record only
// afterwards (measured: up to 4.8 ms later), so that a receive would end before its send began.
void FindTransfers(RankCapture& rank);

// marked_ranges.cc. The ranges that a program marked: user annotations (record_function) but for
// steps and transfers, and the modules that a profiler recorded, by start, callers before what they
// enclose. The first `most` of them, what the program marked itself before modules, and no longer
// names than files hold; the rest is counted (`range_left_out`). None where nothing has a time.
[[nodiscard]] std::vector<Range> FindRanges(RankCapture& rank, std::size_t most = kMaxRanges);

}  // namespace reprise::pytorch
