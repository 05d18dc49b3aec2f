// Links the two files of one rank by the order of their calls, where there are no ids.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "converters/converter.h"
#include "converters/pytorch/host/host_trace.h"
#include "converters/pytorch/kineto/kineto.h"
#include "core/diagnostics.h"
#include "core/result.h"
#include "et_schema/link_report.h"

namespace reprise::pytorch {

struct AlignedEvents {
  std::vector<std::int32_t> host_of_event;  // index into HostTrace::nodes; -1: no partner
  std::vector<bool> in_span;                // by event: of the repeat that was taken
  // By event: position among its thread's, callers before what they call. Better than times: old
  // files have whole µs.
  std::vector<std::int32_t> order;
  LinkReport report;           // method, matched and repeats
  bool another_step = false;   // sequence numbers say: of the same run, but not the recorded step
  bool other_process = false;  // process ids differ: of another run of the same program
};

// Whether a host record can have a partner: the process, its threads and groups have none.
[[nodiscard]] bool IsLinkable(const HostNode& node);

// Per thread, the host's calls in order of record-function id against Kineto's in order of "Ev Idx"
// (else start; longer first). Bad input, with the first difference, if less than 90 % of what the
// matches span agrees, or if they cover less than half of the smaller file.
[[nodiscard]] Result<AlignedEvents> LinkByAlignment(const HostTrace& host,
                                                    const KinetoTrace& kineto, RepeatChoice choice,
                                                    const std::string& label);

}  // namespace reprise::pytorch
