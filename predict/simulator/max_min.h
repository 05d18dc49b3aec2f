// Max-min fair sharing of links among flows: no flow can get more without another, that has no
// more, getting less. Pure arithmetic on flows and links.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace reprise {

// Flows come in classes of equal ones, and so may links: a crossing counts how many flows of the
// class cross one link of that class. A job's rates are therefore the same to the last bit whether
// it is given rank by rank or class by class, as long as the classes are right: what is added up
// are counts, and each rate enters a link's load once, multiplied.
//
// Progressive filling (Bertsekas, Gallager: Data Networks, section 6.5.2): all rates grow alike; a
// link that is full stops the flows that cross it. Not thread-safe.
class MaxMinFair {
 public:
  using Link = std::uint32_t;
  using Flow = std::uint32_t;
  struct Crossing {
    Link link = 0;
    std::uint64_t flows = 1;  // of the class, over one link of that class
  };
  static constexpr double kUnbounded = std::numeric_limits<double>::infinity();

  // `capacity` > 0 in bytes a second; infinite is allowed.
  Link AddLink(double capacity);
  // A class of flows. Links are distinct. `most`: what one flow takes at most, whatever is free; a
  // flow without a crossing gets it. The number of a removed flow is used again.
  Flow AddFlow(const std::vector<Crossing>& crossings, double most = kUnbounded);
  void RemoveFlow(Flow flow);

  // Rates of all flows that can have changed since the last call: those that are connected, over
  // flows and links, with what was added or removed. Valid until the next call: flows that
  // have another rate now.
  const std::vector<Flow>& Solve();

  // Of one flow of the class; after Solve.
  [[nodiscard]] double rate(Flow flow) const { return flows_[flow].rate; }
  // How many flow classes Solve looked at, in all calls.
  [[nodiscard]] std::uint64_t solved_flows() const { return solved_flows_; }

 private:
  struct LinkState {
    double capacity = 0;
    std::vector<Flow> flows;  // classes that cross it
    // Of the component that is being solved:
    double used = 0;              // by flows whose rates are fixed
    std::uint64_t filling = 0;    // flows that still grow
    std::uint64_t fixed_now = 0;  // flows fixed in this round
    std::uint32_t seen = 0;
    bool changed = false;
  };
  struct FlowState {
    std::vector<Crossing> crossings;
    double most = kUnbounded;
    double rate = 0;
    double rate_before = 0;
    std::uint32_t seen = 0;
    bool fixed = false;
    bool alive = false;
  };

  void Touch(Link link);
  void Collect(Link from);
  void Fill();
  [[nodiscard]] double ShareOf(const LinkState& link) const;
  void Fix(Flow flow, double rate, std::vector<Link>& loaded);

  std::vector<LinkState> links_;
  std::vector<FlowState> flows_;
  std::vector<Flow> free_;
  std::vector<Link> changed_links_;
  std::vector<Flow> lonely_;  // new flows without a crossing
  std::uint32_t pass_ = 0;
  std::vector<Link> component_links_;
  std::vector<Flow> component_flows_, different_;
  std::uint64_t solved_flows_ = 0;
};

}  // namespace reprise
