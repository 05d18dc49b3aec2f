// Whether recordings belong together, by their own account: process, host, rank, world size, job,
// groups and start. What can't be of one rank, or of one job, is refused with both accounts; what
// is only unlikely is counted.
#pragma once

#include <span>
#include <string>

#include "converters/pytorch/host/host_trace.h"
#include "converters/pytorch/kineto/kineto.h"
#include "converters/pytorch/rank/rank_capture.h"
#include "core/diagnostics.h"
#include "core/result.h"

namespace reprise::pytorch {

// Kineto's, else the size of the group of all ranks; -1: neither file says.
[[nodiscard]] std::int32_t StatedWorldSize(const HostTrace& host, const KinetoTrace& kineto);

// Bad input if the files name two processes.
[[nodiscard]] Status CheckProcess(const HostTrace& host, const KinetoTrace& kineto,
                                  const std::string& label);

// The two files of one rank. Bad input: they differ in the number of ranks, or in the members of a
// group. Counted: they were not recorded at one time (`files_start_apart`). The host trace has the
// time of an unknown time zone, so a start is compared up to quarters of an hour.
[[nodiscard]] Status CheckFiles(RankCapture& rank);

// All ranks of a capture. Bad input: a host trace is of another rank's process; ranks differ in the
// number of ranks, in the backend, or in whether they say these at all; ranks of one host, so of
// one clock, were recorded more than a minute apart. Counted: `ranks_recorded_apart`,
// `ranks_of_other_steps`, `ranks_of_other_jobs`, `rank_recorded_twice`.
[[nodiscard]] Status CheckRanks(std::span<const RankCapture> ranks, Diagnostics& diagnostics);

}  // namespace reprise::pytorch
