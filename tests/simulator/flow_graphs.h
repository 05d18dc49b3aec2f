// Random flows over random links, and their rates by the plainest algorithm.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "predict/simulator/max_min.h"

namespace reprise {

struct FlowGraph {
  std::vector<double> capacity;                           // by link
  std::vector<std::vector<std::uint32_t>> links_of_flow;  // distinct, at least one
};

inline FlowGraph RandomFlowGraph(std::uint32_t seed) {
  std::mt19937 random(seed);
  FlowGraph graph;
  const std::uint32_t links = 1 + random() % 12;
  for (std::uint32_t i = 0; i < links; ++i) {
    // Equal capacities are likely, so that links fill at the same time.
    graph.capacity.push_back(random() % 2 == 0 ? 1.0
                                               : 0.1 * static_cast<double>(1 + random() % 99));
  }
  const std::uint32_t flows = 1 + random() % 20;
  for (std::uint32_t i = 0; i < flows; ++i) {
    std::vector<std::uint32_t> path;
    for (std::uint32_t link = 0; link < links; ++link) {
      if (random() % 3 == 0) {
        path.push_back(link);
      }
    }
    if (path.empty()) {
      path.push_back(random() % links);
    }
    graph.links_of_flow.push_back(path);
  }
  return graph;
}

inline std::vector<MaxMinFair::Crossing> CrossingsOf(const std::vector<std::uint32_t>& links) {
  std::vector<MaxMinFair::Crossing> crossings;
  for (const std::uint32_t link : links) {
    crossings.push_back({link});
  }
  return crossings;
}

// Again and again: the link that offers the least, and all its flows get that.
inline std::vector<double> PlainRates(const FlowGraph& graph) {
  std::vector<double> rates(graph.links_of_flow.size(), -1);
  std::vector<double> left = graph.capacity;
  for (;;) {
    double least = std::numeric_limits<double>::infinity();
    std::uint32_t narrowest = 0;
    for (std::uint32_t link = 0; link < left.size(); ++link) {
      int growing = 0;
      for (std::size_t i = 0; i < rates.size(); ++i) {
        const auto& path = graph.links_of_flow[i];
        growing += rates[i] < 0 && std::count(path.begin(), path.end(), link) > 0 ? 1 : 0;
      }
      if (growing > 0 && left[link] / growing < least) {
        least = left[link] / growing;
        narrowest = link;
      }
    }
    if (least == std::numeric_limits<double>::infinity()) {
      return rates;
    }
    for (std::size_t i = 0; i < rates.size(); ++i) {
      const auto& path = graph.links_of_flow[i];
      if (rates[i] < 0 && std::count(path.begin(), path.end(), narrowest) > 0) {
        rates[i] = least;
        for (const std::uint32_t link : path) {
          left[link] = std::max(left[link] - least, 0.0);
        }
      }
    }
  }
}

}  // namespace reprise
