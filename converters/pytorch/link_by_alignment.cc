#include "converters/pytorch/link_by_alignment.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <string_view>
#include <tuple>

#include "converters/pytorch/call_sequences.h"
#include "converters/pytorch/thread_repeats.h"

namespace reprise::pytorch {
namespace {

// Start and duration of whole-µs files are cut off, each by less than one.
constexpr std::int64_t kCutNs = 2000;

bool IsTransferRecord(std::string_view name) { return name.starts_with("gloo:"); }

// A host thread on a Kineto thread.
struct ThreadPair {
  const CallSequence* host = nullptr;
  const CallSequence* kineto = nullptr;
  std::vector<Repeat> repeats;  // in order of time
  std::size_t chosen = 0;

  [[nodiscard]] const Repeat& Best() const {
    return *std::max_element(repeats.begin(), repeats.end(), [](const Repeat& a, const Repeat& b) {
      return std::pair(a.matched(), a.alignment.same_shapes) <
             std::pair(b.matched(), b.alignment.same_shapes);
    });
  }
  [[nodiscard]] const Repeat& Chosen() const { return repeats[chosen]; }
};

class Linker {
 public:
  Linker(const HostTrace& host, const KinetoTrace& kineto, RepeatChoice choice)
      : host_(host), kineto_(kineto), choice_(choice), calls_(MakeCallSequences(host, kineto)) {}

  Result<AlignedEvents> Run(const std::string& label) {
    PairThreads();
    if (!pairs_.empty()) {
      ChooseRepeat();
      FollowOnOtherThreads();
    }
    REPRISE_TRY(CheckAgreement(label));
    LinkPairs();
    TakeOtherThreads();
    LinkTransfers();
    Report();
    return std::move(out_);
  }

 private:
  [[nodiscard]] const KinetoEvent& Event(std::int32_t i) const {
    return kineto_.events[static_cast<std::size_t>(i)];
  }

  // Each host thread with the Kineto thread on which most of it is found, the surest pairs first.
  void PairThreads() {
    std::vector<ThreadPair> all;
    for (const CallSequence& left : calls_.host) {
      for (const CallSequence& right : calls_.kineto) {
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
      if (!pair.Best().sure && !pairs_.empty()) {
        continue;  // one alone is kept, for the message
      }
      const bool taken = std::any_of(pairs_.begin(), pairs_.end(), [&](const ThreadPair& other) {
        return other.host == pair.host || other.kineto == pair.kineto;
      });
      if (!taken) {
        pairs_.push_back(std::move(pair));
      }
    }
  }

  void ChooseRepeat() {
    ThreadPair& main = pairs_.front();
    const auto& repeats = main.repeats;
    const auto take = [&](std::size_t i, std::string_view why) {
      main.chosen = i;
      out_.report.choice = why;
    };
    if (repeats.size() == 1) {
      return take(0, "only one");
    }
    const Repeat& best = main.Best();
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
  static std::size_t MedianOf(const std::vector<Repeat>& repeats, std::size_t most_matched) {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < repeats.size(); ++i) {
      if (repeats[i].matched() * 50 >= most_matched * 49) {
        order.push_back(i);
      }
    }
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return repeats[a].end_ns - repeats[a].start_ns < repeats[b].end_ns - repeats[b].start_ns;
    });
    return order[(order.size() - 1) / 2];
  }

  // What ran at the same time. A thread that has nothing near is not of this step.
  void FollowOnOtherThreads() {
    const Repeat main = pairs_.front().Chosen();
    const std::int64_t duration = main.end_ns - main.start_ns;
    for (std::size_t p = 1; p < pairs_.size();) {
      const auto& repeats = pairs_[p].repeats;
      const auto common = [&](const Repeat& r) {  // negative: how far apart
        return std::min(r.end_ns, main.end_ns) - std::max(r.start_ns, main.start_ns);
      };
      const auto nearest =
          std::max_element(repeats.begin(), repeats.end(),
                           [&](const Repeat& a, const Repeat& b) { return common(a) < common(b); });
      if (common(*nearest) < -duration) {
        pairs_.erase(pairs_.begin() + static_cast<std::ptrdiff_t>(p));
        continue;
      }
      pairs_[p++].chosen = static_cast<std::size_t>(nearest - repeats.begin());
    }
  }

