#include "predict/simulator/max_min.h"

#include <algorithm>
#include <functional>
#include <queue>

namespace reprise {

MaxMinFair::Link MaxMinFair::AddLink(double capacity) {
  links_.push_back({.capacity = capacity});
  return static_cast<Link>(links_.size() - 1);
}

void MaxMinFair::Touch(Link link) {
  if (!links_[link].changed) {
    links_[link].changed = true;
    changed_links_.push_back(link);
  }
}

MaxMinFair::Flow MaxMinFair::AddFlow(const std::vector<Crossing>& crossings, double most) {
  Flow flow = 0;
  if (free_.empty()) {
    flow = static_cast<Flow>(flows_.size());
    flows_.emplace_back();
  } else {
    flow = free_.back();
    free_.pop_back();
  }
  FlowState& state = flows_[flow];
  state.crossings = crossings;
  state.most = most;
  state.rate = 0;
  state.alive = true;
  for (const Crossing& crossing : crossings) {
    links_[crossing.link].flows.push_back(flow);
    Touch(crossing.link);
  }
  if (crossings.empty()) {
    lonely_.push_back(flow);
  }
  return flow;
}

void MaxMinFair::RemoveFlow(Flow flow) {
  FlowState& state = flows_[flow];
  for (const Crossing& crossing : state.crossings) {
    std::vector<Flow>& flows = links_[crossing.link].flows;
    *std::ranges::find(flows, flow) = flows.back();
    flows.pop_back();
    Touch(crossing.link);
  }
  state.crossings.clear();
  state.alive = false;
  free_.push_back(flow);
}

const std::vector<MaxMinFair::Flow>& MaxMinFair::Solve() {
  different_.clear();
  ++pass_;
  for (const Link link : changed_links_) {
    links_[link].changed = false;
    if (links_[link].seen != pass_) {
      Collect(link);
      Fill();
    }
  }
  changed_links_.clear();
  for (const Flow flow : lonely_) {
    FlowState& state = flows_[flow];
    if (state.alive && state.crossings.empty() && state.rate != state.most) {
      state.rate = state.most;
      different_.push_back(flow);
    }
  }
  lonely_.clear();
  return different_;
}

// What hangs together with a link, by breadth-first search.
void MaxMinFair::Collect(Link from) {
  component_links_ = {from};
  component_flows_.clear();
  links_[from].seen = pass_;
  for (std::size_t at = 0; at < component_links_.size(); ++at) {
    for (const Flow flow : links_[component_links_[at]].flows) {
      if (flows_[flow].seen == pass_) {
        continue;
      }
      flows_[flow].seen = pass_;
      component_flows_.push_back(flow);
      for (const Crossing& crossing : flows_[flow].crossings) {
        if (links_[crossing.link].seen != pass_) {
          links_[crossing.link].seen = pass_;
          component_links_.push_back(crossing.link);
        }
      }
    }
  }
  solved_flows_ += component_flows_.size();
}

double MaxMinFair::ShareOf(const LinkState& link) const {
  return std::max(link.capacity - link.used, 0.0) / static_cast<double>(link.filling);
}

void MaxMinFair::Fix(Flow flow, double rate, std::vector<Link>& loaded) {
  FlowState& state = flows_[flow];
  state.fixed = true;
  state.rate = rate;
  for (const Crossing& crossing : state.crossings) {
    LinkState& link = links_[crossing.link];
    if (link.fixed_now == 0) {
      loaded.push_back(crossing.link);
    }
    link.fixed_now += crossing.flows;
  }
}

void MaxMinFair::Fill() {
  for (const Link link : component_links_) {
    LinkState& state = links_[link];
    state.used = 0;
    state.filling = 0;
    state.fixed_now = 0;
  }
  // Smallest share first; an entry that is out of date is skipped, for a newer one follows it.
  using Entry = std::pair<double, Link>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> shares;
  std::vector<std::pair<double, Flow>> bounded;
  for (const Flow flow : component_flows_) {
    FlowState& state = flows_[flow];
    state.fixed = false;
    state.rate_before = state.rate;
    for (const Crossing& crossing : state.crossings) {
      links_[crossing.link].filling += crossing.flows;
    }
    if (state.most < kUnbounded) {
      bounded.emplace_back(state.most, flow);
    }
  }
  std::ranges::sort(bounded);
  for (const Link link : component_links_) {
    if (links_[link].filling > 0) {
      shares.emplace(ShareOf(links_[link]), link);
    }
  }
  std::vector<Link> loaded;
  std::size_t next_bound = 0;
  while (!shares.empty()) {
    const auto [share, link] = shares.top();
    if (links_[link].filling == 0 || ShareOf(links_[link]) != share) {
      shares.pop();
      continue;
    }
    double rate = share;
    while (next_bound < bounded.size() && flows_[bounded[next_bound].second].fixed) {
      ++next_bound;
    }
    if (next_bound < bounded.size() && bounded[next_bound].first <= share) {
      rate = bounded[next_bound].first;
      for (; next_bound < bounded.size() && bounded[next_bound].first == rate; ++next_bound) {
        if (!flows_[bounded[next_bound].second].fixed) {
          Fix(bounded[next_bound].second, rate, loaded);
        }
      }
    } else {
      // All links that are full at this rate, at once: the order among them must not matter.
      while (!shares.empty() && shares.top().first == rate) {
        const LinkState& full = links_[shares.top().second];
        shares.pop();
        if (full.filling == 0 || ShareOf(full) != rate) {
          continue;
        }
        for (const Flow flow : full.flows) {
          if (!flows_[flow].fixed) {
            Fix(flow, rate, loaded);
          }
        }
      }
    }
    for (const Link at : loaded) {
      LinkState& state = links_[at];
      state.used += rate * static_cast<double>(state.fixed_now);
      state.filling -= state.fixed_now;
      state.fixed_now = 0;
      if (state.filling > 0) {
        shares.emplace(ShareOf(state), at);
      }
    }
    loaded.clear();
  }
  for (const Flow flow : component_flows_) {
    if (flows_[flow].rate != flows_[flow].rate_before) {
      different_.push_back(flow);
    }
  }
}

}  // namespace reprise
