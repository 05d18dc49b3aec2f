#include "converters/pytorch/edges/device_edges.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <queue>

#include "converters/pytorch/edges/transfer_members.h"

namespace reprise::pytorch {
namespace {

constexpr std::size_t kMaxEdgesOfStream = 128;  // of a node: a device runs no more kernels at once

class DeviceEdgeBuilder {
 public:
  DeviceEdgeBuilder(RankCapture& rank, Timeline& timeline) : rank_(rank), timeline_(timeline) {
    item_of_event_.assign(rank.kineto.device.events.size(), -1);
    for (std::int32_t i = 0; i < timeline_.Count(); ++i) {
      const Item& item = At(i);
      if (item.kind == Item::Kind::kDevice) {
        item_of_event_[static_cast<std::size_t>(item.event)] = i;
      } else if (item.call >= 0 && item.kind != Item::Kind::kHostWait) {
        launcher_.try_emplace(item.call, i);  // of a call in a frame: up to where it begins
      }
    }
  }

  void Run() {
    for (std::int32_t i = 0; i < timeline_.Count(); ++i) {
      if (At(i).kind == Item::Kind::kDevice) {
        StreamEdges(i);
        LaunchEdge(i);
        const EventLink& link = rank_.EventLinkOf(At(i).event);
        WaitEdges(link.sources, i, EdgeReason::kEvent);
      } else if (At(i).kind == Item::Kind::kHostWait) {
        const CallLink& link = rank_.links.calls[static_cast<std::size_t>(At(i).call)];
        WaitEdges(link.sources, i, EdgeReason::kSync);
      }
    }
    HandOvers();
  }

 private:
  [[nodiscard]] Item& At(std::int32_t i) const { return timeline_.At(i); }

  // False: the recording contradicts it.
  bool Add(std::int32_t from, std::int32_t to, EdgeReason reason, bool inferred = false) {
    if (At(from).end_ns > At(to).start_ns) {
      return false;
    }
    timeline_.AddEdge(from, to, reason, inferred);
    return true;
  }

  // What ended on the stream before `i` starts, as far as another of these doesn't imply it: the
  // one before, where a stream runs one after the other.
  void StreamEdges(std::int32_t i) {
    const DeviceEvent& event = rank_.Event(At(i).event);
    auto& [running, ended] = streams_[{event.device, event.stream}];
    while (!running.empty() && running.top().first <= At(i).start_ns) {
      const std::int32_t last = running.top().second;
      running.pop();
      std::erase_if(ended, [&](std::int32_t e) { return At(e).end_ns <= At(last).start_ns; });
      if (ended.size() == kMaxEdgesOfStream) {
        ended.erase(ended.begin());
      }
      ended.push_back(last);
    }
    for (const std::int32_t from : ended) {
      Add(from, i, EdgeReason::kStream);
    }
    running.emplace(At(i).end_ns, i);
  }

  void LaunchEdge(std::int32_t i) {
    const std::int32_t call = rank_.EventLinkOf(At(i).event).call;
    const auto launcher = launcher_.find(call);
    if (call >= 0 && launcher != launcher_.end() &&
        !Add(launcher->second, i, EdgeReason::kLaunch)) {
      rank_.diagnostics.Count(
          "launch_after_start",
          fmt::format("{}: correlation {} by {} ns", rank_.label, rank_.Call(call).correlation,
                      At(launcher->second).end_ns - At(i).start_ns));
    }
  }

  void WaitEdges(const std::vector<DeviceSource>& sources, std::int32_t to, EdgeReason reason) {
    for (const DeviceSource& source : sources) {
      const std::int32_t from = item_of_event_[static_cast<std::size_t>(source.event)];
      if (!Add(from, to, reason, source.inferred)) {
        rank_.diagnostics.Count("early_wait_end", fmt::format("{}: by {} ns", rank_.label,
                                                              At(from).end_ns - At(to).start_ns));
      }
    }
  }

  // Autograd runs on a thread of its own while the thread that called it stands still. A thread
  // that was quiet went on when something ended on the other.
  void HandOvers() {
    const std::vector<bool> autograd = AutogradThreads();
    if (std::find(autograd.begin(), autograd.end(), true) == autograd.end()) {
      return;
    }
    std::vector<std::vector<std::int32_t>> by_end(autograd.size());
    std::vector<std::int32_t> last(autograd.size(), -1);
    std::vector<std::pair<std::int32_t, std::int32_t>> quiet;  // (item before, item after)
    for (std::int32_t i = 0; i < timeline_.Count(); ++i) {
      if (const std::int32_t thread = At(i).thread; thread >= 0) {
        by_end[static_cast<std::size_t>(thread)].push_back(i);  // a thread's items don't overlap
        std::int32_t& before = last[static_cast<std::size_t>(thread)];
        if (before < 0 || At(i).start_ns - At(before).end_ns > kQuietNs) {
          quiet.emplace_back(before, i);
        }
        before = i;
      }
    }
    for (const auto& [before, after] : quiet) {
      const auto mine = static_cast<std::size_t>(At(after).thread);
      std::int32_t latest = -1;
      for (std::size_t other = 0; other < by_end.size(); ++other) {
        if (other != mine && (autograd[other] || autograd[mine])) {
          const std::int32_t ended = LastEnded(by_end[other], before, after);
          if (ended >= 0 && (latest < 0 || At(ended).end_ns > At(latest).end_ns)) {
            latest = ended;
          }
        }
      }
      if (latest >= 0) {
        Add(latest, after, EdgeReason::kThread, true);
      }
    }
  }

  // The last of a thread's items that ended between two of another's; -1: none.
  [[nodiscard]] std::int32_t LastEnded(const std::vector<std::int32_t>& items, std::int32_t before,
                                       std::int32_t after) const {
    auto it =
        std::upper_bound(items.begin(), items.end(), At(after).start_ns,
                         [&](std::int64_t time, std::int32_t i) { return time < At(i).end_ns; });
    if (it == items.begin()) {
      return -1;
    }
    const std::int32_t ended = *std::prev(it);
    return before >= 0 && At(ended).end_ns <= At(before).end_ns ? -1 : ended;
  }

  [[nodiscard]] std::vector<bool> AutogradThreads() const {
    std::vector<bool> out(rank_.list.threads.size(), false);
    for (const Operation& op : rank_.list.operations) {
      if (op.thread >= 0 && op.name->starts_with("autograd::engine::")) {
        out[static_cast<std::size_t>(op.thread)] = true;
      }
    }
    return out;
  }

  RankCapture& rank_;
  Timeline& timeline_;
  std::vector<std::int32_t> item_of_event_;
  std::map<std::int32_t, std::int32_t> launcher_;  // by call
  struct StreamSoFar {
    // By end, the earliest first: (end, item).
    std::priority_queue<std::pair<std::int64_t, std::int32_t>,
                        std::vector<std::pair<std::int64_t, std::int32_t>>, std::greater<>>
        running;
    std::vector<std::int32_t> ended;  // by end; none of them before another
  };
  std::map<std::pair<std::int32_t, std::int64_t>, StreamSoFar> streams_;
};

}  // namespace

void AddDeviceEdges(RankCapture& rank, Timeline& timeline) {
  if (!rank.kineto.device.empty()) {
    DeviceEdgeBuilder(rank, timeline).Run();
  }
}

}  // namespace reprise::pytorch