  Status CheckAgreement(const std::string& label) const {
    std::size_t matched = 0;
    std::int64_t host_span = 0;
    std::int64_t kineto_span = 0;
    for (const ThreadPair& pair : pairs_) {
      const Alignment& alignment = pair.Chosen().alignment;
      matched += alignment.pairs.size();
      host_span += alignment.left_last - alignment.left_first;
      kineto_span += alignment.right_last - alignment.right_first;
    }
    const auto total = [](const std::vector<CallSequence>& threads) {
      std::size_t sum = 0;
      for (const CallSequence& thread : threads) {
        sum += thread.records.size();
      }
      return sum;
    };
    const auto longer = static_cast<double>(std::max<std::int64_t>({1, host_span, kineto_span}));
    const double agreement = static_cast<double>(matched) / longer;
    if (agreement >= kLeastAgreement &&
        matched * 2 >= std::min(total(calls_.host), total(calls_.kineto)) && matched > 0) {
      return {};
    }
    return BadInput(fmt::format(
        "{}: host trace and Kineto trace do not belong together: by the order of calls {} of {} "
        "host records match, and {:.1f} % of what these span (needed: {:.0f} %, and half of the "
        "smaller file); {}{}; give the two files of one rank and one run",
        label, matched, total(calls_.host), 100 * agreement, 100 * kLeastAgreement,
        FirstDifference(), Processes()));
  }

  [[nodiscard]] std::string Processes() const {
    if (host_.process < 0 || kineto_.process < 0 || host_.process == kineto_.process) {
      return {};
    }
    return fmt::format("; the host trace is of process {}, the Kineto trace of {}", host_.process,
                       kineto_.process);
  }

  [[nodiscard]] std::string FirstDifference() const {
    if (pairs_.empty()) {
      return "no calls are in the same order";
    }
    const ThreadPair& main = pairs_.front();
    const auto& pairs = main.Chosen().alignment.pairs;
    std::size_t equal = 1;
    while (equal < pairs.size() && pairs[equal].first == pairs[equal - 1].first + 1 &&
           pairs[equal].second == pairs[equal - 1].second + 1) {
      ++equal;
    }
    const auto left = static_cast<std::size_t>(pairs[equal - 1].first + 1);
    const auto right = static_cast<std::size_t>(pairs[equal - 1].second + 1);
    std::string host = "the end";
    std::string kineto = "the end";
    if (left < main.host->records.size()) {
      const HostNode& node = host_.nodes[static_cast<std::size_t>(main.host->records[left])];
      host = fmt::format("{} (node {})", *node.name, node.id);
    }
    if (right < main.kineto->records.size()) {
      const KinetoEvent& event = Event(main.kineto->records[right]);
      kineto = fmt::format("{} (at {} ns)", *event.name, event.start_ns);
    }
    return fmt::format(
        "first difference, after {} equal calls: host thread {} has {}, Kineto thread {} has {}",
        equal, main.host->thread, host, main.kineto->thread, kineto);
  }

  void LinkPairs() {
    const std::size_t count = kineto_.events.size();
    out_.host_of_event.assign(count, -1);
    out_.in_span.assign(count, false);
    out_.order.assign(count, 0);
    for (const CallSequence& thread : calls_.kineto) {
      for (std::size_t i = 0; i < thread.records.size(); ++i) {
        out_.order[static_cast<std::size_t>(thread.records[i])] = static_cast<std::int32_t>(i);
      }
    }
    for (const ThreadPair& pair : pairs_) {
      const Alignment& alignment = pair.Chosen().alignment;
      for (const auto& [l, r] : alignment.pairs) {
        Link(pair.host->records[static_cast<std::size_t>(l)],
             pair.kineto->records[static_cast<std::size_t>(r)]);
      }
      for (std::int32_t i = alignment.right_first; i < alignment.right_last; ++i) {
        Take(pair.kineto->records[static_cast<std::size_t>(i)]);
      }
      TakeFrames(*pair.kineto, alignment);
    }
  }

  void Link(std::int32_t node, std::int32_t event) {
    out_.host_of_event[static_cast<std::size_t>(event)] = node;
    ++out_.report.matched;
  }

  void Take(std::int32_t event) {
    out_.in_span[static_cast<std::size_t>(event)] = true;
    start_ns_ = std::min(start_ns_, Event(event).start_ns);
    end_ns_ = std::max(end_ns_, Event(event).end_ns);
  }

