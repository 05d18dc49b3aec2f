#include "predict/simulator/shared_links.h"

#include <algorithm>
#include <cmath>

namespace reprise {
namespace {

// Weights are whole numbers, so that it does not matter in which order they are added up.
constexpr double kSteps = 1 << 20;
// Shares are ratios of capacities; what is nearer to 1 than this is a rounding error.
constexpr double kWhole = 1 - 1e-9;

}  // namespace

SharedLinks::Route SharedLinks::AddRoute(const Network& network, const WeightedLinks& weighted) {
  RouteLinks route;
  route.unit = weighted.unit;
  for (const auto& [link, weight] : weighted.links) {
    const auto [at, added] = links_.try_emplace(link, 0);
    if (added) {
      at->second = fair_.AddLink(CapacityOf(network, link));
    }
    if (weight > 0) {
      route.crossings.push_back({at->second, weight});
    }
  }
  routes_.push_back(std::move(route));
  return static_cast<Route>(routes_.size() - 1);
}

SharedLinks::Flow SharedLinks::Begin(Route route) {
  const Flow flow = fair_.AddFlow(routes_[route].crossings, routes_[route].unit);
  route_of_.resize(std::max<std::size_t>(route_of_.size(), flow + 1));
  route_of_[flow] = route;
  return flow;
}

void SharedLinks::End(Flow flow) { fair_.RemoveFlow(flow); }

double SharedLinks::PartOf(Flow flow) const {
  const double part = fair_.rate(flow) / routes_[route_of_[flow]].unit;
  return part < kWhole ? part : 1;
}

double CapacityOf(const Network& network, const LinkPlace& link) {
  return link.adapter ? network.AdapterCapacity(link.level, link.place)
                      : network.Capacity(link.level, link.place);
}

WeightedLinks WeightsOf(const Network& network, std::span<const LinkLoad> loads, double data_ns) {
  std::uint32_t top = 0;
  for (const LinkLoad& load : loads) {
    top = std::max(top, load.link.level);
  }
  // What a transfer takes of a link when it is alone: no more than there is, even where its time
  // leaves uneven members out of account.
  const auto rate = [&](const LinkLoad& load) {
    return std::min(load.bytes / data_ns * 1e9, CapacityOf(network, load.link));
  };
  double outer = 0;
  for (const LinkLoad& load : loads) {
    outer = load.link.level == top ? std::max(outer, rate(load)) : outer;
  }
  WeightedLinks weighted;
  weighted.unit = outer / kSteps;
  for (const LinkLoad& load : loads) {
    weighted.links.emplace_back(load.link,
                                static_cast<std::uint64_t>(std::floor(rate(load) / weighted.unit)));
  }
  return weighted;
}

}  // namespace reprise
