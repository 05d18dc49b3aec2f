#include "converters/pytorch/alignment/thread_repeats.h"

#include <algorithm>
#include <limits>

namespace reprise::pytorch {
namespace {

double SameNumbers(const HostTrace& host, const CallSequence& left, const KinetoTrace& kineto,
                   const CallSequence& right, const Alignment& alignment) {
  constexpr int kFewest = 4;
  int both = 0;
  int same = 0;
  for (const auto& [l, r] : alignment.pairs) {
    const auto node = static_cast<std::size_t>(left.records[static_cast<std::size_t>(l)]);
    const auto event = static_cast<std::size_t>(right.records[static_cast<std::size_t>(r)]);
    const std::int64_t a = host.nodes[node].seq_id;
    const std::int64_t b = kineto.events[event].seq_id;
    both += a >= 0 && b >= 0 ? 1 : 0;
    same += a >= 0 && a == b ? 1 : 0;
  }
  return both < kFewest ? -1 : static_cast<double>(same) / both;
}

ThreadRepeat MakeRepeat(const HostTrace& host, const CallSequence& left, const KinetoTrace& kineto,
                        const CallSequence& right, Alignment alignment) {
  ThreadRepeat out;
  out.start_ns = std::numeric_limits<std::int64_t>::max();
  out.end_ns = std::numeric_limits<std::int64_t>::min();
  for (std::int32_t i = alignment.right_first; i < alignment.right_last; ++i) {
    const std::int32_t at = right.records[static_cast<std::size_t>(i)];
    const KinetoEvent& event = kineto.events[static_cast<std::size_t>(at)];
    out.start_ns = std::min(out.start_ns, event.start_ns);
    out.end_ns = std::max(out.end_ns, event.end_ns);
  }
  out.same_numbers = SameNumbers(host, left, kineto, right, alignment);
  out.alignment = std::move(alignment);
  return out;
}

// A repeat may lack a part (the profiler started or stopped inside); not most of it.
bool IsRepeat(const ThreadRepeat& repeat, std::size_t left, std::size_t right) {
  return repeat.alignment.Agreement() >= kMinAgreement &&
         repeat.matched() * 2 >= std::min(left, right);
}

// A tenth of the shorter one is tolerated: ends are not sharp.
bool Overlap(const Alignment& a, const Alignment& b) {
  const std::int32_t common =
      std::min(a.right_last, b.right_last) - std::max(a.right_first, b.right_first);
  const std::int32_t shorter = std::min(a.right_last - a.right_first, b.right_last - b.right_first);
  return common * 10 > shorter;
}

std::vector<ThreadRepeat> RepeatsAt(const std::vector<Anchor>& anchors, const HostTrace& host,
                                    const CallSequence& left, const KinetoTrace& kineto,
                                    const CallSequence& right) {
  std::vector<ThreadRepeat> all;
  for (const Anchor& anchor : anchors) {
    Alignment alignment = AlignFrom(left.tokens, right.tokens, anchor);
    if (!alignment.pairs.empty()) {
      all.push_back(MakeRepeat(host, left, kineto, right, std::move(alignment)));
      all.back().sure = IsRepeat(all.back(), left.tokens.size(), right.tokens.size());
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const ThreadRepeat& a, const ThreadRepeat& b) {
    if (a.sure != b.sure) {
      return a.sure;
    }
    return a.IsRecordedStep() != b.IsRecordedStep() ? a.IsRecordedStep()
                                                    : a.matched() > b.matched();
  });
  std::vector<ThreadRepeat> out;
  for (ThreadRepeat& repeat : all) {
    const bool first = out.empty();
    const bool apart = std::none_of(out.begin(), out.end(), [&](const ThreadRepeat& other) {
      return Overlap(repeat.alignment, other.alignment);
    });
    if (first || (repeat.sure && apart)) {
      out.push_back(std::move(repeat));
    }
  }
  std::stable_sort(out.begin(), out.end(), [](const ThreadRepeat& a, const ThreadRepeat& b) {
    return a.start_ns < b.start_ns;
  });
  return out;
}

}  // namespace

std::vector<ThreadRepeat> FindRepeats(const HostTrace& host, const CallSequence& left,
                                      const KinetoTrace& kineto, const CallSequence& right) {
  return RepeatsAt(FindAnchors(left.tokens, right.tokens), host, left, kineto, right);
}

std::vector<ThreadRepeat> CompareFromStart(const HostTrace& host, const CallSequence& left,
                                           const KinetoTrace& kineto, const CallSequence& right) {
  return RepeatsAt({Anchor{}}, host, left, kineto, right);
}

}  // namespace reprise::pytorch
