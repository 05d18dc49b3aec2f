#include "converters/pytorch/alignment/link_by_alignment.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <string_view>

#include "converters/pytorch/alignment/call_sequences.h"
#include "converters/pytorch/alignment/thread_pairs.h"

namespace reprise::pytorch {
namespace {

// Start and duration of whole-µs files are cut off, each by less than one.
constexpr std::int64_t kCutNs = 2000;

class AlignmentLinker {
 public:
  AlignmentLinker(const HostTrace& host, const KinetoTrace& kineto, RepeatChoice choice)
      : host_(host), kineto_(kineto), paired_(PairThreads(host, kineto, choice)) {}

  Result<AlignedEvents> Run(const std::string& label) {
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

  Status CheckAgreement(const std::string& label) const {
    std::size_t matched = 0;
    std::int64_t host_span = 0;
    std::int64_t kineto_span = 0;
    for (const ThreadPair& pair : paired_.pairs) {
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
    if (agreement >= kMinAgreement &&
        matched * 2 >= std::min(total(paired_.calls.host), total(paired_.calls.kineto)) &&
        matched > 0) {
      return {};
    }
    return BadInput(fmt::format(
        "{}: host trace and Kineto trace do not belong together: by the order of calls {} of {} "
        "host records match, and {:.1f} % of what these span (needed: {:.0f} %, and half of the "
        "smaller file); {}{}; give the two files of one rank and one run",
        label, matched, total(paired_.calls.host), 100 * agreement, 100 * kMinAgreement,
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
    if (paired_.pairs.empty()) {
      return "no calls are in the same order";
    }
    const ThreadPair& main = paired_.pairs.front();
    const auto& pairs = main.Chosen().alignment.pairs;
    std::size_t equal = 1;
    while (equal < pairs.size() && pairs[equal].first == pairs[equal - 1].first + 1 &&
           pairs[equal].second == pairs[equal - 1].second + 1) {
      ++equal;
    }
    const auto left = static_cast<std::size_t>(pairs[equal - 1].first) + 1;
    const auto right = static_cast<std::size_t>(pairs[equal - 1].second) + 1;
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
    for (const CallSequence& thread : paired_.calls.kineto) {
      for (std::size_t i = 0; i < thread.records.size(); ++i) {
        out_.order[static_cast<std::size_t>(thread.records[i])] = static_cast<std::int32_t>(i);
      }
    }
    for (const ThreadPair& pair : paired_.pairs) {
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
      const bool paired =
          std::any_of(paired_.pairs.begin(), paired_.pairs.end(),
                      [&](const ThreadPair& pair) { return pair.kineto->thread == event.thread; });
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
    const ThreadPair& main = paired_.pairs.front();
    LinkReport& report = out_.report;
    report.method = "alignment";
    report.repeats = main.repeats.size();
    report.repeat = main.chosen + 1;
    report.choice = paired_.why;
    std::vector<std::int64_t> durations;
    for (const ThreadRepeat& repeat : main.repeats) {
      durations.push_back(paired_.StepNs(repeat));
    }
    report.repeat_ns = durations[main.chosen];
    std::sort(durations.begin(), durations.end());
    report.repeat_median_ns = durations[(durations.size() - 1) / 2];
    out_.another_step = main.Chosen().IsAnotherStep();
    out_.other_process = !Processes().empty();
  }

  const HostTrace& host_;
  const KinetoTrace& kineto_;
  const PairedThreads paired_;
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
  return AlignmentLinker(host, kineto, choice).Run(label);
}

}  // namespace reprise::pytorch