  // A ProfilerStep that the host trace lacks because it was opened first: the annotations right
  // before the span that enclose it and nothing else.
  void TakeFrames(const CallSequence& thread, const Alignment& alignment) {
    std::int64_t last_ns = std::numeric_limits<std::int64_t>::min();
    for (std::int32_t i = alignment.right_first; i < alignment.right_last; ++i) {
      last_ns = std::max(last_ns, Event(thread.records[static_cast<std::size_t>(i)]).end_ns);
    }
    const auto next = static_cast<std::size_t>(alignment.right_last);
    for (std::int32_t i = alignment.right_first - 1; i >= 0; --i) {
      const std::int32_t at = thread.records[static_cast<std::size_t>(i)];
      const KinetoEvent& frame = Event(at);
      if (!frame.annotation || frame.end_ns + kCutNs < last_ns ||
          (next < thread.records.size() &&
           Event(thread.records[next]).start_ns + kCutNs < frame.end_ns)) {
        return;
      }
      Take(at);
    }
  }

  // Threads that the host trace does not know, and transfers: what began meanwhile.
  void TakeOtherThreads() {
    const std::int64_t start_ns = start_ns_;
    const std::int64_t end_ns = end_ns_;
    for (std::size_t i = 0; i < kineto_.events.size(); ++i) {
      const KinetoEvent& event = kineto_.events[i];
      const bool paired = std::any_of(pairs_.begin(), pairs_.end(), [&](const ThreadPair& pair) {
        return pair.kineto->thread == event.thread;
      });
      if ((!paired || IsTransferRecord(*event.name)) && event.start_ns >= start_ns &&
          event.start_ns < end_ns) {
        Take(static_cast<std::int32_t>(i));
      }
    }
  }

  // gloo's records run on worker threads and in the order of issue: as many of a name on either
  // side are the same ones.
  void LinkTransfers() {
    std::map<std::string_view, std::vector<std::int32_t>> nodes;
    std::map<std::string_view, std::vector<std::int32_t>> events;
    for (std::size_t i = 0; i < host_.nodes.size(); ++i) {
      if (IsTransferRecord(*host_.nodes[i].name)) {
        nodes[*host_.nodes[i].name].push_back(static_cast<std::int32_t>(i));
      }
    }
    for (std::size_t i = 0; i < kineto_.events.size(); ++i) {
      if (out_.in_span[i] && IsTransferRecord(*kineto_.events[i].name)) {
        events[*kineto_.events[i].name].push_back(static_cast<std::int32_t>(i));
      }
    }
    for (auto& [name, records] : nodes) {
      std::vector<std::int32_t>& times = events[name];
      if (records.size() != times.size()) {
        continue;
      }
      std::sort(records.begin(), records.end(), [&](std::int32_t a, std::int32_t b) {
        const HostNode& x = host_.nodes[static_cast<std::size_t>(a)];
        const HostNode& y = host_.nodes[static_cast<std::size_t>(b)];
        return std::pair(x.rf_id, x.id) < std::pair(y.rf_id, y.id);
      });
      std::stable_sort(times.begin(), times.end(), [&](std::int32_t a, std::int32_t b) {
        return Event(a).start_ns < Event(b).start_ns;
      });
      for (std::size_t i = 0; i < records.size(); ++i) {
        Link(records[i], times[i]);
      }
    }
  }

  void Report() {
    const ThreadPair& main = pairs_.front();
    LinkReport& report = out_.report;
    report.method = "alignment";
    report.repeats = main.repeats.size();
    report.repeat = main.chosen + 1;
    std::vector<std::int64_t> durations;
    for (const Repeat& repeat : main.repeats) {
      durations.push_back(repeat.end_ns - repeat.start_ns);
    }
    report.repeat_ns = durations[main.chosen];
    std::sort(durations.begin(), durations.end());
    report.repeat_median_ns = durations[(durations.size() - 1) / 2];
    out_.another_step = main.Chosen().IsAnotherStep();
    out_.other_process = !Processes().empty();
  }

  const HostTrace& host_;
  const KinetoTrace& kineto_;
  RepeatChoice choice_;
  CallSequences calls_;
  std::vector<ThreadPair> pairs_;  // the surest first
  std::int64_t start_ns_ = std::numeric_limits<std::int64_t>::max();
  std::int64_t end_ns_ = std::numeric_limits<std::int64_t>::min();
  AlignedEvents out_;
};

}  // namespace

bool IsLinkable(const HostNode& node) {
  return node.rf_id != 0 && !node.name->starts_with("[pytorch|profiler|execution_") &&
         !node.name->starts_with("## process_group:init");
}

Result<AlignedEvents> LinkByAlignment(const HostTrace& host, const KinetoTrace& kineto,
                                      RepeatChoice choice, const std::string& label) {
  return Linker(host, kineto, choice).Run(label);
}

}  // namespace reprise::pytorch
