// Where the calls of one host thread occur on one Kineto thread.
#pragma once

#include <cstdint>
#include <vector>

#include "converters/pytorch/alignment/call_sequences.h"
#include "converters/pytorch/alignment/sequence_alignment.h"
#include "converters/pytorch/host/host_trace.h"
#include "converters/pytorch/kineto/kineto.h"

namespace reprise::pytorch {

// Below this the two sides of a span are not the same calls (docs/definitions.md).
constexpr double kMinAgreement = 0.9;

struct ThreadRepeat {
  Alignment alignment;
  std::int64_t start_ns = 0, end_ns = 0;
  // Of the pairs with an autograd sequence number on both sides, how many have the same; −1: too
  // few have one. Numbers only grow: all equal is the very step, none equal is another one.
  double same_numbers = -1;
  bool sure = false;  // agrees well enough and covers enough

  [[nodiscard]] std::size_t matched() const { return alignment.pairs.size(); }
  [[nodiscard]] bool IsRecordedStep() const { return same_numbers >= kMinAgreement; }
  [[nodiscard]] bool IsAnotherStep() const {
    return same_numbers >= 0 && same_numbers < 1 - kMinAgreement;
  }
};

// Repeats that do not overlap, in order of time, of at least kMinAgreement each. If there are
// none, the one that comes nearest to it (for the message), if any.
[[nodiscard]] std::vector<ThreadRepeat> FindRepeats(const HostTrace& host, const CallSequence& left,
                                                    const KinetoTrace& kineto,
                                                    const CallSequence& right);

// The same where no run of calls tells a place, because the thread does the same over and over:
// compared from the start on.
[[nodiscard]] std::vector<ThreadRepeat> CompareFromStart(const HostTrace& host,
                                                         const CallSequence& left,
                                                         const KinetoTrace& kineto,
                                                         const CallSequence& right);

}  // namespace reprise::pytorch
