#include "predict/simulator/captured_flows.h"

#include <algorithm>
#include <tuple>
#include <vector>

#include "core/nanoseconds.h"
#include "predict/machine/fields.h"
#include "predict/simulator/event_schedule.h"
#include "predict/simulator/shared_links.h"
#include "predict/simulator/transfer_scale.h"

namespace reprise {
namespace {

using Index = std::uint32_t;

// Matches on one machine.
struct CapturedRoutes {
  SharedLinks links;
  std::vector<MatchFlow> flows;    // by match
  std::vector<double> data_share;  // by match: of its time, what moves bytes
};

class CapturedSharing {
 public:
  CapturedSharing(const CapturedSet& set, TimingGraph& timing) : set_(set), timing_(timing) {
    for (const std::int32_t match : timing.match) {
      matches_ = std::max<std::size_t>(matches_, static_cast<std::size_t>(match + 1));
    }
  }

  Status Run(const Network& from, const Network& to, const TimingGraph& recorded) {
    REPRISE_ASSIGN(const Schedule schedule, DryRun(recorded));
    CapturedRoutes of_recording = RoutesOn(from);
    const std::vector<double> shares = MeanShares(schedule, of_recording);
    for (Index node = 0; node < timing_.match.size(); ++node) {
      const std::int32_t match = timing_.match[node];
      if (match >= 0 && timing_.transfer_ns[node] > 0 && shares[match] < 1) {
        const double alone = 1 - of_recording.data_share[match] * (1 - shares[match]);
        timing_.transfer_ns[node] = NsOf(static_cast<double>(timing_.transfer_ns[node]) * alone);
      }
    }
    CapturedRoutes routes = RoutesOn(to);
    std::vector<std::int64_t> longest_ns(matches_);
    ForEachMember([&](Index node, std::size_t match) {
      longest_ns[match] = std::max(longest_ns[match], timing_.transfer_ns[node]);
    });
    for (std::size_t match = 0; match < matches_; ++match) {
      routes.flows[match].latency_ns =
          NsOf((1 - routes.data_share[match]) * static_cast<double>(longest_ns[match]));
    }
    Interplay interplay{.flows = routes.flows};
    interplay.links = &routes.links;
    return ScheduleEvents(timing_, interplay).map([](const Schedule& /*scheduled*/) {});
  }

 private:
  template <typename Visit>
  void ForEachMember(const Visit& visit) const {
    for (Index node = 0; node < timing_.match.size(); ++node) {
      if (timing_.match[node] >= 0) {
        visit(node, static_cast<std::size_t>(timing_.match[node]));
      }
    }
  }

  // By the first member of each match.
  [[nodiscard]] CapturedRoutes RoutesOn(const Network& network) const {
    CapturedRoutes routes;
    routes.flows.resize(matches_);
    routes.data_share.resize(matches_);
    std::vector<bool> seen(matches_);
    SetNetwork set_network(network, set_.groups, NetworkModel::kFlow);
    for (std::size_t rank = 0; rank < set_.graphs.size(); ++rank) {
      for (Graph::Index i = 0; i < set_.graphs[rank].size(); ++i) {
        const std::int32_t match = timing_.match[set_.first[rank] + i];
        if (match < 0 || seen[match]) {
          continue;
        }
        seen[match] = true;
        const CommSpec& spec = *set_.graphs[rank].comm(i);
        const auto own = static_cast<std::int32_t>(rank);
        const TransferTime time = set_network.TimeOf(spec, own);
        if (time.ns > 0 && time.data_ns > 0) {
          routes.flows[match].route = set_network.RouteOf(spec, own, time, routes.links);
          routes.data_share[match] = std::min(time.data_ns / static_cast<double>(time.ns), 1.0);
        }
      }
    }
    return routes;
  }

  // Of the time in which a match moves bytes in a schedule, its mean share of its links.
  [[nodiscard]] std::vector<double> MeanShares(const Schedule& schedule,
                                               CapturedRoutes& routes) const {
    std::vector<std::int64_t> begin_ns(matches_, INT64_MIN);
    std::vector<std::int64_t> end_ns(matches_, INT64_MIN);
    ForEachMember([&](Index node, std::size_t match) {
      begin_ns[match] = std::max(begin_ns[match], schedule.start_ns[node]);
      end_ns[match] = std::max(end_ns[match], schedule.end_ns[node]);
    });
    using Change = std::tuple<std::int64_t, bool, Index>;  // when, whether it begins, match
    std::vector<Change> changes;
    for (Index match = 0; match < matches_; ++match) {
      const std::int64_t length_ns = end_ns[match] - begin_ns[match];
      begin_ns[match] += NsOf((1 - routes.data_share[match]) *
                              static_cast<double>(std::max<std::int64_t>(length_ns, 0)));
      if (routes.flows[match].route >= 0 && begin_ns[match] < end_ns[match]) {
        changes.emplace_back(begin_ns[match], true, match);
        changes.emplace_back(end_ns[match], false, match);
      }
    }
    std::ranges::sort(changes);
    std::vector<double> moved_ns(matches_);
    std::vector<double> part(matches_, 1);
    std::vector<std::int64_t> since_ns = begin_ns;
    std::vector<SharedLinks::Flow> flow_of(matches_);
    std::vector<Index> match_of;
    const auto advance = [&](Index match, std::int64_t now_ns) {
      moved_ns[match] += part[match] * static_cast<double>(now_ns - since_ns[match]);
      since_ns[match] = now_ns;
    };
    for (std::size_t at = 0; at < changes.size();) {
      const std::int64_t now_ns = std::get<0>(changes[at]);
      for (; at < changes.size() && std::get<0>(changes[at]) == now_ns; ++at) {
        const auto& [when_ns, begins, match] = changes[at];
        if (!begins) {
          advance(match, now_ns);
          routes.links.End(flow_of[match]);
          continue;
        }
        const auto route = static_cast<SharedLinks::Route>(routes.flows[match].route);
        flow_of[match] = routes.links.Begin(route);
        match_of.resize(std::max<std::size_t>(match_of.size(), flow_of[match] + 1));
        match_of[flow_of[match]] = match;
      }
      for (const SharedLinks::Flow flow : routes.links.Solve()) {
        advance(match_of[flow], now_ns);
        part[match_of[flow]] = routes.links.PartOf(flow);
      }
    }
    std::vector<double> shares(matches_, 1);
    for (Index match = 0; match < matches_; ++match) {
      if (routes.flows[match].route >= 0 && begin_ns[match] < end_ns[match]) {
        shares[match] = moved_ns[match] / static_cast<double>(end_ns[match] - begin_ns[match]);
      }
    }
    return shares;
  }

  const CapturedSet& set_;
  TimingGraph& timing_;
  std::size_t matches_ = 0;
};

// Whatever their devices and hosts are.
bool HaveSameNetwork(const Network& from, const Network& to) {
  MachineModel other = from.machine();
  other.device = to.machine().device;
  other.host = to.machine().host;
  for (std::size_t level = 0; level < to.levels(); ++level) {
    if (to.HasSlowLink(level)) {
      return false;
    }
  }
  return SameNumbers(other, to.machine());
}

}  // namespace

Status ShareCapturedLinks(const CapturedSet& set, const Network& from, const Network& to,
                          const TimingGraph& recorded, TimingGraph& timing) {
  if (timing.match.empty() || HaveSameNetwork(from, to)) {
    return {};
  }
  return CapturedSharing(set, timing).Run(from, to, recorded);
}

}  // namespace reprise
