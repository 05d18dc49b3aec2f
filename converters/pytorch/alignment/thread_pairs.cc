#include "converters/pytorch/alignment/thread_pairs.h"

#include <limits>
#include <string_view>
#include <tuple>

namespace reprise::pytorch {
namespace {

class Pairing {
 public:
  Pairing(const HostTrace& host, const KinetoTrace& kineto, RepeatChoice choice)
      : host_(host), kineto_(kineto), choice_(choice) {
    out_.calls = MakeCallSequences(host, kineto);
  }

  PairedThreads Run() {
    Pair();
    if (!out_.pairs.empty()) {
      ChooseRepeat();
      FollowOnOtherThreads();
      CompareMonotonousThreads();
    }
    return std::move(out_);
  }

 private:
  [[nodiscard]] const KinetoEvent& Event(std::int32_t i) const {
    return kineto_.events[static_cast<std::size_t>(i)];
  }

  // Each host thread with the Kineto thread on which most of it is found, the surest pairs first.
  void Pair() {
    std::vector<ThreadPair> all;
    for (const CallSequence& left : out_.calls.host) {
      for (const CallSequence& right : out_.calls.kineto) {
        ThreadPair pair{&left, &right, FindRepeats(host_, left, kineto_, right)};
        if (!pair.repeats.empty()) {
          all.push_back(std::move(pair));
        }
      }
    }
    std::stable_sort(all.begin(), all.end(), [](const ThreadPair& a, const ThreadPair& b) {
      return std::tuple(a.Best().sure, a.Best().matched(), a.Best().alignment.same_shapes) >
             std::tuple(b.Best().sure, b.Best().matched(), b.Best().alignment.same_shapes);
    });
    for (ThreadPair& pair : all) {
      if (!pair.Best().sure && !out_.pairs.empty()) {
        continue;  // one alone is kept, for the message
      }
      const bool taken =
          std::any_of(out_.pairs.begin(), out_.pairs.end(), [&](const ThreadPair& other) {
            return other.host == pair.host || other.kineto == pair.kineto;
          });
      if (!taken) {
        out_.pairs.push_back(std::move(pair));
      }
    }
    if (out_.pairs.empty()) {
      CompareLongest();
    }
  }

  // No run of calls tells a place. What is found here may be far from a match, but tells where it
  // ends.
  void CompareLongest() {
    std::size_t most = 0;
    for (const CallSequence& right : out_.calls.kineto) {
      if (out_.calls.host.empty()) {
        return;
      }
      ThreadPair pair{&out_.calls.host.front(), &right,
                      CompareFromStart(host_, out_.calls.host.front(), kineto_, right)};
      if (!pair.repeats.empty() && pair.Best().matched() > most) {
        most = pair.Best().matched();
        out_.pairs.clear();
        out_.pairs.push_back(std::move(pair));
      }
    }
  }

  void ChooseRepeat() {
    ThreadPair& main = out_.pairs.front();
    const auto& repeats = main.repeats;
    const auto take = [&](std::size_t i, std::string_view why) {
      main.chosen = i;
      out_.why = why;
    };
    if (repeats.size() == 1) {
      return take(0, "only one");
    }
    const ThreadRepeat& best = main.Best();
    if (choice_ == RepeatChoice::kMedian) {
      return take(MedianOf(repeats, best.matched()), "median");
    }
    std::vector<std::size_t> equal;
    for (std::size_t i = 0; i < repeats.size(); ++i) {
      if (repeats[i].IsRecordedStep()) {
        return take(i, "sequence numbers");
      }
      if (repeats[i].matched() == best.matched() &&
          repeats[i].alignment.same_shapes == best.alignment.same_shapes) {
        equal.push_back(i);
      }
    }
    take(equal.back(), equal.size() == 1 ? "best match" : "last");
  }

