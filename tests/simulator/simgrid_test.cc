// MaxMinFair against SimGrid's solver (Debian: libsimgrid-dev), where it is installed. SimGrid is
// slow and licensed otherwise, so that only this test uses it.
#include <gtest/gtest.h>

#include "predict/simulator/max_min.h"
#include "tests/simulator/flow_graphs.h"
#include "tests/skip.h"

#ifdef REPRISE_SIMGRID
#include <cmath>
#include <simgrid/s4u.hpp>
#endif

namespace reprise {
namespace {

#ifdef REPRISE_SIMGRID

namespace sg = simgrid::s4u;

constexpr std::uint32_t kGraphs = 60;
constexpr double kSeconds = 1000;
constexpr double kUnit = 1e9;  // bytes a second; sizes are whole bytes

// All flows start together. A flow's bytes are its rate by MaxMinFair times kSeconds, so that no
// flow ends earlier and no rate changes. The time at which a flow ends gives its rate by SimGrid.
TEST(SimGrid, HasTheSameRates) {
  int count = 1;
  char name[] = "test";
  char* arguments[] = {name, nullptr};
  sg::Engine engine(&count, arguments);
  sg::Engine::set_config("network/model:CM02");
  sg::Engine::set_config("network/latency-factor:1.0");
  sg::Engine::set_config("network/bandwidth-factor:1.0");
  sg::Engine::set_config("network/weight-S:0.0");
  sg::Engine::set_config("network/TCP-gamma:0.0");
  sg::Engine::set_config("network/crosstraffic:0");
  sg::Engine::set_config("maxmin/precision:1e-9");
  auto* const zone = sg::create_full_zone("zone");
  std::vector<std::pair<std::string, double>> ended;  // by flow
  std::vector<std::tuple<sg::Host*, sg::Host*, double>> flows;
  for (std::uint32_t seed = 0; seed < kGraphs; ++seed) {
    const FlowGraph graph = RandomFlowGraph(seed);
    MaxMinFair fair;
    std::vector<sg::Link*> links;
    for (std::size_t i = 0; i < graph.capacity.size(); ++i) {
      fair.AddLink(graph.capacity[i] * kUnit);
      links.push_back(zone->create_link("l" + std::to_string(seed) + "_" + std::to_string(i),
                                        graph.capacity[i] * kUnit));
    }
    std::vector<MaxMinFair::Flow> ours;
    for (const auto& path : graph.links_of_flow) {
      ours.push_back(fair.AddFlow(CrossingsOf(path)));
    }
    fair.Solve();
    for (std::size_t i = 0; i < ours.size(); ++i) {
      const std::string id = std::to_string(seed) + "_" + std::to_string(i);
      sg::Host* const from = zone->create_host("a" + id, 1e9);
      sg::Host* const to = zone->create_host("b" + id, 1e9);
      std::vector<sg::LinkInRoute> route;
      for (const std::uint32_t link : graph.links_of_flow[i]) {
        route.emplace_back(links[link]);
      }
      zone->add_route(from->get_netpoint(), to->get_netpoint(), nullptr, nullptr, route, false);
      flows.emplace_back(from, to, fair.rate(ours[i]) * kSeconds);
    }
  }
  zone->seal();
  ended.resize(flows.size());
  for (std::size_t i = 0; i < flows.size(); ++i) {
    const auto& [from, to, bytes] = flows[i];
    auto* const box = sg::Mailbox::by_name(from->get_name());
    const auto size = static_cast<std::uint64_t>(std::llround(bytes));
    sg::Actor::create("s", from, [box, size] { box->put(new int(1), size); });
    sg::Actor::create("r", to, [box, i, &ended, name = from->get_name()] {
      delete box->get<int>();
      ended[i] = {name, sg::Engine::get_clock()};
    });
  }
  engine.run();
  ASSERT_GT(ended.size(), kGraphs);
  for (const auto& [flow, seconds] : ended) {
    EXPECT_NEAR(seconds, kSeconds, 1e-6 * kSeconds) << flow;
  }
}

#else

TEST(SimGrid, HasTheSameRates) { REPRISE_SKIP("simgrid", "libsimgrid-dev is not installed"); }

#endif

}  // namespace
}  // namespace reprise
