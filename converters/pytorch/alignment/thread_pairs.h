// Which host thread is which Kineto thread, and which repeat of the host's calls is taken there.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "converters/converter.h"
#include "converters/pytorch/alignment/call_sequences.h"
#include "converters/pytorch/alignment/thread_repeats.h"

namespace reprise::pytorch {

// A host thread on a Kineto thread.
struct ThreadPair {
  const CallSequence* host = nullptr;
  const CallSequence* kineto = nullptr;
  std::vector<ThreadRepeat> repeats;  // in order of time
  std::size_t chosen = 0;

  [[nodiscard]] const ThreadRepeat& Best() const {
    return *std::max_element(repeats.begin(), repeats.end(),
                             [](const ThreadRepeat& a, const ThreadRepeat& b) {
                               return std::pair(a.matched(), a.alignment.same_shapes) <
                                      std::pair(b.matched(), b.alignment.same_shapes);
                             });
  }
  [[nodiscard]] const ThreadRepeat& Chosen() const { return repeats[chosen]; }
};

struct PairedThreads {
  PairedThreads() = default;
  PairedThreads(PairedThreads&&) = default;  // no copies: pairs point into the rest
  PairedThreads& operator=(PairedThreads&&) = default;

  CallSequences calls;
  std::deque<CallSequence> windows;  // parts of them
  std::vector<ThreadPair> pairs;     // the surest first; point into the two above
  std::string why;                   // the repeat was taken: "sequence numbers", …

  // A repeat on the first pair, with what the other threads did at the same time: the step.
  [[nodiscard]] std::int64_t StepNs(const ThreadRepeat& main) const;
};

// Empty where nothing at all fits; what fits badly is returned too, for the message.
[[nodiscard]] PairedThreads PairThreads(const HostTrace& host, const KinetoTrace& kineto,
                                        RepeatChoice choice);

}  // namespace reprise::pytorch
