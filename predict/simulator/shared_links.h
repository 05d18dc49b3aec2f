// Links of a machine that transfers share at the moment: max-min fair rates of what moves.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "predict/simulator/link_loads.h"
#include "predict/simulator/max_min.h"

namespace reprise {

// What the transfers of one route load, while nothing slows them: how many of `unit` bytes a second
// each link carries.
struct WeightedLinks {
  std::vector<std::pair<LinkPlace, std::uint64_t>> links;
  double unit = 0;
};
// The loads of one transfer. `data_ns`: how long its bytes move when it is alone.
[[nodiscard]] WeightedLinks WeightsOf(const Network& network, std::span<const LinkLoad> loads,
                                      double data_ns);
// Of one direction, after efficiency and slow links.
[[nodiscard]] double CapacityOf(const Network& network, const LinkPlace& link);

// Transfers of one route load the same links alike. A route may stand for equal transfers of
// several groups that always run together, and a link for equal links: then its weight counts how
// many of these transfers cross one of the links. Rates are the same to the last bit either way.
//
// Fair means: of the links of the outermost level that they cross, two transfers that are held up
// by the same link get the same bytes a second there. Not thread-safe.
class SharedLinks {
 public:
  using Route = std::uint32_t;
  using Flow = MaxMinFair::Flow;

  // Links are made when they are first named: of equal links that count as one, the same is named.
  Route AddRoute(const Network& network, const WeightedLinks& weighted);

  // A transfer of the route moves its bytes from now on. Rates change with the next Solve.
  Flow Begin(Route route);
  void End(Flow flow);
  // Flows whose share is another one now; valid until the next call.
  const std::vector<Flow>& Solve() { return fair_.Solve(); }
  // Which part of its own speed a flow has: 1 where no link holds it up.
  [[nodiscard]] double PartOf(Flow flow) const;

 private:
  struct RouteLinks {
    std::vector<MaxMinFair::Crossing> crossings;
    double unit = 0;
  };
  MaxMinFair fair_;
  std::vector<RouteLinks> routes_;
  std::vector<Route> route_of_;  // by flow
  std::map<LinkPlace, MaxMinFair::Link> links_;
};

}  // namespace reprise