  // Of those that are (nearly) complete.
  [[nodiscard]] std::size_t MedianOf(const std::vector<ThreadRepeat>& repeats,
                                     std::size_t most_matched) const {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < repeats.size(); ++i) {
      if (repeats[i].matched() * 50 >= most_matched * 49) {
        order.push_back(i);
      }
    }
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return out_.StepNs(repeats[a]) < out_.StepNs(repeats[b]);
    });
    return order[(order.size() - 1) / 2];
  }

  // What ran at the same time. A thread that has nothing near is not of this step.
  void FollowOnOtherThreads() {
    const ThreadRepeat main = out_.pairs.front().Chosen();
    const std::int64_t duration = main.end_ns - main.start_ns;
    for (std::size_t p = 1; p < out_.pairs.size();) {
      const auto& repeats = out_.pairs[p].repeats;
      const auto common = [&](const ThreadRepeat& r) {  // negative: how far apart
        return std::min(r.end_ns, main.end_ns) - std::max(r.start_ns, main.start_ns);
      };
      const auto nearest = std::max_element(
          repeats.begin(), repeats.end(),
          [&](const ThreadRepeat& a, const ThreadRepeat& b) { return common(a) < common(b); });
      if (common(*nearest) < -duration) {
        out_.pairs.erase(out_.pairs.begin() + static_cast<std::ptrdiff_t>(p));
        continue;
      }
      out_.pairs[p++].chosen = static_cast<std::size_t>(nearest - repeats.begin());
    }
  }

  // Threads that do the same over and over, where no run of calls tells a place: what they did
  // between the repeats before and after, from its start on.
  void CompareMonotonousThreads() {
    const ThreadPair main = out_.pairs.front();  // a copy: out_.pairs grows
    const std::int64_t after_ns = main.chosen == 0 ? std::numeric_limits<std::int64_t>::min()
                                                   : main.repeats[main.chosen - 1].end_ns;
    const std::int64_t before_ns = main.chosen + 1 == main.repeats.size()
                                       ? std::numeric_limits<std::int64_t>::max()
                                       : main.repeats[main.chosen + 1].start_ns;
    const auto paired = [&](const auto& is_it) {
      return std::any_of(out_.pairs.begin(), out_.pairs.end(), is_it);
    };
    for (const CallSequence& whole : out_.calls.host) {
      if (paired([&](const ThreadPair& pair) { return pair.host->thread == whole.thread; })) {
        continue;
      }
      out_.windows.push_back(SameStep(whole, main));
      const CallSequence& left = out_.windows.back();
      for (const CallSequence& right : out_.calls.kineto) {
        if (paired([&](const ThreadPair& pair) { return pair.kineto->thread == right.thread; })) {
          continue;
        }
        out_.windows.push_back(Between(right, after_ns, before_ns));
        ThreadPair pair{&left, &out_.windows.back(),
                        CompareFromStart(host_, left, kineto_, out_.windows.back())};
        if (!pair.repeats.empty() && pair.Best().sure) {
          out_.pairs.push_back(std::move(pair));
          break;
        }
      }
    }
  }

  [[nodiscard]] CallSequence Between(const CallSequence& thread, std::int64_t after_ns,
                                     std::int64_t before_ns) const {
    return Part(thread, [&](std::int32_t i) {
      return Event(i).start_ns >= after_ns && Event(i).start_ns < before_ns;
    });
  }

  // Of another host thread, what was called while `main` did what was matched.
  [[nodiscard]] CallSequence SameStep(const CallSequence& thread, const ThreadPair& main) const {
    const auto number = [&](std::int32_t i) {
      const HostNode& node = host_.nodes[static_cast<std::size_t>(i)];
      return node.rf_id > 0 ? node.rf_id : static_cast<std::int64_t>(node.id);
    };
    const Alignment& alignment = main.Chosen().alignment;
    const auto& records = main.host->records;
    const auto first = static_cast<std::size_t>(alignment.left_first);
    const auto last = static_cast<std::size_t>(alignment.left_last);
    return Part(thread, [&](std::int32_t i) {
      return (first == 0 || number(i) > number(records[first - 1])) &&
             (last == records.size() || number(i) < number(records[last]));
    });
  }

  template <typename Keep>
  static CallSequence Part(const CallSequence& thread, const Keep& keep) {
    CallSequence out{.thread = thread.thread};
    for (std::size_t i = 0; i < thread.records.size(); ++i) {
      if (keep(thread.records[i])) {
        out.records.push_back(thread.records[i]);
        out.tokens.push_back(thread.tokens[i]);
      }
    }
    return out;
  }

  const HostTrace& host_;
  const KinetoTrace& kineto_;
  RepeatChoice choice_;
  PairedThreads out_;
};

}  // namespace

std::int64_t PairedThreads::StepNs(const ThreadRepeat& main) const {
  std::int64_t start_ns = main.start_ns;
  std::int64_t end_ns = main.end_ns;
  for (std::size_t p = 1; p < pairs.size(); ++p) {
    for (const ThreadRepeat& other : pairs[p].repeats) {
      if (other.start_ns < main.end_ns && main.start_ns < other.end_ns) {
        start_ns = std::min(start_ns, other.start_ns);
        end_ns = std::max(end_ns, other.end_ns);
      }
    }
  }
  return end_ns - start_ns;
}

PairedThreads PairThreads(const HostTrace& host, const KinetoTrace& kineto, RepeatChoice choice) {
  return Pairing(host, kineto, choice).Run();
}

}  // namespace reprise::pytorch
